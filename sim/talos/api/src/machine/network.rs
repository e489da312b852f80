//! Connections and packets.

/// `machine.PacketCaptureRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketCaptureRequest {
    #[prost(string, tag = "1")]
    pub interface: String,
    #[prost(bool, tag = "2")]
    pub promiscuous: bool,
    #[prost(uint32, tag = "3")]
    pub snap_len: u32,
    #[prost(message, repeated, tag = "4")]
    pub bpf_filter: Vec<BpfInstruction>,
}

/// `machine.BPFInstruction`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BpfInstruction {
    #[prost(uint32, tag = "1")]
    pub op: u32,
    #[prost(uint32, tag = "2")]
    pub jt: u32,
    #[prost(uint32, tag = "3")]
    pub jf: u32,
    #[prost(uint32, tag = "4")]
    pub k: u32,
}

/// `machine.NetstatRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetstatRequest {
    #[prost(enumeration = "NetstatRequestFilter", tag = "1")]
    pub filter: i32,
    #[prost(message, optional, tag = "2")]
    pub feature: Option<NetstatRequestFeature>,
    #[prost(message, optional, tag = "3")]
    pub l4proto: Option<NetstatRequestL4proto>,
    #[prost(message, optional, tag = "4")]
    pub netns: Option<NetstatRequestNetNs>,
}

/// `machine.NetstatRequest.Filter`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NetstatRequestFilter {
    All = 0,
    Connected = 1,
    Listening = 2,
}

/// `machine.NetstatRequest.Feature`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetstatRequestFeature {
    #[prost(bool, tag = "1")]
    pub pid: bool,
}

/// `machine.NetstatRequest.L4proto`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetstatRequestL4proto {
    #[prost(bool, tag = "1")]
    pub tcp: bool,
    #[prost(bool, tag = "2")]
    pub tcp6: bool,
    #[prost(bool, tag = "3")]
    pub udp: bool,
    #[prost(bool, tag = "4")]
    pub udp6: bool,
    #[prost(bool, tag = "5")]
    pub udplite: bool,
    #[prost(bool, tag = "6")]
    pub udplite6: bool,
    #[prost(bool, tag = "7")]
    pub raw: bool,
    #[prost(bool, tag = "8")]
    pub raw6: bool,
}

/// `machine.NetstatRequest.NetNS`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetstatRequestNetNs {
    #[prost(bool, tag = "1")]
    pub hostnetwork: bool,
    #[prost(string, repeated, tag = "2")]
    pub netns: Vec<String>,
    #[prost(bool, tag = "3")]
    pub allnetns: bool,
}

/// `machine.ConnectRecord`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConnectRecord {
    #[prost(string, tag = "1")]
    pub l4proto: String,
    #[prost(string, tag = "2")]
    pub localip: String,
    #[prost(uint32, tag = "3")]
    pub localport: u32,
    #[prost(string, tag = "4")]
    pub remoteip: String,
    #[prost(uint32, tag = "5")]
    pub remoteport: u32,
    #[prost(enumeration = "ConnectRecordState", tag = "6")]
    pub state: i32,
    #[prost(uint64, tag = "7")]
    pub txqueue: u64,
    #[prost(uint64, tag = "8")]
    pub rxqueue: u64,
    #[prost(enumeration = "ConnectRecordTimerActive", tag = "9")]
    pub tr: i32,
    #[prost(uint64, tag = "10")]
    pub timerwhen: u64,
    #[prost(uint64, tag = "11")]
    pub retrnsmt: u64,
    #[prost(uint32, tag = "12")]
    pub uid: u32,
    #[prost(uint64, tag = "13")]
    pub timeout: u64,
    #[prost(uint64, tag = "14")]
    pub inode: u64,
    #[prost(uint64, tag = "15")]
    pub r#ref: u64,
    #[prost(uint64, tag = "16")]
    pub pointer: u64,
    #[prost(message, optional, tag = "17")]
    pub process: Option<ConnectRecordProcess>,
    #[prost(string, tag = "18")]
    pub netns: String,
}

/// `machine.ConnectRecord.State`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ConnectRecordState {
    Reserved = 0,
    Established = 1,
    SynSent = 2,
    SynRecv = 3,
    FinWait1 = 4,
    FinWait2 = 5,
    TimeWait = 6,
    Close = 7,
    Closewait = 8,
    Lastack = 9,
    Listen = 10,
    Closing = 11,
}

/// `machine.ConnectRecord.TimerActive`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ConnectRecordTimerActive {
    Off = 0,
    On = 1,
    Keepalive = 2,
    Timewait = 3,
    Probe = 4,
}

/// `machine.ConnectRecord.Process`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConnectRecordProcess {
    #[prost(uint32, tag = "1")]
    pub pid: u32,
    #[prost(string, tag = "2")]
    pub name: String,
}

/// `machine.Netstat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Netstat {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub connectrecord: Vec<ConnectRecord>,
}

/// `machine.NetstatResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetstatResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Netstat>,
}
