//! Version, memory, processors and counters of the kernel.

/// `machine.Version`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Version {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub version: Option<VersionInfo>,
    #[prost(message, optional, tag = "3")]
    pub platform: Option<PlatformInfo>,
    #[prost(message, optional, tag = "4")]
    pub features: Option<FeaturesInfo>,
}

/// `machine.VersionResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Version>,
}

/// `machine.VersionInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionInfo {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(string, tag = "2")]
    pub sha: String,
    #[prost(string, tag = "3")]
    pub built: String,
    #[prost(string, tag = "4")]
    pub go_version: String,
    #[prost(string, tag = "5")]
    pub os: String,
    #[prost(string, tag = "6")]
    pub arch: String,
}

/// `machine.PlatformInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PlatformInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub mode: String,
}

/// `machine.FeaturesInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct FeaturesInfo {
    #[prost(bool, tag = "1")]
    pub rbac: bool,
}

/// `machine.Memory`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Memory {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub meminfo: Option<MemInfo>,
}

/// `machine.MemoryResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemoryResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Memory>,
}

/// `machine.MemInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemInfo {
    #[prost(uint64, tag = "1")]
    pub memtotal: u64,
    #[prost(uint64, tag = "2")]
    pub memfree: u64,
    #[prost(uint64, tag = "3")]
    pub memavailable: u64,
    #[prost(uint64, tag = "4")]
    pub buffers: u64,
    #[prost(uint64, tag = "5")]
    pub cached: u64,
    #[prost(uint64, tag = "6")]
    pub swapcached: u64,
    #[prost(uint64, tag = "7")]
    pub active: u64,
    #[prost(uint64, tag = "8")]
    pub inactive: u64,
    #[prost(uint64, tag = "9")]
    pub activeanon: u64,
    #[prost(uint64, tag = "10")]
    pub inactiveanon: u64,
    #[prost(uint64, tag = "11")]
    pub activefile: u64,
    #[prost(uint64, tag = "12")]
    pub inactivefile: u64,
    #[prost(uint64, tag = "13")]
    pub unevictable: u64,
    #[prost(uint64, tag = "14")]
    pub mlocked: u64,
    #[prost(uint64, tag = "15")]
    pub swaptotal: u64,
    #[prost(uint64, tag = "16")]
    pub swapfree: u64,
    #[prost(uint64, tag = "17")]
    pub dirty: u64,
    #[prost(uint64, tag = "18")]
    pub writeback: u64,
    #[prost(uint64, tag = "19")]
    pub anonpages: u64,
    #[prost(uint64, tag = "20")]
    pub mapped: u64,
    #[prost(uint64, tag = "21")]
    pub shmem: u64,
    #[prost(uint64, tag = "22")]
    pub slab: u64,
    #[prost(uint64, tag = "23")]
    pub sreclaimable: u64,
    #[prost(uint64, tag = "24")]
    pub sunreclaim: u64,
    #[prost(uint64, tag = "25")]
    pub kernelstack: u64,
    #[prost(uint64, tag = "26")]
    pub pagetables: u64,
    #[prost(uint64, tag = "27")]
    pub nfsunstable: u64,
    #[prost(uint64, tag = "28")]
    pub bounce: u64,
    #[prost(uint64, tag = "29")]
    pub writebacktmp: u64,
    #[prost(uint64, tag = "30")]
    pub commitlimit: u64,
    #[prost(uint64, tag = "31")]
    pub committedas: u64,
    #[prost(uint64, tag = "32")]
    pub vmalloctotal: u64,
    #[prost(uint64, tag = "33")]
    pub vmallocused: u64,
    #[prost(uint64, tag = "34")]
    pub vmallocchunk: u64,
    #[prost(uint64, tag = "35")]
    pub hardwarecorrupted: u64,
    #[prost(uint64, tag = "36")]
    pub anonhugepages: u64,
    #[prost(uint64, tag = "37")]
    pub shmemhugepages: u64,
    #[prost(uint64, tag = "38")]
    pub shmempmdmapped: u64,
    #[prost(uint64, tag = "39")]
    pub cmatotal: u64,
    #[prost(uint64, tag = "40")]
    pub cmafree: u64,
    #[prost(uint64, tag = "41")]
    pub hugepagestotal: u64,
    #[prost(uint64, tag = "42")]
    pub hugepagesfree: u64,
    #[prost(uint64, tag = "43")]
    pub hugepagesrsvd: u64,
    #[prost(uint64, tag = "44")]
    pub hugepagessurp: u64,
    #[prost(uint64, tag = "45")]
    pub hugepagesize: u64,
    #[prost(uint64, tag = "46")]
    pub directmap4k: u64,
    #[prost(uint64, tag = "47")]
    pub directmap2m: u64,
    #[prost(uint64, tag = "48")]
    pub directmap1g: u64,
}

/// `machine.HostnameResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostnameResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Hostname>,
}

/// `machine.Hostname`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hostname {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(string, tag = "2")]
    pub hostname: String,
}

/// `machine.LoadAvgResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LoadAvgResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<LoadAvg>,
}

/// `machine.LoadAvg`
#[derive(Clone, PartialEq, prost::Message)]
pub struct LoadAvg {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(double, tag = "2")]
    pub load1: f64,
    #[prost(double, tag = "3")]
    pub load5: f64,
    #[prost(double, tag = "4")]
    pub load15: f64,
}

/// `machine.SystemStatResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SystemStatResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<SystemStat>,
}

/// `machine.SystemStat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SystemStat {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(uint64, tag = "2")]
    pub boot_time: u64,
    #[prost(message, optional, tag = "3")]
    pub cpu_total: Option<CpuStat>,
    #[prost(message, repeated, tag = "4")]
    pub cpu: Vec<CpuStat>,
    #[prost(uint64, tag = "5")]
    pub irq_total: u64,
    #[prost(uint64, repeated, tag = "6")]
    pub irq: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub context_switches: u64,
    #[prost(uint64, tag = "8")]
    pub process_created: u64,
    #[prost(uint64, tag = "9")]
    pub process_running: u64,
    #[prost(uint64, tag = "10")]
    pub process_blocked: u64,
    #[prost(uint64, tag = "11")]
    pub soft_irq_total: u64,
    #[prost(message, optional, tag = "12")]
    pub soft_irq: Option<SoftIrqStat>,
}

/// `machine.CPUStat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuStat {
    #[prost(double, tag = "1")]
    pub user: f64,
    #[prost(double, tag = "2")]
    pub nice: f64,
    #[prost(double, tag = "3")]
    pub system: f64,
    #[prost(double, tag = "4")]
    pub idle: f64,
    #[prost(double, tag = "5")]
    pub iowait: f64,
    #[prost(double, tag = "6")]
    pub irq: f64,
    #[prost(double, tag = "7")]
    pub soft_irq: f64,
    #[prost(double, tag = "8")]
    pub steal: f64,
    #[prost(double, tag = "9")]
    pub guest: f64,
    #[prost(double, tag = "10")]
    pub guest_nice: f64,
}

/// `machine.SoftIRQStat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct SoftIrqStat {
    #[prost(uint64, tag = "1")]
    pub hi: u64,
    #[prost(uint64, tag = "2")]
    pub timer: u64,
    #[prost(uint64, tag = "3")]
    pub net_tx: u64,
    #[prost(uint64, tag = "4")]
    pub net_rx: u64,
    #[prost(uint64, tag = "5")]
    pub block: u64,
    #[prost(uint64, tag = "6")]
    pub block_io_poll: u64,
    #[prost(uint64, tag = "7")]
    pub tasklet: u64,
    #[prost(uint64, tag = "8")]
    pub sched: u64,
    #[prost(uint64, tag = "9")]
    pub hrtimer: u64,
    #[prost(uint64, tag = "10")]
    pub rcu: u64,
}

/// `machine.CPUFreqStatsResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuFreqStatsResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<CpUsFreqStats>,
}

/// `machine.CPUsFreqStats`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpUsFreqStats {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub cpu_freq_stats: Vec<CpuFreqStats>,
}

/// `machine.CPUFreqStats`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuFreqStats {
    #[prost(uint64, tag = "1")]
    pub current_frequency: u64,
    #[prost(uint64, tag = "2")]
    pub minimum_frequency: u64,
    #[prost(uint64, tag = "3")]
    pub maximum_frequency: u64,
    #[prost(string, tag = "4")]
    pub governor: String,
}

/// `machine.CPUInfoResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuInfoResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<CpUsInfo>,
}

/// `machine.CPUsInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpUsInfo {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, repeated, tag = "2")]
    pub cpu_info: Vec<CpuInfo>,
}

/// `machine.CPUInfo`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuInfo {
    #[prost(uint32, tag = "1")]
    pub processor: u32,
    #[prost(string, tag = "2")]
    pub vendor_id: String,
    #[prost(string, tag = "3")]
    pub cpu_family: String,
    #[prost(string, tag = "4")]
    pub model: String,
    #[prost(string, tag = "5")]
    pub model_name: String,
    #[prost(string, tag = "6")]
    pub stepping: String,
    #[prost(string, tag = "7")]
    pub microcode: String,
    #[prost(double, tag = "8")]
    pub cpu_mhz: f64,
    #[prost(string, tag = "9")]
    pub cache_size: String,
    #[prost(string, tag = "10")]
    pub physical_id: String,
    #[prost(uint32, tag = "11")]
    pub siblings: u32,
    #[prost(string, tag = "12")]
    pub core_id: String,
    #[prost(uint32, tag = "13")]
    pub cpu_cores: u32,
    #[prost(string, tag = "14")]
    pub apic_id: String,
    #[prost(string, tag = "15")]
    pub initial_apic_id: String,
    #[prost(string, tag = "16")]
    pub fpu: String,
    #[prost(string, tag = "17")]
    pub fpu_exception: String,
    #[prost(uint32, tag = "18")]
    pub cpu_id_level: u32,
    #[prost(string, tag = "19")]
    pub wp: String,
    #[prost(string, repeated, tag = "20")]
    pub flags: Vec<String>,
    #[prost(string, repeated, tag = "21")]
    pub bugs: Vec<String>,
    #[prost(double, tag = "22")]
    pub bogo_mips: f64,
    #[prost(uint32, tag = "23")]
    pub cl_flush_size: u32,
    #[prost(uint32, tag = "24")]
    pub cache_alignment: u32,
    #[prost(string, tag = "25")]
    pub address_sizes: String,
    #[prost(string, tag = "26")]
    pub power_management: String,
}

/// `machine.NetworkDeviceStatsResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetworkDeviceStatsResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<NetworkDeviceStats>,
}

/// `machine.NetworkDeviceStats`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetworkDeviceStats {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub total: Option<NetDev>,
    #[prost(message, repeated, tag = "3")]
    pub devices: Vec<NetDev>,
}

/// `machine.NetDev`
#[derive(Clone, PartialEq, prost::Message)]
pub struct NetDev {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub rx_bytes: u64,
    #[prost(uint64, tag = "3")]
    pub rx_packets: u64,
    #[prost(uint64, tag = "4")]
    pub rx_errors: u64,
    #[prost(uint64, tag = "5")]
    pub rx_dropped: u64,
    #[prost(uint64, tag = "6")]
    pub rx_fifo: u64,
    #[prost(uint64, tag = "7")]
    pub rx_frame: u64,
    #[prost(uint64, tag = "8")]
    pub rx_compressed: u64,
    #[prost(uint64, tag = "9")]
    pub rx_multicast: u64,
    #[prost(uint64, tag = "10")]
    pub tx_bytes: u64,
    #[prost(uint64, tag = "11")]
    pub tx_packets: u64,
    #[prost(uint64, tag = "12")]
    pub tx_errors: u64,
    #[prost(uint64, tag = "13")]
    pub tx_dropped: u64,
    #[prost(uint64, tag = "14")]
    pub tx_fifo: u64,
    #[prost(uint64, tag = "15")]
    pub tx_collisions: u64,
    #[prost(uint64, tag = "16")]
    pub tx_carrier: u64,
    #[prost(uint64, tag = "17")]
    pub tx_compressed: u64,
}

/// `machine.DiskStatsResponse`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskStatsResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<DiskStats>,
}

/// `machine.DiskStats`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskStats {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<crate::common::Metadata>,
    #[prost(message, optional, tag = "2")]
    pub total: Option<DiskStat>,
    #[prost(message, repeated, tag = "3")]
    pub devices: Vec<DiskStat>,
}

/// `machine.DiskStat`
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiskStat {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub read_completed: u64,
    #[prost(uint64, tag = "3")]
    pub read_merged: u64,
    #[prost(uint64, tag = "4")]
    pub read_sectors: u64,
    #[prost(uint64, tag = "5")]
    pub read_time_ms: u64,
    #[prost(uint64, tag = "6")]
    pub write_completed: u64,
    #[prost(uint64, tag = "7")]
    pub write_merged: u64,
    #[prost(uint64, tag = "8")]
    pub write_sectors: u64,
    #[prost(uint64, tag = "9")]
    pub write_time_ms: u64,
    #[prost(uint64, tag = "10")]
    pub io_in_progress: u64,
    #[prost(uint64, tag = "11")]
    pub io_time_ms: u64,
    #[prost(uint64, tag = "12")]
    pub io_time_weighted_ms: u64,
    #[prost(uint64, tag = "13")]
    pub discard_completed: u64,
    #[prost(uint64, tag = "14")]
    pub discard_merged: u64,
    #[prost(uint64, tag = "15")]
    pub discard_sectors: u64,
    #[prost(uint64, tag = "16")]
    pub discard_time_ms: u64,
}
