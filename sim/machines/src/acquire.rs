//! What a booting Talos finds outside of its STATE partition: a configuration,
//! a host name, addresses (facts/talos.md §5.3, §5.4).

mod cmdline;
mod links;
mod meta;
mod nocloud;

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sim_kit::{Disk, DriveKind, Hypervisor, Image, Machine, Platform};

use crate::factory::{Version, schematic};
use crate::image::{Packing, unpack};
use crate::iso::{self, Volume};
use crate::yaml;

pub use links::{LinkConfig, link_names};

use cmdline::Cmdline;
use links::Links;

/// The label of the volume that carries a configuration for bare metal.
const METAL_ISO: &str = "metal-iso";
/// The key of META that holds the network of bare metal.
const META_NETWORK: u8 = 0x0a;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acquired {
    /// The configuration; complete, or the last of several incomplete ones.
    pub config: Option<Vec<u8>>,
    /// Where it was found, in Talos's words: `embedded`, `cmdline-early`, `nocloud`, `metal`, `cmdline-late`.
    pub source: Option<&'static str>,
    /// What the platform, or else the kernel's command line, calls the machine. Without a domain.
    pub hostname: Option<String>,
    /// Every network card of the machine, in the order of its slots.
    pub links: Vec<LinkConfig>,
    /// Name servers.
    pub resolvers: Vec<IpAddr>,
    /// Whether links are named by where they sit (`ens18`) and not in order (`eth0`).
    pub net_ifnames: bool,
    /// Why Talos waits for its configuration for ever and does not enter maintenance.
    pub waits: Option<String>,
    /// What it would log about things it could not use.
    pub problems: Vec<String>,
}

/// Looks in every place, as Talos does at each boot. `system_disk` is what the disk it is installed on holds.
pub fn acquire(machine: &Machine, image: &Image, system_disk: Option<&Disk>, hypervisor: &dyn Hypervisor) -> Acquired {
    let cmdline = Cmdline::of(image);
    let volumes = volumes(machine, hypervisor);
    let mut found = Acquired { net_ifnames: cmdline.net_ifnames(image.platform), ..Acquired::default() };
    let mut links = Links::of(machine, found.net_ifnames);

    if let Err(problem) = cmdline.network(&mut links, &mut found) {
        found.problems.push(problem);
    }
    let platform = match image.platform {
        Platform::Nocloud => nocloud::look(machine, &volumes, &mut links, &mut found),
        Platform::Metal => {
            let value = system_disk.map_or_else(|| image.meta.get(&META_NETWORK), |disk| disk.meta.get(&META_NETWORK));
            if let Some(value) = value
                && let Err(problem) = meta::network(value, &mut links, &mut found)
            {
                found.problems.push(format!("failed to unmarshal metal network config from META: {problem}"));
            }
            metal(&cmdline, &volumes, &mut found)
        }
    };

    let version = Version::parse(&image.version);
    let since = |minor| version.is_none_or(|version| version.at_least(minor));
    let embedded = || schematic::parse(&image.customization).ok().map(|schematic| schematic.embedded.into_bytes());
    let sources: [(&'static str, Option<Vec<u8>>); 4] = [
        ("embedded", embedded().filter(|text| !text.is_empty() && since(12))),
        ("cmdline-early", inline(&cmdline, "talos.config.early", &mut found).filter(|_| since(11))),
        (image.platform.name(), platform.map(unzipped)),
        ("cmdline-late", inline(&cmdline, "talos.config.inline", &mut found)),
    ];
    for (source, config) in sources {
        let Some(config) = config else { continue };
        let complete = is_complete(&config);
        (found.config, found.source) = (Some(config), Some(source));
        if complete {
            found.waits = None;
            break;
        }
    }
    found.links = links.finish();
    found
}

/// The volumes in the CD drives, in the order of the slots.
fn volumes(machine: &Machine, hypervisor: &dyn Hypervisor) -> Vec<Volume> {
    let drives = machine.drives.iter().filter(|drive| drive.kind == DriveKind::Cdrom);
    let media = drives.filter_map(|drive| hypervisor.read_media(drive.volume.as_deref()?).ok());
    media.filter_map(|bytes| iso::read(&bytes).ok()).collect()
}

/// What `talos.config=` leads to.
fn metal(cmdline: &Cmdline, volumes: &[Volume], found: &mut Acquired) -> Option<Vec<u8>> {
    let option = cmdline.first("talos.config").filter(|option| *option != "none")?;
    if option != METAL_ISO {
        // Nobody serves configurations on the networks of a site.
        found.waits = Some(format!("failed to fetch machine config from {option:?}"));
        return None;
    }
    let Some(volume) = volumes.iter().find(|volume| volume.label == METAL_ISO) else {
        found.waits = Some(format!("no volume is labelled {METAL_ISO}"));
        return None;
    };
    let config = volume.files.get("config.yaml");
    if config.is_none() {
        found.waits = Some(format!("read config: open config.yaml: no such file on the volume {METAL_ISO}"));
    }
    config.cloned()
}

/// A configuration on the kernel's command line: base64 of Zstandard, in one argument or several.
fn inline(cmdline: &Cmdline, name: &str, found: &mut Acquired) -> Option<Vec<u8>> {
    let text: String = cmdline.all(name).collect();
    if text.is_empty() {
        return None;
    }
    let config = STANDARD.decode(text).ok().and_then(|bytes| unpack(&bytes, Packing::Zst));
    if config.is_none() {
        found.waits = Some(format!("failed to decode the config from cmdline {name}"));
    }
    config
}

fn unzipped(config: Vec<u8>) -> Vec<u8> {
    match Packing::of(&config) {
        Some(Packing::Gz) => unpack(&config, Packing::Gz).unwrap_or(config),
        _ => config,
    }
}

/// Whether a configuration has what it takes to boot: a document with `machine` and `cluster`.
fn is_complete(config: &[u8]) -> bool {
    let text = String::from_utf8_lossy(config);
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents.iter().filter_map(|document| yaml::parse(document).ok().flatten()).any(|tree| {
        let there = |key: &str| tree.get(key).is_some_and(|section| !section.is_null());
        there("machine") && there("cluster")
    })
}

#[cfg(test)]
mod tests;
