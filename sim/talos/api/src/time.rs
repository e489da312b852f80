//! Package `time`: clocks and their servers.

/// `time.TimeRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TimeRequest {
    #[prost(string, tag = "1")]
    pub server: String,
}

/// `time.Time`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Time {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub server: String,
    #[prost(message, optional, tag = "3")]
    pub localtime: Option<crate::google::Timestamp>,
    #[prost(message, optional, tag = "4")]
    pub remotetime: Option<crate::google::Timestamp>,
}

/// `time.TimeResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TimeResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Time>,
}
