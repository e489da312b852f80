//! Every method, by its path.

/// One method of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Such as `/machine.MachineService/Version`.
    pub path: &'static str,
    /// Whether the client sends a stream.
    pub streams_in: bool,
    /// Whether the server sends a stream.
    pub streams_out: bool,
}

const fn unary(path: &'static str) -> Method {
    Method { path, streams_in: false, streams_out: false }
}

const fn streamed(path: &'static str) -> Method {
    Method { path, streams_in: false, streams_out: true }
}

const fn uploaded(path: &'static str) -> Method {
    Method { path, streams_in: true, streams_out: false }
}

const fn both_ways(path: &'static str) -> Method {
    Method { path, streams_in: true, streams_out: true }
}

/// The method of a path.
pub fn find(path: &str) -> Option<&'static Method> {
    SERVICES.iter().flat_map(|service| service.iter()).find(|method| method.path == path)
}

/// All of them, a list per service.
pub const SERVICES: [&[Method]; 9] =
    [machine::ALL, cluster::ALL, storage::ALL, time::ALL, inspect::ALL, lifecycle::ALL, image::ALL, debug::ALL, cosi::ALL];

/// `machine.MachineService`
pub mod machine {
    use super::{Method, streamed, unary, uploaded};

    /// `ApplyConfiguration`
    pub const APPLY_CONFIGURATION: &str = "/machine.MachineService/ApplyConfiguration";
    /// `Bootstrap`
    pub const BOOTSTRAP: &str = "/machine.MachineService/Bootstrap";
    /// `CPUFreqStats`
    pub const CPU_FREQ_STATS: &str = "/machine.MachineService/CPUFreqStats";
    /// `CPUInfo`
    pub const CPU_INFO: &str = "/machine.MachineService/CPUInfo";
    /// `Containers`
    pub const CONTAINERS: &str = "/machine.MachineService/Containers";
    /// `Copy`
    pub const COPY: &str = "/machine.MachineService/Copy";
    /// `DiskStats`
    pub const DISK_STATS: &str = "/machine.MachineService/DiskStats";
    /// `DiskUsage`
    pub const DISK_USAGE: &str = "/machine.MachineService/DiskUsage";
    /// `Dmesg`
    pub const DMESG: &str = "/machine.MachineService/Dmesg";
    /// `EtcdAlarmDisarm`
    pub const ETCD_ALARM_DISARM: &str = "/machine.MachineService/EtcdAlarmDisarm";
    /// `EtcdAlarmList`
    pub const ETCD_ALARM_LIST: &str = "/machine.MachineService/EtcdAlarmList";
    /// `EtcdDefragment`
    pub const ETCD_DEFRAGMENT: &str = "/machine.MachineService/EtcdDefragment";
    /// `EtcdDowngradeCancel`
    pub const ETCD_DOWNGRADE_CANCEL: &str = "/machine.MachineService/EtcdDowngradeCancel";
    /// `EtcdDowngradeEnable`
    pub const ETCD_DOWNGRADE_ENABLE: &str = "/machine.MachineService/EtcdDowngradeEnable";
    /// `EtcdDowngradeValidate`
    pub const ETCD_DOWNGRADE_VALIDATE: &str = "/machine.MachineService/EtcdDowngradeValidate";
    /// `EtcdForfeitLeadership`
    pub const ETCD_FORFEIT_LEADERSHIP: &str = "/machine.MachineService/EtcdForfeitLeadership";
    /// `EtcdLeaveCluster`
    pub const ETCD_LEAVE_CLUSTER: &str = "/machine.MachineService/EtcdLeaveCluster";
    /// `EtcdMemberList`
    pub const ETCD_MEMBER_LIST: &str = "/machine.MachineService/EtcdMemberList";
    /// `EtcdRecover`
    pub const ETCD_RECOVER: &str = "/machine.MachineService/EtcdRecover";
    /// `EtcdRemoveMemberByID`
    pub const ETCD_REMOVE_MEMBER_BY_ID: &str = "/machine.MachineService/EtcdRemoveMemberByID";
    /// `EtcdSnapshot`
    pub const ETCD_SNAPSHOT: &str = "/machine.MachineService/EtcdSnapshot";
    /// `EtcdStatus`
    pub const ETCD_STATUS: &str = "/machine.MachineService/EtcdStatus";
    /// `Events`
    pub const EVENTS: &str = "/machine.MachineService/Events";
    /// `GenerateClientConfiguration`
    pub const GENERATE_CLIENT_CONFIGURATION: &str = "/machine.MachineService/GenerateClientConfiguration";
    /// `GenerateConfiguration`
    pub const GENERATE_CONFIGURATION: &str = "/machine.MachineService/GenerateConfiguration";
    /// `Hostname`
    pub const HOSTNAME: &str = "/machine.MachineService/Hostname";
    /// `ImageList`
    pub const IMAGE_LIST: &str = "/machine.MachineService/ImageList";
    /// `ImagePull`
    pub const IMAGE_PULL: &str = "/machine.MachineService/ImagePull";
    /// `Kubeconfig`
    pub const KUBECONFIG: &str = "/machine.MachineService/Kubeconfig";
    /// `List`
    pub const LIST: &str = "/machine.MachineService/List";
    /// `LoadAvg`
    pub const LOAD_AVG: &str = "/machine.MachineService/LoadAvg";
    /// `Logs`
    pub const LOGS: &str = "/machine.MachineService/Logs";
    /// `LogsContainers`
    pub const LOGS_CONTAINERS: &str = "/machine.MachineService/LogsContainers";
    /// `Memory`
    pub const MEMORY: &str = "/machine.MachineService/Memory";
    /// `MetaDelete`
    pub const META_DELETE: &str = "/machine.MachineService/MetaDelete";
    /// `MetaWrite`
    pub const META_WRITE: &str = "/machine.MachineService/MetaWrite";
    /// `Mounts`
    pub const MOUNTS: &str = "/machine.MachineService/Mounts";
    /// `Netstat`
    pub const NETSTAT: &str = "/machine.MachineService/Netstat";
    /// `NetworkDeviceStats`
    pub const NETWORK_DEVICE_STATS: &str = "/machine.MachineService/NetworkDeviceStats";
    /// `PacketCapture`
    pub const PACKET_CAPTURE: &str = "/machine.MachineService/PacketCapture";
    /// `Processes`
    pub const PROCESSES: &str = "/machine.MachineService/Processes";
    /// `Read`
    pub const READ: &str = "/machine.MachineService/Read";
    /// `Reboot`
    pub const REBOOT: &str = "/machine.MachineService/Reboot";
    /// `Reset`
    pub const RESET: &str = "/machine.MachineService/Reset";
    /// `Restart`
    pub const RESTART: &str = "/machine.MachineService/Restart";
    /// `Rollback`
    pub const ROLLBACK: &str = "/machine.MachineService/Rollback";
    /// `ServiceList`
    pub const SERVICE_LIST: &str = "/machine.MachineService/ServiceList";
    /// `ServiceRestart`
    pub const SERVICE_RESTART: &str = "/machine.MachineService/ServiceRestart";
    /// `ServiceStart`
    pub const SERVICE_START: &str = "/machine.MachineService/ServiceStart";
    /// `ServiceStop`
    pub const SERVICE_STOP: &str = "/machine.MachineService/ServiceStop";
    /// `Shutdown`
    pub const SHUTDOWN: &str = "/machine.MachineService/Shutdown";
    /// `Stats`
    pub const STATS: &str = "/machine.MachineService/Stats";
    /// `SystemStat`
    pub const SYSTEM_STAT: &str = "/machine.MachineService/SystemStat";
    /// `Upgrade`
    pub const UPGRADE: &str = "/machine.MachineService/Upgrade";
    /// `Version`
    pub const VERSION: &str = "/machine.MachineService/Version";

    /// Every method of the service.
    pub const ALL: &[Method] = &[
        unary(APPLY_CONFIGURATION),
        unary(BOOTSTRAP),
        unary(CPU_FREQ_STATS),
        unary(CPU_INFO),
        unary(CONTAINERS),
        streamed(COPY),
        unary(DISK_STATS),
        streamed(DISK_USAGE),
        streamed(DMESG),
        unary(ETCD_ALARM_DISARM),
        unary(ETCD_ALARM_LIST),
        unary(ETCD_DEFRAGMENT),
        unary(ETCD_DOWNGRADE_CANCEL),
        unary(ETCD_DOWNGRADE_ENABLE),
        unary(ETCD_DOWNGRADE_VALIDATE),
        unary(ETCD_FORFEIT_LEADERSHIP),
        unary(ETCD_LEAVE_CLUSTER),
        unary(ETCD_MEMBER_LIST),
        uploaded(ETCD_RECOVER),
        unary(ETCD_REMOVE_MEMBER_BY_ID),
        streamed(ETCD_SNAPSHOT),
        unary(ETCD_STATUS),
        streamed(EVENTS),
        unary(GENERATE_CLIENT_CONFIGURATION),
        unary(GENERATE_CONFIGURATION),
        unary(HOSTNAME),
        streamed(IMAGE_LIST),
        unary(IMAGE_PULL),
        streamed(KUBECONFIG),
        streamed(LIST),
        unary(LOAD_AVG),
        streamed(LOGS),
        unary(LOGS_CONTAINERS),
        unary(MEMORY),
        unary(META_DELETE),
        unary(META_WRITE),
        unary(MOUNTS),
        unary(NETSTAT),
        unary(NETWORK_DEVICE_STATS),
        streamed(PACKET_CAPTURE),
        unary(PROCESSES),
        streamed(READ),
        unary(REBOOT),
        unary(RESET),
        unary(RESTART),
        unary(ROLLBACK),
        unary(SERVICE_LIST),
        unary(SERVICE_RESTART),
        unary(SERVICE_START),
        unary(SERVICE_STOP),
        unary(SHUTDOWN),
        unary(STATS),
        unary(SYSTEM_STAT),
        unary(UPGRADE),
        unary(VERSION),
    ];
}

/// `cluster.ClusterService`
pub mod cluster {
    use super::{Method, streamed};

    /// `HealthCheck`
    pub const HEALTH_CHECK: &str = "/cluster.ClusterService/HealthCheck";

    /// Every method of the service.
    pub const ALL: &[Method] = &[streamed(HEALTH_CHECK)];
}

/// `storage.StorageService`
pub mod storage {
    use super::{Method, unary};

    /// `BlockDeviceWipe`
    pub const BLOCK_DEVICE_WIPE: &str = "/storage.StorageService/BlockDeviceWipe";
    /// `Disks`
    pub const DISKS: &str = "/storage.StorageService/Disks";

    /// Every method of the service.
    pub const ALL: &[Method] = &[unary(BLOCK_DEVICE_WIPE), unary(DISKS)];
}

/// `time.TimeService`
pub mod time {
    use super::{Method, unary};

    /// `Time`
    pub const TIME: &str = "/time.TimeService/Time";
    /// `TimeCheck`
    pub const TIME_CHECK: &str = "/time.TimeService/TimeCheck";

    /// Every method of the service.
    pub const ALL: &[Method] = &[unary(TIME), unary(TIME_CHECK)];
}

/// `inspect.InspectService`
pub mod inspect {
    use super::{Method, unary};

    /// `ControllerRuntimeDependencies`
    pub const CONTROLLER_RUNTIME_DEPENDENCIES: &str = "/inspect.InspectService/ControllerRuntimeDependencies";

    /// Every method of the service.
    pub const ALL: &[Method] = &[unary(CONTROLLER_RUNTIME_DEPENDENCIES)];
}

/// `machine.LifecycleService`
pub mod lifecycle {
    use super::{Method, streamed};

    /// `Install`
    pub const INSTALL: &str = "/machine.LifecycleService/Install";
    /// `Upgrade`
    pub const UPGRADE: &str = "/machine.LifecycleService/Upgrade";

    /// Every method of the service.
    pub const ALL: &[Method] = &[streamed(INSTALL), streamed(UPGRADE)];
}

/// `machine.ImageService`
pub mod image {
    use super::{Method, streamed, unary, uploaded};

    /// `Import`
    pub const IMPORT: &str = "/machine.ImageService/Import";
    /// `List`
    pub const LIST: &str = "/machine.ImageService/List";
    /// `Pull`
    pub const PULL: &str = "/machine.ImageService/Pull";
    /// `Remove`
    pub const REMOVE: &str = "/machine.ImageService/Remove";
    /// `Verify`
    pub const VERIFY: &str = "/machine.ImageService/Verify";

    /// Every method of the service.
    pub const ALL: &[Method] = &[uploaded(IMPORT), streamed(LIST), streamed(PULL), unary(REMOVE), unary(VERIFY)];
}

/// `machine.DebugService`
pub mod debug {
    use super::{Method, both_ways};

    /// `ContainerRun`
    pub const CONTAINER_RUN: &str = "/machine.DebugService/ContainerRun";

    /// Every method of the service.
    pub const ALL: &[Method] = &[both_ways(CONTAINER_RUN)];
}

/// `cosi.resource.State`
pub mod cosi {
    use super::{Method, streamed, unary};

    /// `Create`
    pub const CREATE: &str = "/cosi.resource.State/Create";
    /// `Destroy`
    pub const DESTROY: &str = "/cosi.resource.State/Destroy";
    /// `Get`
    pub const GET: &str = "/cosi.resource.State/Get";
    /// `List`
    pub const LIST: &str = "/cosi.resource.State/List";
    /// `Update`
    pub const UPDATE: &str = "/cosi.resource.State/Update";
    /// `Watch`
    pub const WATCH: &str = "/cosi.resource.State/Watch";

    /// Every method of the service.
    pub const ALL: &[Method] = &[unary(CREATE), unary(DESTROY), unary(GET), streamed(LIST), unary(UPDATE), streamed(WATCH)];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_method_is_there_once_and_found() {
        let all: Vec<_> = SERVICES.iter().flat_map(|service| service.iter()).collect();
        assert_eq!(all.iter().map(|method| method.path).collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(machine::ALL.len(), 55);
        assert!(find(machine::EVENTS).is_some_and(|method| method.streams_out && !method.streams_in));
        assert!(find(machine::ETCD_RECOVER).is_some_and(|method| method.streams_in));
        assert!(find("/machine.MachineService/Nothing").is_none());
    }
}
