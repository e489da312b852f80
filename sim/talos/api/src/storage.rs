//! Package `storage`: disks, and wiping them.

/// `storage.Disk`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Disk {
    #[prost(uint64, tag = "1")]
    pub size: u64,
    #[prost(string, tag = "2")]
    pub model: String,
    #[prost(string, tag = "3")]
    pub device_name: String,
    #[prost(string, tag = "4")]
    pub name: String,
    #[prost(string, tag = "5")]
    pub serial: String,
    #[prost(string, tag = "6")]
    pub modalias: String,
    #[prost(string, tag = "7")]
    pub uuid: String,
    #[prost(string, tag = "8")]
    pub wwid: String,
    #[prost(enumeration = "DiskDiskType", tag = "9")]
    pub r#type: i32,
    #[prost(string, tag = "10")]
    pub bus_path: String,
    #[prost(bool, tag = "11")]
    pub system_disk: bool,
    #[prost(string, tag = "12")]
    pub subsystem: String,
    #[prost(bool, tag = "13")]
    pub readonly: bool,
}

/// `storage.Disk.DiskType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DiskDiskType {
    Unknown = 0,
    Ssd = 1,
    Hdd = 2,
    Nvme = 3,
    Sd = 4,
    Cd = 5,
}

/// `storage.Disks`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Disks {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub disks: Vec<Disk>,
}

/// `storage.DisksResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DisksResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Disks>,
}

/// `storage.BlockDeviceWipeRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlockDeviceWipeRequest {
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<BlockDeviceWipeDescriptor>,
}

/// `storage.BlockDeviceWipeDescriptor`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlockDeviceWipeDescriptor {
    #[prost(string, tag = "1")]
    pub device: String,
    #[prost(enumeration = "BlockDeviceWipeDescriptorMethod", tag = "2")]
    pub method: i32,
    #[prost(bool, tag = "3")]
    pub skip_volume_check: bool,
    #[prost(bool, tag = "4")]
    pub drop_partition: bool,
    #[prost(bool, tag = "5")]
    pub skip_secondary_check: bool,
}

/// `storage.BlockDeviceWipeDescriptor.Method`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockDeviceWipeDescriptorMethod {
    Fast = 0,
    Zeroes = 1,
}

/// `storage.BlockDeviceWipeResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlockDeviceWipeResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<BlockDeviceWipe>,
}

/// `storage.BlockDeviceWipe`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlockDeviceWipe {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}
