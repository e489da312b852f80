//! Generating a configuration on a node, which 1.13 gave up.

/// `machine.RouteConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RouteConfig {
    #[prost(string, tag = "1")]
    pub network: String,
    #[prost(string, tag = "2")]
    pub gateway: String,
    #[prost(uint32, tag = "3")]
    pub metric: u32,
}

/// `machine.DHCPOptionsConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DhcpOptionsConfig {
    #[prost(uint32, tag = "1")]
    pub route_metric: u32,
}

/// `machine.NetworkDeviceConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetworkDeviceConfig {
    #[prost(string, tag = "1")]
    pub interface: String,
    #[prost(string, tag = "2")]
    pub cidr: String,
    #[prost(int32, tag = "3")]
    pub mtu: i32,
    #[prost(bool, tag = "4")]
    pub dhcp: bool,
    #[prost(bool, tag = "5")]
    pub ignore: bool,
    #[prost(message, optional, tag = "6")]
    pub dhcp_options: Option<DhcpOptionsConfig>,
    #[prost(message, repeated, tag = "7")]
    pub routes: Vec<RouteConfig>,
}

/// `machine.NetworkConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetworkConfig {
    #[prost(string, tag = "1")]
    pub hostname: String,
    #[prost(message, repeated, tag = "2")]
    pub interfaces: Vec<NetworkDeviceConfig>,
}

/// `machine.InstallConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct InstallConfig {
    #[prost(string, tag = "1")]
    pub install_disk: String,
    #[prost(string, tag = "2")]
    pub install_image: String,
}

/// `machine.MachineConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineConfig {
    #[prost(enumeration = "MachineConfigMachineType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub install_config: Option<InstallConfig>,
    #[prost(message, optional, tag = "3")]
    pub network_config: Option<NetworkConfig>,
    #[prost(string, tag = "4")]
    pub kubernetes_version: String,
}

/// `machine.MachineConfig.MachineType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MachineConfigMachineType {
    Unknown = 0,
    Init = 1,
    ControlPlane = 2,
    Worker = 3,
}

/// `machine.ControlPlaneConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControlPlaneConfig {
    #[prost(string, tag = "1")]
    pub endpoint: String,
}

/// `machine.CNIConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CniConfig {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, repeated, tag = "2")]
    pub urls: Vec<String>,
}

/// `machine.ClusterNetworkConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClusterNetworkConfig {
    #[prost(string, tag = "1")]
    pub dns_domain: String,
    #[prost(message, optional, tag = "2")]
    pub cni_config: Option<CniConfig>,
}

/// `machine.ClusterConfig`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClusterConfig {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub control_plane: Option<ControlPlaneConfig>,
    #[prost(message, optional, tag = "3")]
    pub cluster_network: Option<ClusterNetworkConfig>,
    #[prost(bool, tag = "4")]
    pub allow_scheduling_on_control_planes: bool,
}

/// `machine.GenerateConfigurationRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateConfigurationRequest {
    #[prost(string, tag = "1")]
    pub config_version: String,
    #[prost(message, optional, tag = "2")]
    pub cluster_config: Option<ClusterConfig>,
    #[prost(message, optional, tag = "3")]
    pub machine_config: Option<MachineConfig>,
    #[prost(message, optional, tag = "4")]
    pub override_time: Option<crate::google::Timestamp>,
}

/// `machine.GenerateConfiguration`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateConfiguration {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub data: Vec<Vec<u8>>,
    #[prost(bytes = "vec", tag = "3")]
    pub talosconfig: Vec<u8>,
}

/// `machine.GenerateConfigurationResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateConfigurationResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<GenerateConfiguration>,
}
