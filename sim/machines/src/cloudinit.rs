//! The drive that Proxmox generates for cloud-init: `user-data`, `meta-data`,
//! `network-config` and `vendor-data` on a volume labelled `cidata`.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use sha1::{Digest, Sha1};

/// What the cloud-init options of a machine's configuration say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudInit {
    /// The name of the machine up to its first dot, or `VM` and the VMID.
    pub hostname: String,
    /// With the domain; the host name where none is known.
    pub fqdn: Option<String>,
    /// Every network card that has an `ipconfigN`, in the order of their names.
    pub nics: Vec<CloudNic>,
    /// `nameserver`, or what the host itself uses.
    pub nameservers: Vec<String>,
    /// `searchdomain`, or what the host itself uses.
    pub searchdomain: Option<String>,
    /// `sshkeys`, decoded, one each.
    pub sshkeys: Vec<String>,
    /// `ciuser`.
    pub user: Option<String>,
    /// `cipassword`, hashed.
    pub password: Option<String>,
    /// `ciupgrade`, which is on where nothing is said.
    pub upgrade: bool,
    /// The files of `cicustom`.
    pub custom: Custom,
}

/// One network card with its `ipconfigN`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudNic {
    /// The N of `netN`.
    pub index: u32,
    /// The address of the card.
    pub mac: String,
    /// `dhcp`, or an address with its prefix length.
    pub ip: Option<String>,
    /// The IPv4 gateway.
    pub gateway: Option<String>,
    /// `dhcp`, `auto`, or an address with its prefix length.
    pub ip6: Option<String>,
    /// The IPv6 gateway.
    pub gateway6: Option<String>,
}

/// Snippets that stand in for what Proxmox would write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Custom {
    /// In place of `user-data`.
    pub user: Option<Vec<u8>>,
    /// In place of `network-config`.
    pub network: Option<Vec<u8>>,
    /// In place of `meta-data`.
    pub meta: Option<Vec<u8>>,
    /// In place of the empty `vendor-data`.
    pub vendor: Option<Vec<u8>>,
}

/// The generated `user-data`, as `cloudinit/dump?type=user` shows it.
pub fn user_data(init: &CloudInit) -> String {
    let fqdn = init.fqdn.as_deref().unwrap_or(&init.hostname);
    let mut text = format!("#cloud-config\nhostname: {}\nmanage_etc_hosts: true\nfqdn: {fqdn}\n", init.hostname);
    let root = init.user.as_deref() == Some("root");
    line(&mut text, "user: ", init.user.as_deref());
    line(&mut text, "disable_root: ", root.then_some("False"));
    line(&mut text, "password: ", init.password.as_deref());
    if !init.sshkeys.is_empty() {
        text.push_str("ssh_authorized_keys:\n");
        for key in &init.sshkeys {
            line(&mut text, "  - ", Some(key.trim()));
        }
    }
    text.push_str("chpasswd:\n  expire: False\n");
    if !root {
        text.push_str("users:\n  - default\n");
    }
    line(&mut text, "package_upgrade: ", init.upgrade.then_some("true"));
    text
}

/// The generated `network-config`, version 1, as `cloudinit/dump?type=network` shows it.
pub fn network_config(init: &CloudInit) -> String {
    let mut text = String::from("version: 1\nconfig:\n");
    for nic in &init.nics {
        let (index, mac) = (nic.index, nic.mac.to_lowercase());
        // Writing into a String cannot fail.
        let _ = write!(text, "    - type: physical\n      name: eth{index}\n      mac_address: '{mac}'\n      subnets:\n");
        match nic.ip.as_deref() {
            None => {}
            Some("dhcp") => text.push_str("      - type: dhcp4\n"),
            Some(cidr) => {
                let (address, mask) = split(cidr);
                let _ = write!(text, "      - type: static\n        address: '{address}'\n        netmask: '{mask}'\n");
                quoted(&mut text, "        gateway: ", nic.gateway.as_deref());
            }
        }
        match nic.ip6.as_deref() {
            None => {}
            Some("dhcp") => text.push_str("      - type: dhcp6\n"),
            Some("auto") => text.push_str("      - type: ipv6_slaac\n"),
            Some(cidr) => {
                let _ = write!(text, "      - type: static6\n        address: '{cidr}'\n");
                quoted(&mut text, "        gateway: ", nic.gateway6.as_deref());
            }
        }
    }
    let domains: Vec<&str> = init.searchdomain.iter().flat_map(|list| list.split_whitespace()).collect();
    text.push_str("    - type: nameserver\n");
    for (head, list) in [("      address:\n", init.nameservers.iter().map(String::as_str).collect()), ("      search:\n", domains)] {
        if !list.is_empty() {
            text.push_str(head);
            for item in list {
                quoted(&mut text, "      - ", Some(item));
            }
        }
    }
    text
}

/// The generated `meta-data`: an id that changes whenever the other files do.
pub fn meta_data(user: &[u8], network: &[u8]) -> String {
    let hash = Sha1::new().chain_update(user).chain_update(network).finalize();
    let id = hash.iter().fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
    format!("instance-id: {id}\n")
}

/// The bytes of the drive.
pub fn volume(init: &CloudInit) -> Vec<u8> {
    let user = init.custom.user.clone().unwrap_or_else(|| user_data(init).into_bytes());
    let network = init.custom.network.clone().unwrap_or_else(|| network_config(init).into_bytes());
    let meta = init.custom.meta.clone().unwrap_or_else(|| meta_data(&user, &network).into_bytes());
    let vendor = init.custom.vendor.as_deref().unwrap_or_default();
    let files: [(&str, &[u8]); 4] = [("meta-data", &meta), ("network-config", &network), ("user-data", &user), ("vendor-data", vendor)];
    // Only snippets of gigabytes are refused, and Proxmox stops at 3 MiB.
    emhost_sdk::iso::volume("cidata", &files).unwrap_or_default()
}

fn line(text: &mut String, head: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = writeln!(text, "{head}{value}");
    }
}

fn quoted(text: &mut String, head: &str, value: Option<&str>) {
    line(text, head, value.map(|value| format!("'{value}'")).as_deref());
}

/// Address and mask of a CIDR. The option was checked when it was set.
fn split(cidr: &str) -> (&str, Ipv4Addr) {
    let (address, prefix) = cidr.split_once('/').unwrap_or((cidr, "32"));
    let prefix = prefix.parse::<u32>().unwrap_or(32).min(32);
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    (address, Ipv4Addr::from(mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init() -> CloudInit {
        CloudInit {
            hostname: "cp-1".into(),
            nics: vec![
                CloudNic {
                    index: 0,
                    mac: "BC:24:11:00:00:01".into(),
                    ip: Some("10.0.10.11/16".into()),
                    gateway: Some("10.0.0.1".into()),
                    ..CloudNic::default()
                },
                CloudNic {
                    index: 1,
                    mac: "BC:24:11:00:00:02".into(),
                    ip: Some("dhcp".into()),
                    ip6: Some("auto".into()),
                    ..CloudNic::default()
                },
            ],
            nameservers: vec!["1.1.1.1".into(), "8.8.8.8".into()],
            searchdomain: Some("home.arpa".into()),
            upgrade: true,
            ..CloudInit::default()
        }
    }

    #[test]
    fn the_network_is_version_1_by_mac() {
        let expected = "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: 'bc:24:11:00:00:01'\n      subnets:\n      \
                        - type: static\n        address: '10.0.10.11'\n        netmask: '255.255.0.0'\n        gateway: '10.0.0.1'\n    \
                        - type: physical\n      name: eth1\n      mac_address: 'bc:24:11:00:00:02'\n      subnets:\n      - type: dhcp4\n      \
                        - type: ipv6_slaac\n    - type: nameserver\n      address:\n      - '1.1.1.1'\n      - '8.8.8.8'\n      search:\n      \
                        - 'home.arpa'\n";
        assert_eq!(network_config(&init()), expected);
    }

    #[test]
    fn user_data_is_cloud_config_which_talos_passes_over() {
        let text = user_data(&init());
        let expected = "#cloud-config\nhostname: cp-1\nmanage_etc_hosts: true\nfqdn: cp-1\nchpasswd:\n  expire: False\nusers:\n  - default\npackage_upgrade: true\n";
        assert_eq!(text, expected);
        let root = CloudInit {
            user: Some("root".into()),
            password: Some("$5$x$y".into()),
            sshkeys: vec!["ssh-ed25519 AAAA me\n".into()],
            ..init()
        };
        let text = user_data(&root);
        assert!(
            text.contains("user: root\ndisable_root: False\npassword: $5$x$y\nssh_authorized_keys:\n  - ssh-ed25519 AAAA me\n"),
            "{text}"
        );
        assert!(!text.contains("users:"), "{text}");
    }

    #[test]
    fn the_instance_is_new_when_anything_changes() {
        let network = network_config(&init());
        let one = meta_data(user_data(&init()).as_bytes(), network.as_bytes());
        assert_eq!(one.len(), "instance-id: \n".len() + 40);
        assert_ne!(one, meta_data(b"#cloud-config\n", network.as_bytes()));
    }
}
