//! Package `inspect`: how the controllers of a node hang together.

/// `inspect.ControllerRuntimeDependency`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerRuntimeDependency {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub edges: Vec<ControllerDependencyEdge>,
}

/// `inspect.ControllerRuntimeDependenciesResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerRuntimeDependenciesResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ControllerRuntimeDependency>,
}

/// `inspect.DependencyEdgeType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DependencyEdgeType {
    OutputExclusive = 0,
    OutputShared = 3,
    InputStrong = 1,
    InputWeak = 2,
    InputDestroyReady = 4,
}

/// `inspect.ControllerDependencyEdge`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerDependencyEdge {
    #[prost(string, tag = "1")]
    pub controller_name: String,
    #[prost(enumeration = "DependencyEdgeType", tag = "2")]
    pub edge_type: i32,
    #[prost(string, tag = "3")]
    pub resource_namespace: String,
    #[prost(string, tag = "4")]
    pub resource_type: String,
    #[prost(string, tag = "5")]
    pub resource_id: String,
}
