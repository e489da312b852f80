//! Giving a node its configuration, and configurations for clients.

/// `machine.ApplyConfigurationRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplyConfigurationRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub data: Vec<u8>,
    #[prost(enumeration = "ApplyConfigurationRequestMode", tag = "4")]
    pub mode: i32,
    #[prost(bool, tag = "5")]
    pub dry_run: bool,
    #[prost(message, optional, tag = "6")]
    pub try_mode_timeout: Option<crate::google::Duration>,
}

/// `machine.ApplyConfigurationRequest.Mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ApplyConfigurationRequestMode {
    Reboot = 0,
    Auto = 1,
    NoReboot = 2,
    Staged = 3,
    Try = 4,
}

/// `machine.ApplyConfiguration`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplyConfiguration {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, repeated, tag = "2")]
    pub warnings: Vec<String>,
    #[prost(enumeration = "ApplyConfigurationRequestMode", tag = "3")]
    pub mode: i32,
    #[prost(string, tag = "4")]
    pub mode_details: String,
}

/// `machine.ApplyConfigurationResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplyConfigurationResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ApplyConfiguration>,
}

/// `machine.BootstrapRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BootstrapRequest {
    #[prost(bool, tag = "1")]
    pub recover_etcd: bool,
    #[prost(bool, tag = "2")]
    pub recover_skip_hash_check: bool,
}

/// `machine.Bootstrap`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Bootstrap {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.BootstrapResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BootstrapResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Bootstrap>,
}

/// `machine.GenerateClientConfigurationRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateClientConfigurationRequest {
    #[prost(string, repeated, tag = "1")]
    pub roles: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub crt_ttl: Option<crate::google::Duration>,
}

/// `machine.GenerateClientConfiguration`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateClientConfiguration {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(bytes = "vec", tag = "2")]
    pub ca: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub crt: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub talosconfig: Vec<u8>,
}

/// `machine.GenerateClientConfigurationResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GenerateClientConfigurationResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<GenerateClientConfiguration>,
}

/// `machine.MetaWriteRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaWriteRequest {
    #[prost(uint32, tag = "1")]
    pub key: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `machine.MetaWrite`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaWrite {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.MetaWriteResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaWriteResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<MetaWrite>,
}

/// `machine.MetaDeleteRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaDeleteRequest {
    #[prost(uint32, tag = "1")]
    pub key: u32,
}

/// `machine.MetaDelete`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaDelete {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.MetaDeleteResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaDeleteResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<MetaDelete>,
}
