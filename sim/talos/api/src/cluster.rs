//! Package `cluster`: the health of a whole cluster.

/// `cluster.HealthCheckRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckRequest {
    #[prost(message, optional, tag = "1")]
    pub wait_timeout: Option<crate::google::Duration>,
    #[prost(message, optional, tag = "2")]
    pub cluster_info: Option<ClusterInfo>,
}

/// `cluster.ClusterInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClusterInfo {
    #[prost(string, repeated, tag = "1")]
    pub control_plane_nodes: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub worker_nodes: Vec<String>,
    #[prost(string, tag = "3")]
    pub force_endpoint: String,
}

/// `cluster.HealthCheckProgress`
#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckProgress {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub message: String,
}
