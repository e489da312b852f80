//! Packages `cosi.resource` and `cosi.resource.meta`: the resources of a node, and reading and watching them.

/// `cosi.resource.Metadata`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(string, tag = "4")]
    pub version: String,
    #[prost(string, tag = "5")]
    pub owner: String,
    #[prost(string, tag = "6")]
    pub phase: String,
    #[prost(message, optional, tag = "7")]
    pub created: Option<crate::google::Timestamp>,
    #[prost(message, optional, tag = "8")]
    pub updated: Option<crate::google::Timestamp>,
    #[prost(string, repeated, tag = "9")]
    pub finalizers: Vec<String>,
    #[prost(btree_map = "string, string", tag = "10")]
    pub labels: std::collections::BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "11")]
    pub annotations: std::collections::BTreeMap<String, String>,
}

/// `cosi.resource.Spec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Spec {
    #[prost(bytes = "vec", tag = "1")]
    pub proto_spec: Vec<u8>,
    #[prost(string, tag = "2")]
    pub yaml_spec: String,
}

/// `cosi.resource.Resource`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<Spec>,
}

/// `cosi.resource.LabelTerm`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LabelTerm {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(enumeration = "LabelTermOperation", tag = "2")]
    pub op: i32,
    #[prost(string, repeated, tag = "3")]
    pub value: Vec<String>,
    #[prost(bool, tag = "5")]
    pub invert: bool,
}

/// `cosi.resource.LabelQuery`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LabelQuery {
    #[prost(message, repeated, tag = "1")]
    pub terms: Vec<LabelTerm>,
}

/// `cosi.resource.IdQuery`
#[derive(Clone, PartialEq, prost::Message)]
pub struct IdQuery {
    #[prost(string, tag = "1")]
    pub regexp: String,
}

/// `cosi.resource.Event`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(enumeration = "EventType", tag = "2")]
    pub event_type: i32,
    #[prost(message, optional, tag = "3")]
    pub old: Option<Resource>,
    #[prost(string, optional, tag = "4")]
    pub error: Option<String>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub bookmark: Option<Vec<u8>>,
}

/// `cosi.resource.GetOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetOptions {}

/// `cosi.resource.GetRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(message, optional, tag = "4")]
    pub options: Option<GetOptions>,
}

/// `cosi.resource.GetResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
}

/// `cosi.resource.ListRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(message, optional, tag = "3")]
    pub options: Option<ListOptions>,
}

/// `cosi.resource.ListOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListOptions {
    #[prost(message, repeated, tag = "1")]
    pub label_query: Vec<LabelQuery>,
    #[prost(message, optional, tag = "2")]
    pub id_query: Option<IdQuery>,
}

/// `cosi.resource.ListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
}

/// `cosi.resource.CreateRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateRequest {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub options: Option<CreateOptions>,
}

/// `cosi.resource.CreateOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateOptions {
    #[prost(string, tag = "1")]
    pub owner: String,
}

/// `cosi.resource.CreateResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
}

/// `cosi.resource.UpdateRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateRequest {
    #[prost(message, optional, tag = "2")]
    pub new_resource: Option<Resource>,
    #[prost(message, optional, tag = "3")]
    pub options: Option<UpdateOptions>,
}

/// `cosi.resource.UpdateOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateOptions {
    #[prost(string, tag = "1")]
    pub owner: String,
    #[prost(string, optional, tag = "2")]
    pub expected_phase: Option<String>,
}

/// `cosi.resource.UpdateResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
}

/// `cosi.resource.DestroyRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DestroyRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(message, optional, tag = "4")]
    pub options: Option<DestroyOptions>,
}

/// `cosi.resource.DestroyOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DestroyOptions {
    #[prost(string, tag = "1")]
    pub owner: String,
}

/// `cosi.resource.DestroyResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DestroyResponse {}

/// `cosi.resource.WatchRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct WatchRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, optional, tag = "3")]
    pub id: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub options: Option<WatchOptions>,
    #[prost(int32, tag = "5")]
    pub api_version: i32,
}

/// `cosi.resource.WatchOptions`
#[derive(Clone, PartialEq, prost::Message)]
pub struct WatchOptions {
    #[prost(bool, tag = "1")]
    pub bootstrap_contents: bool,
    #[prost(int32, tag = "2")]
    pub tail_events: i32,
    #[prost(message, repeated, tag = "3")]
    pub label_query: Vec<LabelQuery>,
    #[prost(message, optional, tag = "4")]
    pub id_query: Option<IdQuery>,
    #[prost(bool, tag = "5")]
    pub aggregated: bool,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub start_from_bookmark: Option<Vec<u8>>,
    #[prost(bool, tag = "7")]
    pub bootstrap_bookmark: bool,
}

/// `cosi.resource.WatchResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct WatchResponse {
    #[prost(message, repeated, tag = "1")]
    pub event: Vec<Event>,
}

/// `cosi.resource.meta.NamespaceSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NamespaceSpec {
    #[prost(string, tag = "1")]
    pub description: String,
}

/// `cosi.resource.meta.ResourceDefinitionSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceDefinitionSpec {
    #[prost(string, tag = "1")]
    pub resource_type: String,
    #[prost(string, tag = "2")]
    pub display_type: String,
    #[prost(string, tag = "3")]
    pub default_namespace: String,
    #[prost(string, repeated, tag = "4")]
    pub aliases: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub all_aliases: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub print_columns: Vec<PrintColumn>,
    #[prost(enumeration = "Sensitivity", tag = "7")]
    pub sensitivity: i32,
}

/// `cosi.resource.meta.PrintColumn`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PrintColumn {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub json_path: String,
}

/// `cosi.resource.LabelTerm.Operation`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum LabelTermOperation {
    Exists = 0,
    Equal = 1,
    NotExists = 2,
    In = 3,
    Lt = 4,
    Lte = 5,
    LtNumeric = 6,
    LteNumeric = 7,
}

/// `cosi.resource.EventType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    Created = 0,
    Updated = 1,
    Destroyed = 2,
    Bootstrapped = 3,
    Errored = 4,
    Noop = 5,
}

/// `cosi.resource.meta.ResourceDefinitionSpec.Sensitivity`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Sensitivity {
    NonSensitive = 0,
    Sensitive = 1,
}
