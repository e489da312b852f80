//! Which parts of the machine's section a running machine takes over without a reboot (facts/talos.md §4.2).

/// Below `machine`.
pub const MACHINE: [&str; 18] = [
    "ca",
    "acceptedCAs",
    "time",
    "certSANs",
    "install",
    "network",
    "sysfs",
    "sysctls",
    "logging",
    "controlPlane",
    "kubelet",
    "kernel",
    "registries",
    "pods",
    "seccompProfiles",
    "nodeAnnotations",
    "nodeLabels",
    "nodeTaints",
];

/// Below `machine.features`, where both configurations have features at all.
pub const FEATURES: [&str; 5] = ["kubernetesTalosAPIAccess", "kubePrism", "hostDNS", "imageCache", "nodeAddressSortAlgorithm"];
