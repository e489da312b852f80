//! Services.

/// `talos.resource.definitions.v1alpha1.ServiceSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceSpec {
    #[prost(bool, tag = "1")]
    pub running: bool,
    #[prost(bool, tag = "2")]
    pub healthy: bool,
    #[prost(bool, tag = "3")]
    pub unknown: bool,
}
