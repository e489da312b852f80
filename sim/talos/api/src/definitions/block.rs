//! Disks and volumes.

/// `talos.resource.definitions.block.DeviceSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceSpec {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(int64, tag = "2")]
    pub major: i64,
    #[prost(int64, tag = "3")]
    pub minor: i64,
    #[prost(string, tag = "4")]
    pub partition_name: String,
    #[prost(int64, tag = "5")]
    pub partition_number: i64,
    #[prost(int64, tag = "6")]
    pub generation: i64,
    #[prost(string, tag = "7")]
    pub device_path: String,
    #[prost(string, tag = "8")]
    pub parent: String,
    #[prost(string, repeated, tag = "9")]
    pub secondaries: Vec<String>,
}

/// `talos.resource.definitions.block.DiscoveredVolumeSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiscoveredVolumeSpec {
    #[prost(uint64, tag = "1")]
    pub size: u64,
    #[prost(uint64, tag = "2")]
    pub sector_size: u64,
    #[prost(uint64, tag = "3")]
    pub io_size: u64,
    #[prost(string, tag = "4")]
    pub name: String,
    #[prost(string, tag = "5")]
    pub uuid: String,
    #[prost(string, tag = "6")]
    pub label: String,
    #[prost(uint32, tag = "7")]
    pub block_size: u32,
    #[prost(uint32, tag = "8")]
    pub filesystem_block_size: u32,
    #[prost(uint64, tag = "9")]
    pub probed_size: u64,
    #[prost(string, tag = "10")]
    pub partition_uuid: String,
    #[prost(string, tag = "11")]
    pub partition_type: String,
    #[prost(string, tag = "12")]
    pub partition_label: String,
    #[prost(uint64, tag = "13")]
    pub partition_index: u64,
    #[prost(string, tag = "14")]
    pub r#type: String,
    #[prost(string, tag = "15")]
    pub device_path: String,
    #[prost(string, tag = "16")]
    pub parent: String,
    #[prost(string, tag = "17")]
    pub dev_path: String,
    #[prost(string, tag = "18")]
    pub parent_dev_path: String,
    #[prost(string, tag = "19")]
    pub pretty_size: String,
    #[prost(uint64, tag = "20")]
    pub offset: u64,
}

/// `talos.resource.definitions.block.DiscoveryRefreshStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiscoveryRefreshStatusSpec {
    #[prost(int64, tag = "1")]
    pub request: i64,
}

/// `talos.resource.definitions.block.DiskSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskSpec {
    #[prost(uint64, tag = "1")]
    pub size: u64,
    #[prost(uint64, tag = "2")]
    pub io_size: u64,
    #[prost(uint64, tag = "3")]
    pub sector_size: u64,
    #[prost(bool, tag = "4")]
    pub readonly: bool,
    #[prost(string, tag = "5")]
    pub model: String,
    #[prost(string, tag = "6")]
    pub serial: String,
    #[prost(string, tag = "7")]
    pub modalias: String,
    #[prost(string, tag = "8")]
    pub wwid: String,
    #[prost(string, tag = "9")]
    pub bus_path: String,
    #[prost(string, tag = "10")]
    pub sub_system: String,
    #[prost(string, tag = "11")]
    pub transport: String,
    #[prost(bool, tag = "12")]
    pub rotational: bool,
    #[prost(bool, tag = "13")]
    pub cdrom: bool,
    #[prost(string, tag = "14")]
    pub dev_path: String,
    #[prost(string, tag = "15")]
    pub pretty_size: String,
    #[prost(string, repeated, tag = "16")]
    pub secondary_disks: Vec<String>,
    #[prost(string, tag = "17")]
    pub uuid: String,
    #[prost(string, repeated, tag = "18")]
    pub symlinks: Vec<String>,
}

/// `talos.resource.definitions.block.MountRequestSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountRequestSpec {
    #[prost(string, tag = "1")]
    pub volume_id: String,
    #[prost(string, tag = "2")]
    pub parent_mount_id: String,
    #[prost(string, repeated, tag = "3")]
    pub requesters: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub requester_i_ds: Vec<String>,
    #[prost(bool, tag = "5")]
    pub read_only: bool,
    #[prost(bool, tag = "6")]
    pub detached: bool,
    #[prost(bool, tag = "7")]
    pub disable_access_time: bool,
    #[prost(bool, tag = "8")]
    pub secure: bool,
}

/// `talos.resource.definitions.block.MountSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountSpec {
    #[prost(string, tag = "1")]
    pub target_path: String,
    #[prost(string, tag = "2")]
    pub selinux_label: String,
    #[prost(bool, tag = "3")]
    pub project_quota_support: bool,
    #[prost(string, tag = "4")]
    pub parent_id: String,
    #[prost(uint32, tag = "5")]
    pub file_mode: u32,
    #[prost(int64, tag = "6")]
    pub uid: i64,
    #[prost(int64, tag = "7")]
    pub gid: i64,
    #[prost(bool, tag = "8")]
    pub recursive_relabel: bool,
    #[prost(string, tag = "9")]
    pub bind_target: String,
    #[prost(message, repeated, tag = "10")]
    pub parameters: Vec<ParameterSpec>,
}

/// `talos.resource.definitions.block.MountStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MountStatusSpec {
    #[prost(message, optional, tag = "1")]
    pub spec: Option<MountRequestSpec>,
    #[prost(string, tag = "2")]
    pub target: String,
    #[prost(string, tag = "3")]
    pub source: String,
    #[prost(enumeration = "crate::definitions::enums::BlockFilesystemType", tag = "4")]
    pub filesystem: i32,
    #[prost(bool, tag = "5")]
    pub read_only: bool,
    #[prost(bool, tag = "6")]
    pub project_quota_support: bool,
    #[prost(enumeration = "crate::definitions::enums::BlockEncryptionProviderType", tag = "7")]
    pub encryption_provider: i32,
    #[prost(bool, tag = "8")]
    pub detached: bool,
}

/// `talos.resource.definitions.block.SwapStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SwapStatusSpec {
    #[prost(string, tag = "1")]
    pub device: String,
    #[prost(uint64, tag = "2")]
    pub size_bytes: u64,
    #[prost(string, tag = "3")]
    pub size_human: String,
    #[prost(uint64, tag = "4")]
    pub used_bytes: u64,
    #[prost(string, tag = "5")]
    pub used_human: String,
    #[prost(int32, tag = "6")]
    pub priority: i32,
    #[prost(string, tag = "7")]
    pub r#type: String,
}

/// `talos.resource.definitions.block.SymlinkProvisioningSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SymlinkProvisioningSpec {
    #[prost(string, tag = "1")]
    pub symlink_target_path: String,
    #[prost(bool, tag = "2")]
    pub force: bool,
}

/// `talos.resource.definitions.block.SymlinkSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SymlinkSpec {
    #[prost(string, repeated, tag = "1")]
    pub paths: Vec<String>,
}

/// `talos.resource.definitions.block.SystemDiskSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SystemDiskSpec {
    #[prost(string, tag = "1")]
    pub disk_id: String,
    #[prost(string, tag = "2")]
    pub dev_path: String,
}

/// `talos.resource.definitions.block.UserDiskConfigStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct UserDiskConfigStatusSpec {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(bool, tag = "2")]
    pub torn_down: bool,
}

/// `talos.resource.definitions.block.VolumeStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VolumeStatusSpec {
    #[prost(enumeration = "crate::definitions::enums::BlockVolumePhase", tag = "1")]
    pub phase: i32,
    #[prost(string, tag = "2")]
    pub location: String,
    #[prost(string, tag = "3")]
    pub error_message: String,
    #[prost(string, tag = "4")]
    pub uuid: String,
    #[prost(string, tag = "5")]
    pub partition_uuid: String,
    #[prost(enumeration = "crate::definitions::enums::BlockVolumePhase", tag = "6")]
    pub pre_fail_phase: i32,
    #[prost(string, tag = "7")]
    pub parent_location: String,
    #[prost(int64, tag = "8")]
    pub partition_index: i64,
    #[prost(uint64, tag = "9")]
    pub size: u64,
    #[prost(enumeration = "crate::definitions::enums::BlockFilesystemType", tag = "10")]
    pub filesystem: i32,
    #[prost(string, tag = "11")]
    pub mount_location: String,
    #[prost(enumeration = "crate::definitions::enums::BlockEncryptionProviderType", tag = "12")]
    pub encryption_provider: i32,
    #[prost(string, tag = "13")]
    pub pretty_size: String,
    #[prost(string, repeated, tag = "14")]
    pub encryption_failed_syncs: Vec<String>,
    #[prost(message, optional, tag = "15")]
    pub mount_spec: Option<MountSpec>,
    #[prost(enumeration = "crate::definitions::enums::BlockVolumeType", tag = "16")]
    pub r#type: i32,
    #[prost(string, repeated, tag = "17")]
    pub configured_encryption_keys: Vec<String>,
    #[prost(message, optional, tag = "18")]
    pub symlink_spec: Option<SymlinkProvisioningSpec>,
    #[prost(string, tag = "19")]
    pub parent_id: String,
    #[prost(bool, tag = "20")]
    pub encryption_locked_to_state: bool,
    #[prost(int64, tag = "21")]
    pub encryption_slot: i64,
    #[prost(message, optional, tag = "22")]
    pub tpm_encryption_options: Option<TpmEncryptionOptionsInfo>,
}

/// `talos.resource.definitions.block.ZswapStatusSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ZswapStatusSpec {
    #[prost(uint64, tag = "1")]
    pub total_size_bytes: u64,
    #[prost(string, tag = "2")]
    pub total_size_human: String,
    #[prost(uint64, tag = "3")]
    pub stored_pages: u64,
    #[prost(uint64, tag = "4")]
    pub pool_limit_hit: u64,
    #[prost(uint64, tag = "5")]
    pub reject_reclaim_fail: u64,
    #[prost(uint64, tag = "6")]
    pub reject_alloc_fail: u64,
    #[prost(uint64, tag = "7")]
    pub reject_kmemcache_fail: u64,
    #[prost(uint64, tag = "8")]
    pub reject_compress_fail: u64,
    #[prost(uint64, tag = "9")]
    pub reject_compress_poor: u64,
    #[prost(uint64, tag = "10")]
    pub written_back_pages: u64,
}

/// `talos.resource.definitions.block.TPMEncryptionOptionsInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TpmEncryptionOptionsInfo {
    #[prost(int64, repeated, tag = "1")]
    pub pc_rs: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub pub_key_pc_rs: Vec<i64>,
}

/// `talos.resource.definitions.block.ParameterSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ParameterSpec {
    #[prost(enumeration = "crate::definitions::enums::BlockFsParameterType", tag = "1")]
    pub r#type: i32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub string: String,
    #[prost(bytes = "vec", tag = "5")]
    pub binary: Vec<u8>,
}
