//! Names and time.

use std::net::IpAddr;

use super::super::yaml::Node;
use super::super::{Config, Document};

/// How a machine without a name of its own gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoHostname {
    /// It does not.
    Off,
    /// From its address: `talos-10-0-0-11`.
    Address,
    /// From its identity: `talos-xxx-yyy`.
    Stable,
}

impl Config {
    fn hostname_document(&self) -> Option<&Document> {
        self.of_kind("HostnameConfig").next()
    }

    /// The name the configuration gives.
    pub fn hostname(&self) -> Option<&str> {
        let name = match self.hostname_document() {
            Some(document) => document.root.get("hostname")?.text(),
            None => self.machine_text(&["network", "hostname"]),
        };
        name.filter(|name| !name.is_empty())
    }

    /// How it is named otherwise.
    pub fn auto_hostname(&self) -> AutoHostname {
        match self.hostname_document() {
            Some(document) => match document.root.get("auto").and_then(Node::text) {
                Some(word) if word.eq_ignore_ascii_case("stable") => AutoHostname::Stable,
                _ => AutoHostname::Off,
            },
            None if self.truth(&["machine", "features", "stableHostname"]).unwrap_or(false) => AutoHostname::Stable,
            None => AutoHostname::Address,
        }
    }

    /// Servers of names, as configured.
    pub fn nameservers(&self) -> Vec<IpAddr> {
        let new = self
            .of_kind("ResolverConfig")
            .flat_map(|document| document.root.get("nameservers").map(Node::items).unwrap_or_default())
            .filter_map(|node| node.get("address")?.text())
            .map(str::to_owned);
        self.texts(&["machine", "network", "nameservers"]).into_iter().chain(new).filter_map(|text| text.parse().ok()).collect()
    }

    /// Domains that short names are looked up in.
    pub fn search_domains(&self) -> Vec<String> {
        let new = self
            .of_kind("ResolverConfig")
            .flat_map(|document| document.root.at(&["searchDomains", "domains"]).map(Node::texts).unwrap_or_default());
        self.texts(&["machine", "network", "searchDomains"]).into_iter().chain(new).collect()
    }

    /// Names of addresses that no server is asked for.
    pub fn extra_hosts(&self) -> Vec<(String, Vec<String>)> {
        let old = self.at(&["machine", "network", "extraHostEntries"]).map(Node::items).unwrap_or_default();
        let old = old
            .iter()
            .filter_map(|node| Some((node.get("ip")?.text()?.to_owned(), node.get("aliases").map(Node::texts).unwrap_or_default())));
        let new = self.of_kind("StaticHostConfig").map(|document| {
            (document.name.clone().unwrap_or_default(), document.root.get("hostnames").map(Node::texts).unwrap_or_default())
        });
        old.chain(new).collect()
    }

    /// Servers of time; the public one where none is configured.
    pub fn time_servers(&self) -> Vec<String> {
        let document = self.of_kind("TimeSyncConfig").next();
        let set = match document {
            Some(document) => document.root.at(&["ntp", "servers"]).map(Node::texts).unwrap_or_default(),
            None => self.texts(&["machine", "time", "servers"]),
        };
        if set.is_empty() { vec!["time.cloudflare.com".to_owned()] } else { set }
    }

    /// Whether the clock is left alone.
    pub fn time_sync_disabled(&self) -> bool {
        match self.of_kind("TimeSyncConfig").next() {
            Some(document) => document.root.get("enabled").and_then(Node::truth) == Some(false),
            None => self.truth(&["machine", "time", "disabled"]).unwrap_or(false),
        }
    }
}
