//! Addresses, links and routes.

/// `talos.resource.definitions.network.AddressStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct AddressStatusSpec {
    #[prost(message, optional, tag = "1")]
    pub address: Option<crate::common::NetIpPrefix>,
    #[prost(message, optional, tag = "2")]
    pub local: Option<crate::common::NetIp>,
    #[prost(message, optional, tag = "3")]
    pub broadcast: Option<crate::common::NetIp>,
    #[prost(message, optional, tag = "4")]
    pub anycast: Option<crate::common::NetIp>,
    #[prost(message, optional, tag = "5")]
    pub multicast: Option<crate::common::NetIp>,
    #[prost(uint32, tag = "6")]
    pub link_index: u32,
    #[prost(string, tag = "7")]
    pub link_name: String,
    #[prost(enumeration = "crate::definitions::enums::NethelpersFamily", tag = "8")]
    pub family: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersScope", tag = "9")]
    pub scope: i32,
    #[prost(uint32, tag = "10")]
    pub flags: u32,
    #[prost(uint32, tag = "11")]
    pub priority: u32,
}

/// `talos.resource.definitions.network.BondMasterSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BondMasterSpec {
    #[prost(enumeration = "crate::definitions::enums::NethelpersBondMode", tag = "1")]
    pub mode: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersBondXmitHashPolicy", tag = "2")]
    pub hash_policy: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersLacpRate", tag = "3")]
    pub lacp_rate: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersArpValidate", tag = "4")]
    pub arp_validate: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersArpAllTargets", tag = "5")]
    pub arp_all_targets: i32,
    #[prost(uint32, tag = "6")]
    pub primary_index: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersPrimaryReselect", tag = "7")]
    pub primary_reselect: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersFailOverMac", tag = "8")]
    pub fail_over_mac: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersAdSelect", tag = "9")]
    pub ad_select: i32,
    #[prost(uint32, tag = "10")]
    pub mii_mon: u32,
    #[prost(uint32, tag = "11")]
    pub up_delay: u32,
    #[prost(uint32, tag = "12")]
    pub down_delay: u32,
    #[prost(uint32, tag = "13")]
    pub arp_interval: u32,
    #[prost(uint32, tag = "14")]
    pub resend_igmp: u32,
    #[prost(uint32, tag = "15")]
    pub min_links: u32,
    #[prost(uint32, tag = "16")]
    pub lp_interval: u32,
    #[prost(uint32, tag = "17")]
    pub packets_per_slave: u32,
    #[prost(uint32, tag = "18")]
    pub num_peer_notif: u32,
    #[prost(uint32, tag = "19")]
    pub tlb_dynamic_lb: u32,
    #[prost(uint32, tag = "20")]
    pub all_slaves_active: u32,
    #[prost(bool, tag = "21")]
    pub use_carrier: bool,
    #[prost(uint32, tag = "22")]
    pub ad_actor_sys_prio: u32,
    #[prost(uint32, tag = "23")]
    pub ad_user_port_key: u32,
    #[prost(uint32, tag = "24")]
    pub peer_notify_delay: u32,
    #[prost(message, repeated, tag = "25")]
    pub arpip_targets: Vec<crate::common::NetIp>,
    #[prost(message, repeated, tag = "26")]
    pub nsip6_targets: Vec<crate::common::NetIp>,
    #[prost(enumeration = "crate::definitions::enums::NethelpersAdlacpActive", tag = "27")]
    pub adlacp_active: i32,
    #[prost(uint32, tag = "28")]
    pub missed_max: u32,
}

/// `talos.resource.definitions.network.BridgeMasterSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BridgeMasterSpec {
    #[prost(message, optional, tag = "1")]
    pub stp: Option<StpSpec>,
    #[prost(message, optional, tag = "2")]
    pub vlan: Option<BridgeVlanSpec>,
}

/// `talos.resource.definitions.network.BridgeVLANSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BridgeVlanSpec {
    #[prost(bool, tag = "1")]
    pub filtering_enabled: bool,
}

/// `talos.resource.definitions.network.DNSResolveCacheSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DnsResolveCacheSpec {
    #[prost(string, tag = "1")]
    pub status: String,
}

/// `talos.resource.definitions.network.HostDNSConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostDnsConfigSpec {
    #[prost(bool, tag = "1")]
    pub enabled: bool,
    #[prost(message, repeated, tag = "2")]
    pub listen_addresses: Vec<crate::common::NetIpPort>,
    #[prost(message, optional, tag = "3")]
    pub service_host_dns_address: Option<crate::common::NetIp>,
    #[prost(bool, tag = "4")]
    pub resolve_member_names: bool,
}

/// `talos.resource.definitions.network.HostnameStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostnameStatusSpec {
    #[prost(string, tag = "1")]
    pub hostname: String,
    #[prost(string, tag = "2")]
    pub domainname: String,
}

/// `talos.resource.definitions.network.LinkStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LinkStatusSpec {
    #[prost(uint32, tag = "1")]
    pub index: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersLinkType", tag = "2")]
    pub r#type: i32,
    #[prost(uint32, tag = "3")]
    pub link_index: u32,
    #[prost(uint32, tag = "4")]
    pub flags: u32,
    #[prost(bytes = "vec", tag = "5")]
    pub hardware_addr: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    pub broadcast_addr: Vec<u8>,
    #[prost(uint32, tag = "7")]
    pub mtu: u32,
    #[prost(string, tag = "8")]
    pub queue_disc: String,
    #[prost(uint32, tag = "9")]
    pub master_index: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersOperationalState", tag = "10")]
    pub operational_state: i32,
    #[prost(string, tag = "11")]
    pub kind: String,
    #[prost(string, tag = "12")]
    pub slave_kind: String,
    #[prost(string, tag = "13")]
    pub bus_path: String,
    #[prost(string, tag = "14")]
    pub pciid: String,
    #[prost(string, tag = "15")]
    pub driver: String,
    #[prost(string, tag = "16")]
    pub driver_version: String,
    #[prost(string, tag = "17")]
    pub firmware_version: String,
    #[prost(string, tag = "18")]
    pub product_id: String,
    #[prost(string, tag = "19")]
    pub vendor_id: String,
    #[prost(string, tag = "20")]
    pub product: String,
    #[prost(string, tag = "21")]
    pub vendor: String,
    #[prost(bool, tag = "22")]
    pub link_state: bool,
    #[prost(int64, tag = "23")]
    pub speed_megabits: i64,
    #[prost(enumeration = "crate::definitions::enums::NethelpersPort", tag = "24")]
    pub port: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersDuplex", tag = "25")]
    pub duplex: i32,
    #[prost(message, optional, tag = "26")]
    pub vlan: Option<VlanSpec>,
    #[prost(message, optional, tag = "27")]
    pub bridge_master: Option<BridgeMasterSpec>,
    #[prost(message, optional, tag = "28")]
    pub bond_master: Option<BondMasterSpec>,
    #[prost(message, optional, tag = "29")]
    pub wireguard: Option<WireguardSpec>,
    #[prost(bytes = "vec", tag = "30")]
    pub permanent_addr: Vec<u8>,
    #[prost(string, tag = "31")]
    pub alias: String,
    #[prost(string, repeated, tag = "32")]
    pub alt_names: Vec<String>,
    #[prost(message, optional, tag = "33")]
    pub vrf_master: Option<VrfMasterSpec>,
}

/// `talos.resource.definitions.network.NodeAddressSortAlgorithmSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeAddressSortAlgorithmSpec {
    #[prost(enumeration = "crate::definitions::enums::NethelpersAddressSortAlgorithm", tag = "1")]
    pub algorithm: i32,
}

/// `talos.resource.definitions.network.NodeAddressSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeAddressSpec {
    #[prost(message, repeated, tag = "1")]
    pub addresses: Vec<crate::common::NetIpPrefix>,
    #[prost(enumeration = "crate::definitions::enums::NethelpersAddressSortAlgorithm", tag = "2")]
    pub sort_algorithm: i32,
}

/// `talos.resource.definitions.network.ResolverStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResolverStatusSpec {
    #[prost(message, repeated, tag = "1")]
    pub dns_servers: Vec<crate::common::NetIp>,
    #[prost(string, repeated, tag = "2")]
    pub search_domains: Vec<String>,
}

/// `talos.resource.definitions.network.RouteStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RouteStatusSpec {
    #[prost(enumeration = "crate::definitions::enums::NethelpersFamily", tag = "1")]
    pub family: i32,
    #[prost(message, optional, tag = "2")]
    pub destination: Option<crate::common::NetIpPrefix>,
    #[prost(message, optional, tag = "3")]
    pub source: Option<crate::common::NetIp>,
    #[prost(message, optional, tag = "4")]
    pub gateway: Option<crate::common::NetIp>,
    #[prost(uint32, tag = "5")]
    pub out_link_index: u32,
    #[prost(string, tag = "6")]
    pub out_link_name: String,
    #[prost(enumeration = "crate::definitions::enums::NethelpersRoutingTable", tag = "7")]
    pub table: i32,
    #[prost(uint32, tag = "8")]
    pub priority: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersScope", tag = "9")]
    pub scope: i32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersRouteType", tag = "10")]
    pub r#type: i32,
    #[prost(uint32, tag = "11")]
    pub flags: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersRouteProtocol", tag = "12")]
    pub protocol: i32,
    #[prost(uint32, tag = "13")]
    pub mtu: u32,
}

/// `talos.resource.definitions.network.STPSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StpSpec {
    #[prost(bool, tag = "1")]
    pub enabled: bool,
}

/// `talos.resource.definitions.network.StatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusSpec {
    #[prost(bool, tag = "1")]
    pub address_ready: bool,
    #[prost(bool, tag = "2")]
    pub connectivity_ready: bool,
    #[prost(bool, tag = "3")]
    pub hostname_ready: bool,
    #[prost(bool, tag = "4")]
    pub etc_files_ready: bool,
}

/// `talos.resource.definitions.network.TimeServerStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TimeServerStatusSpec {
    #[prost(string, repeated, tag = "1")]
    pub ntp_servers: Vec<String>,
}

/// `talos.resource.definitions.network.VLANSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VlanSpec {
    #[prost(uint32, tag = "1")]
    pub vid: u32,
    #[prost(enumeration = "crate::definitions::enums::NethelpersVlanProtocol", tag = "2")]
    pub protocol: i32,
}

/// `talos.resource.definitions.network.WireguardPeer`
#[derive(Clone, PartialEq, prost::Message)]
pub struct WireguardPeer {
    #[prost(string, tag = "1")]
    pub public_key: String,
    #[prost(string, tag = "2")]
    pub preshared_key: String,
    #[prost(string, tag = "3")]
    pub endpoint: String,
    #[prost(message, optional, tag = "4")]
    pub persistent_keepalive_interval: Option<crate::google::Duration>,
    #[prost(message, repeated, tag = "5")]
    pub allowed_ips: Vec<crate::common::NetIpPrefix>,
}

/// `talos.resource.definitions.network.WireguardSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct WireguardSpec {
    #[prost(string, tag = "1")]
    pub private_key: String,
    #[prost(string, tag = "2")]
    pub public_key: String,
    #[prost(int64, tag = "3")]
    pub listen_port: i64,
    #[prost(int64, tag = "4")]
    pub firewall_mark: i64,
    #[prost(message, repeated, tag = "5")]
    pub peers: Vec<WireguardPeer>,
}

/// `talos.resource.definitions.network.LinkAliasSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LinkAliasSpecSpec {
    #[prost(string, tag = "1")]
    pub alias: String,
}

/// `talos.resource.definitions.network.VRFMasterSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VrfMasterSpec {
    #[prost(enumeration = "crate::definitions::enums::NethelpersRoutingTable", tag = "1")]
    pub table: i32,
}
