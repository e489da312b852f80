//! In which stage a node is, and what changes while it runs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use emhost_sim_kit::certificates;
use emhost_talos_api::machine;
use rustls::pki_types::CertificateDer;
use tokio::task::AbortHandle;

use super::disks::EtcdData;
use super::network::LinkState;
use super::services::Services;
use super::settings::Settings;
use crate::fleet::Boot;

/// In which stage a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Booting,
    Installing,
    Maintenance,
    Running,
    Rebooting,
    ShuttingDown,
    Resetting,
    Upgrading,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::Installing => "installing",
            Self::Maintenance => "maintenance",
            Self::Running => "running",
            Self::Rebooting => "rebooting",
            Self::ShuttingDown => "shutting down",
            Self::Resetting => "resetting",
            Self::Upgrading => "upgrading",
        }
    }

    pub fn number(self) -> i32 {
        let stage = match self {
            Self::Booting => machine::MachineStatusEventMachineStage::Booting,
            Self::Installing => machine::MachineStatusEventMachineStage::Installing,
            Self::Maintenance => machine::MachineStatusEventMachineStage::Maintenance,
            Self::Running => machine::MachineStatusEventMachineStage::Running,
            Self::Rebooting => machine::MachineStatusEventMachineStage::Rebooting,
            Self::ShuttingDown => machine::MachineStatusEventMachineStage::ShuttingDown,
            Self::Resetting => machine::MachineStatusEventMachineStage::Resetting,
            Self::Upgrading => machine::MachineStatusEventMachineStage::Upgrading,
        };
        stage as i32
    }
}

/// What changes while a node runs.
#[allow(clippy::struct_excessive_bools, reason = "they are facts that do not depend on each other")]
pub(crate) struct State {
    pub stage: Stage,
    pub alive: bool,
    pub settings: Option<Arc<Settings>>,
    pub server: Option<Arc<certificates::Identity>>,
    pub clients: Vec<CertificateDer<'static>>,
    pub node_id: String,
    pub hostname: String,
    pub links: Vec<LinkState>,
    pub unreachable: Vec<String>,
    /// A port was not free; it is asked for again.
    pub wants_port: bool,
    pub services: Services,
    /// By dialled address.
    pub serving: BTreeMap<Ipv4Addr, crate::wire::Serving>,
    /// Virtual addresses this node holds now.
    pub vips: Vec<Ipv4Addr>,
    /// What is in the data directory of etcd.
    pub etcd: Option<EtcdData>,
    /// An uploaded snapshot to recover from.
    pub recovery: Option<Vec<u8>>,
    /// Whether CRI runs, so that the node may be bootstrapped.
    pub bootstrap_allowed: bool,
    /// Whether Kubernetes says the node is ready; none where it does not know the node.
    pub kubernetes_ready: Option<bool>,
    pub kubelet_registered: bool,
    /// Which sequence runs.
    pub sequence: Option<&'static str>,
    /// The task in which it runs.
    pub runner: Option<AbortHandle>,
    pub system_disk: Option<String>,
    /// Takes back a configuration that is only being tried.
    pub trial: Option<AbortHandle>,
    /// A reboot has been asked for: no more configurations.
    pub leaving: bool,
    /// Images that were pulled by hand.
    pub pulled: Vec<String>,
}

impl State {
    pub fn new(boot: &Boot) -> Self {
        Self {
            stage: Stage::Booting,
            alive: true,
            settings: None,
            server: None,
            clients: Vec::new(),
            node_id: String::new(),
            hostname: boot.hostname.clone().unwrap_or_default(),
            links: Vec::new(),
            unreachable: Vec::new(),
            wants_port: false,
            services: Services::default(),
            serving: BTreeMap::new(),
            vips: Vec::new(),
            etcd: None,
            recovery: None,
            bootstrap_allowed: false,
            kubernetes_ready: None,
            kubelet_registered: false,
            sequence: None,
            runner: None,
            system_disk: boot.system_disk.clone(),
            trial: None,
            leaving: false,
            pulled: Vec::new(),
        }
    }
}
