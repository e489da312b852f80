use super::super::{Config, Version, load};
use super::*;

const V11: Version = Version::new(1, 11, 5);
const V12: Version = Version::new(1, 12, 1);

fn config(text: &str, version: Version) -> Config {
    load(text.as_bytes(), version).unwrap()
}

#[test]
fn the_section_of_a_machine_describes_its_links() {
    let config = config(
        "machine:\n  type: controlplane\n  network:\n    hostname: n1\n    nameservers: [1.1.1.1, 8.8.8.8]\n    interfaces:\n    - interface: eth0\n      dhcp: true\n      dhcpOptions: {ipv6: true}\n      vip: {ip: 10.0.0.10}\n      mtu: 9000\n      vlans:\n      - {vlanId: 5, addresses: [10.5.0.1/24]}\n    - deviceSelector: {hardwareAddr: 'BC:24:11:*'}\n      addresses: [10.0.0.11/24, 10.0.0.12]\n      routes: [{network: 0.0.0.0/0, gateway: 10.0.0.1, metric: 100}, {gateway: 10.0.0.2}]\n",
        V11,
    );
    let links = config.links();
    assert_eq!(links.len(), 3);
    assert_eq!((links[0].dhcp4, links[0].dhcp6, links[0].mtu), (true, true, Some(9000)));
    assert_eq!(links[1].kind, LinkKind::Vlan { parent: "eth0".to_owned(), id: 5 });
    assert_eq!(links[1].selector, LinkMatch::Name("eth0.5".to_owned()));
    assert_eq!(links[2].addresses, [("10.0.0.11".parse().unwrap(), 24), ("10.0.0.12".parse().unwrap(), 32)]);
    assert_eq!(links[2].routes[0].metric, Some(100));
    assert_eq!(links[2].routes[1].destination, None);
    let facts = LinkFacts { name: "ens18".to_owned(), mac: "bc:24:11:00:00:01".to_owned(), ..LinkFacts::default() };
    assert!(links[2].selector.matches(&facts) && !links[0].selector.matches(&facts));
    assert_eq!(config.vips(), ["10.0.0.10".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(config.hostname(), Some("n1"));
    assert_eq!(config.nameservers().len(), 2);
    assert!(config.default_dhcp());
}

#[test]
fn documents_describe_links_by_their_alias() {
    let config = config(
        "apiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector:\n  match: mac(link.permanent_addr) == \"bc:24:11:00:00:01\"\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: net0\naddresses: [{address: 10.0.0.11/24}]\nroutes: [{gateway: 10.0.0.1}]\n---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.10\nlink: net0\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth1\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: n2\nauto: off\n---\napiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 9.9.9.9}]\n---\napiVersion: v1alpha1\nkind: TimeSyncConfig\nntp: {servers: [ntp.example]}\n",
        V12,
    );
    let links = config.links();
    assert_eq!(links.len(), 2);
    assert_eq!(links[0].vips.len(), 1);
    assert_eq!(links[0].routes.len(), 1);
    assert!(links[1].dhcp4 && !config.default_dhcp());
    let with = |mac: &str| links[0].selector.matches(&LinkFacts { name: "ens18".to_owned(), mac: mac.to_owned(), ..LinkFacts::default() });
    assert!(with("bc:24:11:00:00:01") && !with("bc:24:11:00:00:02"));
    assert_eq!((config.hostname(), config.auto_hostname()), (Some("n2"), AutoHostname::Off));
    assert_eq!(config.nameservers(), ["9.9.9.9".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(config.time_servers(), ["ntp.example"]);
    assert!(!config.is_complete());
}

#[test]
fn a_volume_finds_its_disk() {
    let text = "apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: data\nprovisioning:\n  diskSelector: {match: disk.size > 10u * GiB && !system_disk}\n  minSize: 10GiB\n";
    let volume = config(text, V11).user_volumes().remove(0);
    let disk = |size, system| DiskFacts { size, system, ..DiskFacts::default() };
    assert!(volume.fits(&disk(20 << 30, false)));
    assert!(!volume.fits(&disk(20 << 30, true)) && !volume.fits(&disk(5 << 30, false)));
    assert_eq!((volume.min_size, volume.filesystem.as_str()), (Some(10 << 30), "xfs"));
}

#[test]
fn silence_means_the_defaults_of_the_version() {
    let config = config("machine: {type: worker}\ncluster: {controlPlane: {endpoint: 'https://10.0.0.10:6443'}}\n", V11);
    assert_eq!(config.image(Component::Kubelet), "ghcr.io/siderolabs/kubelet:v1.34.1");
    assert_eq!(config.component_version(Component::ApiServer).as_deref(), Some("v1.34.1"));
    assert_eq!(config.cni(), Cni::Flannel);
    assert_eq!(config.cluster_endpoint_host(), Some(("10.0.0.10".to_owned(), 6443)));
    assert_eq!(config.pod_subnets(), ["10.244.0.0/16"]);
    assert_eq!(config.time_servers(), ["time.cloudflare.com"]);
    assert_eq!(config.auto_hostname(), AutoHostname::Address);
    assert_eq!(config.admin_kubeconfig_lifetime().as_secs(), 365 * 24 * 3600);
    assert!(!config.allow_scheduling_on_control_planes() && !config.features().rbac && config.features().kube_prism.is_none());
    assert!(config.machine_ca().is_none() && config.install().is_none());
}

#[test]
fn a_cluster_is_read_from_its_section() {
    let config = config(
        "machine:\n  type: controlplane\n  ca: {crt: QUJD, key: REVG}\n  nodeTaints: {a: 'b:NoSchedule', c: NoExecute}\n  install: {disk: /dev/vda, wipe: yes, image: i}\n  kubelet: {image: 'ghcr.io/siderolabs/kubelet:v1.33.0@sha256:aa'}\n  features: {kubePrism: {enabled: true}}\ncluster:\n  network: {cni: {name: custom, urls: [a]}, podSubnets: [10.1.0.0/16]}\n  proxy: {disabled: true}\n  inlineManifests: [{name: m, contents: \"\\n\\nkind: X\"}]\n  allowSchedulingOnControlPlanes: true\n  adminKubeconfig: {certLifetime: 1h}\n  serviceAccount: {key: R0hJ}\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: tailscale\nenvironment: [A=B]\nconfigFiles: [{content: c, mountPath: /m}]\n",
        V11,
    );
    assert_eq!(config.machine_ca(), Some(Pem { crt: b"ABC".to_vec(), key: Some(b"DEF".to_vec()) }));
    assert_eq!(config.service_account_key(), Some(b"GHI".to_vec()));
    assert_eq!(
        config.node_taints(),
        [("a", "b", "NoSchedule"), ("c", "", "NoExecute")].map(|(key, value, effect)| (
            key.to_owned(),
            value.to_owned(),
            effect.to_owned()
        ))
    );
    assert!(config.install().is_some_and(|install| install.wipe && install.disk.as_deref() == Some("/dev/vda")));
    assert_eq!(config.component_version(Component::Kubelet).as_deref(), Some("v1.33.0"));
    assert_eq!(config.cni(), Cni::Custom(vec!["a".to_owned()]));
    assert!(config.proxy_disabled() && config.allow_scheduling_on_control_planes() && !config.coredns_disabled());
    assert_eq!(config.inline_manifests()[0].contents, "kind: X");
    assert_eq!(config.admin_kubeconfig_lifetime().as_secs(), 3600);
    assert_eq!(config.features().kube_prism, Some(7445));
    assert_eq!(
        config.extension_services(),
        [ExtensionService {
            name: "tailscale".to_owned(),
            files: vec![("/m".to_owned(), "c".to_owned())],
            environment: vec!["A=B".to_owned()]
        }]
    );
    assert!(config.machine_type().is_control_plane());
}
