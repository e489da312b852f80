//! What the site lends to its nodes, and what it tells a node that boots.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Audit, Dials, Disk, Image, Machine, Network, Store};

/// What the site lends to its nodes.
#[derive(Clone)]
pub struct Parts {
    /// Where clusters are kept, under keys that begin with `talos/` and `etcd/`.
    pub store: Arc<Store>,
    /// Times and faults.
    pub dials: Arc<Dials>,
    /// The log of requests.
    pub audit: Arc<Audit>,
    /// The addresses.
    pub network: Network,
    /// What is below the nodes.
    pub ground: Arc<dyn Ground>,
}

/// What a node stands on: its machine, its disks and the network around it.
pub trait Ground: Send + Sync {
    /// What a disk holds; an unknown volume reads as empty.
    fn read_disk(&self, volume: &str) -> Disk;

    /// Writes a disk, on disk before it returns.
    ///
    /// # Errors
    /// The volume is gone, or it cannot be kept.
    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()>;

    /// The node reboots: the firmware runs again, and then comes a new [`crate::Fleet::start`].
    fn restart(&self, id: MachineId);

    /// The node switched itself off.
    fn power_off(&self, id: MachineId);

    /// Whether anybody could reach this address behind this network card.
    ///
    /// # Errors
    /// Why not: no such network, another VLAN, the address is somebody else's.
    fn reachable(&self, machine: &Machine, mac: &str, address: Ipv4Addr) -> Result<(), String>;

    /// What the DHCP server of the card's network gives: address, prefix length and gateway.
    fn lease(&self, machine: &Machine, mac: &str) -> Option<(Ipv4Addr, u8, Option<Ipv4Addr>)>;

    /// The image that an installer of this reference writes; none where no registry has it.
    fn installer(&self, reference: &str) -> Option<Image>;
}

/// A machine that has booted Talos.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The machine.
    pub machine: Machine,
    /// What it booted.
    pub image: Image,
    /// Whether it runs from memory.
    pub from_iso: bool,
    /// The volume it booted from, or that carries an installed Talos.
    pub system_disk: Option<String>,
    /// A configuration found outside the disk: cidata, metal-iso and the like.
    pub config: Option<Vec<u8>>,
    /// Where that was found, for the log.
    pub why_source: String,
    /// What the platform calls the machine.
    pub hostname: Option<String>,
    /// The network cards as the platform sets them up.
    pub links: Vec<Link>,
}

/// A network card as the platform sets it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Such as `eth0`.
    pub name: String,
    /// Any case, with colons.
    pub mac: String,
    /// Address and prefix length.
    pub addresses: Vec<(Ipv4Addr, u8)>,
    /// Where everything else goes.
    pub gateway: Option<Ipv4Addr>,
    /// Whether to ask for an address.
    pub dhcp: bool,
}

/// A node as the site shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// The machine it runs on.
    pub id: MachineId,
    /// Its name.
    pub hostname: String,
    /// `booting`, `maintenance`, `running` and so on, as Talos names them.
    pub stage: String,
    /// Whether it says that all is well.
    pub ready: bool,
    /// Such as `v1.11.5`.
    pub version: String,
    /// The name of its cluster, once it has a configuration.
    pub cluster: Option<String>,
    /// Whether it is a control plane.
    pub control_plane: bool,
    /// Its addresses on the site.
    pub addresses: Vec<Ipv4Addr>,
    /// Why an address of it cannot be reached.
    pub unreachable: Vec<String>,
}
