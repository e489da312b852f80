//! Files under /etc.

/// `talos.resource.definitions.files.EtcFileStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcFileStatusSpec {
    #[prost(string, tag = "1")]
    pub spec_version: String,
}
