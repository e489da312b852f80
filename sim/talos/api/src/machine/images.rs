//! Container images, and the services of 1.13 that install them.

/// `machine.ImageListRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageListRequest {
    #[prost(enumeration = "crate::common::ContainerdNamespace", tag = "1")]
    pub namespace: i32,
}

/// `machine.ImageListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageListResponse {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub digest: String,
    #[prost(int64, tag = "4")]
    pub size: i64,
    #[prost(message, optional, tag = "5")]
    pub created_at: Option<crate::google::Timestamp>,
}

/// `machine.ImagePullRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImagePullRequest {
    #[prost(enumeration = "crate::common::ContainerdNamespace", tag = "1")]
    pub namespace: i32,
    #[prost(string, tag = "2")]
    pub reference: String,
}

/// `machine.ImagePull`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImagePull {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
}

/// `machine.ImagePullResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImagePullResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ImagePull>,
}

/// `machine.DebugContainerRunRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugContainerRunRequest {
    #[prost(oneof = "DebugContainerRunRequestRequest", tags = "1, 2, 3, 4")]
    pub request: Option<DebugContainerRunRequestRequest>,
}

/// `machine.DebugContainerRunRequest`, one of `request`
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum DebugContainerRunRequestRequest {
    #[prost(message, tag = "1")]
    Spec(DebugContainerRunRequestSpec),
    #[prost(bytes = "vec", tag = "2")]
    StdinData(Vec<u8>),
    #[prost(int32, tag = "3")]
    Signal(i32),
    #[prost(message, tag = "4")]
    TermResize(DebugContainerTerminalResize),
}

/// `machine.DebugContainerRunRequestSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugContainerRunRequestSpec {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
    #[prost(string, tag = "2")]
    pub image_name: String,
    #[prost(string, repeated, tag = "3")]
    pub args: Vec<String>,
    #[prost(btree_map = "string, string", tag = "4")]
    pub env: std::collections::BTreeMap<String, String>,
    #[prost(enumeration = "DebugContainerRunRequestSpecProfile", tag = "5")]
    pub profile: i32,
    #[prost(bool, tag = "6")]
    pub tty: bool,
}

/// `machine.DebugContainerRunRequestSpec.Profile`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DebugContainerRunRequestSpecProfile {
    Unspecified = 0,
    Privileged = 1,
}

/// `machine.DebugContainerTerminalResize`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugContainerTerminalResize {
    #[prost(int32, tag = "1")]
    pub width: i32,
    #[prost(int32, tag = "2")]
    pub height: i32,
}

/// `machine.DebugContainerRunResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugContainerRunResponse {
    #[prost(oneof = "DebugContainerRunResponseResp", tags = "2, 3")]
    pub resp: Option<DebugContainerRunResponseResp>,
}

/// `machine.DebugContainerRunResponse`, one of `resp`
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum DebugContainerRunResponseResp {
    #[prost(bytes = "vec", tag = "2")]
    StdoutData(Vec<u8>),
    #[prost(int32, tag = "3")]
    ExitCode(i32),
}

/// `machine.ImageServiceListRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceListRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
}

/// `machine.ImageServiceListResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceListResponse {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub digest: String,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(message, optional, tag = "4")]
    pub created_at: Option<crate::google::Timestamp>,
    #[prost(btree_map = "string, string", tag = "5")]
    pub labels: std::collections::BTreeMap<String, String>,
}

/// `machine.ImageServicePullRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServicePullRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
    #[prost(string, tag = "3")]
    pub image_ref: String,
}

/// `machine.ImageServicePullResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServicePullResponse {
    #[prost(oneof = "ImageServicePullResponseResponse", tags = "1, 2")]
    pub response: Option<ImageServicePullResponseResponse>,
}

/// `machine.ImageServicePullResponse`, one of `response`
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ImageServicePullResponseResponse {
    #[prost(string, tag = "1")]
    Name(String),
    #[prost(message, tag = "2")]
    PullProgress(ImageServicePullProgress),
}

/// `machine.ImageServiceImportRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceImportRequest {
    #[prost(oneof = "ImageServiceImportRequestRequest", tags = "1, 2")]
    pub request: Option<ImageServiceImportRequestRequest>,
}

/// `machine.ImageServiceImportRequest`, one of `request`
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ImageServiceImportRequestRequest {
    #[prost(message, tag = "1")]
    Containerd(crate::common::ContainerdInstance),
    #[prost(message, tag = "2")]
    ImageChunk(crate::common::Data),
}

/// `machine.ImageServiceImportResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceImportResponse {
    #[prost(string, tag = "1")]
    pub name: String,
}

/// `machine.ImageServicePullLayerProgress`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServicePullLayerProgress {
    #[prost(enumeration = "ImageServicePullLayerProgressStatus", tag = "1")]
    pub status: i32,
    #[prost(message, optional, tag = "2")]
    pub elapsed: Option<crate::google::Duration>,
    #[prost(int64, tag = "3")]
    pub offset: i64,
    #[prost(int64, tag = "4")]
    pub total: i64,
}

/// `machine.ImageServicePullLayerProgress.Status`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ImageServicePullLayerProgressStatus {
    Downloading = 0,
    DownloadComplete = 1,
    Extracting = 2,
    ExtractComplete = 3,
    AlreadyExists = 4,
}

/// `machine.ImageServicePullProgress`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServicePullProgress {
    #[prost(string, tag = "1")]
    pub layer_id: String,
    #[prost(message, optional, tag = "2")]
    pub progress: Option<ImageServicePullLayerProgress>,
}

/// `machine.ImageServiceRemoveRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceRemoveRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
    #[prost(string, tag = "2")]
    pub image_ref: String,
}

/// `machine.ImageServiceVerifyRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceVerifyRequest {
    #[prost(string, tag = "1")]
    pub image_ref: String,
    #[prost(message, optional, tag = "2")]
    pub credentials: Option<ImageServiceCredentials>,
}

/// `machine.ImageServiceCredentials`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceCredentials {
    #[prost(string, tag = "1")]
    pub host: String,
    #[prost(string, tag = "2")]
    pub username: String,
    #[prost(string, tag = "3")]
    pub password: String,
}

/// `machine.ImageServiceVerifyResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageServiceVerifyResponse {
    #[prost(bool, tag = "1")]
    pub verified: bool,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub digested_image_ref: String,
}

/// `machine.InstallArtifactsSource`
#[derive(Clone, PartialEq, prost::Message)]
pub struct InstallArtifactsSource {
    #[prost(string, tag = "1")]
    pub image_name: String,
}

/// `machine.InstallDestination`
#[derive(Clone, PartialEq, prost::Message)]
pub struct InstallDestination {
    #[prost(string, tag = "1")]
    pub disk: String,
}

/// `machine.LifecycleServiceInstallRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LifecycleServiceInstallRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
    #[prost(message, optional, tag = "2")]
    pub source: Option<InstallArtifactsSource>,
    #[prost(message, optional, tag = "3")]
    pub destination: Option<InstallDestination>,
}

/// `machine.LifecycleServiceInstallProgress`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LifecycleServiceInstallProgress {
    #[prost(oneof = "LifecycleServiceInstallProgressResponse", tags = "1, 2")]
    pub response: Option<LifecycleServiceInstallProgressResponse>,
}

/// `machine.LifecycleServiceInstallProgress`, one of `response`
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum LifecycleServiceInstallProgressResponse {
    #[prost(string, tag = "1")]
    Message(String),
    #[prost(int32, tag = "2")]
    ExitCode(i32),
}

/// `machine.LifecycleServiceInstallResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LifecycleServiceInstallResponse {
    #[prost(message, optional, tag = "1")]
    pub progress: Option<LifecycleServiceInstallProgress>,
}

/// `machine.LifecycleServiceUpgradeRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LifecycleServiceUpgradeRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<crate::common::ContainerdInstance>,
    #[prost(message, optional, tag = "2")]
    pub source: Option<InstallArtifactsSource>,
}

/// `machine.LifecycleServiceUpgradeResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LifecycleServiceUpgradeResponse {
    #[prost(message, optional, tag = "1")]
    pub progress: Option<LifecycleServiceInstallProgress>,
}
