//! A first inventory, for people who have none.

use std::fmt::Write;
use std::net::Ipv4Addr;

use super::files::Files;

/// What must not be committed.
pub const IGNORED: &str = "/.emhost/\n/generated/\n/kubeconfig\n/talosconfig\n";

pub(super) const SITE: &str = r#"# What the clusters of one site share; beside this folder, it serves every cluster there.
#
# slots:
#   pve: {url: "https://PROXMOX:8006", fingerprint: "sha256:…", credential: pve_token}
#
# The fingerprint is that of the certificate, as Proxmox VE shows it under Node > System > Certificates. The credential is the
# name of a secret, `USER@REALM!TOKENID=SECRET`, in secrets.sops.yaml or in the variable EMHOST_SECRET_PVE_TOKEN.
"#;

/// The answers that a first inventory is made from.
#[derive(Debug, Clone)]
pub struct Starter {
    /// The cluster's name.
    pub name: String,
    /// Number of control planes.
    pub control_planes: u32,
    /// Number of workers.
    pub workers: u32,
    /// The address of the first control plane; the others follow.
    pub first: Ipv4Addr,
    /// The nodes' router and the length of their network's prefix; none for DHCP.
    pub router: Option<(String, u8)>,
    /// The Proxmox VE host.
    pub host: String,
}

impl Starter {
    /// The answers for those who do not want to be asked.
    pub fn named(folder: &str) -> Self {
        Self {
            name: label(folder),
            control_planes: 1,
            workers: 1,
            first: Ipv4Addr::new(10, 0, 10, 11),
            router: Some(("10.0.10.1".to_owned(), 24)),
            host: "pve1".to_owned(),
        }
    }

    /// The files, by name.
    pub fn files(&self) -> [(&'static str, String); 3] {
        [("cluster.yaml", self.cluster()), ("nodes.yaml", self.nodes()), ("site.yaml", SITE.to_owned())]
    }

    /// The same, to be read.
    pub fn inventory(&self) -> Files {
        self.files().into_iter().fold(Files::default(), |files, (name, text)| files.with(name, text))
    }

    fn cluster(&self) -> String {
        let router = match &self.router {
            Some((gateway, prefix)) => format!("  gateway: {}\n  prefix: {prefix}\n  nameservers: [1.1.1.1, 8.8.8.8]\n", quoted(gateway)),
            None => "  # Without a gateway, addresses come by DHCP: reserve those of nodes.yaml.\n".to_owned(),
        };
        format!(
            "cluster_name: {}\ntalos_version: v1.11.5\nkubernetes_version: v1.34.1\n\nnetwork:\n  pod_cidr: 10.244.0.0/16\n  svc_cidr: 10.96.0.0/12\n{router}\nproxmox:\n  node: {}\n  datastore: local-lvm\n  bridge: vmbr0\n",
            quoted(&self.name),
            quoted(&self.host)
        )
    }

    fn nodes(&self) -> String {
        // Workers begin at a round distance, so that a control plane can be added without a gap.
        let workers = self.control_planes.max(10);
        let lists = [("controlplane", "cp", self.control_planes, 0, "40G"), ("workers", "wk", self.workers, workers, "60G")];
        let mut text = String::new();
        for (list, short, count, from, disk) in lists {
            let separator = if text.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{separator}{list}:{}", if count == 0 { " []" } else { "" });
            for index in 0..count {
                let ip = Ipv4Addr::from(u32::from(self.first).wrapping_add(from).wrapping_add(index));
                let name = quoted(&format!("{}-{short}-{}", self.name, index + 1));
                let _ = write!(text, "  - name: {name}\n    ip: {ip}\n    cpu: 4\n    ram: 8192\n    disk: {disk}\n");
            }
        }
        text
    }
}

/// Text as YAML: as it is where that is safe, else in quotes.
pub(super) fn quoted(text: &str) -> String {
    let safe = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let plain = safe && (text.starts_with(|first: char| first.is_ascii_alphabetic()) || text.parse::<Ipv4Addr>().is_ok());
    let word = ["true", "false", "null"].contains(&text.to_ascii_lowercase().as_str());
    // JSON's strings are YAML's too.
    if plain && !word { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// A folder's name as a cluster's.
fn label(folder: &str) -> String {
    let usual: String = folder.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(40).collect();
    let label = usual.trim_matches('-');
    if label.is_empty() { "dev".to_owned() } else { label.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::read;

    #[test]
    fn what_it_writes_is_valid() {
        for (name, control_planes, workers) in
            [("dev", 1, 1), ("My Cluster!", 3, 0), ("1", 5, 20), ("", 1, 0), ("null", 1, 2), ("TRUE", 1, 1)]
        {
            for router in [None, Some(("10.0.10.1".to_owned(), 24))] {
                let starter = Starter { control_planes, workers, router, ..Starter::named(name) };
                let loaded = read(&starter.inventory());
                assert_eq!(loaded.findings, [], "{name}");
                assert_eq!(loaded.cluster.map(|cluster| cluster.nodes.len()), Some((control_planes + workers) as usize));
            }
        }
    }

    #[test]
    fn answers_cannot_write_keys() {
        let starter = Starter { host: "pve1\ntalos_version: v9".to_owned(), ..Starter::named("dev") };
        let loaded = read(&starter.inventory());
        assert!(loaded.findings.iter().all(|finding| finding.code == "inventory/value"), "{:?}", loaded.findings);
    }
}
