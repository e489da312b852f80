//! The machine configuration as a resource.

/// `resource.config.MachineConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineConfigSpec {
    #[prost(bytes = "vec", tag = "1")]
    pub yaml_marshalled: Vec<u8>,
}

/// `resource.config.MachineTypeSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineTypeSpec {
    #[prost(enumeration = "MachineType", tag = "1")]
    pub machine_type: i32,
}

/// `resource.config.MachineType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MachineType {
    Unknown = 0,
    Init = 1,
    ControlPlane = 2,
    Worker = 3,
}
