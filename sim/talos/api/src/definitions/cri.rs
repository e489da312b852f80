//! The container runtime.

/// `talos.resource.definitions.cri.ImageCacheConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageCacheConfigSpec {
    #[prost(enumeration = "crate::definitions::enums::CriImageCacheStatus", tag = "1")]
    pub status: i32,
    #[prost(string, repeated, tag = "2")]
    pub roots: Vec<String>,
    #[prost(enumeration = "crate::definitions::enums::CriImageCacheCopyStatus", tag = "3")]
    pub copy_status: i32,
}

/// `talos.resource.definitions.cri.SeccompProfileSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SeccompProfileSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<crate::google::Opaque>,
}
