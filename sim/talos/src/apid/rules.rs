//! Which method a node of a version has, and which roles it takes.

use emhost_talos_api::methods::{self, cluster, cosi, image, inspect, lifecycle, machine, storage, time};

use super::roles::{ADMIN, ETCD_BACKUP, IMAGE_VERIFIER, META_WRITER, OPERATOR, READER};
use crate::wire::Status;

const ONLY_ADMIN: &[&str] = &[ADMIN];
const OPERATORS: &[&str] = &[ADMIN, OPERATOR];
const READERS: &[&str] = &[ADMIN, OPERATOR, READER];
const BACKUP: &[&str] = &[ADMIN, OPERATOR, ETCD_BACKUP];
const BACKUP_READERS: &[&str] = &[ADMIN, OPERATOR, READER, ETCD_BACKUP];
/// The handler refuses readers once the node has a configuration.
const ADMIN_OR_MAINTENANCE: &[&str] = &[ADMIN, READER];

/// The services that a configured node of any version has.
const SERVICES: [&str; 6] = [
    "machine.MachineService",
    "cluster.ClusterService",
    "storage.StorageService",
    "time.TimeService",
    "inspect.InspectService",
    "cosi.resource.State",
];

/// The services that came with 1.13.
const SERVICES_OF_13: [&str; 3] = ["machine.LifecycleService", "machine.ImageService", "machine.DebugService"];

/// The services of the maintenance API up to 1.12.
const SERVICES_OF_MAINTENANCE: [&str; 3] = ["machine.MachineService", "storage.StorageService", "cosi.resource.State"];

/// Whether a version (1.`minor`) has a method.
pub(crate) fn has(minor: u32, method: &str) -> bool {
    let (service, _) = parts(method);
    match method {
        machine::CPU_FREQ_STATS | storage::BLOCK_DEVICE_WIPE => minor >= 9,
        machine::ETCD_DOWNGRADE_VALIDATE | machine::ETCD_DOWNGRADE_ENABLE | machine::ETCD_DOWNGRADE_CANCEL => minor >= 11,
        machine::GENERATE_CONFIGURATION => minor <= 12,
        _ if SERVICES_OF_13.contains(&service) => minor >= 13 && methods::find(method).is_some(),
        _ => methods::find(method).is_some(),
    }
}

/// The refusal of a method that a configured node, or one of 1.13, does not have.
pub(crate) fn unknown(minor: u32, method: &str) -> Status {
    let (service, name) = parts(method);
    let known = SERVICES.contains(&service) || minor >= 13 && SERVICES_OF_13.contains(&service);
    absent(known, service, name)
}

fn absent(service_known: bool, service: &str, name: &str) -> Status {
    if service_known {
        Status::unimplemented(format!("unknown method {name} for service {service}"))
    } else {
        Status::unimplemented(format!("unknown service {service}"))
    }
}

/// `machine.MachineService` and `Version` of `/machine.MachineService/Version`.
pub(crate) fn parts(method: &str) -> (&str, &str) {
    method.trim_start_matches('/').rsplit_once('/').unwrap_or_default()
}

/// The roles of which a caller needs one.
pub(crate) fn roles(minor: u32, method: &str) -> &'static [&'static str] {
    match method {
        machine::APPLY_CONFIGURATION | storage::BLOCK_DEVICE_WIPE if minor >= 13 => ADMIN_OR_MAINTENANCE,
        machine::META_WRITE | machine::META_DELETE if minor >= 13 => &[ADMIN, META_WRITER],
        image::VERIFY => &[ADMIN, OPERATOR, READER, IMAGE_VERIFIER],
        machine::ETCD_SNAPSHOT => BACKUP,
        machine::ETCD_ALARM_LIST | machine::ETCD_MEMBER_LIST | machine::ETCD_STATUS => BACKUP_READERS,
        machine::ETCD_ALARM_DISARM
        | machine::ETCD_DEFRAGMENT
        | machine::IMAGE_PULL
        | machine::PACKET_CAPTURE
        | machine::REBOOT
        | machine::RESTART
        | machine::SERVICE_RESTART
        | machine::SERVICE_START
        | machine::SERVICE_STOP
        | machine::SHUTDOWN
        | image::PULL => OPERATORS,
        machine::CPU_INFO
        | machine::CPU_FREQ_STATS
        | machine::CONTAINERS
        | machine::DISK_STATS
        | machine::DISK_USAGE
        | machine::DMESG
        | machine::EVENTS
        | machine::HOSTNAME
        | machine::IMAGE_LIST
        | machine::LIST
        | machine::LOAD_AVG
        | machine::LOGS
        | machine::LOGS_CONTAINERS
        | machine::MEMORY
        | machine::MOUNTS
        | machine::NETWORK_DEVICE_STATS
        | machine::NETSTAT
        | machine::PROCESSES
        | machine::SERVICE_LIST
        | machine::STATS
        | machine::SYSTEM_STAT
        | machine::VERSION
        | cluster::HEALTH_CHECK
        | inspect::CONTROLLER_RUNTIME_DEPENDENCIES
        | cosi::GET
        | cosi::LIST
        | cosi::WATCH
        | storage::DISKS
        | time::TIME
        | time::TIME_CHECK
        | image::LIST => READERS,
        _ => ONLY_ADMIN,
    }
}

/// What a node without configuration up to 1.12 says to a method, if it does not answer it.
pub(crate) fn refused_in_maintenance(minor: u32, method: &str) -> Option<Status> {
    const ADMIN_ALONE: &str = "API is not implemented in maintenance mode";
    let (service, name) = parts(method);
    match method {
        _ if !SERVICES_OF_MAINTENANCE.contains(&service) => Some(absent(false, service, name)),
        _ if !has(minor, method) => Some(absent(true, service, name)),
        machine::APPLY_CONFIGURATION | machine::GENERATE_CONFIGURATION | storage::DISKS => None,
        storage::BLOCK_DEVICE_WIPE if minor >= 11 => None,
        // Only somebody who comes through the tunnel of a management server is an admin here.
        machine::VERSION | machine::UPGRADE | machine::RESET | machine::META_WRITE | machine::META_DELETE => {
            Some(Status::unimplemented(ADMIN_ALONE))
        }
        machine::GENERATE_CLIENT_CONFIGURATION => {
            Some(Status::unimplemented("client configuration (talosconfig) can't be generated in the maintenance mode"))
        }
        _ if service == "cosi.resource.State" => None,
        _ => Some(Status::unimplemented(format!("method {name} not implemented"))),
    }
}

/// Whether several nodes may be asked at once.
pub(crate) fn one_to_many(minor: u32, method: &str) -> Result<(), Status> {
    let (service, _) = parts(method);
    if minor < 13 {
        if service.starts_with("cosi.") {
            return Err(Status::invalid("one-2-many proxying is not supported for COSI methods"));
        }
        return Ok(());
    }
    if SERVICES.contains(&service) && !service.starts_with("cosi.") {
        return Ok(());
    }
    Err(Status::invalid(format!("one-2-many proxying is not supported for method {method}")))
}

/// Whether the answers of several nodes are put together as streams.
pub(crate) fn streamed(minor: u32, method: &str) -> bool {
    match method {
        machine::COPY
        | machine::DISK_USAGE
        | machine::DMESG
        | machine::ETCD_SNAPSHOT
        | machine::EVENTS
        | machine::IMAGE_LIST
        | machine::KUBECONFIG
        | machine::LIST
        | machine::LOGS
        | machine::PACKET_CAPTURE
        | machine::READ
        | cluster::HEALTH_CHECK => true,
        lifecycle::INSTALL | lifecycle::UPGRADE => minor >= 13,
        _ => method.ends_with("Stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Code;

    #[test]
    fn every_streaming_method_of_the_machine_is_put_together_as_a_stream() {
        for method in machine::ALL.iter().chain(cluster::ALL) {
            assert_eq!(streamed(12, method.path), method.streams_out, "{}", method.path);
        }
    }

    #[test]
    fn methods_come_and_go_with_versions() {
        assert!(!has(10, machine::ETCD_DOWNGRADE_CANCEL) && has(11, machine::ETCD_DOWNGRADE_CANCEL));
        assert!(has(12, machine::GENERATE_CONFIGURATION) && !has(13, machine::GENERATE_CONFIGURATION));
        assert_eq!(unknown(12, image::PULL).message, "unknown service machine.ImageService");
        assert_eq!(unknown(13, "/machine.ImageService/X").message, "unknown method X for service machine.ImageService");
        assert_eq!(unknown(12, "/nothing/X").message, "unknown service nothing");
    }

    #[test]
    fn maintenance_up_to_12_answers_little() {
        let answered: Vec<_> = methods::SERVICES
            .iter()
            .flat_map(|service| service.iter())
            .filter(|method| refused_in_maintenance(11, method.path).is_none())
            .map(|method| parts(method.path).1)
            .collect();
        assert_eq!(
            answered,
            [
                "ApplyConfiguration",
                "GenerateConfiguration",
                "BlockDeviceWipe",
                "Disks",
                "Create",
                "Destroy",
                "Get",
                "List",
                "Update",
                "Watch"
            ]
        );
        assert_eq!(refused_in_maintenance(12, machine::VERSION).map(|status| status.code), Some(Code::Unimplemented));
    }

    #[test]
    fn roles_differ_by_method() {
        assert_eq!(roles(11, machine::APPLY_CONFIGURATION), ONLY_ADMIN);
        assert_eq!(roles(13, machine::APPLY_CONFIGURATION), ADMIN_OR_MAINTENANCE);
        assert!(roles(11, machine::ETCD_SNAPSHOT).contains(&ETCD_BACKUP));
        assert_eq!(roles(11, "/x/Y"), ONLY_ADMIN);
    }
}
