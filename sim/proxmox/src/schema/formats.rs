//! What names, addresses and identifiers must look like, and what Proxmox says where they do not.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{access, list, perl, size, volume};
use crate::Release;

type Checked = Result<(), String>;

fn must(right: bool, message: impl FnOnce() -> String) -> Checked {
    if right { Ok(()) } else { Err(message()) }
}

#[expect(clippy::unnecessary_wraps, reason = "a check like the others")]
pub(super) fn any(_: Release, _: &str) -> Checked {
    Ok(())
}

pub(super) fn vmid(_: Release, text: &str) -> Checked {
    must(perl::matches("[1-9][0-9]{2,8}", text), || "value does not look like a valid VM ID".to_owned())
}

pub(super) fn node(_: Release, text: &str) -> Checked {
    must(perl::matches("([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)", text), || "value does not look like a valid node name".to_owned())
}

pub(super) fn config_id(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:[a-z][a-z0-9_-]+)", text), || format!("invalid configuration ID '{text}'"))
}

pub(super) fn storage_id(release: Release, text: &str) -> Checked {
    if release == Release::V9 && text.chars().count() < 2 {
        return Err(format!("storage ID '{text}' cannot be shorter than 2 characters"));
    }
    must(perl::matches("(?i:[a-z][a-z0-9._-]*[a-z0-9])", text), || format!("storage ID '{text}' contains illegal characters"))
}

pub(super) fn bridge_id(_: Release, text: &str) -> Checked {
    must(perl::matches(r"[-_.\w\d]+", text), || format!("invalid bridge ID '{text}'"))
}

pub(super) fn mac(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:[a-f0-9][02468ace](?::[a-f0-9]{2}){5})", text), || {
        "value does not look like a valid unicast MAC address".to_owned()
    })
}

pub(super) fn mac_prefix(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}(?::[a-f0-9]?)?)", text), || {
        "value is not a valid unicast MAC address prefix".to_owned()
    })
}

pub(super) fn dns_name(_: Release, text: &str) -> Checked {
    let label = "([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)";
    must(perl::matches(&format!(r"({label}\.)*{label}"), text), || "value does not look like a valid DNS name".to_owned())
}

pub(super) fn interface(_: Release, text: &str) -> Checked {
    must(perl::matches(r"(?i:[a-z][a-z0-9_]{1,20}([:.]\d+)?)", text), || format!("invalid network interface name '{text}'"))
}

pub(super) fn tag(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:[a-z0-9_][a-z0-9_.+-]*)", text), || "invalid characters in tag".to_owned())
}

pub(super) fn disk_size(_: Release, text: &str) -> Checked {
    must(size::parse(text).is_some(), || format!("value does not look like a valid disk size: {text}"))
}

pub(super) fn url_encoded(_: Release, text: &str) -> Checked {
    must(perl::matches("[-%a-zA-Z0-9_.!~*'()]*", text), || format!("invalid urlencoded string: {text}"))
}

pub(super) fn volume_id(_: Release, text: &str) -> Checked {
    volume::parse_volume_id(text).map(drop).map_err(|message| message.trim_end_matches('\n').to_owned())
}

pub(super) fn volume_id_or_path(release: Release, text: &str) -> Checked {
    if text.starts_with('/') { Ok(()) } else { volume_id(release, text) }
}

pub(super) fn drive_file(release: Release, text: &str) -> Checked {
    if text == "none" || text == "cdrom" { Ok(()) } else { volume_id_or_path(release, text) }
}

fn is_ipv4(text: &str) -> bool {
    text.strip_suffix('\n').unwrap_or(text).parse::<Ipv4Addr>().is_ok()
}

fn is_ipv6(text: &str) -> bool {
    text.strip_suffix('\n').unwrap_or(text).parse::<Ipv6Addr>().is_ok()
}

/// Proxmox takes no network that is larger than a `/8`.
fn is_cidr(text: &str, address: fn(&str) -> bool, longest: u32) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split_once('/').is_some_and(|(host, prefix)| {
        address(host)
            && prefix.bytes().all(|digit| digit.is_ascii_digit())
            && prefix.parse().is_ok_and(|prefix: u32| prefix > 7 && prefix <= longest)
    })
}

pub(super) fn ipv4(_: Release, text: &str) -> Checked {
    must(is_ipv4(text), || "value does not look like a valid IPv4 address".to_owned())
}

pub(super) fn ipv6(_: Release, text: &str) -> Checked {
    must(is_ipv6(text), || "value does not look like a valid IPv6 address".to_owned())
}

pub(super) fn ip(_: Release, text: &str) -> Checked {
    must(is_ipv4(text) || is_ipv6(text), || "value does not look like a valid IP address".to_owned())
}

pub(super) fn cidr_v4(_: Release, text: &str) -> Checked {
    must(is_cidr(text, is_ipv4, 32), || "value does not look like a valid IPv4 CIDR network".to_owned())
}

pub(super) fn cidr_v6(_: Release, text: &str) -> Checked {
    must(is_cidr(text, is_ipv6, 128), || "value does not look like a valid IPv6 CIDR network".to_owned())
}

pub(super) fn cidr(_: Release, text: &str) -> Checked {
    must(is_cidr(text, is_ipv4, 32) || is_cidr(text, is_ipv6, 128), || "value does not look like a valid CIDR network".to_owned())
}

pub(super) fn ipv4_mask(_: Release, text: &str) -> Checked {
    let right = text.parse::<Ipv4Addr>().map(u32::from).is_ok_and(|mask| mask.leading_ones() == mask.count_ones());
    must(right, || "value does not look like a valid IP netmask".to_owned())
}

pub(super) fn ipv4_config(_: Release, text: &str) -> Checked {
    must(perl::matches("(?:dhcp|manual)", text) || is_cidr(text, is_ipv4, 32), || {
        "value does not look like a valid ipv4 network configuration".to_owned()
    })
}

pub(super) fn ipv6_config(_: Release, text: &str) -> Checked {
    must(perl::matches("(?:auto|dhcp|manual)", text) || is_cidr(text, is_ipv6, 128), || {
        "value does not look like a valid ipv6 network configuration".to_owned()
    })
}

pub(super) fn address(release: Release, text: &str) -> Checked {
    must(ip(release, text).is_ok() || dns_name(release, text).is_ok(), || format!("value does not look like a valid address: {text}"))
}

pub(super) fn email(_: Release, text: &str) -> Checked {
    must(perl::matches(r"[\w+~-]+(\.[\w+~-]+)*@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*", text), || {
        "value does not look like a valid email address".to_owned()
    })
}

pub(super) fn vlan(_: Release, text: &str) -> Checked {
    let Some(groups) = perl::captures(r"(\d+)(?:-(\d+))?", text) else {
        return Err(format!("invalid VLAN configuration '{text}'"));
    };
    let tag = |index: usize| groups.get(index).map(|tag| tag.as_str().parse::<u32>().unwrap_or(u32::MAX));
    let tags = [tag(1), tag(2)];
    if let Some(tag) = tags.iter().flatten().find(|tag| **tag < 2 || **tag > 4094) {
        return Err(format!("invalid VLAN tag '{tag}'"));
    }
    match tags {
        [Some(start), Some(end)] if start >= end => Err(format!("VLAN range must go from lower to higher tag '{text}'")),
        _ => Ok(()),
    }
}

pub(super) fn startup_order(_: Release, text: &str) -> Checked {
    let part = |part: &str| {
        part.trim().is_empty()
            || perl::matches(r"(order=)?(\d+)", part)
            || perl::matches(r"up=(\d+)", part)
            || perl::matches(r"down=(\d+)", part)
    };
    must(perl::truthy(text) && text.split(',').all(part), || "unable to parse startup options".to_owned())
}

pub(super) fn task_status(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:ok|error|warning|unknown)", text), || format!("invalid status '{text}'"))
}

pub(super) fn hotplug(_: Release, text: &str) -> Checked {
    if text == "0" || text == "1" {
        return Ok(());
    }
    let known = ["network", "disk", "cpu", "memory", "usb", "cloudinit"];
    list::split(text)
        .iter()
        .try_for_each(|feature| must(known.contains(&feature.as_str()), || format!("invalid hotplug feature '{feature}'")))
}

pub(super) fn cpu_set(_: Release, text: &str) -> Checked {
    let range = |part: &str| {
        perl::captures(r"\s*(\d+)(?:-(\d+))?\s*", part).is_some_and(|groups| {
            let cpu = |index: usize| groups.get(index).and_then(|cpu| cpu.as_str().parse::<u32>().ok());
            cpu(1).is_some_and(|from| cpu(2).is_none_or(|to| from <= to))
        })
    };
    must(text.trim_end_matches(',').is_empty() || text.trim_end_matches(',').split(',').all(range), || {
        "unable to parse cpuset option".to_owned()
    })
}

pub(super) fn phys_bits(_: Release, text: &str) -> Checked {
    let right = text == "host" || text.parse().is_ok_and(|bits: u8| (8..=64).contains(&bits));
    must(right, || "value must be an integer between 8 and 64 or 'host'".to_owned())
}

pub(super) fn storage_content(_: Release, text: &str) -> Checked {
    let known = ["images", "rootdir", "vztmpl", "iso", "backup", "snippets", "none", "import"];
    must(known.contains(&text), || format!("invalid content type '{text}'"))
}

pub(super) fn storage_path(_: Release, text: &str) -> Checked {
    let mut letters = text.chars();
    let right = letters.next() == Some('/') && letters.next().is_some_and(|letter| !";()".contains(letter));
    must(right, || "value does not look like a valid absolute path".to_owned())
}

/// A path that stands in a property string, where some letters have a meaning.
pub(super) fn mapped_path(_: Release, text: &str) -> Checked {
    let mut letters = text.chars();
    let right = letters.next() == Some('/') && letters.next().is_some_and(|letter| !";,=()".contains(letter));
    must(right, || {
        let message = "Value does not look like a valid absolute path.";
        format!("{message} These symbols are currently not allowed in path: ;,=()")
    })
}

pub(super) fn storage_server(release: Release, text: &str) -> Checked {
    must(address(release, text).is_ok(), || "value does not look like a valid server name or IP address".to_owned())
}

pub(super) fn storage_portal(release: Release, text: &str) -> Checked {
    let bare = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, port) = match bare {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None if is_ipv6(text) => (text, None),
        None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    must(address(release, host).is_ok() && port.is_none_or(|port| port.parse::<u16>().is_ok()), || {
        "value does not look like a valid portal address".to_owned()
    })
}

pub(super) fn storage_options(_: Release, text: &str) -> Checked {
    must(perl::matches(r"\S+", text), || format!("invalid options '{text}'"))
}

pub(super) fn lvm_name(_: Release, text: &str) -> Checked {
    must(perl::matches("(?i:[a-z0-9][a-z0-9._-]*[a-z0-9])", text), || format!("lvm name '{text}' contains illegal characters"))
}

pub(super) fn dir_override(release: Release, text: &str) -> Checked {
    let right = perl::captures(r"([a-z]+)=([^.]*(?:\.?[^.]+)+)", text).is_some_and(|groups| {
        storage_content(release, &groups[1]).is_ok() && groups[2].len() < 1023 && groups[2].split('/').all(|part| part.len() < 255)
    });
    must(right, || format!("invalid override '{text}'"))
}

/// A storage for all, one for another (`from:to`), or `1` for each to itself.
pub(super) fn storage_pair(release: Release, text: &str) -> Checked {
    // The text of the inner check comes with its newline, and two more are added on the way out.
    let inner = |id: &str| storage_id(release, id).map_err(|message| format!("entry '{text}' contains invalid ID - {message}\n\n"));
    match text.split_once(':') {
        _ if text == "1" => Ok(()),
        Some((from, to)) if !from.is_empty() && !to.is_empty() && !to.contains(':') => inner(from).and_then(|()| inner(to)),
        _ => inner(text),
    }
}

pub(super) fn user_id(_: Release, text: &str) -> Checked {
    let letters = text.chars().count();
    if letters < 3 {
        return Err(format!("user name '{text}' is too short"));
    }
    if letters > 64 {
        return Err(format!("user name '{text}' is too long ({letters} > 64)"));
    }
    must(perl::matches(r"([^\s:/]+)@([A-Za-z][A-Za-z0-9._-]+)", text), || format!("value '{text}' does not look like a valid user name"))
}

pub(super) fn token_id(_: Release, text: &str) -> Checked {
    must(perl::matches(r"(([^\s:/]+)@([A-Za-z][A-Za-z0-9._-]+))!([A-Za-z][A-Za-z0-9._-]+)", text), || {
        format!("value '{text}' does not look like a valid token ID")
    })
}

pub(super) fn realm(_: Release, text: &str) -> Checked {
    must(perl::matches("[A-Za-z][A-Za-z0-9._-]+", text), || "value does not look like a valid realm".to_owned())
}

pub(super) fn group_id(_: Release, text: &str) -> Checked {
    must(perl::matches("[A-Za-z0-9._-]+", text), || format!("group name '{text}' contains invalid characters"))
}

pub(super) fn role_id(_: Release, text: &str) -> Checked {
    must(perl::matches("[A-Za-z0-9._-]+", text), || format!("role name '{text}' contains invalid characters"))
}

pub(super) fn pool_id(_: Release, text: &str) -> Checked {
    if text.trim_end_matches('/').split('/').count() > 3 {
        return Err(format!("pool name '{text}' nested too deeply (max levels = 3)"));
    }
    must(perl::matches("[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2}", text), || format!("pool name '{text}' contains invalid characters"))
}

pub(super) fn privilege(release: Release, text: &str) -> Checked {
    must(access::privileges(release).any(|known| known == text), || format!("invalid privilege '{text}'"))
}

/// What HA calls a resource: `vm:100`, or just the number.
pub(super) fn ha_resource(_: Release, text: &str) -> Checked {
    must(perl::matches(r"([a-z]+:\S+|\d+)", text), || "value does not look like a valid ha resource id".to_owned())
}

/// As [`ha_resource`], but never just the number.
pub(super) fn ha_resource_id(_: Release, text: &str) -> Checked {
    must(perl::matches(r"[a-z]+:\S+", text), || "value does not look like a valid ha resource id".to_owned())
}

/// A node of a group or rule, with an optional priority.
pub(super) fn ha_node(release: Release, text: &str) -> Checked {
    must(perl::matches(r"([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)(:\d+)?", text), || match release {
        Release::V8 => "value does not look like a valid ha group node".to_owned(),
        Release::V9 => "value does not look like a valid ha node".to_owned(),
    })
}

pub(super) fn acme_domain(_: Release, text: &str) -> Checked {
    let label = "(?i:[a-z0-9][a-z0-9_-]*)";
    must(perl::matches(&format!(r"{label}(?:\.{label})+"), text), || format!("value '{text}' does not look like a valid domain name!"))
}

pub(super) fn acme_alias(_: Release, text: &str) -> Checked {
    let label = "(?i:[a-z0-9_][a-z0-9_-]*)";
    must(perl::matches(&format!(r"{label}(?:\.{label})+"), text), || format!("value '{text}' does not look like a valid alias name!"))
}

pub(super) fn ldap_attribute(_: Release, text: &str) -> Checked {
    must(perl::matches("[a-zA-Z0-9]+", text), || format!("value '{text}' does not look like a simple ldap attribute name"))
}
