//! Reboot, shutdown, reset and rollback.

use std::time::Duration;

use emhost_sim_kit::Disk;
use emhost_talos_api::machine;

use super::disks::{self, EPHEMERAL, META, STATE};
use super::sequence::{FOLLOWED, PARTING, Sequence};
use super::services::{ServiceState, unchecked};
use super::{Node, Stage, uuid};
use crate::wire::Status;

/// The META key that names the other half of A/B while an upgrade has not proved itself.
pub(crate) const UPGRADE_TAG: u8 = 0x06;

/// How long a node may take to give away its pods.
const DRAIN: Duration = Duration::from_mins(5);

impl Node {
    /// Reboots, and says under which name that is told of.
    pub fn reboot(&self) -> String {
        let actor = uuid();
        self.journal.talos(&format!("reboot via API received. actor id: {actor}"));
        self.reboot_for(&actor, false);
        actor
    }

    /// Reboots on behalf of somebody.
    pub fn reboot_for(&self, actor: &str, takeover: bool) {
        self.state().leaving = true;
        self.run_sequence("reboot", Stage::Rebooting, actor, takeover, |node, sequence| async move {
            sequence.pass("cleanup", "stopAllPods").await;
            node.stop_everything(&sequence).await?;
            node.leave_for(&sequence, true).await
        });
    }

    /// Switches itself off.
    pub fn power_down(&self, force: bool) -> String {
        let actor = uuid();
        self.journal.talos(&format!("shutdown via API received. actor id: {actor}"));
        self.state().leaving = true;
        self.run_sequence("shutdown", Stage::ShuttingDown, &actor, true, move |node, sequence| async move {
            if !force {
                node.drain(&sequence).await?;
            }
            sequence.pass("cleanup", "stopAllPods").await;
            node.stop_everything(&sequence).await?;
            node.leave_for(&sequence, false).await
        });
        actor
    }

    /// Lets no more pods onto this node and gives away those it has.
    pub async fn drain(&self, sequence: &Sequence) -> Result<(), String> {
        sequence
            .phase("drain", "cordonAndDrainNode", async {
                let Some(fleet) = self.fleet() else { return Ok(()) };
                let registered = self.settings().is_some_and(|settings| !settings.kubernetes.skip_registration);
                let Some(cluster) = fleet.kubernetes_of(self).filter(|_| registered) else { return Ok(()) };
                let name = self.hostname();
                cluster.cordon(&name);
                self.change_ephemeral(|ephemeral| ephemeral.cordoned = true).map_err(|status| status.message)?;
                let limit = fleet.parts.dials.limit(DRAIN);
                if tokio::time::timeout(limit, cluster.drain(&name)).await.is_err() {
                    return Err("timeout waiting for pods to be evicted".to_owned());
                }
                Ok(())
            })
            .await
    }

    /// Stops every service but those that answer.
    pub async fn stop_everything(&self, sequence: &Sequence) -> Result<(), String> {
        let work = async {
            let ids = self.state().services.ids();
            for id in ids.iter().rev().filter(|id| *id != "machined" && *id != "apid") {
                self.service_for(sequence.actor(), id, ServiceState::Stopping, "Sending SIGTERM to task");
                let last = if unchecked(id) { "Service finished" } else { "Service finished successfully" };
                self.service_for(sequence.actor(), id, ServiceState::Finished, last);
            }
            if let Some(fleet) = self.fleet() {
                fleet.parts.dials.wait("stop services", Duration::from_secs(5)).await;
            }
            Ok(())
        };
        sequence.phase("stopEverything", "stopAllServices", work).await
    }

    /// The last step: the firmware runs again, or power goes off.
    pub async fn leave_for(&self, sequence: &Sequence, again: bool) -> Result<(), String> {
        let Some(fleet) = self.fleet() else { return Ok(()) };
        let (phase, task) = if again { ("reboot", "reboot") } else { ("shutdown", "shutdown") };
        let work = async move {
            if again {
                self.enter(Stage::Rebooting);
            }
            // What was just told still has to leave.
            tokio::time::sleep(if self.events.followed() { FOLLOWED } else { PARTING }).await;
            self.depart(&fleet, again);
            // Nobody hears of the end of this: the machine is off in the middle of it.
            std::future::pending().await
        };
        sequence.phase(phase, task, work).await
    }

    /// Nothing answers any more; the machine goes on without this node.
    pub fn depart(&self, fleet: &crate::fleet::Fleet, again: bool) {
        fleet.part_with(self);
        if again {
            fleet.parts.ground.restart(self.id());
        } else {
            fleet.parts.ground.power_off(self.id());
        }
    }

    /// Wipes and reboots or switches off. What is impossible is refused before anything happens.
    pub fn reset(&self, request: machine::ResetRequest) -> Result<String, Status> {
        let actor = uuid();
        self.journal.talos(&format!("reset request received. actorID: {actor}"));
        let mode = machine::ResetRequestWipeMode::try_from(request.mode).unwrap_or(machine::ResetRequestWipeMode::All);
        let user_disks = self.user_disks(&request, mode)?;
        if !request.system_partitions_to_wipe.is_empty() {
            if mode == machine::ResetRequestWipeMode::UserDisks {
                return Err(Status::unknown(
                    "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter",
                ));
            }
            for spec in &request.system_partitions_to_wipe {
                if ![STATE, EPHEMERAL, META].contains(&spec.label.as_str()) {
                    let label = &spec.label;
                    return Err(Status::unknown(format!(
                        "failed to get volume status with label {label:?}: resource VolumeStatuses.block.talos.dev(runtime/{label}@undefined) doesn't exist"
                    )));
                }
            }
        }
        self.state().leaving = true;
        self.run_sequence("reset", Stage::Resetting, &actor, false, move |node, sequence| async move {
            let result = node.reset_phases(&sequence, &request, mode, &user_disks).await;
            if result.is_err() {
                // It goes on as it was, cordoned and without its pods.
                node.state().leaving = false;
                node.enter(Stage::Running);
            }
            result
        });
        Ok(actor)
    }

    /// The volumes of user disks to wipe.
    fn user_disks(&self, request: &machine::ResetRequest, mode: machine::ResetRequestWipeMode) -> Result<Vec<String>, Status> {
        if request.user_disks_to_wipe.is_empty() {
            return Ok(Vec::new());
        }
        if mode == machine::ResetRequestWipeMode::SystemDisk {
            return Err(Status::unknown("reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter"));
        }
        let devices = disks::devices(&self.boot.machine);
        let system = self.state().system_disk.clone();
        let volume = |path: &String| {
            let device = devices.iter().find(|device| device.path() == *path);
            let device = device.ok_or_else(|| Status::unknown(format!("reset user disk failed: device {path} wasn't found")))?;
            if device.drive.kind == emhost_sim_kit::DriveKind::Cdrom {
                return Err(Status::unknown(format!("reset user disk failed: device {path} is readonly")));
            }
            if device.drive.volume.is_some() && device.drive.volume == system {
                return Err(Status::unknown(format!("reset user disk failed: device {path} is the system disk")));
            }
            Ok(device.drive.volume.clone())
        };
        let volumes: Result<Vec<_>, _> = request.user_disks_to_wipe.iter().map(volume).collect();
        Ok(volumes?.into_iter().flatten().collect())
    }

    async fn reset_phases(
        &self,
        sequence: &Sequence,
        request: &machine::ResetRequest,
        mode: machine::ResetRequestWipeMode,
        user_disks: &[String],
    ) -> Result<(), String> {
        if request.graceful {
            // A cluster that does not answer does not keep a node from being reset.
            let _ = self.drain(sequence).await;
            sequence.pass("cleanup", "removeAllPods").await;
            if self.settings().is_some_and(|settings| settings.control_plane) {
                sequence.phase("leave", "leaveEtcd", async { self.leave_etcd() }).await?;
            }
        } else {
            sequence.pass("cleanup", "stopAllPods").await;
        }
        sequence.pass("preReset", "sendResetSignal").await;
        self.stop_everything(sequence).await?;
        if mode != machine::ResetRequestWipeMode::UserDisks {
            let labels: Vec<&str> =
                request.system_partitions_to_wipe.iter().filter(|spec| spec.wipe).map(|spec| spec.label.as_str()).collect();
            let whole = request.system_partitions_to_wipe.is_empty();
            let (phase, task) = if whole { ("reset", "resetSystemDisk") } else { ("resetSpec", "resetSystemDiskSpec") };
            let wipe = async { self.change_disk(|disk| wipe(disk, whole, &labels)).map_err(|status| status.message) };
            sequence.phase(phase, task, wipe).await?;
            if whole {
                self.state().system_disk = None;
            }
        }
        if !user_disks.is_empty() {
            let wipe = async {
                let fleet = self.fleet().ok_or("the machine is shutting down")?;
                for volume in user_disks {
                    fleet.parts.ground.write_disk(volume, &Disk::default()).map_err(|error| error.to_string())?;
                }
                Ok(())
            };
            sequence.phase("resetUserDisks", "resetUserDisks", wipe).await?;
        }
        self.leave_for(sequence, request.reboot).await
    }

    /// Boots the other half of A/B again.
    pub fn rollback(&self) -> Result<(), Status> {
        self.journal.talos("rollback via API received");
        if !self.installed() {
            return Err(Status::precondition("system disk not found"));
        }
        if self.disk().previous.is_none() {
            return Err(Status::unknown("previous UKI not found: no boot entry to revert to"));
        }
        self.change_disk(|disk| {
            swap(disk);
            disk.meta.remove(&UPGRADE_TAG);
        })?;
        self.reboot_for("", true);
        Ok(())
    }
}

/// What a boot loader does when the image that an upgrade wrote does not start: it takes the one before. Says whether
/// there was one to take; an image that has run once stays.
pub fn fall_back(disk: &mut Disk) -> bool {
    if !disk.meta.contains_key(&UPGRADE_TAG) || disk.previous.is_none() {
        return false;
    }
    swap(disk);
    disk.meta.remove(&UPGRADE_TAG);
    true
}

/// Puts the other half of A/B first.
pub(crate) fn swap(disk: &mut Disk) {
    std::mem::swap(&mut disk.boot, &mut disk.previous);
}

fn wipe(disk: &mut Disk, whole: bool, labels: &[&str]) {
    if whole {
        *disk = Disk::default();
        return;
    }
    for label in labels {
        if *label == META {
            disk.meta.clear();
        }
        disk.partitions.remove(*label);
    }
}
