//! The tunnel to a management server.

/// `talos.resource.definitions.siderolink.StatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusSpec {
    #[prost(string, tag = "1")]
    pub host: String,
    #[prost(bool, tag = "2")]
    pub connected: bool,
    #[prost(string, tag = "3")]
    pub link_name: String,
    #[prost(bool, tag = "4")]
    pub grpc_tunnel: bool,
}
