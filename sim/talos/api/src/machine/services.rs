//! Services, containers, processes and their logs.

/// `machine.ServiceList`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceList {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub services: Vec<ServiceInfo>,
}

/// `machine.ServiceListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ServiceList>,
}

/// `machine.ServiceInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceInfo {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "2")]
    pub state: String,
    #[prost(message, optional, tag = "3")]
    pub events: Option<ServiceEvents>,
    #[prost(message, optional, tag = "4")]
    pub health: Option<ServiceHealth>,
}

/// `machine.ServiceEvents`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceEvents {
    #[prost(message, repeated, tag = "1")]
    pub events: Vec<ServiceEvent>,
}

/// `machine.ServiceEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceEvent {
    #[prost(string, tag = "1")]
    pub msg: String,
    #[prost(string, tag = "2")]
    pub state: String,
    #[prost(message, optional, tag = "3")]
    pub ts: Option<crate::google::Timestamp>,
}

/// `machine.ServiceHealth`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceHealth {
    #[prost(bool, tag = "1")]
    pub unknown: bool,
    #[prost(bool, tag = "2")]
    pub healthy: bool,
    #[prost(string, tag = "3")]
    pub last_message: String,
    #[prost(message, optional, tag = "4")]
    pub last_change: Option<crate::google::Timestamp>,
}

/// `machine.ServiceStartRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStartRequest {
    #[prost(string, tag = "1")]
    pub id: String,
}

/// `machine.ServiceStart`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStart {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub resp: String,
}

/// `machine.ServiceStartResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStartResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ServiceStart>,
}

/// `machine.ServiceStopRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStopRequest {
    #[prost(string, tag = "1")]
    pub id: String,
}

/// `machine.ServiceStop`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStop {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub resp: String,
}

/// `machine.ServiceStopResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStopResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ServiceStop>,
}

/// `machine.ServiceRestartRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceRestartRequest {
    #[prost(string, tag = "1")]
    pub id: String,
}

/// `machine.ServiceRestart`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceRestart {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub resp: String,
}

/// `machine.ServiceRestartResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceRestartResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ServiceRestart>,
}

/// `machine.LogsRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LogsRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(enumeration = "crate::common::ContainerDriver", tag = "3")]
    pub driver: i32,
    #[prost(bool, tag = "4")]
    pub follow: bool,
    #[prost(int32, tag = "5")]
    pub tail_lines: i32,
}

/// `machine.LogsContainer`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LogsContainer {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, repeated, tag = "2")]
    pub ids: Vec<String>,
}

/// `machine.LogsContainersResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LogsContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<LogsContainer>,
}

/// `machine.ContainersRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainersRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(enumeration = "crate::common::ContainerDriver", tag = "2")]
    pub driver: i32,
}

/// `machine.ContainerInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerInfo {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(string, tag = "3")]
    pub image: String,
    #[prost(uint32, tag = "4")]
    pub pid: u32,
    #[prost(string, tag = "5")]
    pub status: String,
    #[prost(string, tag = "6")]
    pub pod_id: String,
    #[prost(string, tag = "7")]
    pub name: String,
    #[prost(string, tag = "8")]
    pub network_namespace: String,
    #[prost(string, tag = "9")]
    pub internal_id: String,
    #[prost(string, tag = "10")]
    pub uid: String,
}

/// `machine.Container`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Container {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub containers: Vec<ContainerInfo>,
}

/// `machine.ContainersResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Container>,
}

/// `machine.DmesgRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DmesgRequest {
    #[prost(bool, tag = "1")]
    pub follow: bool,
    #[prost(bool, tag = "2")]
    pub tail: bool,
}

/// `machine.ProcessesResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessesResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Process>,
}

/// `machine.Process`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Process {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub processes: Vec<ProcessInfo>,
}

/// `machine.ProcessInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessInfo {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(int32, tag = "2")]
    pub ppid: i32,
    #[prost(string, tag = "3")]
    pub state: String,
    #[prost(int32, tag = "4")]
    pub threads: i32,
    #[prost(double, tag = "5")]
    pub cpu_time: f64,
    #[prost(uint64, tag = "6")]
    pub virtual_memory: u64,
    #[prost(uint64, tag = "7")]
    pub resident_memory: u64,
    #[prost(string, tag = "8")]
    pub command: String,
    #[prost(string, tag = "9")]
    pub executable: String,
    #[prost(string, tag = "10")]
    pub args: String,
    #[prost(string, tag = "11")]
    pub label: String,
}

/// `machine.RestartRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RestartRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(enumeration = "crate::common::ContainerDriver", tag = "3")]
    pub driver: i32,
}

/// `machine.Restart`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Restart {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.RestartResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RestartResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Restart>,
}

/// `machine.StatsRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatsRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(enumeration = "crate::common::ContainerDriver", tag = "2")]
    pub driver: i32,
}

/// `machine.Stats`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Stats {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub stats: Vec<Stat>,
}

/// `machine.StatsResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatsResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Stats>,
}

/// `machine.Stat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Stat {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(uint64, tag = "4")]
    pub memory_usage: u64,
    #[prost(uint64, tag = "5")]
    pub cpu_usage: u64,
    #[prost(string, tag = "6")]
    pub pod_id: String,
    #[prost(string, tag = "7")]
    pub name: String,
}
