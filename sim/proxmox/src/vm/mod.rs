//! Virtual machines: their configuration, what waits for the next start, and
//! whether they run.

pub(crate) mod cloudinit;
mod config;
pub(crate) mod drives;
mod hotplug;
mod hypervisor;
mod machine;
mod pci;
mod pending;
mod status;

use std::collections::BTreeMap;
use std::io;

use emhost_sim_kit::Store;
use serde::{Deserialize, Serialize};

pub(crate) use config::{Config, typed};
pub(crate) use hotplug::hotplug;
pub(crate) use machine::nics;
pub(crate) use pci::choose;
pub(crate) use status::mebibytes;

use crate::call::Fail;
use crate::pve::{Pve, State};
use crate::storage::die;

/// One virtual machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vm {
    /// The VMID.
    pub id: u32,
    /// The host it is on.
    pub host: String,
    /// Option to value, as in the configuration file; the description is plain text.
    pub config: Config,
    /// Values that wait for the next start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pending: Config,
    /// Options that go away with the next start, and whether their volumes go too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deleted: BTreeMap<String, bool>,
    /// The options of each snapshot, with `snaptime`, `parent` and the like.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub snapshots: BTreeMap<String, Config>,
    /// The options the cloud-init drive was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloudinit: Option<Config>,
    /// The process that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
}

/// The process of a running machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Power {
    /// Its number.
    pub pid: u32,
    /// When it was started, in seconds since 1970.
    pub since: u64,
    /// Whether it stands still.
    #[serde(default)]
    pub paused: bool,
    /// The configuration it was started with.
    pub config: Config,
    /// The PCI devices it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pci: Vec<String>,
    /// By which name the guest knows which volume: the volume may move, the guest does not notice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, String>,
}

impl Vm {
    /// Every machine that is kept.
    pub fn all(store: &Store) -> io::Result<BTreeMap<u32, Self>> {
        Ok(store.all::<Self>("pve/vm/")?.into_iter().map(|(_, vm)| (vm.id, vm)).collect())
    }

    /// Whether it is a template.
    pub fn is_template(&self) -> bool {
        self.config.get("template").is_some_and(|value| value == "1")
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.power.is_some()
    }

    /// Its name, or what Proxmox says instead.
    pub fn name(&self) -> String {
        self.config.get("name").filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| format!("VM {}", self.id))
    }

    /// Refuses while something else works on it.
    pub fn unlocked(&self) -> Result<(), Fail> {
        self.config.get("lock").map_or(Ok(()), |lock| Err(die(format_args!("VM is locked ({lock})"))))
    }

    /// Refuses what would destroy something of a protected machine.
    pub fn unprotected(&self, what: &str) -> Result<(), Fail> {
        let protected = self.config.get("protection").is_some_and(|value| value == "1");
        if protected { Err(die(format_args!("{what} - protection mode enabled"))) } else { Ok(()) }
    }

    /// Refuses a digest of another configuration.
    pub fn unchanged(&self, digest: Option<&str>) -> Result<(), Fail> {
        match digest {
            Some(digest) if digest != self.digest() => Err(die("checksum mismatch (file change by other user?)")),
            _ => Ok(()),
        }
    }

    /// Whether the guest agent is switched on in the configuration.
    pub fn has_agent(&self) -> bool {
        agent_enabled(&self.config)
    }
}

/// Whether `agent` says that there is one.
pub(crate) fn agent_enabled(config: &Config) -> bool {
    let Some(text) = config.get("agent") else { return false };
    let value = text.split(',').find_map(|part| match part.split_once('=') {
        None => Some(part),
        Some(("enabled", value)) => Some(value),
        Some(_) => None,
    });
    matches!(value, Some("1" | "on" | "yes" | "true"))
}

impl State {
    /// A machine on a host; on another host there is no such file.
    pub fn vm(&self, host: &str, id: u32) -> Result<&Vm, Fail> {
        let vm = self.vms.get(&id).filter(|vm| vm.host == host);
        vm.ok_or_else(|| die(format_args!("Configuration file 'nodes/{host}/qemu-server/{id}.conf' does not exist")))
    }
}

impl Pve {
    /// A copy of a machine as it is now.
    pub(crate) fn vm(&self, host: &str, id: u32) -> Result<Vm, Fail> {
        self.state().vm(host, id).cloned()
    }

    /// Changes a machine; it is kept before this returns, and stays as it was where it fails.
    pub(crate) fn change_vm<T>(&self, host: &str, id: u32, change: impl FnOnce(&mut Vm) -> Result<T, Fail>) -> Result<T, Fail> {
        let mut state = self.state();
        let mut vm = state.vm(host, id)?.clone();
        let answer = change(&mut vm)?;
        self.keep_vm(&mut state, vm)?;
        Ok(answer)
    }

    /// Writes a machine as Proxmox writes its file: values are checked and normalised.
    pub(crate) fn keep_vm(&self, state: &mut State, mut vm: Vm) -> Result<(), Fail> {
        vm.tidy()?;
        self.parts.store.put(&key(vm.id), &vm)?;
        state.vms.insert(vm.id, vm);
        Ok(())
    }

    /// Forgets a machine.
    pub(crate) fn forget_vm(&self, id: u32) -> Result<(), Fail> {
        let mut state = self.state();
        self.parts.store.remove(&key(id))?;
        state.vms.remove(&id);
        Ok(())
    }
}

fn key(id: u32) -> String {
    format!("pve/vm/{id}")
}
