//! What a node tells as it happens.

use super::services::ServiceHealth;

/// `machine.SequenceEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SequenceEvent {
    #[prost(string, tag = "1")]
    pub sequence: String,
    #[prost(enumeration = "SequenceEventAction", tag = "2")]
    pub action: i32,
    #[prost(message, optional, tag = "3")]
    pub error: Option<crate::common::Error>,
}

/// `machine.SequenceEvent.Action`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SequenceEventAction {
    Noop = 0,
    Start = 1,
    Stop = 2,
}

/// `machine.PhaseEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PhaseEvent {
    #[prost(string, tag = "1")]
    pub phase: String,
    #[prost(enumeration = "PhaseEventAction", tag = "2")]
    pub action: i32,
}

/// `machine.PhaseEvent.Action`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PhaseEventAction {
    Start = 0,
    Stop = 1,
}

/// `machine.TaskEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TaskEvent {
    #[prost(string, tag = "1")]
    pub task: String,
    #[prost(enumeration = "TaskEventAction", tag = "2")]
    pub action: i32,
}

/// `machine.TaskEvent.Action`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum TaskEventAction {
    Start = 0,
    Stop = 1,
}

/// `machine.ServiceStateEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceStateEvent {
    #[prost(string, tag = "1")]
    pub service: String,
    #[prost(enumeration = "ServiceStateEventAction", tag = "2")]
    pub action: i32,
    #[prost(string, tag = "3")]
    pub message: String,
    #[prost(message, optional, tag = "4")]
    pub health: Option<ServiceHealth>,
}

/// `machine.ServiceStateEvent.Action`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ServiceStateEventAction {
    Initialized = 0,
    Preparing = 1,
    Waiting = 2,
    Running = 3,
    Stopping = 4,
    Finished = 5,
    Failed = 6,
    Skipped = 7,
    Starting = 8,
}

/// `machine.RestartEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct RestartEvent {
    #[prost(int64, tag = "1")]
    pub cmd: i64,
}

/// `machine.ConfigLoadErrorEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigLoadErrorEvent {
    #[prost(string, tag = "1")]
    pub error: String,
}

/// `machine.ConfigValidationErrorEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigValidationErrorEvent {
    #[prost(string, tag = "1")]
    pub error: String,
}

/// `machine.AddressEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct AddressEvent {
    #[prost(string, tag = "1")]
    pub hostname: String,
    #[prost(string, repeated, tag = "2")]
    pub addresses: Vec<String>,
}

/// `machine.MachineStatusEvent`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineStatusEvent {
    #[prost(enumeration = "MachineStatusEventMachineStage", tag = "1")]
    pub stage: i32,
    #[prost(message, optional, tag = "2")]
    pub status: Option<MachineStatusEventMachineStatus>,
}

/// `machine.MachineStatusEvent.MachineStatus`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineStatusEventMachineStatus {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(message, repeated, tag = "2")]
    pub unmet_conditions: Vec<MachineStatusEventMachineStatusUnmetCondition>,
}

/// `machine.MachineStatusEvent.MachineStatus.UnmetCondition`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineStatusEventMachineStatusUnmetCondition {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub reason: String,
}

/// `machine.MachineStatusEvent.MachineStage`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MachineStatusEventMachineStage {
    Unknown = 0,
    Booting = 1,
    Installing = 2,
    Maintenance = 3,
    Running = 4,
    Rebooting = 5,
    ShuttingDown = 6,
    Resetting = 7,
    Upgrading = 8,
}

/// `machine.EventsRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EventsRequest {
    #[prost(int32, tag = "1")]
    pub tail_events: i32,
    #[prost(string, tag = "2")]
    pub tail_id: String,
    #[prost(int32, tag = "3")]
    pub tail_seconds: i32,
    #[prost(string, tag = "4")]
    pub with_actor_id: String,
}

/// `machine.Event`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<crate::google::Any>,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(string, tag = "4")]
    pub actor_id: String,
}
