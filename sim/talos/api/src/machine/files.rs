//! Files, directories and mounts.

/// `machine.CopyRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CopyRequest {
    #[prost(string, tag = "1")]
    pub root_path: String,
}

/// `machine.ListRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListRequest {
    #[prost(string, tag = "1")]
    pub root: String,
    #[prost(bool, tag = "2")]
    pub recurse: bool,
    #[prost(int32, tag = "3")]
    pub recursion_depth: i32,
    #[prost(enumeration = "ListRequestType", repeated, tag = "4")]
    pub types: Vec<i32>,
    #[prost(bool, tag = "5")]
    pub report_xattrs: bool,
}

/// `machine.ListRequest.Type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ListRequestType {
    Regular = 0,
    Directory = 1,
    Symlink = 2,
}

/// `machine.DiskUsageRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskUsageRequest {
    #[prost(int32, tag = "1")]
    pub recursion_depth: i32,
    #[prost(bool, tag = "2")]
    pub all: bool,
    #[prost(int64, tag = "3")]
    pub threshold: i64,
    #[prost(string, repeated, tag = "4")]
    pub paths: Vec<String>,
}

/// `machine.FileInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct FileInfo {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(uint32, tag = "4")]
    pub mode: u32,
    #[prost(int64, tag = "5")]
    pub modified: i64,
    #[prost(bool, tag = "6")]
    pub is_dir: bool,
    #[prost(string, tag = "7")]
    pub error: String,
    #[prost(string, tag = "8")]
    pub link: String,
    #[prost(string, tag = "9")]
    pub relative_name: String,
    #[prost(uint32, tag = "10")]
    pub uid: u32,
    #[prost(uint32, tag = "11")]
    pub gid: u32,
    #[prost(message, repeated, tag = "12")]
    pub xattrs: Vec<Xattr>,
}

/// `machine.Xattr`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Xattr {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}

/// `machine.DiskUsageInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskUsageInfo {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(string, tag = "4")]
    pub error: String,
    #[prost(string, tag = "5")]
    pub relative_name: String,
}

/// `machine.Mounts`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Mounts {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub stats: Vec<MountStat>,
}

/// `machine.MountsResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountsResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Mounts>,
}

/// `machine.MountStat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountStat {
    #[prost(string, tag = "1")]
    pub filesystem: String,
    #[prost(uint64, tag = "2")]
    pub size: u64,
    #[prost(uint64, tag = "3")]
    pub available: u64,
    #[prost(string, tag = "4")]
    pub mounted_on: String,
}

/// `machine.ReadRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub path: String,
}
