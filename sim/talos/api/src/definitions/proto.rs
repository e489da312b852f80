//! Shared.

/// `talos.resource.definitions.proto.LinuxIDMapping`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxIdMapping {
    #[prost(uint32, tag = "1")]
    pub container_id: u32,
    #[prost(uint32, tag = "2")]
    pub host_id: u32,
    #[prost(uint32, tag = "3")]
    pub size: u32,
}

/// `talos.resource.definitions.proto.Mount`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Mount {
    #[prost(string, tag = "1")]
    pub destination: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub source: String,
    #[prost(string, repeated, tag = "4")]
    pub options: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub uid_mappings: Vec<LinuxIdMapping>,
    #[prost(message, repeated, tag = "6")]
    pub gid_mappings: Vec<LinuxIdMapping>,
}
