//! Locks with time-outs, of machines and of storages, with the texts a client
//! sees when it comes too late.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use emhost_sim_kit::{Dials, Fault};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Every lock, by the name of its file.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    files: Mutex<HashMap<String, Arc<RwLock<()>>>>,
    /// Told whenever a machine went off.
    pub power: tokio::sync::Notify,
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) enum Held {
    /// Together with others that only read.
    Shared { _guard: OwnedRwLockReadGuard<()> },
    /// Alone.
    Exclusive { _guard: OwnedRwLockWriteGuard<()> },
}

impl Locks {
    fn file(&self, name: &str) -> Arc<RwLock<()>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(name.to_owned()).or_default().clone()
    }

    /// The lock of a machine's configuration, alone, within `real` of a real Proxmox.
    ///
    /// # Errors
    /// The text Proxmox gives when somebody else holds it for too long.
    pub async fn vm(&self, dials: &Dials, host: &str, id: u32, real: Duration) -> Result<Held, String> {
        self.exclusive(dials, &vm_file(id), host, real).await
    }

    /// The lock of a machine's configuration, together with others that only read it.
    ///
    /// # Errors
    /// As for [`Locks::vm`].
    pub async fn vm_shared(&self, dials: &Dials, host: &str, id: u32, real: Duration) -> Result<Held, String> {
        let file = vm_file(id);
        let late = || Err(late(&file));
        if lost(dials, &file) {
            return late();
        }
        let waiting = self.file(&format!("{host}:{file}")).read_owned();
        tokio::time::timeout(dials.limit(real), waiting).await.map_or_else(|_| late(), |guard| Ok(Held::Shared { _guard: guard }))
    }

    /// The lock of a storage: a file of the host, or of the whole cluster where it is shared (facts §5).
    ///
    /// # Errors
    /// The text Proxmox gives when somebody else holds it for too long.
    pub async fn storage(&self, dials: &Dials, host: &str, id: &str, shared: bool) -> Result<Held, String> {
        let real = Duration::from_secs(10);
        if shared {
            let name = format!("storage-{id}");
            return self.exclusive(dials, &name, "", real).await.map_err(|_| format!("cfs-lock '{name}' error: got lock request timeout"));
        }
        self.exclusive(dials, &format!("/var/lock/pve-manager/pve-storage-{id}"), host, real).await
    }

    async fn exclusive(&self, dials: &Dials, file: &str, host: &str, real: Duration) -> Result<Held, String> {
        if lost(dials, file) {
            return Err(late(file));
        }
        let waiting = self.file(&format!("{host}:{file}")).write_owned();
        match tokio::time::timeout(dials.limit(real), waiting).await {
            Ok(guard) => Ok(Held::Exclusive { _guard: guard }),
            Err(_) => Err(late(file)),
        }
    }
}

fn vm_file(id: u32) -> String {
    format!("/var/lock/qemu-server/lock-{id}.conf")
}

fn late(file: &str) -> String {
    format!("can't lock file '{file}' - got timeout")
}

fn lost(dials: &Dials, file: &str) -> bool {
    dials.fault(&format!("lock {file}"), &[Fault::LockTimeout]).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn readers_share_and_a_writer_comes_too_late() {
        let (locks, dials) = (Locks::default(), Dials::default().at_speed(200));
        let second = Duration::from_secs(1);
        let one = locks.vm_shared(&dials, "pve1", 9000, second).await.unwrap();
        let two = locks.vm_shared(&dials, "pve1", 9000, second).await.unwrap();
        let text = locks.vm(&dials, "pve1", 9000, second).await.unwrap_err();
        assert_eq!(text, "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout");
        drop((one, two));
        assert!(locks.vm(&dials, "pve1", 9000, second).await.is_ok());
    }

    #[tokio::test]
    async fn a_shared_storage_has_one_lock_for_the_cluster_and_a_local_one_for_each_host() {
        let (locks, dials) = (Locks::default(), Dials::default().at_speed(200));
        let _local = locks.storage(&dials, "pve1", "local-lvm", false).await.unwrap();
        assert!(locks.storage(&dials, "pve2", "local-lvm", false).await.is_ok());
        let text = locks.storage(&dials, "pve1", "local-lvm", false).await.unwrap_err();
        assert_eq!(text, "can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout");
        let _ceph = locks.storage(&dials, "pve1", "ceph1", true).await.unwrap();
        let text = locks.storage(&dials, "pve2", "ceph1", true).await.unwrap_err();
        assert_eq!(text, "cfs-lock 'storage-ceph1' error: got lock request timeout");
    }

    #[tokio::test]
    async fn the_dials_can_take_a_lock_away() {
        let dials = Dials::new(emhost_sim_kit::Profile::Fast, 1, vec![(Fault::LockTimeout, 1000)]);
        assert!(Locks::default().vm(&dials, "pve1", 100, Duration::from_secs(10)).await.is_err());
    }
}
