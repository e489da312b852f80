//! Which names an expression may use.

use super::Type;

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    Disk,
    Volume,
    Link,
    /// When memory counts as exhausted.
    OomTrigger,
    /// Which group of processes is stopped then.
    OomRanking,
}

impl Environment {
    /// The type of a name.
    pub(super) fn name(self, name: &str) -> Option<Type> {
        match (self, name) {
            (Self::Disk, "system_disk") => Some(Type::Bool),
            (Self::Disk | Self::Volume, "disk") => Some(Type::Object("disk")),
            (Self::Volume, "volume") => Some(Type::Object("volume")),
            (Self::Link, "link") => Some(Type::Object("link")),
            (Self::OomTrigger, "time_since_trigger") => Some(Type::Duration),
            (Self::OomTrigger | Self::OomRanking, "Besteffort" | "Burstable" | "Guaranteed" | "Podruntime" | "System")
            | (Self::OomRanking, "class") => Some(Type::Int),
            (Self::OomRanking, "memory_max" | "memory_current" | "memory_peak") => Some(Type::Optional(Box::new(Type::Uint))),
            (Self::OomRanking, "path") => Some(Type::Text),
            (Self::OomTrigger, name) if pressure(name) => {
                Some(if name.contains("qos_") { Type::Map(Box::new(Type::Int), Box::new(Type::Double)) } else { Type::Double })
            }
            (Self::Link, _) => None,
            (_, name) => unit(name).map(|_| Type::Uint),
        }
    }

    /// Whether a function beyond the standard ones is there, with the types it takes and gives.
    pub(super) fn function(self, name: &str) -> Option<(Vec<Type>, Type)> {
        match (self, name) {
            (Self::Disk | Self::Link, "glob") => Some((vec![Type::Text, Type::Text], Type::Bool)),
            (Self::Link, "mac") => Some((vec![Type::Bytes], Type::Text)),
            (Self::OomTrigger, "multiply_qos_vectors") => {
                let map = || Type::Map(Box::new(Type::Any), Box::new(Type::Double));
                Some((vec![map(), map()], Type::Double))
            }
            _ => None,
        }
    }
}

/// The type of a field of a disk, volume or link.
pub(super) fn field(object: &str, name: &str) -> Option<Type> {
    match object {
        "disk" => disk(name),
        "volume" => volume(name),
        _ => link(name),
    }
}

fn disk(name: &str) -> Option<Type> {
    Some(match name {
        "size" | "io_size" | "sector_size" => Type::Uint,
        "readonly" | "rotational" | "cdrom" => Type::Bool,
        "model" | "serial" | "modalias" | "wwid" | "bus_path" | "sub_system" | "transport" | "dev_path" | "pretty_size" | "uuid" => {
            Type::Text
        }
        "secondary_disks" | "symlinks" => Type::List(Box::new(Type::Text)),
        _ => return None,
    })
}

fn volume(name: &str) -> Option<Type> {
    Some(match name {
        "size" | "sector_size" | "io_size" | "block_size" | "filesystem_block_size" | "probed_size" | "partition_index" | "offset" => {
            Type::Uint
        }
        "name" | "uuid" | "label" | "type" | "parent" | "device_path" | "dev_path" | "parent_dev_path" | "pretty_size"
        | "partition_uuid" | "partition_type" | "partition_label" => Type::Text,
        _ => return None,
    })
}

fn link(name: &str) -> Option<Type> {
    Some(match name {
        "index" | "link_index" | "flags" | "mtu" | "master_index" => Type::Uint,
        "type" | "operational_state" | "port" | "duplex" | "speed_megabits" => Type::Int,
        "hardware_addr" | "broadcast_addr" | "permanent_addr" => Type::Bytes,
        "queue_disc" | "kind" | "slave_kind" | "bus_path" | "pciid" | "driver" | "driver_version" | "firmware_version" | "product_id"
        | "vendor_id" | "product" | "vendor" | "alias" => Type::Text,
        "alt_names" => Type::List(Box::new(Type::Text)),
        "link_state" => Type::Bool,
        "vlan" | "bridge_master" | "bond_master" | "wireguard" | "vrf_master" => Type::Any,
        _ => return None,
    })
}

/// Bytes of a unit such as `GiB`.
pub(super) fn unit(name: &str) -> Option<u64> {
    let (letter, base) = match name {
        "kB" => (0, 1000_u64),
        name => {
            let letter = "KMGTPE".find(name.chars().next()?)?;
            match &name[1..] {
                "iB" => (letter, 1024),
                "B" if letter > 0 => (letter, 1000),
                _ => return None,
            }
        }
    };
    base.checked_pow(u32::try_from(letter).ok()? + 1)
}

/// `[d_][qos_]memory_{some,full}_{avg10,avg60,avg300,total}`, and use of memory per class.
fn pressure(name: &str) -> bool {
    let name = name.strip_prefix("d_").unwrap_or(name);
    if let Some("current" | "peak" | "max") = name.strip_prefix("qos_memory_") {
        return true;
    }
    let name = name.strip_prefix("qos_").unwrap_or(name);
    let Some(rest) = name.strip_prefix("memory_some_").or_else(|| name.strip_prefix("memory_full_")) else { return false };
    matches!(rest, "avg10" | "avg60" | "avg300" | "total")
}
