//! From the inventory to what is said about one machine.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use emhost_sdk::inventory::InterfaceCard;
use emhost_sdk::{Attribute, Boot, Cluster, Failure, Node, NodeRole};
use emhost_talos_config::{Cni, Contract, Input, Link, Platform, Role, Tailscale};

use super::attributes::{plain, text, texts};

/// What the inventory says about one machine, as plain values.
pub(super) struct Machine {
    pub talos: String,
    pub kubernetes: String,
    pub cluster: String,
    pub endpoint: String,
    pub role: Role,
    pub name: String,
    pub installer: String,
    pub platform: Platform,
    pub kernel_args: Vec<String>,
    pub vip: Option<String>,
    /// Attributes of the cluster.
    pub options: Vec<Attribute>,
    pub pod_subnets: Vec<String>,
    pub service_subnets: Vec<String>,
    pub resolvers: Vec<String>,
    pub time_servers: Vec<String>,
    pub cards: Vec<InterfaceCard>,
    /// Those of plugins first: the inventory has the last word.
    pub labels: Vec<Attribute>,
    pub taints: Vec<String>,
    pub tailscale: Option<Tailscale>,
}

impl Machine {
    pub fn of(cluster: &Cluster, node: &Node, boot: Boot, tailscale: Option<Tailscale>) -> Self {
        let contribution = node.contribution();
        let platform = match plain(&boot.attributes, "platform") {
            Some("metal") => Platform::Metal,
            _ => Platform::Nocloud,
        };
        Self {
            // The release that boots reads the configuration, whatever the cluster is on its way to.
            talos: if boot.os_version.is_empty() { cluster.os_version() } else { boot.os_version },
            kubernetes: cluster.kubernetes_version(),
            cluster: cluster.name(),
            endpoint: cluster.endpoint(),
            role: if node.role() == NodeRole::ControlPlane { Role::ControlPlane } else { Role::Worker },
            name: node.name(),
            installer: boot.installer,
            platform,
            kernel_args: contribution.kernel_args,
            vip: cluster.vip(),
            options: cluster.attributes(),
            pod_subnets: cluster.pod_subnets(),
            service_subnets: cluster.service_subnets(),
            resolvers: cluster.resolvers(),
            time_servers: cluster.time_servers(),
            cards: node.cards(),
            labels: contribution.labels.into_iter().chain(node.labels()).collect(),
            taints: texts(&node.attributes(), "taints"),
            tailscale,
        }
    }

    /// What the configuration is made of.
    pub fn input(&self) -> Result<Input, Failure> {
        let contract = Contract::of(&self.talos).map_err(|why| {
            Failure::invalid("talos/version", why.to_string())
                .pointer("cluster.yaml talos_version")
                .help("set `talos_version` to a release that this emhost knows, or use an emhost that knows this one")
        })?;
        let mut input = Input::new(contract, &self.kubernetes, &self.cluster, &self.endpoint, self.role);
        input.hostname = Some(self.name.clone());
        input.installer = Some(self.installer.clone()).filter(|installer| !installer.is_empty());
        input.kernel_args.clone_from(&self.kernel_args);
        input.names = self.names();
        input.pod_subnets.clone_from(&self.pod_subnets);
        input.service_subnets.clone_from(&self.service_subnets);
        input.cni = match text(&self.options, "network.cni").as_deref() {
            Some("none" | "cilium") => Cni::Other,
            _ => Cni::Flannel,
        };
        input.links = self.cards.iter().map(link).collect();
        input.vip = self.vip.clone().filter(|_| text(&self.options, "network.vip_by").as_deref() != Some("kube-vip"));
        input.resolvers.clone_from(&self.resolvers);
        input.time_servers.clone_from(&self.time_servers);
        input.labels = self.labels.iter().map(|label| (label.key.clone(), label.value.clone())).collect::<BTreeMap<_, _>>();
        input.taints.clone_from(&self.taints);
        input.tailscale.clone_from(&self.tailscale);
        // A machine of several networks would otherwise pick its address by number, and tailnets count from 100.
        if input.tailscale.is_some() || self.cards.len() > 1 {
            input.node_subnets = self.cards.first().and_then(|card| card.address.as_deref()).and_then(network).into_iter().collect();
        }
        Ok(input)
    }

    /// What the certificates of a control plane are for beside its own names. Not the other control planes: one more of them must
    /// not change those that are there.
    fn names(&self) -> Vec<String> {
        if self.role == Role::Worker {
            return Vec::new();
        }
        let host = self.endpoint.split_once("://").map_or(self.endpoint.as_str(), |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_matches(['[', ']']);
        let own = self.cards.first().and_then(|card| card.address.as_deref()).map(|address| bare(address).to_owned());
        let mut names: Vec<String> = Vec::new();
        for name in [Some(host.to_owned()), self.vip.clone(), own].into_iter().flatten().filter(|name| !name.is_empty()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn bare(address: &str) -> &str {
    address.split_once('/').map_or(address, |(address, _)| address)
}

/// A card. Only a static address has its prefix; the VLAN is the hypervisor's business.
fn link(card: &InterfaceCard) -> Link {
    let fixed = card.address.clone().filter(|address| address.contains('/'));
    Link {
        mac: card.mac.clone(),
        gateway: card.gateway.clone().filter(|_| fixed.is_some()),
        addresses: fixed.into_iter().collect(),
        vlan: None,
        mtu: None,
    }
}

/// The network of an address; the address alone where its prefix is not known.
fn network(address: &str) -> Option<String> {
    let Some((host, bits)) = address.split_once('/') else { return Some(format!("{address}/32")) };
    let (host, bits) = (host.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok().filter(|bits| *bits <= 32)?);
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    Some(format!("{}/{bits}", Ipv4Addr::from(u32::from(host) & mask)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(role: Role) -> Machine {
        let attribute = |key: &str, value: &str| Attribute { key: key.to_owned(), value: value.to_owned() };
        Machine {
            talos: "v1.11.5".to_owned(),
            kubernetes: "v1.34.1".to_owned(),
            cluster: "dev".to_owned(),
            endpoint: "https://10.0.0.20:6443".to_owned(),
            role,
            name: "dev-cp-1".to_owned(),
            installer: "factory.talos.dev/nocloud-installer/abc:v1.11.5".to_owned(),
            platform: Platform::Nocloud,
            kernel_args: Vec::new(),
            vip: Some("10.0.0.20".to_owned()),
            options: vec![attribute("network.cni", "\"cilium\"")],
            pod_subnets: vec!["10.244.0.0/16".to_owned()],
            service_subnets: vec!["10.96.0.0/12".to_owned()],
            resolvers: vec!["1.1.1.1".to_owned()],
            time_servers: Vec::new(),
            cards: vec![InterfaceCard {
                name: "eth0".to_owned(),
                bridge: "vmbr0".to_owned(),
                vlan: Some(30),
                mac: "02:00:00:00:00:01".to_owned(),
                address: Some("10.0.10.11/16".to_owned()),
                gateway: Some("10.0.0.1".to_owned()),
                attributes: Vec::new(),
            }],
            labels: vec![attribute("a", "plugin"), attribute("b", "plugin"), attribute("a", "inventory")],
            taints: Vec::new(),
            tailscale: None,
        }
    }

    #[test]
    fn a_control_plane_answers_at_the_endpoint_the_shared_address_and_its_own() {
        let input = machine(Role::ControlPlane).input().unwrap();
        assert_eq!(input.names, ["10.0.0.20", "10.0.10.11"]);
        assert_eq!((input.vip.as_deref(), input.cni), (Some("10.0.0.20"), Cni::Other));
        let named = Machine { endpoint: "https://api.example.com:6443".to_owned(), ..machine(Role::ControlPlane) };
        assert_eq!(named.input().unwrap().names, ["api.example.com", "10.0.0.20", "10.0.10.11"]);
        assert!(machine(Role::Worker).input().unwrap().names.is_empty());
    }

    #[test]
    fn the_shared_address_is_left_to_kube_vip_where_it_is_asked_for() {
        let mut machine = machine(Role::ControlPlane);
        machine.options.push(Attribute { key: "network.vip_by".to_owned(), value: "\"kube-vip\"".to_owned() });
        let input = machine.input().unwrap();
        assert_eq!(input.vip, None);
        assert!(input.names.contains(&"10.0.0.20".to_owned()));
    }

    #[test]
    fn an_address_without_a_prefix_is_one_that_dhcp_gives() {
        let mut machine = machine(Role::Worker);
        assert_eq!(machine.input().unwrap().links[0].addresses, ["10.0.10.11/16"]);
        machine.cards[0].address = Some("10.0.10.11".to_owned());
        let input = machine.input().unwrap();
        assert_eq!((input.links[0].addresses.len(), input.links[0].gateway.as_ref()), (0, None));
    }

    #[test]
    fn the_inventory_has_the_last_word_on_labels() {
        let labels = machine(Role::Worker).input().unwrap().labels;
        assert_eq!(
            labels.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), "inventory".to_owned()), ("b".to_owned(), "plugin".to_owned())]
        );
    }

    #[test]
    fn a_node_in_a_tailnet_keeps_its_own_address() {
        let tailscale = Tailscale { auth_key: "key".to_owned().into(), login_server: None };
        let mut machine = Machine { tailscale: Some(tailscale), ..machine(Role::Worker) };
        assert_eq!(machine.input().unwrap().node_subnets, ["10.0.0.0/16"]);
        machine.cards[0].address = Some("10.0.10.11".to_owned());
        assert_eq!(machine.input().unwrap().node_subnets, ["10.0.10.11/32"]);
    }

    #[test]
    fn a_version_that_is_not_known_is_refused_with_what_to_do() {
        let failure = Machine { talos: "v1.14.0".to_owned(), ..machine(Role::Worker) }.input().unwrap_err();
        assert!(failure.diagnostics[0].summary.contains("newer than the versions"), "{failure:?}");
        assert!(failure.diagnostics[0].help.is_some());
    }
}
