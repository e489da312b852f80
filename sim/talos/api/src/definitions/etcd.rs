//! etcd on this node.

/// `talos.resource.definitions.etcd.ConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigSpec {
    #[prost(string, repeated, tag = "1")]
    pub advertise_valid_subnets: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub advertise_exclude_subnets: Vec<String>,
    #[prost(string, tag = "3")]
    pub image: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(string, repeated, tag = "5")]
    pub listen_valid_subnets: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    pub listen_exclude_subnets: Vec<String>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.etcd.MemberSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemberSpec {
    #[prost(string, tag = "1")]
    pub member_id: String,
}

/// `talos.resource.definitions.etcd.PKIStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PkiStatusSpec {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(string, tag = "2")]
    pub version: String,
}

/// `talos.resource.definitions.etcd.SpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SpecSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub advertised_addresses: Vec<crate::common::NetIp>,
    #[prost(string, tag = "3")]
    pub image: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "5")]
    pub listen_peer_addresses: Vec<crate::common::NetIp>,
    #[prost(message, repeated, tag = "6")]
    pub listen_client_addresses: Vec<crate::common::NetIp>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.etcd.ArgValues`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArgValues {
    #[prost(string, repeated, tag = "1")]
    pub values: Vec<String>,
}
