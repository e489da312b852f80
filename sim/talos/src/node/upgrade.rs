//! Upgrades: the old call that does everything by itself, and the service of
//! 1.13 that only installs.

use std::time::Duration;

use bytes::Bytes;
use emhost_sim_kit::{Disk, Image, Medium};
use emhost_talos_api::machine;
use futures::stream::{self, BoxStream, StreamExt};
use prost::Message;

use super::power::{UPGRADE_TAG, fall_back};
use super::sequence::Sequence;
use super::{Node, Stage, uuid};
use crate::config::Version;
use crate::wire::{Code, Status};

/// The META key of an image that is installed during the next boot.
pub(crate) const STAGED_IMAGE: u8 = 0x07;
/// The META key of how to install it.
pub(crate) const STAGED_OPTIONS: u8 = 0x08;

/// The oldest minor version from which one can go to this one.
fn oldest_host(minor: u16) -> u16 {
    match minor {
        0..=8 => 5,
        9 | 10 => 8,
        newer => newer - 2,
    }
}

/// Why an installer of this version refuses to run on that one.
pub(crate) fn incompatible(host: Version, target: Version) -> Option<String> {
    let old = host.minor < oldest_host(target.minor);
    let new = host.minor > target.minor + 1;
    let text = || format!("pre-flight checks failed: host version {host} is too");
    if old {
        Some(format!("{} old to upgrade to Talos {target}", text()))
    } else if new {
        Some(format!("{} new to downgrade to Talos {target}", text()))
    } else {
        None
    }
}

impl Node {
    /// Which image a reference stands for; none where no registry has it.
    pub fn resolve(&self, reference: &str) -> Result<Image, String> {
        let fleet = self.fleet().ok_or("the machine is shutting down")?;
        let found = fleet.parts.ground.installer(reference);
        found
            .ok_or_else(|| format!("failed to pull image {reference:?}: failed to resolve reference {reference:?}: {reference}: not found"))
    }

    /// `MachineService.Upgrade`.
    pub async fn upgrade(&self, request: machine::UpgradeRequest) -> Result<machine::Upgrade, Status> {
        if !self.installed() {
            return Err(Status::precondition("Talos is not installed"));
        }
        let fleet = self.need_fleet()?;
        self.journal.talos(&format!("upgrade request received: staged {}, force {}", request.stage, request.force));
        self.journal.talos(&format!("validating {:?}", request.image));
        fleet.parts.dials.wait("pull installer", Duration::from_secs(8)).await;
        let image = self
            .resolve(&request.image)
            .map_err(|error| Status::unknown(format!("error validating installer image {:?}: {error}", request.image)))?;
        let control_plane = self.settings().is_some_and(|settings| settings.control_plane);
        let Version { minor, patch, .. } = self.version;
        let preserve_skips = (minor == 12 && patch >= 9) || (minor == 13 && patch >= 4) || minor > 13;
        let unchecked = request.force || (request.preserve && preserve_skips);
        if control_plane && !unchecked {
            // Only one node is checked at a time.
            let _one = fleet.upgrading(self)?;
            if let Some(problem) = fleet.upgrade_hindrance(self)? {
                return Err(Status::unknown(format!("error validating etcd for upgrade: {problem}")));
            }
        }
        let actor = uuid();
        if request.stage {
            self.change_disk(|disk| {
                disk.meta.insert(STAGED_IMAGE, request.image.clone());
                disk.meta.insert(STAGED_OPTIONS, "{}".to_owned());
            })?;
            self.state().leaving = true;
            self.run_sequence("stageUpgrade", Stage::Upgrading, &actor, false, |node, sequence| async move {
                sequence.pass("cleanup", "stopAllPods").await;
                node.stop_everything(&sequence).await?;
                node.leave_for(&sequence, true).await
            });
        } else {
            self.state().leaving = true;
            self.run_sequence("upgrade", Stage::Upgrading, &actor, false, move |node, sequence| async move {
                let result = node.upgrade_phases(&sequence, image).await;
                if let Err(error) = &result {
                    // Its services are stopped already, so it can only start over.
                    sequence.end(Some(error));
                    let _ = node.leave_for(&sequence, true).await;
                }
                result
            });
        }
        Ok(machine::Upgrade { metadata: None, ack: "Upgrade request received".to_owned(), actor_id: actor })
    }

    async fn upgrade_phases(&self, sequence: &Sequence, image: Image) -> Result<(), String> {
        self.drain(sequence).await?;
        sequence.pass("cleanup", "stopAllPods").await;
        sequence.pass("stopServices", "stopServicesEphemeral").await;
        sequence.pass("unmountSystem", "unmountEphemeralPartition").await;
        sequence.phase("upgrade", "upgrade", self.install_beside(image)).await?;
        self.stop_everything(sequence).await?;
        self.leave_for(sequence, true).await
    }

    /// Writes an image into the other half of A/B and makes it the one that boots.
    pub async fn install_beside(&self, image: Image) -> Result<(), String> {
        let target: Version = image.version.parse().map_err(|error| format!("{error}"))?;
        if let Some(problem) = incompatible(self.version, target) {
            return Err(problem);
        }
        if image.arch != self.boot.image.arch {
            return Err(format!("exec format error: the installer is for {}", image.arch));
        }
        if let Some(fleet) = self.fleet() {
            fleet.parts.dials.wait("install", Duration::from_secs(15)).await;
        }
        self.change_disk(|disk| put_beside(disk, image)).map_err(|status| status.message)
    }

    /// An upgrade that was put off until this boot. Says whether the machine has to boot once more.
    pub async fn staged_upgrade(&self, sequence: &Sequence) -> bool {
        let Some(reference) = self.disk().meta.get(&STAGED_IMAGE).cloned() else { return false };
        self.journal.talos(&format!("performing staged upgrade via {reference:?}"));
        let result = match self.resolve(&reference) {
            Ok(image) => sequence.phase("upgrade", "upgrade", self.install_beside(image)).await,
            Err(error) => Err(error),
        };
        // Tried once only, whatever came of it.
        let cleared = self.change_disk(|disk| {
            disk.meta.remove(&STAGED_IMAGE);
            disk.meta.remove(&STAGED_OPTIONS);
        });
        if let Err(error) = &result {
            self.journal.talos(&format!("staged upgrade failed: {error}"));
        }
        result.is_ok() && cleared.is_ok()
    }

    /// Whether this boot is the first of an upgrade that could still be taken back; then it is, and the machine boots the old one.
    pub fn revert(&self) -> bool {
        let mut reverted = false;
        let written = self.change_disk(|disk| reverted = fall_back(disk));
        if reverted {
            self.journal.talos("reverting to the previous version of Talos");
        }
        reverted && written.is_ok()
    }

    /// `LifecycleService.Upgrade` and `.Install`: lines as they come, then the exit code. Nothing is drained, nobody is asked, nothing reboots.
    pub fn lifecycle(
        &self,
        reference: &str,
        destination: Option<&str>,
        wrap: fn(machine::LifecycleServiceInstallProgress) -> Vec<u8>,
    ) -> Result<BoxStream<'static, Result<Bytes, Status>>, Status> {
        if !self.state().pulled.iter().any(|name| name == reference) {
            return Err(Status::not_found(format!("image {reference:?}: not found")));
        }
        let node = self.me().ok_or_else(|| Status::unavailable("the machine is shutting down"))?;
        let image = self.resolve(reference).map_err(Status::unknown)?;
        if destination.is_none() && !self.installed() {
            return Err(Status::new(Code::FailedPrecondition, "Talos is not installed"));
        }
        let said = |text: String| machine::LifecycleServiceInstallProgressResponse::Message(text);
        let begin = vec![
            said(format!("running Talos installer {}", image.version)),
            said("no config provided, using defaults".to_owned()),
            said(format!("using disk {}", destination.unwrap_or("/dev/sda"))),
        ];
        let destination = destination.map(str::to_owned);
        let rest = stream::once(async move {
            let result = match destination {
                Some(path) => node.install_to(&path, image).await,
                None => node.install_beside(image).await,
            };
            match result {
                Ok(()) => vec![
                    said(format!("installation of {} complete", node.boot.image.version)),
                    machine::LifecycleServiceInstallProgressResponse::ExitCode(0),
                ],
                Err(error) => vec![said(format!("error: {error}")), machine::LifecycleServiceInstallProgressResponse::ExitCode(1)],
            }
        });
        let lines = stream::iter([begin]).chain(rest).flat_map(stream::iter);
        Ok(lines.map(move |line| Ok(Bytes::from(wrap(machine::LifecycleServiceInstallProgress { response: Some(line) })))).boxed())
    }
}

/// As an answer of `LifecycleService.Upgrade`.
pub(crate) fn upgrade_answer(progress: machine::LifecycleServiceInstallProgress) -> Vec<u8> {
    machine::LifecycleServiceUpgradeResponse { progress: Some(progress) }.encode_to_vec()
}

/// As an answer of `LifecycleService.Install`.
pub(crate) fn install_answer(progress: machine::LifecycleServiceInstallProgress) -> Vec<u8> {
    machine::LifecycleServiceInstallResponse { progress: Some(progress) }.encode_to_vec()
}

fn put_beside(disk: &mut Disk, mut image: Image) {
    image.medium = Medium::Disk;
    disk.previous = disk.boot.replace(image);
    disk.meta.insert(UPGRADE_TAG, "A".to_owned());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn an_installer_runs_on_two_minors_below_and_one_above() {
        for (host, target, fine) in [
            ("v1.10.5", "v1.12.1", true),
            ("v1.9.5", "v1.12.1", false),
            ("v1.13.0", "v1.12.1", true),
            ("v1.13.0", "v1.11.5", false),
            ("v1.8.0", "v1.10.0", true),
            ("v1.5.0", "v1.8.0", true),
        ] {
            assert_eq!(incompatible(version(host), version(target)).is_none(), fine, "{host} to {target}");
        }
    }

    #[test]
    fn the_old_image_stays_beside_the_new_one() {
        let image = |version: &str| Image { version: version.to_owned(), ..crate::node::tests::image() };
        let mut disk = Disk { boot: Some(image("v1.11.5")), ..Disk::default() };
        put_beside(&mut disk, image("v1.12.1"));
        assert_eq!(disk.boot.as_ref().unwrap().version, "v1.12.1");
        assert!(fall_back(&mut disk));
        assert_eq!(disk.boot.as_ref().unwrap().version, "v1.11.5");
        assert!(!fall_back(&mut disk), "only an upgrade that has not proved itself");
    }
}
