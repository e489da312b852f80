//! Installing Talos to a disk.

use std::time::Duration;

use emhost_sim_kit::{Disk, DriveKind, Image, Medium};

use super::Node;
use super::disks::{self, Device, STATE, StatePartition};
use super::settings::Settings;

impl Node {
    /// The disks one could install to.
    pub fn disks(&self) -> Vec<Device> {
        let devices = disks::devices(&self.boot.machine);
        devices.into_iter().filter(|device| device.drive.kind == DriveKind::Disk && device.drive.volume.is_some()).collect()
    }

    /// The disk that the configuration means.
    fn target(&self, settings: &Settings) -> Result<Device, String> {
        let disks = self.disks();
        let facts: Vec<_> = disks.iter().map(Settings::facts).collect();
        // The first of several that a selector matches is taken without a word.
        let found = settings.config.install_disk(&facts).and_then(|found| find(&disks, &found.dev_path));
        found.ok_or_else(|| match (&settings.install.selector, &settings.install.disk) {
            (Some(_), _) => "no disk matched the expression".to_owned(),
            (None, Some(path)) => format!("lstat {path}: no such file or directory"),
            (None, None) => "install disk is not set".to_owned(),
        })
    }

    /// Installs as the configuration says, with the configuration on it.
    pub async fn install(&self, settings: &Settings) -> Result<(), String> {
        let device = self.target(settings)?;
        let reference =
            settings.install.image.clone().unwrap_or_else(|| format!("ghcr.io/siderolabs/installer:{}", self.boot.image.version));
        self.journal.talos(&format!("installing Talos to disk {} via {reference}", device.path()));
        if let Some(fleet) = self.fleet() {
            fleet.parts.dials.wait("pull installer", Duration::from_secs(8)).await;
        }
        let image = self.resolve(&reference)?;
        self.write_system(&device, image).await?;
        let node_id = self.state().node_id.clone();
        let text = settings.text.clone();
        self.change_state_partition(|state| *state = StatePartition { config: Some(text), node_id }).map_err(|status| status.message)
    }

    /// Installs to a disk of this path, without a configuration.
    pub async fn install_to(&self, path: &str, image: Image) -> Result<(), String> {
        let device = find(&self.disks(), path).ok_or_else(|| format!("lstat {path}: no such file or directory"))?;
        self.write_system(&device, image).await
    }

    async fn write_system(&self, device: &Device, mut image: Image) -> Result<(), String> {
        if image.arch != self.boot.image.arch {
            return Err(format!("exec format error: the installer is for {}", image.arch));
        }
        let fleet = self.fleet().ok_or("the machine is shutting down")?;
        fleet.parts.dials.wait("install", Duration::from_secs(15)).await;
        let volume = device.drive.volume.clone().ok_or("the disk has no medium")?;
        image.medium = Medium::Disk;
        // META outlives the image it came with: what somebody wrote before is kept.
        let mut meta = fleet.parts.ground.read_disk(&volume).meta;
        meta.extend(image.meta.clone());
        let disk = Disk { boot: Some(image), meta, ..Disk::default() };
        fleet.parts.ground.write_disk(&volume, &disk).map_err(|error| format!("error installing to {}: {error}", device.path()))?;
        self.journal.talos(&format!("installation of {} complete", self.boot.image.version));
        self.state().system_disk = Some(volume);
        Ok(())
    }

    /// Keeps a configuration on STATE, where there is a disk.
    pub fn keep(&self, text: &str) -> Result<(), String> {
        let node_id = self.state().node_id.clone();
        let kept = self.change_disk(|disk| {
            let mut state: StatePartition = disks::partition(disk, STATE);
            state.config = Some(text.to_owned());
            if state.node_id.is_empty() {
                state.node_id = node_id;
            }
            disks::set_partition(disk, STATE, &state);
        });
        kept.map_err(|status| status.message)
    }
}

/// The device of a path or of a link to it.
fn find(disks: &[Device], path: &str) -> Option<Device> {
    disks.iter().find(|device| device.path() == path || device.symlinks().iter().any(|link| link == path)).cloned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::node::tests::machine;

    #[test]
    fn a_disk_is_found_by_path_and_by_serial_number() {
        let mut machine = machine(1);
        machine.drives[0].serial = Some("S3RIAL".to_owned());
        let disks: Vec<Device> = disks::devices(&machine).into_iter().filter(|device| device.drive.kind == DriveKind::Disk).collect();
        assert_eq!(find(&disks, "/dev/sda").unwrap().name, "sda");
        assert_eq!(find(&disks, "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_S3RIAL").unwrap().name, "sda");
        assert!(find(&disks, "/dev/sdz").is_none());
    }
}
