//! Whether the clock is right.

/// `talos.resource.definitions.time.AdjtimeStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct AdjtimeStatusSpec {
    #[prost(message, optional, tag = "1")]
    pub offset: Option<crate::google::Duration>,
    #[prost(double, tag = "2")]
    pub frequency_adjustment_ratio: f64,
    #[prost(message, optional, tag = "3")]
    pub max_error: Option<crate::google::Duration>,
    #[prost(message, optional, tag = "4")]
    pub est_error: Option<crate::google::Duration>,
    #[prost(string, tag = "5")]
    pub status: String,
    #[prost(int64, tag = "6")]
    pub constant: i64,
    #[prost(bool, tag = "7")]
    pub sync_status: bool,
    #[prost(string, tag = "8")]
    pub state: String,
}

/// `talos.resource.definitions.time.StatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusSpec {
    #[prost(bool, tag = "1")]
    pub synced: bool,
    #[prost(int64, tag = "2")]
    pub epoch: i64,
    #[prost(bool, tag = "3")]
    pub sync_disabled: bool,
}
