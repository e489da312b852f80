//! The links of a machine: what they are called, and what addresses they get.

use std::net::IpAddr;

use super::super::cel::{Environment, Expression, Facts, Type, Value};
use super::super::yaml::Node;
use super::super::{Config, Document, values};
use super::glob;

/// How a link is found among those of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkMatch {
    /// By its name.
    Name(String),
    /// By what the card is like; texts may hold `*`.
    Device {
        /// The way on the bus.
        bus_path: Option<String>,
        /// The address it uses.
        hardware_addr: Option<String>,
        /// The address it was made with.
        permanent_addr: Option<String>,
        /// Vendor and product.
        pci_id: Option<String>,
        /// The driver.
        driver: Option<String>,
        /// Whether it is hardware.
        physical: Option<bool>,
    },
    /// By an expression, which gives it the alias.
    Alias {
        /// The alias.
        name: String,
        /// The expression.
        expression: String,
    },
}

/// What a link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A card, or whatever exists without the configuration.
    Existing,
    /// Several links as one.
    Bond(Vec<String>),
    /// Several links joined.
    Bridge(Vec<String>),
    /// A tagged network on another link.
    Vlan {
        /// The link below.
        parent: String,
        /// The tag.
        id: u16,
    },
    /// Nothing behind it.
    Dummy,
    /// A tunnel.
    Wireguard,
    /// Links with a routing table of their own.
    Vrf(Vec<String>),
}

/// A way to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network; everything where none.
    pub destination: Option<(IpAddr, u8)>,
    /// Who knows the way on.
    pub gateway: Option<IpAddr>,
    /// The lower the better.
    pub metric: Option<u32>,
}

/// A link as the configuration wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct Link {
    /// How it is found.
    pub selector: LinkMatch,
    /// What it is.
    pub kind: LinkKind,
    /// Whether it is left alone.
    pub ignore: bool,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether addresses are asked for, IPv4.
    pub dhcp4: bool,
    /// Whether addresses are asked for, IPv6.
    pub dhcp6: bool,
    /// Fixed addresses.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Ways to networks.
    pub routes: Vec<Route>,
    /// Addresses that one control plane of all holds.
    pub vips: Vec<IpAddr>,
    /// The largest packet.
    pub mtu: Option<u32>,
}

/// What a machine knows about a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Such as `ens18`.
    pub name: String,
    /// Lower case, with colons.
    pub mac: String,
    /// Such as `virtio_net`.
    pub driver: String,
    /// The way on the bus.
    pub bus_path: String,
    /// Such as `1AF4:1000`.
    pub pci_id: String,
    /// Whether it is hardware.
    pub physical: bool,
    /// Such as `bond`; empty for hardware.
    pub kind: String,
}

impl Facts for LinkFacts {
    fn name(&self, _: &str) -> Option<Value> {
        None
    }

    fn field(&self, object: &str, field: &str) -> Option<Value> {
        if object != "link" {
            return None;
        }
        let text = |text: &str| Value::Text(text.to_owned());
        let address = || Value::Bytes(self.mac.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect());
        Some(match field {
            "hardware_addr" | "permanent_addr" => address(),
            "driver" => text(&self.driver),
            "bus_path" => text(&self.bus_path),
            "pciid" => text(&self.pci_id),
            "kind" => text(&self.kind),
            "type" | "operational_state" | "port" | "duplex" | "speed_megabits" => {
                Value::Int(if field == "operational_state" { 6 } else { 1 })
            }
            "link_state" => Value::Bool(true),
            "index" | "link_index" | "flags" | "mtu" | "master_index" => Value::Uint(if field == "mtu" { 1500 } else { 0 }),
            "alt_names" => Value::List(Vec::new()),
            "broadcast_addr" => Value::Bytes(vec![0xff; 6]),
            _ => text(""),
        })
    }
}

impl LinkMatch {
    /// Whether a link is the one that is meant.
    pub fn matches(&self, link: &LinkFacts) -> bool {
        match self {
            Self::Name(name) => *name == link.name,
            Self::Device { bus_path, hardware_addr, permanent_addr, pci_id, driver, physical } => {
                let text = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|pattern| glob(pattern, text));
                let lower = |pattern: &Option<String>| pattern.as_ref().map(|pattern| pattern.to_lowercase());
                text(bus_path, &link.bus_path)
                    && text(&lower(hardware_addr), &link.mac)
                    && text(&lower(permanent_addr), &link.mac)
                    && text(&lower(pci_id), &link.pci_id.to_lowercase())
                    && text(driver, &link.driver)
                    && physical.is_none_or(|physical| physical == link.physical)
            }
            Self::Alias { expression, .. } => {
                Expression::read(expression, Environment::Link, &Type::Bool).is_ok_and(|expression| expression.holds(link))
            }
        }
    }
}

fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    values::subnet_or_address(text).ok().map(|prefix| (prefix.address, prefix.length))
}

fn number<T: TryFrom<i128>>(node: &Node, key: &str) -> Option<T> {
    node.get(key).and_then(Node::number).and_then(|number| T::try_from(number).ok())
}

impl Link {
    fn plain(selector: LinkMatch, kind: LinkKind) -> Self {
        Self {
            selector,
            kind,
            ignore: false,
            up: true,
            dhcp4: false,
            dhcp6: false,
            addresses: Vec::new(),
            routes: Vec::new(),
            vips: Vec::new(),
            mtu: None,
        }
    }

    /// The name or alias by which documents speak of it.
    pub fn name(&self) -> Option<&str> {
        match &self.selector {
            LinkMatch::Name(name) | LinkMatch::Alias { name, .. } => Some(name),
            LinkMatch::Device { .. } => None,
        }
    }

    /// What an interface or a VLAN of the machine's section says.
    fn section(&mut self, node: &Node) {
        let text = |key: &str| node.get(key).and_then(Node::text);
        let dhcp = node.get("dhcp").and_then(Node::truth).unwrap_or(false);
        let option = |key: &str| node.at(&["dhcpOptions", key]).and_then(Node::truth);
        self.dhcp4 = dhcp && option("ipv4").unwrap_or(true);
        self.dhcp6 = dhcp && option("ipv6").unwrap_or(false);
        let fixed = node.get("addresses").map(Node::texts).unwrap_or_default();
        self.addresses = text("cidr")
            .filter(|cidr| !cidr.is_empty())
            .map(str::to_owned)
            .into_iter()
            .chain(fixed)
            .filter_map(|text| prefix(&text))
            .collect();
        self.routes = node.get("routes").map(Node::items).unwrap_or_default().iter().map(|route| Self::route(route, "network")).collect();
        self.vips = node.at(&["vip", "ip"]).and_then(Node::text).and_then(|text| text.parse().ok()).into_iter().collect();
        self.mtu = number(node, "mtu").filter(|mtu| *mtu != 0);
    }

    fn route(node: &Node, destination: &str) -> Route {
        let text = |key: &str| node.get(key).and_then(Node::text).filter(|text| !text.is_empty());
        Route {
            destination: text(destination).and_then(prefix),
            gateway: text("gateway").and_then(|text| text.parse().ok()),
            metric: number(node, "metric").filter(|metric| *metric != 0),
        }
    }

    /// What a document about the link says.
    fn document(&mut self, node: &Node) {
        self.up = node.get("up").and_then(Node::truth).unwrap_or(true);
        let fixed = node.get("addresses").map(Node::items).unwrap_or_default();
        self.addresses.extend(fixed.iter().filter_map(|item| prefix(item.get("address")?.text()?)));
        self.routes.extend(node.get("routes").map(Node::items).unwrap_or_default().iter().map(|route| Self::route(route, "destination")));
        self.mtu = number(node, "mtu").filter(|mtu| *mtu != 0).or(self.mtu);
    }
}

impl Config {
    /// Every link the configuration speaks of, of the machine's section first, then of documents.
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for device in self.at(&["machine", "network", "interfaces"]).map(Node::items).unwrap_or_default() {
            self.device(device, &mut links);
        }
        for document in &self.documents {
            self.link_document(document, &mut links);
        }
        links
    }

    /// Whether links that nothing is said about ask for addresses by themselves.
    pub fn default_dhcp(&self) -> bool {
        let speaks = [
            "LinkConfig",
            "VLANConfig",
            "BondConfig",
            "BridgeConfig",
            "DummyLinkConfig",
            "WireguardConfig",
            "VRFConfig",
            "DHCPv4Config",
            "DHCPv6Config",
        ];
        !self.documents.iter().any(|document| speaks.contains(&document.kind.as_str()))
    }

    /// The addresses that one control plane of all holds.
    pub fn vips(&self) -> Vec<IpAddr> {
        self.links().into_iter().flat_map(|link| link.vips).collect()
    }

    fn device(&self, node: &Node, links: &mut Vec<Link>) {
        let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).filter(|text| !text.is_empty()).map(str::to_owned);
        let selector = match node.get("deviceSelector") {
            Some(device) => LinkMatch::Device {
                bus_path: text(device, "busPath"),
                hardware_addr: text(device, "hardwareAddr"),
                permanent_addr: text(device, "permanentAddr"),
                pci_id: text(device, "pciID"),
                driver: text(device, "driver"),
                physical: device.get("physical").and_then(Node::truth),
            },
            None => self.named(text(node, "interface").unwrap_or_default()),
        };
        let members = |key: &str| node.at(&[key, "interfaces"]).map(Node::texts).unwrap_or_default();
        let kind = if node.get("bond").is_some() {
            LinkKind::Bond(members("bond"))
        } else if node.get("bridge").is_some() {
            LinkKind::Bridge(members("bridge"))
        } else if node.get("wireguard").is_some() {
            LinkKind::Wireguard
        } else if node.get("dummy").and_then(Node::truth).unwrap_or(false) {
            LinkKind::Dummy
        } else {
            LinkKind::Existing
        };
        let mut link = Link::plain(selector, kind);
        link.ignore = node.get("ignore").and_then(Node::truth).unwrap_or(false);
        link.section(node);
        links.push(link);
        let parent = text(node, "interface").unwrap_or_default();
        for vlan in node.get("vlans").map(Node::items).unwrap_or_default() {
            let id = number(vlan, "vlanId").unwrap_or(0);
            let mut link = Link::plain(LinkMatch::Name(format!("{parent}.{id}")), LinkKind::Vlan { parent: parent.clone(), id });
            link.section(vlan);
            links.push(link);
        }
    }

    /// A name, which may be an alias.
    fn named(&self, name: String) -> LinkMatch {
        let alias = self.of_kind("LinkAliasConfig").find(|document| document.name.as_deref() == Some(&name));
        match alias.and_then(|document| document.root.at(&["selector", "match"])?.text()) {
            Some(expression) => LinkMatch::Alias { name, expression: expression.to_owned() },
            None => LinkMatch::Name(name),
        }
    }

    fn link_document(&self, document: &Document, links: &mut Vec<Link>) {
        let root = &document.root;
        let name = document.name.clone().unwrap_or_default();
        let members = || root.get("links").map(Node::texts).unwrap_or_default();
        let mut of = |name: String, kind: Option<LinkKind>, then: &dyn Fn(&mut Link)| {
            let found = links.iter().position(|link| link.name() == Some(&name));
            let at = found.unwrap_or_else(|| {
                links.push(Link::plain(self.named(name), LinkKind::Existing));
                links.len() - 1
            });
            if let Some(kind) = kind {
                links[at].kind = kind;
            }
            then(&mut links[at]);
        };
        let describe = |link: &mut Link| link.document(root);
        match document.kind.as_str() {
            "LinkConfig" => of(name, None, &describe),
            "BondConfig" => of(name, Some(LinkKind::Bond(members())), &describe),
            "BridgeConfig" => of(name, Some(LinkKind::Bridge(members())), &describe),
            "VRFConfig" => of(name, Some(LinkKind::Vrf(members())), &describe),
            "DummyLinkConfig" => of(name, Some(LinkKind::Dummy), &describe),
            "WireguardConfig" => of(name, Some(LinkKind::Wireguard), &describe),
            "VLANConfig" => {
                let parent = root.get("parent").and_then(Node::text).unwrap_or_default().to_owned();
                of(name, Some(LinkKind::Vlan { parent, id: number(root, "vlanID").unwrap_or(0) }), &describe);
            }
            "DHCPv4Config" => of(name, None, &|link| link.dhcp4 = true),
            "DHCPv6Config" => of(name, None, &|link| link.dhcp6 = true),
            "Layer2VIPConfig" | "HCloudVIPConfig" => {
                let on = root.get("link").and_then(Node::text).unwrap_or_default().to_owned();
                of(on, None, &|link| link.vips.extend(name.parse::<IpAddr>()));
            }
            _ => {}
        }
    }
}
