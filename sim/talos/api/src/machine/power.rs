//! Reboot, shutdown, reset, upgrade and rollback.

/// `machine.RebootRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RebootRequest {
    #[prost(enumeration = "RebootRequestMode", tag = "1")]
    pub mode: i32,
}

/// `machine.RebootRequest.Mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RebootRequestMode {
    Default = 0,
    Powercycle = 1,
    Force = 2,
}

/// `machine.Reboot`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Reboot {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub actor_id: String,
}

/// `machine.RebootResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RebootResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Reboot>,
}

/// `machine.ResetPartitionSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResetPartitionSpec {
    #[prost(string, tag = "1")]
    pub label: String,
    #[prost(bool, tag = "2")]
    pub wipe: bool,
}

/// `machine.ResetRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResetRequest {
    #[prost(bool, tag = "1")]
    pub graceful: bool,
    #[prost(bool, tag = "2")]
    pub reboot: bool,
    #[prost(message, repeated, tag = "3")]
    pub system_partitions_to_wipe: Vec<ResetPartitionSpec>,
    #[prost(string, repeated, tag = "4")]
    pub user_disks_to_wipe: Vec<String>,
    #[prost(enumeration = "ResetRequestWipeMode", tag = "5")]
    pub mode: i32,
}

/// `machine.ResetRequest.WipeMode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ResetRequestWipeMode {
    All = 0,
    SystemDisk = 1,
    UserDisks = 2,
}

/// `machine.Reset`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Reset {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub actor_id: String,
}

/// `machine.ResetResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResetResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Reset>,
}

/// `machine.Shutdown`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Shutdown {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub actor_id: String,
}

/// `machine.ShutdownRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ShutdownRequest {
    #[prost(bool, tag = "1")]
    pub force: bool,
}

/// `machine.ShutdownResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ShutdownResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Shutdown>,
}

/// `machine.UpgradeRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpgradeRequest {
    #[prost(string, tag = "1")]
    pub image: String,
    #[prost(bool, tag = "2")]
    pub preserve: bool,
    #[prost(bool, tag = "3")]
    pub stage: bool,
    #[prost(bool, tag = "4")]
    pub force: bool,
    #[prost(enumeration = "UpgradeRequestRebootMode", tag = "5")]
    pub reboot_mode: i32,
}

/// `machine.UpgradeRequest.RebootMode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum UpgradeRequestRebootMode {
    Default = 0,
    Powercycle = 1,
}

/// `machine.Upgrade`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Upgrade {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub ack: String,
    #[prost(string, tag = "3")]
    pub actor_id: String,
}

/// `machine.UpgradeResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpgradeResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Upgrade>,
}

/// `machine.RollbackRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RollbackRequest {}

/// `machine.Rollback`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Rollback {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.RollbackResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RollbackResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Rollback>,
}
