//! Package `common`: what every reply carries, and small things shared by all.

/// `common.Code`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Code {
    Fatal = 0,
    Locked = 1,
    Canceled = 2,
}

/// `common.Error`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Error {
    #[prost(enumeration = "Code", tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<crate::google::Any>,
}

/// `common.Metadata`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub hostname: String,
    #[prost(string, tag = "2")]
    pub error: String,
    #[prost(message, optional, tag = "3")]
    pub status: Option<crate::google::Status>,
}

/// `common.Data`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Data {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    #[prost(bytes = "vec", tag = "2")]
    pub bytes: Vec<u8>,
}

/// `common.DataResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DataResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Data>,
}

/// `common.Empty`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Empty {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
}

/// `common.EmptyResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EmptyResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Empty>,
}

/// `common.ContainerDriver`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerDriver {
    Containerd = 0,
    Cri = 1,
}

/// `common.ContainerdNamespace`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerdNamespace {
    Unknown = 0,
    System = 1,
    Cri = 2,
}

/// `common.URL`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Url {
    #[prost(string, tag = "1")]
    pub full_path: String,
}

/// `common.PEMEncodedCertificateAndKey`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PemEncodedCertificateAndKey {
    #[prost(bytes = "vec", tag = "1")]
    pub crt: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
}

/// `common.PEMEncodedKey`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PemEncodedKey {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// `common.PEMEncodedCertificate`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PemEncodedCertificate {
    #[prost(bytes = "vec", tag = "1")]
    pub crt: Vec<u8>,
}

/// `common.NetIP`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetIp {
    #[prost(bytes = "vec", tag = "1")]
    pub ip: Vec<u8>,
}

/// `common.NetIPPort`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetIpPort {
    #[prost(bytes = "vec", tag = "1")]
    pub ip: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub port: i32,
}

/// `common.NetIPPrefix`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetIpPrefix {
    #[prost(bytes = "vec", tag = "1")]
    pub ip: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub prefix_length: i32,
}

/// `common.ContainerdInstance`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerdInstance {
    #[prost(enumeration = "ContainerDriver", tag = "1")]
    pub driver: i32,
    #[prost(enumeration = "ContainerdNamespace", tag = "2")]
    pub namespace: i32,
}
