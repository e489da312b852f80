//! What the firmware tells.

/// `talos.resource.definitions.hardware.MemoryModuleSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemoryModuleSpec {
    #[prost(uint32, tag = "1")]
    pub size: u32,
    #[prost(string, tag = "2")]
    pub device_locator: String,
    #[prost(string, tag = "3")]
    pub bank_locator: String,
    #[prost(uint32, tag = "4")]
    pub speed: u32,
    #[prost(string, tag = "5")]
    pub manufacturer: String,
    #[prost(string, tag = "6")]
    pub serial_number: String,
    #[prost(string, tag = "7")]
    pub asset_tag: String,
    #[prost(string, tag = "8")]
    pub product_name: String,
}

/// `talos.resource.definitions.hardware.PCIDeviceSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PciDeviceSpec {
    #[prost(string, tag = "1")]
    pub class: String,
    #[prost(string, tag = "2")]
    pub subclass: String,
    #[prost(string, tag = "3")]
    pub vendor: String,
    #[prost(string, tag = "4")]
    pub product: String,
    #[prost(string, tag = "5")]
    pub class_id: String,
    #[prost(string, tag = "6")]
    pub subclass_id: String,
    #[prost(string, tag = "7")]
    pub vendor_id: String,
    #[prost(string, tag = "8")]
    pub product_id: String,
    #[prost(string, tag = "9")]
    pub driver: String,
}

/// `talos.resource.definitions.hardware.ProcessorSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessorSpec {
    #[prost(string, tag = "1")]
    pub socket: String,
    #[prost(string, tag = "2")]
    pub manufacturer: String,
    #[prost(string, tag = "3")]
    pub product_name: String,
    #[prost(uint32, tag = "4")]
    pub max_speed: u32,
    #[prost(uint32, tag = "5")]
    pub boot_speed: u32,
    #[prost(uint32, tag = "6")]
    pub status: u32,
    #[prost(string, tag = "7")]
    pub serial_number: String,
    #[prost(string, tag = "8")]
    pub asset_tag: String,
    #[prost(string, tag = "9")]
    pub part_number: String,
    #[prost(uint32, tag = "10")]
    pub core_count: u32,
    #[prost(uint32, tag = "11")]
    pub core_enabled: u32,
    #[prost(uint32, tag = "12")]
    pub thread_count: u32,
}

/// `talos.resource.definitions.hardware.SystemInformationSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SystemInformationSpec {
    #[prost(string, tag = "1")]
    pub manufacturer: String,
    #[prost(string, tag = "2")]
    pub product_name: String,
    #[prost(string, tag = "3")]
    pub version: String,
    #[prost(string, tag = "4")]
    pub serial_number: String,
    #[prost(string, tag = "5")]
    pub uuid: String,
    #[prost(string, tag = "6")]
    pub wake_up_type: String,
    #[prost(string, tag = "7")]
    pub sku_number: String,
}
