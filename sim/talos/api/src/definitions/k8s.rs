//! Kubernetes on this node.

/// `talos.resource.definitions.k8s.APIServerConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApiServerConfigSpec {
    #[prost(string, tag = "1")]
    pub image: String,
    #[prost(string, tag = "2")]
    pub cloud_provider: String,
    #[prost(string, tag = "3")]
    pub control_plane_endpoint: String,
    #[prost(string, repeated, tag = "4")]
    pub etcd_servers: Vec<String>,
    #[prost(int64, tag = "5")]
    pub local_port: i64,
    #[prost(string, repeated, tag = "6")]
    pub service_cid_rs: Vec<String>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "8")]
    pub extra_volumes: Vec<ExtraVolume>,
    #[prost(btree_map = "string, string", tag = "9")]
    pub environment_variables: std::collections::BTreeMap<String, String>,
    #[prost(bool, tag = "10")]
    pub pod_security_policy_enabled: bool,
    #[prost(string, tag = "11")]
    pub advertised_address: String,
    #[prost(message, optional, tag = "12")]
    pub resources: Option<Resources>,
    #[prost(btree_map = "string, message", tag = "13")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.k8s.BootstrapManifestsConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BootstrapManifestsConfigSpec {
    #[prost(string, tag = "1")]
    pub server: String,
    #[prost(string, tag = "2")]
    pub cluster_domain: String,
    #[prost(string, repeated, tag = "3")]
    pub pod_cid_rs: Vec<String>,
    #[prost(bool, tag = "4")]
    pub proxy_enabled: bool,
    #[prost(string, tag = "5")]
    pub proxy_image: String,
    #[prost(string, repeated, tag = "6")]
    pub proxy_args: Vec<String>,
    #[prost(bool, tag = "7")]
    pub core_dns_enabled: bool,
    #[prost(string, tag = "8")]
    pub core_dns_image: String,
    #[prost(string, tag = "9")]
    pub dns_service_ip: String,
    #[prost(string, tag = "10")]
    pub dns_service_i_pv6: String,
    #[prost(bool, tag = "11")]
    pub flannel_enabled: bool,
    #[prost(string, tag = "12")]
    pub flannel_image: String,
    #[prost(bool, tag = "14")]
    pub pod_security_policy_enabled: bool,
    #[prost(bool, tag = "15")]
    pub talos_api_service_enabled: bool,
    #[prost(string, repeated, tag = "16")]
    pub flannel_extra_args: Vec<String>,
    #[prost(string, tag = "17")]
    pub flannel_kube_service_host: String,
    #[prost(string, tag = "18")]
    pub flannel_kube_service_port: String,
    #[prost(bool, tag = "19")]
    pub flannel_kube_network_policies_enabled: bool,
    #[prost(string, tag = "20")]
    pub flannel_kube_network_policies_image: String,
    #[prost(string, tag = "21")]
    pub cni_name: String,
}

/// `talos.resource.definitions.k8s.ConfigStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigStatusSpec {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(string, tag = "2")]
    pub version: String,
}

/// `talos.resource.definitions.k8s.ControllerManagerConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerManagerConfigSpec {
    #[prost(bool, tag = "1")]
    pub enabled: bool,
    #[prost(string, tag = "2")]
    pub image: String,
    #[prost(string, tag = "3")]
    pub cloud_provider: String,
    #[prost(string, repeated, tag = "4")]
    pub pod_cid_rs: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub service_cid_rs: Vec<String>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "7")]
    pub extra_volumes: Vec<ExtraVolume>,
    #[prost(btree_map = "string, string", tag = "8")]
    pub environment_variables: std::collections::BTreeMap<String, String>,
    #[prost(message, optional, tag = "9")]
    pub resources: Option<Resources>,
    #[prost(btree_map = "string, message", tag = "10")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.k8s.EndpointSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EndpointSpec {
    #[prost(message, repeated, tag = "1")]
    pub addresses: Vec<crate::common::NetIp>,
    #[prost(string, repeated, tag = "2")]
    pub hosts: Vec<String>,
}

/// `talos.resource.definitions.k8s.ExtraVolume`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExtraVolume {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub host_path: String,
    #[prost(string, tag = "3")]
    pub mount_path: String,
    #[prost(bool, tag = "4")]
    pub read_only: bool,
}

/// `talos.resource.definitions.k8s.KubePrismStatusesSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubePrismStatusesSpec {
    #[prost(string, tag = "1")]
    pub host: String,
    #[prost(bool, tag = "2")]
    pub healthy: bool,
}

/// `talos.resource.definitions.k8s.KubeletConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubeletConfigSpec {
    #[prost(string, tag = "1")]
    pub image: String,
    #[prost(string, repeated, tag = "2")]
    pub cluster_dns: Vec<String>,
    #[prost(string, tag = "3")]
    pub cluster_domain: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "5")]
    pub extra_mounts: Vec<crate::definitions::proto::Mount>,
    #[prost(message, optional, tag = "6")]
    pub extra_config: Option<crate::google::Opaque>,
    #[prost(bool, tag = "7")]
    pub cloud_provider_external: bool,
    #[prost(bool, tag = "8")]
    pub default_runtime_seccomp_enabled: bool,
    #[prost(bool, tag = "9")]
    pub skip_node_registration: bool,
    #[prost(string, tag = "10")]
    pub static_pod_list_url: String,
    #[prost(bool, tag = "11")]
    pub disable_manifests_directory: bool,
    #[prost(bool, tag = "12")]
    pub enable_fs_quota_monitoring: bool,
    #[prost(message, optional, tag = "13")]
    pub credential_provider_config: Option<crate::google::Opaque>,
    #[prost(bool, tag = "14")]
    pub allow_scheduling_on_control_plane: bool,
    #[prost(btree_map = "string, message", tag = "15")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.k8s.KubeletSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubeletSpecSpec {
    #[prost(string, tag = "1")]
    pub image: String,
    #[prost(string, repeated, tag = "2")]
    pub args: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub extra_mounts: Vec<crate::definitions::proto::Mount>,
    #[prost(string, tag = "4")]
    pub expected_nodename: String,
    #[prost(message, optional, tag = "5")]
    pub config: Option<crate::google::Opaque>,
    #[prost(message, optional, tag = "6")]
    pub credential_provider_config: Option<crate::google::Opaque>,
}

/// `talos.resource.definitions.k8s.ManifestSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ManifestSpec {
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<SingleManifest>,
}

/// `talos.resource.definitions.k8s.ManifestStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ManifestStatusSpec {
    #[prost(string, repeated, tag = "1")]
    pub manifests_applied: Vec<String>,
}

/// `talos.resource.definitions.k8s.NodeAnnotationSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeAnnotationSpecSpec {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `talos.resource.definitions.k8s.NodeIPSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeIpSpec {
    #[prost(message, repeated, tag = "1")]
    pub addresses: Vec<crate::common::NetIp>,
}

/// `talos.resource.definitions.k8s.NodeLabelSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeLabelSpecSpec {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `talos.resource.definitions.k8s.NodeStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeStatusSpec {
    #[prost(string, tag = "1")]
    pub nodename: String,
    #[prost(bool, tag = "2")]
    pub node_ready: bool,
    #[prost(bool, tag = "3")]
    pub unschedulable: bool,
    #[prost(btree_map = "string, string", tag = "4")]
    pub labels: std::collections::BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "5")]
    pub annotations: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "6")]
    pub pod_cid_rs: Vec<crate::common::NetIpPrefix>,
}

/// `talos.resource.definitions.k8s.NodeTaintSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeTaintSpecSpec {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub effect: String,
    #[prost(string, tag = "3")]
    pub value: String,
}

/// `talos.resource.definitions.k8s.NodenameSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodenameSpec {
    #[prost(string, tag = "1")]
    pub nodename: String,
    #[prost(string, tag = "2")]
    pub hostname_version: String,
    #[prost(bool, tag = "3")]
    pub skip_node_registration: bool,
}

/// `talos.resource.definitions.k8s.Resources`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resources {
    #[prost(btree_map = "string, string", tag = "1")]
    pub requests: std::collections::BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub limits: std::collections::BTreeMap<String, String>,
}

/// `talos.resource.definitions.k8s.SchedulerConfigSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SchedulerConfigSpec {
    #[prost(bool, tag = "1")]
    pub enabled: bool,
    #[prost(string, tag = "2")]
    pub image: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub extra_args_until_1_12: std::collections::BTreeMap<String, String>,
    #[prost(message, repeated, tag = "4")]
    pub extra_volumes: Vec<ExtraVolume>,
    #[prost(btree_map = "string, string", tag = "5")]
    pub environment_variables: std::collections::BTreeMap<String, String>,
    #[prost(message, optional, tag = "6")]
    pub resources: Option<Resources>,
    #[prost(message, optional, tag = "7")]
    pub config: Option<crate::google::Opaque>,
    #[prost(btree_map = "string, message", tag = "8")]
    pub extra_args: std::collections::BTreeMap<String, ArgValues>,
}

/// `talos.resource.definitions.k8s.SecretsStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SecretsStatusSpec {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(string, tag = "2")]
    pub version: String,
}

/// `talos.resource.definitions.k8s.SingleManifest`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SingleManifest {
    #[prost(message, optional, tag = "1")]
    pub object: Option<crate::google::Opaque>,
}

/// `talos.resource.definitions.k8s.StaticPodServerStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StaticPodServerStatusSpec {
    #[prost(string, tag = "1")]
    pub url: String,
}

/// `talos.resource.definitions.k8s.StaticPodSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StaticPodSpec {
    #[prost(message, optional, tag = "1")]
    pub pod: Option<crate::google::Opaque>,
}

/// `talos.resource.definitions.k8s.StaticPodStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StaticPodStatusSpec {
    #[prost(message, optional, tag = "1")]
    pub pod_status: Option<crate::google::Opaque>,
}

/// `talos.resource.definitions.k8s.ArgValues`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArgValues {
    #[prost(string, repeated, tag = "1")]
    pub values: Vec<String>,
}
