//! System extensions.

/// `talos.resource.definitions.extensions.Compatibility`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Compatibility {
    #[prost(message, optional, tag = "1")]
    pub talos: Option<Constraint>,
}

/// `talos.resource.definitions.extensions.Constraint`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Constraint {
    #[prost(string, tag = "1")]
    pub version: String,
}

/// `talos.resource.definitions.extensions.Layer`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Layer {
    #[prost(string, tag = "1")]
    pub image: String,
    #[prost(message, optional, tag = "2")]
    pub metadata: Option<Metadata>,
}

/// `talos.resource.definitions.extensions.Metadata`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(string, tag = "3")]
    pub author: String,
    #[prost(string, tag = "4")]
    pub description: String,
    #[prost(message, optional, tag = "5")]
    pub compatibility: Option<Compatibility>,
    #[prost(string, tag = "6")]
    pub extra_info: String,
}
