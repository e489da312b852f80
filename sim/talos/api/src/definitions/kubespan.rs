//! The mesh between nodes.

/// `talos.resource.definitions.kubespan.EndpointSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EndpointSpec {
    #[prost(string, tag = "1")]
    pub affiliate_id: String,
    #[prost(message, optional, tag = "2")]
    pub endpoint: Option<crate::common::NetIpPort>,
}

/// `talos.resource.definitions.kubespan.IdentitySpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct IdentitySpec {
    #[prost(message, optional, tag = "1")]
    pub address: Option<crate::common::NetIpPrefix>,
    #[prost(message, optional, tag = "2")]
    pub subnet: Option<crate::common::NetIpPrefix>,
    #[prost(string, tag = "3")]
    pub private_key: String,
    #[prost(string, tag = "4")]
    pub public_key: String,
}

/// `talos.resource.definitions.kubespan.PeerStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PeerStatusSpec {
    #[prost(message, optional, tag = "1")]
    pub endpoint: Option<crate::common::NetIpPort>,
    #[prost(string, tag = "2")]
    pub label: String,
    #[prost(enumeration = "crate::definitions::enums::KubespanPeerState", tag = "3")]
    pub state: i32,
    #[prost(int64, tag = "4")]
    pub receive_bytes: i64,
    #[prost(int64, tag = "5")]
    pub transmit_bytes: i64,
    #[prost(message, optional, tag = "6")]
    pub last_handshake_time: Option<crate::google::Timestamp>,
    #[prost(message, optional, tag = "7")]
    pub last_used_endpoint: Option<crate::common::NetIpPort>,
    #[prost(message, optional, tag = "8")]
    pub last_endpoint_change: Option<crate::google::Timestamp>,
}
