//! Changes that wait for the next start.

use serde_json::{Value, json};

use super::config::typed;
use super::drives::{self, Drive};
use super::{Config, Vm};

/// A volume that is no longer used by the option it was attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detached {
    /// The volume.
    pub volid: String,
    /// Whether it is to be removed rather than kept as unused.
    pub remove: bool,
}

impl Vm {
    /// Marks an option as going away.
    pub fn delete_later(&mut self, key: &str, force: bool) {
        self.pending.remove(key);
        let marked = self.deleted.entry(key.to_owned()).or_default();
        *marked |= force;
    }

    /// Drops what would change nothing.
    pub fn tidy_pending(&mut self) {
        let config = &self.config;
        self.pending.retain(|key, value| config.get(key) != Some(value));
        let pending = &self.pending;
        self.deleted.retain(|key, _| config.contains_key(key) || pending.contains_key(key));
    }

    /// Lets everything count that waits, as at a start. Gives back volumes to remove.
    pub fn apply_pending(&mut self) -> Vec<Detached> {
        let mut gone = Vec::new();
        for (key, force) in std::mem::take(&mut self.deleted) {
            if let Some(drive) = self.config.get(&key).and_then(|text| drives::parse(&key, text)) {
                gone.extend(self.detach(&drive, force));
            }
            self.config.remove(&key);
        }
        self.tidy_pending();
        let (stays, applied): (Config, Config) =
            std::mem::take(&mut self.pending).into_iter().partition(|(key, value)| is_hidden(key, value));
        self.pending = stays;
        for (key, value) in applied {
            let old = self.config.get(&key).and_then(|text| drives::parse(&key, text));
            let new = drives::parse(&key, &value);
            if let (Some(old), Some(new)) = (old, new)
                && old.file != new.file
            {
                gone.extend(self.detach(&old, false));
            }
            self.set(&key, value);
        }
        gone
    }

    /// Sets an option for good. An empty value is read back as a blank, as from the file.
    pub fn set(&mut self, key: &str, value: String) {
        let value = if value.is_empty() && key != "description" { " ".to_owned() } else { value };
        self.config.insert(key.to_owned(), value);
    }

    /// Says what becomes of the volume of a drive that is taken out: a disk of this machine stays as unused.
    pub fn detach(&mut self, drive: &Drive, force: bool) -> Option<Detached> {
        let volid = drive.file.clone();
        if drives::is_cloudinit(drive) {
            self.cloudinit = None;
            return Some(Detached { volid, remove: true });
        }
        if drives::is_cdrom(drive) || drives::owner(&volid) != Some(self.id) {
            return None;
        }
        if force {
            return Some(Detached { volid, remove: true });
        }
        self.add_unused(&volid);
        None
    }

    /// Keeps a volume as `unusedN`.
    pub fn add_unused(&mut self, volid: &str) {
        if self.config.iter().any(|(key, value)| key.starts_with("unused") && value == volid) {
            return;
        }
        let free = (0..256).map(|number| format!("unused{number}")).find(|key| !self.config.contains_key(key));
        if let Some(key) = free {
            self.config.insert(key, volid.to_owned());
        }
    }

    /// What a GET of the pending changes shows.
    pub fn shown_pending(&self) -> Value {
        let mask = |key: &str, value: &str| if key == "cipassword" { json!("**********") } else { typed(key, value) };
        let mut items = Vec::new();
        for (key, value) in &self.config {
            let mut item = json!({ "key": key, "value": mask(key, value) });
            if let Some(pending) = self.pending.get(key) {
                item["pending"] = mask(key, pending);
            }
            if let Some(force) = self.deleted.get(key) {
                item["delete"] = json!(if *force { 2 } else { 1 });
            }
            items.push(item);
        }
        items.push(json!({ "key": "digest", "value": self.digest() }));
        for (key, value) in self.pending.iter().filter(|(key, _)| !self.config.contains_key(*key)) {
            items.push(json!({ "key": key, "pending": mask(key, value) }));
        }
        Value::Array(items)
    }
}

/// Options whose format refuses a blank: set to nothing they stay in the file and are never read back.
pub(super) fn is_hidden(key: &str, value: &str) -> bool {
    value.is_empty() && matches!(key, "sshkeys" | "affinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(options: &[(&str, &str)]) -> Vm {
        let config = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Vm { id: 100, host: "pve1".to_owned(), config, ..Vm::default() }
    }

    #[test]
    fn a_disk_that_is_taken_out_stays_as_unused_unless_it_is_forced() {
        let mut one = vm(&[("scsi1", "local-lvm:vm-100-disk-1,size=4G")]);
        one.delete_later("scsi1", false);
        assert_eq!(one.apply_pending(), vec![]);
        assert_eq!(one.config["unused0"], "local-lvm:vm-100-disk-1");
        let mut two = vm(&[("scsi1", "local-lvm:vm-100-disk-1,size=4G"), ("scsi2", "local-lvm:vm-101-disk-0,size=4G")]);
        two.delete_later("scsi1", true);
        two.delete_later("scsi2", true);
        assert_eq!(two.apply_pending(), vec![Detached { volid: "local-lvm:vm-100-disk-1".to_owned(), remove: true }]);
        assert!(two.config.is_empty(), "a disk of another machine is only taken out");
    }

    #[test]
    fn what_changes_nothing_is_not_pending() {
        let mut vm = vm(&[("cores", "2")]);
        vm.pending.insert("cores".to_owned(), "2".to_owned());
        vm.deleted.insert("net3".to_owned(), false);
        vm.tidy_pending();
        assert!(vm.pending.is_empty() && vm.deleted.is_empty());
    }

    #[test]
    fn pending_changes_are_listed_beside_what_counts_now() {
        let mut vm = vm(&[("cores", "2"), ("net1", "virtio=BC:24:11:00:00:01")]);
        vm.pending.insert("cores".to_owned(), "4".to_owned());
        vm.pending.insert("memory".to_owned(), "4096".to_owned());
        vm.deleted.insert("net1".to_owned(), false);
        let shown = vm.shown_pending();
        let by_key = |key: &str| shown.as_array().into_iter().flatten().find(|item| item["key"] == key).cloned();
        assert_eq!(by_key("cores"), Some(json!({ "key": "cores", "value": 2, "pending": 4 })));
        assert_eq!(by_key("memory"), Some(json!({ "key": "memory", "pending": "4096" })));
        assert_eq!(by_key("net1").map(|item| item["delete"].clone()), Some(json!(1)));
    }
}
