//! The installation: its state, and where it is kept.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use emhost_sim_kit::hardware::NoGuests;
use emhost_sim_kit::{Audit, Dials, Guests, Network, Store};

use crate::access::Access;
use crate::api::{Route, Statistics, routes};
use crate::call::Fail;
use crate::hosts::Hosts;
use crate::locks::Locks;
use crate::settings::Settings;
use crate::storage::{Copies, Storages};
use crate::tasks::{Tasks, now};
use crate::vm::Vm;
use crate::{Release, Spec};

pub use crate::http::Serving;

/// What the site lends to Proxmox.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where everything is kept, under keys that begin with `pve/`.
    pub store: Arc<Store>,
    /// Times and faults.
    pub dials: Arc<Dials>,
    /// The log of requests.
    pub audit: Arc<Audit>,
    /// The addresses.
    pub network: Network,
}

/// A Proxmox VE installation.
pub struct Pve {
    pub(crate) spec: Spec,
    pub(crate) parts: Parts,
    pub(crate) locks: Locks,
    pub(crate) copies: Copies,
    pub(crate) tasks: Tasks,
    pub(crate) hosts: Hosts,
    pub(crate) statistics: Statistics,
    /// When the hosts were switched on, in seconds since 1970.
    pub(crate) booted: u64,
    pub(crate) routes: BTreeMap<(&'static str, &'static str), Route>,
    guests: OnceLock<Arc<dyn Guests>>,
    state: Mutex<State>,
}

/// Everything that can change. A handler takes it, checks and changes it without waiting, and lets go.
pub(crate) struct State {
    /// Users, roles, grants and pools.
    pub access: Access,
    /// What the cluster has set: options, mappings, what is highly available.
    pub settings: Settings,
    /// By number.
    pub vms: BTreeMap<u32, Vm>,
    pub storages: Storages,
}

impl Pve {
    /// Opens an installation with everything it had when it was last closed.
    ///
    /// # Errors
    /// What is kept cannot be read, or a certificate cannot be made.
    pub fn open(spec: Spec, parts: Parts) -> io::Result<Arc<Self>> {
        let store = &parts.store;
        let state = State {
            access: Access::open(store, &spec)?,
            settings: Settings::open(store)?,
            vms: Vm::all(store)?,
            storages: Storages::open(&spec, store)?,
        };
        Ok(Arc::new(Self {
            locks: Locks::default(),
            copies: Copies::default(),
            tasks: Tasks::open(store)?,
            hosts: Hosts::open(store, &spec)?,
            statistics: Statistics::default(),
            booted: now(),
            routes: routes().into_iter().map(|route| ((route.0, route.1), route)).collect(),
            guests: OnceLock::new(),
            state: Mutex::new(state),
            spec,
            parts,
        }))
    }

    /// Says what runs on the machines. Counts once; until then nothing boots.
    pub fn attach(&self, guests: Arc<dyn Guests>) {
        if self.guests.set(guests).is_ok() {
            self.power_on_again();
        }
    }

    /// What runs on the machines.
    pub(crate) fn guests(&self) -> Arc<dyn Guests> {
        self.guests.get().map_or_else(|| Arc::new(NoGuests) as Arc<dyn Guests>, Arc::clone)
    }

    pub(crate) fn release(&self) -> Release {
        self.spec.release
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to write a file of the cluster while most hosts are off.
    fn writable(&self, lock: &str) -> Result<(), Fail> {
        if self.hosts.is_quorate() { Ok(()) } else { Err(Fail::die(format!("cfs-lock '{lock}' error: no quorum!\n"))) }
    }

    /// Changes access data; they are kept before this returns, and stay as they were where it fails.
    pub(crate) fn change_access<T>(&self, change: impl FnOnce(&mut Access) -> Result<T, Fail>) -> Result<T, Fail> {
        let mut state = self.state();
        let mut access = state.access.clone();
        let answer = change(&mut access)?;
        self.writable("file-user_cfg")?;
        access.keep(&self.parts.store)?;
        state.access = access;
        Ok(answer)
    }

    /// Changes settings of the cluster; they are kept before this returns, and stay as they were where it fails.
    pub(crate) fn change_settings<T>(&self, change: impl FnOnce(&mut Settings) -> Result<T, Fail>) -> Result<T, Fail> {
        let mut state = self.state();
        let mut settings = state.settings.clone();
        let answer = change(&mut settings)?;
        self.writable(settings.file_of_difference(&state.settings))?;
        settings.keep(&self.parts.store)?;
        state.settings = settings;
        Ok(answer)
    }
}
