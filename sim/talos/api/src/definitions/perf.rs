//! Counters.

/// `talos.resource.definitions.perf.CPUSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CpuSpec {
    #[prost(message, repeated, tag = "1")]
    pub cpu: Vec<CpuStat>,
    #[prost(message, optional, tag = "2")]
    pub cpu_total: Option<CpuStat>,
    #[prost(uint64, tag = "3")]
    pub irq_total: u64,
    #[prost(uint64, tag = "4")]
    pub context_switches: u64,
    #[prost(uint64, tag = "5")]
    pub process_created: u64,
    #[prost(uint64, tag = "6")]
    pub process_running: u64,
    #[prost(uint64, tag = "7")]
    pub process_blocked: u64,
    #[prost(uint64, tag = "8")]
    pub soft_irq_total: u64,
}

/// `talos.resource.definitions.perf.CPUStat`
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

/// `talos.resource.definitions.perf.MemorySpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemorySpec {
    #[prost(uint64, tag = "1")]
    pub mem_total: u64,
    #[prost(uint64, tag = "2")]
    pub mem_used: u64,
    #[prost(uint64, tag = "3")]
    pub mem_available: u64,
    #[prost(uint64, tag = "4")]
    pub buffers: u64,
    #[prost(uint64, tag = "5")]
    pub cached: u64,
    #[prost(uint64, tag = "6")]
    pub swap_cached: u64,
    #[prost(uint64, tag = "7")]
    pub active: u64,
    #[prost(uint64, tag = "8")]
    pub inactive: u64,
    #[prost(uint64, tag = "9")]
    pub active_anon: u64,
    #[prost(uint64, tag = "10")]
    pub inactive_anon: u64,
    #[prost(uint64, tag = "11")]
    pub active_file: u64,
    #[prost(uint64, tag = "12")]
    pub inactive_file: u64,
    #[prost(uint64, tag = "13")]
    pub unevictable: u64,
    #[prost(uint64, tag = "14")]
    pub mlocked: u64,
    #[prost(uint64, tag = "15")]
    pub swap_total: u64,
    #[prost(uint64, tag = "16")]
    pub swap_free: u64,
    #[prost(uint64, tag = "17")]
    pub dirty: u64,
    #[prost(uint64, tag = "18")]
    pub writeback: u64,
    #[prost(uint64, tag = "19")]
    pub anon_pages: u64,
    #[prost(uint64, tag = "20")]
    pub mapped: u64,
    #[prost(uint64, tag = "21")]
    pub shmem: u64,
    #[prost(uint64, tag = "22")]
    pub slab: u64,
    #[prost(uint64, tag = "23")]
    pub s_reclaimable: u64,
    #[prost(uint64, tag = "24")]
    pub s_unreclaim: u64,
    #[prost(uint64, tag = "25")]
    pub kernel_stack: u64,
    #[prost(uint64, tag = "26")]
    pub page_tables: u64,
    #[prost(uint64, tag = "27")]
    pub nf_sunstable: u64,
    #[prost(uint64, tag = "28")]
    pub bounce: u64,
    #[prost(uint64, tag = "29")]
    pub writeback_tmp: u64,
    #[prost(uint64, tag = "30")]
    pub commit_limit: u64,
    #[prost(uint64, tag = "31")]
    pub committed_as: u64,
    #[prost(uint64, tag = "32")]
    pub vmalloc_total: u64,
    #[prost(uint64, tag = "33")]
    pub vmalloc_used: u64,
    #[prost(uint64, tag = "34")]
    pub vmalloc_chunk: u64,
    #[prost(uint64, tag = "35")]
    pub hardware_corrupted: u64,
    #[prost(uint64, tag = "36")]
    pub anon_huge_pages: u64,
    #[prost(uint64, tag = "37")]
    pub shmem_huge_pages: u64,
    #[prost(uint64, tag = "38")]
    pub shmem_pmd_mapped: u64,
    #[prost(uint64, tag = "39")]
    pub cma_total: u64,
    #[prost(uint64, tag = "40")]
    pub cma_free: u64,
    #[prost(uint64, tag = "41")]
    pub huge_pages_total: u64,
    #[prost(uint64, tag = "42")]
    pub huge_pages_free: u64,
    #[prost(uint64, tag = "43")]
    pub huge_pages_rsvd: u64,
    #[prost(uint64, tag = "44")]
    pub huge_pages_surp: u64,
    #[prost(uint64, tag = "45")]
    pub hugepagesize: u64,
    #[prost(uint64, tag = "46")]
    pub direct_map4k: u64,
    #[prost(uint64, tag = "47")]
    pub direct_map2m: u64,
    #[prost(uint64, tag = "48")]
    pub direct_map1g: u64,
}
