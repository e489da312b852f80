//! Members and what nodes tell of each other.

/// `talos.resource.definitions.cluster.AffiliateSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct AffiliateSpec {
    #[prost(string, tag = "1")]
    pub node_id: String,
    #[prost(message, repeated, tag = "2")]
    pub addresses: Vec<crate::common::NetIp>,
    #[prost(string, tag = "3")]
    pub hostname: String,
    #[prost(string, tag = "4")]
    pub nodename: String,
    #[prost(string, tag = "5")]
    pub operating_system: String,
    #[prost(enumeration = "crate::definitions::enums::MachineType", tag = "6")]
    pub machine_type: i32,
    #[prost(message, optional, tag = "7")]
    pub kube_span: Option<KubeSpanAffiliateSpec>,
    #[prost(message, optional, tag = "8")]
    pub control_plane: Option<ControlPlane>,
}

/// `talos.resource.definitions.cluster.ConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigSpec {
    #[prost(bool, tag = "1")]
    pub discovery_enabled: bool,
    #[prost(bool, tag = "2")]
    pub registry_kubernetes_enabled: bool,
    #[prost(bool, tag = "3")]
    pub registry_service_enabled: bool,
    #[prost(string, tag = "4")]
    pub service_endpoint: String,
    #[prost(bool, tag = "5")]
    pub service_endpoint_insecure: bool,
    #[prost(bytes = "vec", tag = "6")]
    pub service_encryption_key: Vec<u8>,
    #[prost(string, tag = "7")]
    pub service_cluster_id: String,
}

/// `talos.resource.definitions.cluster.ControlPlane`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControlPlane {
    #[prost(int64, tag = "1")]
    pub api_server_port: i64,
}

/// `talos.resource.definitions.cluster.IdentitySpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct IdentitySpec {
    #[prost(string, tag = "1")]
    pub node_id: String,
}

/// `talos.resource.definitions.cluster.InfoSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct InfoSpec {
    #[prost(string, tag = "1")]
    pub cluster_id: String,
    #[prost(string, tag = "2")]
    pub cluster_name: String,
}

/// `talos.resource.definitions.cluster.KubeSpanAffiliateSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubeSpanAffiliateSpec {
    #[prost(string, tag = "1")]
    pub public_key: String,
    #[prost(message, optional, tag = "2")]
    pub address: Option<crate::common::NetIp>,
    #[prost(message, repeated, tag = "3")]
    pub additional_addresses: Vec<crate::common::NetIpPrefix>,
    #[prost(message, repeated, tag = "4")]
    pub endpoints: Vec<crate::common::NetIpPort>,
    #[prost(message, repeated, tag = "5")]
    pub exclude_advertised_networks: Vec<crate::common::NetIpPrefix>,
}

/// `talos.resource.definitions.cluster.MemberSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemberSpec {
    #[prost(string, tag = "1")]
    pub node_id: String,
    #[prost(message, repeated, tag = "2")]
    pub addresses: Vec<crate::common::NetIp>,
    #[prost(string, tag = "3")]
    pub hostname: String,
    #[prost(enumeration = "crate::definitions::enums::MachineType", tag = "4")]
    pub machine_type: i32,
    #[prost(string, tag = "5")]
    pub operating_system: String,
    #[prost(message, optional, tag = "6")]
    pub control_plane: Option<ControlPlane>,
}
