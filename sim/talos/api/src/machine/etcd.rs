//! etcd and its members.

/// `machine.EtcdLeaveClusterRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdLeaveClusterRequest {}

/// `machine.EtcdLeaveCluster`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdLeaveCluster {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.EtcdLeaveClusterResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdLeaveClusterResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdLeaveCluster>,
}

/// `machine.EtcdRemoveMemberRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMemberRequest {
    #[prost(string, tag = "1")]
    pub member: String,
}

/// `machine.EtcdRemoveMember`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMember {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.EtcdRemoveMemberResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMemberResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdRemoveMember>,
}

/// `machine.EtcdRemoveMemberByIDRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMemberByIdRequest {
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
}

/// `machine.EtcdRemoveMemberByID`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMemberById {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.EtcdRemoveMemberByIDResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRemoveMemberByIdResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdRemoveMemberById>,
}

/// `machine.EtcdForfeitLeadershipRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdForfeitLeadershipRequest {}

/// `machine.EtcdForfeitLeadership`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdForfeitLeadership {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub member: String,
}

/// `machine.EtcdForfeitLeadershipResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdForfeitLeadershipResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdForfeitLeadership>,
}

/// `machine.EtcdMemberListRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMemberListRequest {
    #[prost(bool, tag = "1")]
    pub query_local: bool,
}

/// `machine.EtcdMember`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMember {
    #[prost(uint64, tag = "2")]
    pub id: u64,
    #[prost(string, tag = "3")]
    pub hostname: String,
    #[prost(string, repeated, tag = "4")]
    pub peer_urls: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub client_urls: Vec<String>,
    #[prost(bool, tag = "6")]
    pub is_learner: bool,
}

/// `machine.EtcdMembers`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMembers {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, repeated, tag = "2")]
    pub legacy_members: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<EtcdMember>,
}

/// `machine.EtcdMemberListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMemberListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdMembers>,
}

/// `machine.EtcdSnapshotRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdSnapshotRequest {}

/// `machine.EtcdRecover`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRecover {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.EtcdRecoverResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRecoverResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdRecover>,
}

/// `machine.EtcdAlarmListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdAlarmListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdAlarm>,
}

/// `machine.EtcdAlarm`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdAlarm {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub member_alarms: Vec<EtcdMemberAlarm>,
}

/// `machine.EtcdMemberAlarm`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMemberAlarm {
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
    #[prost(enumeration = "EtcdMemberAlarmAlarmType", tag = "2")]
    pub alarm: i32,
}

/// `machine.EtcdMemberAlarm.AlarmType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EtcdMemberAlarmAlarmType {
    None = 0,
    Nospace = 1,
    Corrupt = 2,
}

/// `machine.EtcdAlarmDisarmResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdAlarmDisarmResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdAlarmDisarm>,
}

/// `machine.EtcdAlarmDisarm`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdAlarmDisarm {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub member_alarms: Vec<EtcdMemberAlarm>,
}

/// `machine.EtcdDefragmentResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDefragmentResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdDefragment>,
}

/// `machine.EtcdDefragment`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDefragment {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.EtcdStatusResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdStatusResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdStatus>,
}

/// `machine.EtcdStatus`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdStatus {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub member_status: Option<EtcdMemberStatus>,
}

/// `machine.EtcdMemberStatus`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdMemberStatus {
    #[prost(string, tag = "1")]
    pub protocol_version: String,
    #[prost(int64, tag = "2")]
    pub db_size: i64,
    #[prost(int64, tag = "3")]
    pub db_size_in_use: i64,
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    #[prost(uint64, tag = "5")]
    pub raft_index: u64,
    #[prost(uint64, tag = "6")]
    pub raft_term: u64,
    #[prost(uint64, tag = "7")]
    pub raft_applied_index: u64,
    #[prost(string, repeated, tag = "8")]
    pub errors: Vec<String>,
    #[prost(bool, tag = "9")]
    pub is_learner: bool,
    #[prost(uint64, tag = "10")]
    pub member_id: u64,
    #[prost(string, tag = "11")]
    pub storage_version: String,
}

/// `machine.EtcdDowngradeValidateRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeValidateRequest {
    #[prost(string, tag = "1")]
    pub version: String,
}

/// `machine.EtcdDowngradeValidateResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeValidateResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdDowngradeValidate>,
}

/// `machine.EtcdDowngradeValidate`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeValidate {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub cluster_downgrade: Option<EtcdClusterDowngrade>,
}

/// `machine.EtcdDowngradeEnableRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeEnableRequest {
    #[prost(string, tag = "1")]
    pub version: String,
}

/// `machine.EtcdDowngradeEnableResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeEnableResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdDowngradeEnable>,
}

/// `machine.EtcdDowngradeEnable`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeEnable {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub cluster_downgrade: Option<EtcdClusterDowngrade>,
}

/// `machine.EtcdDowngradeCancelResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeCancelResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdDowngradeCancel>,
}

/// `machine.EtcdDowngradeCancel`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdDowngradeCancel {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub cluster_downgrade: Option<EtcdClusterDowngrade>,
}

/// `machine.EtcdClusterDowngrade`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdClusterDowngrade {
    #[prost(string, tag = "1")]
    pub cluster_version: String,
}
