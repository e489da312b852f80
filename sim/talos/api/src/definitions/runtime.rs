//! The state of the machine.

/// `talos.resource.definitions.runtime.BootedEntrySpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct BootedEntrySpec {
    #[prost(string, tag = "1")]
    pub booted_entry: String,
}

/// `talos.resource.definitions.runtime.DiagnosticSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiagnosticSpec {
    #[prost(string, tag = "1")]
    pub message: String,
    #[prost(string, repeated, tag = "2")]
    pub details: Vec<String>,
}

/// `talos.resource.definitions.runtime.KernelCmdlineSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KernelCmdlineSpec {
    #[prost(string, tag = "1")]
    pub cmdline: String,
}

/// `talos.resource.definitions.runtime.KernelModuleSpecSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KernelModuleSpecSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, repeated, tag = "2")]
    pub parameters: Vec<String>,
}

/// `talos.resource.definitions.runtime.KernelParamStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KernelParamStatusSpec {
    #[prost(string, tag = "1")]
    pub current: String,
    #[prost(string, tag = "2")]
    pub default: String,
    #[prost(bool, tag = "3")]
    pub unsupported: bool,
}

/// `talos.resource.definitions.runtime.LoadedKernelModuleSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LoadedKernelModuleSpec {
    #[prost(int64, tag = "1")]
    pub size: i64,
    #[prost(int64, tag = "2")]
    pub reference_count: i64,
    #[prost(string, repeated, tag = "3")]
    pub dependencies: Vec<String>,
    #[prost(string, tag = "4")]
    pub state: String,
    #[prost(string, tag = "5")]
    pub address: String,
}

/// `talos.resource.definitions.runtime.MachineStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineStatusSpec {
    #[prost(enumeration = "crate::definitions::enums::RuntimeMachineStage", tag = "1")]
    pub stage: i32,
    #[prost(message, optional, tag = "2")]
    pub status: Option<MachineStatusStatus>,
}

/// `talos.resource.definitions.runtime.MachineStatusStatus`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MachineStatusStatus {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(message, repeated, tag = "2")]
    pub unmet_conditions: Vec<UnmetCondition>,
}

/// `talos.resource.definitions.runtime.MetaKeySpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaKeySpec {
    #[prost(string, tag = "1")]
    pub value: String,
}

/// `talos.resource.definitions.runtime.MetaLoadedSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaLoadedSpec {
    #[prost(bool, tag = "1")]
    pub done: bool,
}

/// `talos.resource.definitions.runtime.MountStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountStatusSpec {
    #[prost(string, tag = "1")]
    pub source: String,
    #[prost(string, tag = "2")]
    pub target: String,
    #[prost(string, tag = "3")]
    pub filesystem_type: String,
    #[prost(string, repeated, tag = "4")]
    pub options: Vec<String>,
    #[prost(bool, tag = "5")]
    pub encrypted: bool,
    #[prost(string, repeated, tag = "6")]
    pub encryption_providers: Vec<String>,
}

/// `talos.resource.definitions.runtime.PlatformMetadataSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PlatformMetadataSpec {
    #[prost(string, tag = "1")]
    pub platform: String,
    #[prost(string, tag = "2")]
    pub hostname: String,
    #[prost(string, tag = "3")]
    pub region: String,
    #[prost(string, tag = "4")]
    pub zone: String,
    #[prost(string, tag = "5")]
    pub instance_type: String,
    #[prost(string, tag = "6")]
    pub instance_id: String,
    #[prost(string, tag = "7")]
    pub provider_id: String,
    #[prost(bool, tag = "8")]
    pub spot: bool,
    #[prost(string, tag = "9")]
    pub internal_dns: String,
    #[prost(string, tag = "10")]
    pub external_dns: String,
    #[prost(btree_map = "string, string", tag = "11")]
    pub tags: std::collections::BTreeMap<String, String>,
}

/// `talos.resource.definitions.runtime.SBOMItemSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SbomItemSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(string, tag = "3")]
    pub license: String,
    #[prost(string, repeated, tag = "4")]
    pub cp_es: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub pur_ls: Vec<String>,
    #[prost(bool, tag = "6")]
    pub extension: bool,
}

/// `talos.resource.definitions.runtime.SecurityStateSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SecurityStateSpec {
    #[prost(bool, tag = "1")]
    pub secure_boot: bool,
    #[prost(string, tag = "2")]
    pub uki_signing_key_fingerprint: String,
    #[prost(string, tag = "3")]
    pub pcr_signing_key_fingerprint: String,
    #[prost(enumeration = "crate::definitions::enums::RuntimeSeLinuxState", tag = "4")]
    pub se_linux_state: i32,
    #[prost(bool, tag = "5")]
    pub booted_with_uki: bool,
    #[prost(enumeration = "crate::definitions::enums::RuntimeFipsState", tag = "6")]
    pub fips_state: i32,
    #[prost(bool, tag = "7")]
    pub module_signature_enforced: bool,
}

/// `talos.resource.definitions.runtime.UniqueMachineTokenSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UniqueMachineTokenSpec {
    #[prost(string, tag = "1")]
    pub token: String,
}

/// `talos.resource.definitions.runtime.UnmetCondition`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UnmetCondition {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub reason: String,
}

/// `talos.resource.definitions.runtime.EnvironmentSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EnvironmentSpec {
    #[prost(string, repeated, tag = "1")]
    pub variables: Vec<String>,
}

/// `talos.resource.definitions.runtime.VersionSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionSpec {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(string, tag = "2")]
    pub name: String,
}
