//! Which device goes to which node, and how it gets there. Pure.
//!
//! What is in force stays. Then those who name a device come before those who take any, so that nobody takes what another one needs.

use emhost_sdk::gpu::{Assignment, Device};
use emhost_sdk::{Diagnostic, Failure, FailureKind};

use crate::address::{clash, covers, slot};
use crate::facts::{Claim, Facts, Owner, Way};
use crate::roles;
use crate::selector::{Selector, Vendor};

/// What one node asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The node.
    pub node: String,
    /// Which device.
    pub selector: Selector,
    /// The hosts that it may be on, the one it is meant for first.
    pub hosts: Vec<String>,
}

/// What is shown to Proxmox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// `root@pam` with its password: the only one that may hand devices over by their address.
    Root,
    /// Anybody else.
    Other,
}

/// Whose devices they are to be.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The cluster's id.
    pub cluster: &'a str,
    /// What is shown to Proxmox.
    pub credential: Credential,
}

/// A device with what is known of it.
struct Known<'a> {
    device: &'a Device,
    facts: Facts,
}

/// A request that is met.
struct Met {
    request: usize,
    device: usize,
    address: String,
}

/// Gives each request a device.
///
/// # Errors
/// Everything that cannot be had, each with what to do.
pub fn assign(asker: Asker<'_>, requests: &[Request], devices: &[Device], kept: &[Assignment]) -> Result<Vec<Assignment>, Failure> {
    let known = devices.iter().map(|device| Ok(Known { device, facts: Facts::of(device)? })).collect::<Result<Vec<_>, Failure>>()?;
    let mut table = Table { asker, requests, known: &known, met: Vec::new(), problems: Vec::new() };
    for (index, request) in requests.iter().enumerate() {
        let own = |given: &&Assignment| given.node == request.node;
        let in_force = kept.iter().filter(own).find_map(|given| {
            let at = known.iter().position(|one| one.device.id == given.device)?;
            (table.fits(request, at) && table.taken_by(at, &table.address(request, at)).is_none()).then_some(at)
        });
        if let Some(at) = in_force {
            table.take(index, at);
        }
    }
    let rank = |selector: &Selector| match selector {
        Selector::Address(_) => 0,
        Selector::Mapping(_) => 1,
        Selector::Vendor(_) => 2,
    };
    let mut open: Vec<usize> = (0..requests.len()).filter(|index| !table.met.iter().any(|met| met.request == *index)).collect();
    open.sort_by_key(|index| rank(&requests[*index].selector));
    // What is missing is told when everybody else has his, so that nobody is shown what another one gets.
    let (mut missing, mut short) = (Vec::new(), Vec::new());
    for index in open {
        match table.choose(index) {
            Some(at) => table.take(index, at),
            None if matches!(requests[index].selector, Selector::Address(_)) => missing.push(index),
            None => short.push(index),
        }
    }
    for index in missing {
        table.no_device(index);
    }
    table.shortages(&short);
    if !table.problems.is_empty() {
        return Err(Failure { kind: FailureKind::Invalid, diagnostics: table.problems, retry_after_ms: None, state: None });
    }
    table.met.sort_by_key(|met| met.request);
    Ok(table.met.iter().map(|met| table.assignment(met)).collect())
}

struct Table<'a> {
    asker: Asker<'a>,
    requests: &'a [Request],
    known: &'a [Known<'a>],
    met: Vec<Met>,
    problems: Vec<Diagnostic>,
}

impl Table<'_> {
    /// Whether a device is what is asked for, on a host where it may be.
    fn fits(&self, request: &Request, at: usize) -> bool {
        let Known { device, facts } = &self.known[at];
        let right = match &request.selector {
            Selector::Address(address) => covers(address, &device.address),
            Selector::Mapping(mapping) => facts.mappings.iter().any(|known| known.id == *mapping),
            Selector::Vendor(vendor) => Vendor::of(device.vendor_id) == Some(*vendor) && facts.is_accelerator(),
        };
        right && request.hosts.contains(&device.host)
    }

    /// What is handed over: the function, or the whole slot where that is what somebody wrote.
    fn address(&self, request: &Request, at: usize) -> String {
        let device = self.known[at].device;
        match &request.selector {
            Selector::Address(address) => address.clone(),
            Selector::Mapping(mapping) => {
                let path = self.known[at].facts.mappings.iter().find(|known| known.id == *mapping).map(|known| known.path.clone());
                path.filter(|path| !path.contains(';')).unwrap_or_else(|| device.address.clone())
            }
            Selector::Vendor(_) => device.address.clone(),
        }
    }

    /// The node that has the device, or a part of it.
    fn taken_by(&self, at: usize, address: &str) -> Option<&str> {
        let host = &self.known[at].device.host;
        let same = |met: &&Met| self.known[met.device].device.host == *host && clash(&met.address, address);
        self.met.iter().find(same).map(|met| self.requests[met.request].node.as_str())
    }

    fn take(&mut self, request: usize, device: usize) {
        let address = self.address(&self.requests[request], device);
        self.met.push(Met { request, device, address });
    }

    /// Whether a machine of somebody else has the device.
    fn is_held(&self, at: usize, node: &str) -> bool {
        let ours = |owner: &Owner| owner.cluster == self.asker.cluster && owner.node == node;
        self.known[at].facts.holders.iter().any(|holder| !holder.owner.as_ref().is_some_and(ours))
    }

    fn choose(&self, index: usize) -> Option<usize> {
        let request = &self.requests[index];
        let free = |at: &usize| self.taken_by(*at, &self.address(request, *at)).is_none();
        let place = |at: usize| request.hosts.iter().position(|host| *host == self.known[at].device.host);
        (0..self.known.len())
            .filter(|at| self.fits(request, *at))
            .filter(free)
            .min_by_key(|at| (!self.known[*at].facts.is_accelerator(), self.is_held(*at, &request.node), place(*at), *at))
    }

    /// Why a request for one address cannot be met.
    fn no_device(&mut self, index: usize) {
        let request = &self.requests[index];
        let Selector::Address(address) = &request.selector else { return };
        let (node, hosts) = (&request.node, request.hosts.join(", "));
        if let Some(at) = (0..self.known.len()).find(|at| self.fits(request, *at)) {
            let other = self.taken_by(at, address).unwrap_or("another node");
            let summary = format!("{node} and {other} are both to get device {address} of {}", self.known[at].device.host);
            let help = "give one of them another device, or remove it from the inventory: a device is in one machine at a time";
            self.problems.push(Diagnostic::error("gpu/twice", summary).help(help));
            return;
        }
        let near = self.near(request, address);
        let summary = format!("{node} asks for device {address}, and there is none at that address of {hosts}");
        let blind = self.known.iter().any(|known| known.facts.unlisted && request.hosts.contains(&known.device.host));
        let help = match near.as_slice() {
            [] if blind => {
                format!("only mapped devices can be seen, because the credential may not list the others; {}", roles::give_looking())
            }
            [] => format!(
                "see what there is with `pvesh get /nodes/{}/hardware/pci`, and correct the address",
                request.hosts.first().map_or("HOST", String::as_str)
            ),
            [one] => format!("write {one}, which looks like it: addresses change when cards are moved, and with firmware settings"),
            several => format!("write the address of the one that is meant: {}", several.join("; ")),
        };
        self.problems.push(Diagnostic::error("gpu/missing", summary).help(help));
    }

    /// Accelerators that nobody was given and whose address is like this one, the likeliest first.
    fn near(&self, request: &Request, address: &str) -> Vec<String> {
        let mut all: Vec<(usize, String)> = Vec::new();
        for (at, Known { device, facts }) in self.known.iter().enumerate() {
            if facts.is_accelerator() && request.hosts.contains(&device.host) && self.taken_by(at, &device.address).is_none() {
                let same = slot(address).bytes().zip(slot(&device.address).bytes()).filter(|(one, other)| one != other).count();
                all.push((same, format!("{} of {} ({})", device.address, device.host, device.model)));
            }
        }
        all.sort();
        all.into_iter().map(|(_, text)| text).collect()
    }

    /// More requests of one kind than devices, each kind once.
    fn shortages(&mut self, short: &[usize]) {
        let mut told: Vec<&Selector> = Vec::new();
        for index in short {
            let request = &self.requests[*index];
            if told.contains(&&request.selector) {
                continue;
            }
            told.push(&request.selector);
            let asking: Vec<&str> =
                self.requests.iter().filter(|other| other.selector == request.selector).map(|other| other.node.as_str()).collect();
            let there: Vec<usize> = (0..self.known.len()).filter(|at| self.fits(request, *at)).collect();
            let problem = if there.is_empty() { self.nothing(request) } else { self.too_few(request, &asking, &there) };
            self.problems.push(problem);
        }
    }

    fn too_few(&self, request: &Request, asking: &[&str], there: &[usize]) -> Diagnostic {
        let list = there.iter().map(|at| {
            let device = self.known[*at].device;
            let by = self.taken_by(*at, &device.address).map(|node| format!(" for {node}")).unwrap_or_default();
            format!("{} of {}{by}", device.address, device.host)
        });
        let list: Vec<String> = list.collect();
        let (nodes, asks) = if asking.len() == 1 { ("", "asks") } else { (" each", "ask") };
        let summary = format!(
            "{}{nodes} {asks} for {}, and there {}: {}",
            asking.join(" and "),
            request.selector,
            number(list.len()),
            list.join(", ")
        );
        Diagnostic::error("gpu/too-few", summary).help("take GPU nodes out of the inventory, or put another card in")
    }

    fn nothing(&self, request: &Request) -> Diagnostic {
        let (node, hosts) = (&request.node, request.hosts.join(", "));
        let Selector::Mapping(mapping) = &request.selector else {
            let summary = format!("{node} asks for {}, and {hosts} has none", request.selector);
            let seen: Vec<String> = self.near(request, "");
            let seen = if seen.is_empty() {
                "nothing that draws or computes was found there".to_owned()
            } else {
                format!("there is {}", seen.join("; "))
            };
            return Diagnostic::error("gpu/missing", summary).detail(seen).help("correct `gpu`, or the host of the node");
        };
        let elsewhere = self.known.iter().find(|known| known.facts.mappings.iter().any(|one| one.id == *mapping));
        if let Some(known) = elsewhere {
            let summary = format!("{node} asks for a device of mapping `{mapping}`, which has none on {hosts}");
            let help = format!(
                "place the node on {}, or add a device of {hosts} to the mapping (Datacenter, Resource Mappings)",
                known.device.host
            );
            return Diagnostic::error("gpu/mapping", summary).help(help);
        }
        let summary =
            format!("{node} asks for a device of mapping `{mapping}`, and there is no such mapping, or the credential may not see it");
        let free = self.known.iter().enumerate().find(|(at, known)| {
            let here = request.hosts.contains(&known.device.host);
            here && known.facts.is_accelerator() && self.taken_by(*at, &known.device.address).is_none()
        });
        let entry = free.map_or_else(
            || format!("node={},path=ADDRESS,id=VENDOR:DEVICE", request.hosts.first().map_or("HOST", String::as_str)),
            |(_, known)| entry(known.device, &known.facts, &known.device.address),
        );
        let help = format!(
            "make it, on a Proxmox host:\n{}\nor, if it is there, let the credential use it:\n{}",
            roles::make_mapping(mapping, &entry),
            roles::give_using(mapping)
        );
        Diagnostic::error("gpu/mapping", summary).help(help)
    }

    fn assignment(&self, met: &Met) -> Assignment {
        let request = &self.requests[met.request];
        let known = &self.known[met.device];
        let owner = Owner { cluster: self.asker.cluster.to_owned(), node: request.node.clone() };
        let way = self.way(request, known, &met.address, &owner);
        let claim = Claim { owner, address: met.address.clone(), way };
        Assignment { node: request.node.clone(), device: known.device.id.clone(), attributes: vec![claim.attribute()] }
    }

    fn way(&self, request: &Request, known: &Known<'_>, address: &str, owner: &Owner) -> Way {
        if let Selector::Mapping(mapping) = &request.selector {
            return Way::Mapping(mapping.clone());
        }
        let name = own_name(self.asker.cluster, &known.device.host, address);
        let mappings = &known.facts.mappings;
        if mappings.iter().any(|mapping| mapping.id == name && mapping.owner.as_ref() == Some(owner)) {
            return Way::Make(name);
        }
        // One that emhost made for somebody goes with him.
        let foreign = mappings
            .iter()
            .filter(|mapping| mapping.owner.is_none() && mapping.alone && mapping.wrong.is_none() && covers(&mapping.path, address));
        match foreign.min_by_key(|mapping| mapping.id.as_str()) {
            Some(mapping) => Way::Mapping(mapping.id.clone()),
            None if self.asker.credential == Credential::Root => Way::Raw,
            None => Way::Make(name),
        }
    }
}

fn number(count: usize) -> String {
    match count {
        1 => "is one".to_owned(),
        more => format!("are {more}"),
    }
}

/// The name of a mapping that emhost makes. It is the device's, so that another device is another mapping.
fn own_name(cluster: &str, host: &str, address: &str) -> String {
    format!("emhost-{cluster}-{host}-{}", address.replace([':', '.'], "-"))
}

/// A line of a mapping: everything that Proxmox compares when the machine starts.
pub fn entry(device: &Device, facts: &Facts, address: &str) -> String {
    let group = device.iommu_group.map(|group| format!(",iommugroup={group}")).unwrap_or_default();
    let board = facts.subsystem.as_ref().map(|board| format!(",subsystem-id={board}")).unwrap_or_default();
    format!("node={},path={address},id={:04x}:{:04x}{group}{board}", device.host, device.vendor_id, device.device_id)
}

#[cfg(test)]
mod tests;
