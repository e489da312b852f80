//! What a node tells of its hardware, its kernel and its processes.

use std::time::SystemTime;

use emhost_sim_kit::DriveKind;
use emhost_talos_api::methods::machine as calls;
use emhost_talos_api::{common, google, machine, storage, time};
use sha2::{Digest, Sha256};

use super::calls::{read, unary};
use super::disks::{self, Device};
use super::{Node, hex, resources};
use crate::seam::{Reply, RequestStream};
use crate::wire::Status;

const MIB: u64 = 1024 * 1024;

impl Node {
    pub(super) async fn answer_system(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        match method {
            calls::VERSION => unary(&machine::VersionResponse { messages: vec![self.version_info()] }),
            calls::HOSTNAME => {
                let hostname = self.hostname();
                unary(&machine::HostnameResponse { messages: vec![machine::Hostname { metadata: None, hostname }] })
            }
            calls::MEMORY => {
                let meminfo = Some(self.memory());
                unary(&machine::MemoryResponse { messages: vec![machine::Memory { metadata: None, meminfo }] })
            }
            calls::CPU_INFO => {
                let cpu_info = (0..self.boot.machine.cores).map(|at| self.processor(at)).collect();
                unary(&machine::CpuInfoResponse { messages: vec![machine::CpUsInfo { metadata: None, cpu_info }] })
            }
            calls::CPU_FREQ_STATS => {
                let one = machine::CpuFreqStats { governor: "performance".to_owned(), ..Default::default() };
                let cpu_freq_stats = vec![one; self.boot.machine.cores as usize];
                unary(&machine::CpuFreqStatsResponse { messages: vec![machine::CpUsFreqStats { metadata: None, cpu_freq_stats }] })
            }
            calls::LOAD_AVG => {
                let load = machine::LoadAvg { metadata: None, load1: 0.12, load5: 0.18, load15: 0.21 };
                unary(&machine::LoadAvgResponse { messages: vec![load] })
            }
            calls::SYSTEM_STAT => unary(&machine::SystemStatResponse { messages: vec![self.system_stat()] }),
            calls::DISK_STATS => {
                let devices = disks::devices(&self.boot.machine).into_iter().filter(|device| device.drive.kind == DriveKind::Disk);
                let stat = |device: Device| machine::DiskStat {
                    name: device.name,
                    read_completed: 4210,
                    write_completed: 1893,
                    ..Default::default()
                };
                let devices: Vec<_> = devices.map(stat).collect();
                let total = Some(machine::DiskStat::default());
                unary(&machine::DiskStatsResponse { messages: vec![machine::DiskStats { metadata: None, total, devices }] })
            }
            calls::NETWORK_DEVICE_STATS => {
                let links = self.state().links.clone();
                let device = |name: String| machine::NetDev {
                    name,
                    rx_bytes: 73_201_004,
                    rx_packets: 60_211,
                    tx_bytes: 9_120_443,
                    ..Default::default()
                };
                let devices: Vec<_> = std::iter::once("lo".to_owned()).chain(links.into_iter().map(|link| link.name)).map(device).collect();
                let total = Some(machine::NetDev::default());
                unary(&machine::NetworkDeviceStatsResponse {
                    messages: vec![machine::NetworkDeviceStats { metadata: None, total, devices }],
                })
            }
            calls::PROCESSES => unary(&machine::ProcessesResponse { messages: vec![self.processes()] }),
            calls::CONTAINERS => {
                let asked: machine::ContainersRequest = read(request).await?;
                let containers = self.containers(&asked.namespace, asked.driver)?;
                unary(&machine::ContainersResponse { messages: vec![machine::Container { metadata: None, containers }] })
            }
            calls::STATS => {
                let asked: machine::StatsRequest = read(request).await?;
                let stats = self.containers(&asked.namespace, asked.driver)?.into_iter().map(|container| machine::Stat {
                    namespace: container.namespace,
                    memory_usage: 48 * MIB,
                    cpu_usage: 1_200_000_000,
                    id: container.id,
                    pod_id: container.pod_id,
                    name: container.name,
                });
                let stats = stats.collect();
                unary(&machine::StatsResponse { messages: vec![machine::Stats { metadata: None, stats }] })
            }
            calls::RESTART => {
                let asked: machine::RestartRequest = read(request).await?;
                let found = self.containers(&asked.namespace, asked.driver)?.iter().any(|container| container.id == asked.id);
                if !found {
                    return Err(Status::unknown(format!("container {:?} not found", asked.id)));
                }
                unary(&machine::RestartResponse { messages: vec![machine::Restart::default()] })
            }
            calls::NETSTAT => unary(&machine::NetstatResponse { messages: vec![self.netstat(&read(request).await?)?] }),
            calls::PACKET_CAPTURE => {
                let asked: machine::PacketCaptureRequest = read(request).await?;
                let known = self.state().links.iter().any(|link| link.name == asked.interface);
                if !known {
                    return Err(Status::not_found(format!("interface {:?} not found", asked.interface)));
                }
                // The header of a capture that never sees a packet.
                let mut header = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
                for field in [0x0004_0002_u32, 0, 0, 4096, 1] {
                    header.extend(field.to_le_bytes());
                }
                super::calls::data(&header)
            }
            other => Err(Status::unimplemented(format!("method {} not implemented", other.rsplit('/').next().unwrap_or(other)))),
        }
    }

    pub(crate) fn version_info(&self) -> machine::Version {
        let tag = self.boot.image.version.clone();
        let sha = hex(&Sha256::digest(tag.as_bytes())[..4]);
        let go_version = match self.version.minor {
            ..=8 => "go1.22.10",
            9 => "go1.23.9",
            10 | 11 => "go1.24.9",
            12 => "go1.25.5",
            _ => "go1.26.1",
        };
        machine::Version {
            metadata: None,
            version: Some(machine::VersionInfo {
                tag,
                sha,
                built: String::new(),
                go_version: go_version.to_owned(),
                os: "linux".to_owned(),
                arch: self.boot.image.arch.clone(),
            }),
            platform: Some(machine::PlatformInfo {
                name: self.boot.image.platform.name().to_owned(),
                mode: match self.boot.image.platform {
                    emhost_sim_kit::Platform::Metal => "metal",
                    emhost_sim_kit::Platform::Nocloud => "cloud",
                }
                .to_owned(),
            }),
            features: self.settings().map(|settings| machine::FeaturesInfo { rbac: settings.rbac }),
        }
    }

    fn memory(&self) -> machine::MemInfo {
        let total = self.boot.machine.memory_mib * 1024;
        // The kernel keeps a little for itself, less than the two percent that a health check forgives.
        let total = total - total / 100;
        let used = if self.settings().is_some_and(|settings| settings.control_plane) { total / 3 } else { total / 6 };
        machine::MemInfo {
            memtotal: total,
            memfree: total - used - total / 10,
            memavailable: total - used,
            buffers: 5120,
            cached: total / 10,
            active: used / 2,
            inactive: used / 3,
            anonpages: used / 3,
            mapped: used / 8,
            shmem: 2048,
            slab: 90_000,
            commitlimit: total / 2,
            vmalloctotal: 34_359_738_367,
            hugepagesize: 2048,
            directmap2m: total,
            ..Default::default()
        }
    }

    fn processor(&self, at: u32) -> machine::CpuInfo {
        let machine = &self.boot.machine;
        machine::CpuInfo {
            processor: at,
            vendor_id: "GenuineIntel".to_owned(),
            cpu_family: "6".to_owned(),
            model: "85".to_owned(),
            model_name: if machine.cpu == "host" {
                "Intel(R) Xeon(R) Processor".to_owned()
            } else {
                format!("QEMU Virtual CPU ({})", machine.cpu)
            },
            stepping: "7".to_owned(),
            cpu_mhz: 2600.0,
            cache_size: "16384 KB".to_owned(),
            physical_id: "0".to_owned(),
            siblings: machine.cores,
            core_id: at.to_string(),
            cpu_cores: machine.cores,
            fpu: "yes".to_owned(),
            flags: ["fpu", "sse4_2", "popcnt", "aes", "avx", "hypervisor"].map(str::to_owned).to_vec(),
            bogo_mips: 5200.0,
            ..Default::default()
        }
    }

    fn system_stat(&self) -> machine::SystemStat {
        let up = SystemTime::now().duration_since(self.since).unwrap_or_default().as_secs_f64();
        let boot_time = self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let one = machine::CpuStat { user: up * 0.05, system: up * 0.03, idle: up * 0.92, ..Default::default() };
        machine::SystemStat {
            metadata: None,
            boot_time,
            cpu_total: Some(one.clone()),
            cpu: vec![one; self.boot.machine.cores as usize],
            context_switches: 1_204_302,
            process_created: 20_114,
            process_running: 2,
            ..Default::default()
        }
    }

    fn processes(&self) -> machine::Process {
        let process = |pid: i32, ppid: i32, command: &str, args: &str| machine::ProcessInfo {
            pid,
            ppid,
            state: "S".to_owned(),
            threads: 12,
            cpu_time: 3.5,
            virtual_memory: 1300 * MIB,
            resident_memory: 80 * MIB,
            command: command.to_owned(),
            executable: format!("/sbin/{command}"),
            args: args.to_owned(),
            label: String::new(),
        };
        let mut processes = vec![process(1, 0, "init", "/sbin/init"), process(2, 0, "kthreadd", "")];
        for id in self.state().services.ids().iter().filter(|id| *id != "machined") {
            let pid = i32::try_from(resources::pid(id)).unwrap_or_default();
            processes.push(process(pid, 1, id, &format!("/usr/bin/{id}")));
        }
        machine::Process { metadata: None, processes }
    }

    fn containers(&self, namespace: &str, driver: i32) -> Result<Vec<machine::ContainerInfo>, Status> {
        if driver == common::ContainerDriver::Cri as i32 && namespace != "k8s.io" {
            return Err(Status::unknown("CRI inspector is supported only for K8s namespace"));
        }
        let container = |id: String, image: String, status: &str| machine::ContainerInfo {
            namespace: namespace.to_owned(),
            pid: resources::pid(&id),
            name: id.rsplit('/').next().unwrap_or(&id).to_owned(),
            pod_id: id.clone(),
            internal_id: id.clone(),
            id,
            image,
            status: status.to_owned(),
            ..Default::default()
        };
        let (services, settings, hostname) = {
            let state = self.state();
            (state.services.clone(), state.settings.clone(), state.hostname.clone())
        };
        if namespace == "system" {
            let of_system = ["apid", "trustd", "etcd", "kubelet"].into_iter().filter(|id| services.running(id));
            return Ok(of_system.map(|id| container(id.to_owned(), format!("talos/{id}"), "RUNNING")).collect());
        }
        let Some(settings) = settings.filter(|settings| settings.control_plane && services.up("etcd")) else { return Ok(Vec::new()) };
        let pods = resources::static_pods(&settings);
        Ok(pods.into_iter().map(|(name, image)| container(format!("kube-system/{name}-{hostname}"), image, "CONTAINER_RUNNING")).collect())
    }

    fn netstat(&self, request: &machine::NetstatRequest) -> Result<machine::Netstat, Status> {
        if request.feature.is_none() || request.l4proto.is_none() || request.netns.is_none() {
            // Talos looks into what was not sent, and its server survives that.
            return Err(Status::internal("runtime error: invalid memory address or nil pointer dereference"));
        }
        let connected = request.filter == machine::NetstatRequestFilter::Connected as i32;
        let mut ports: Vec<(u32, &str)> = vec![(50000, "apid")];
        {
            let state = self.state();
            if state.services.up("kubelet") {
                ports.push((10250, "kubelet"));
            }
            if state.services.up("etcd") {
                ports.extend([(2379, "etcd"), (2380, "etcd"), (6443, "kube-apiserver"), (50001, "trustd")]);
            }
        }
        let listens = |(port, name): (u32, &str)| machine::ConnectRecord {
            l4proto: "tcp".to_owned(),
            localip: "0.0.0.0".to_owned(),
            localport: port,
            remoteip: "0.0.0.0".to_owned(),
            state: machine::ConnectRecordState::Listen as i32,
            process: Some(machine::ConnectRecordProcess { pid: resources::pid(name), name: name.to_owned() }),
            ..Default::default()
        };
        let connectrecord = if connected { Vec::new() } else { ports.into_iter().map(listens).collect() };
        Ok(machine::Netstat { metadata: None, connectrecord })
    }

    pub(super) fn time(&self, server: &str) -> time::Time {
        let configured = || self.settings().and_then(|settings| settings.time_servers.first().cloned());
        let server = if server.is_empty() { configured().unwrap_or_else(|| "time.cloudflare.com".to_owned()) } else { server.to_owned() };
        let now: google::Timestamp = SystemTime::now().into();
        time::Time { metadata: None, server, localtime: Some(now), remotetime: Some(now) }
    }

    /// Images in the store of the node: name, digest, size.
    pub(super) fn images(&self) -> Vec<(String, String, i64)> {
        let mut names = self.state().pulled.clone();
        if let Some(settings) = self.settings() {
            names.push(settings.kubernetes.kubelet_image.clone());
            if settings.control_plane {
                names.extend(resources::static_pods(&settings).into_iter().map(|(_, image)| image));
            }
        }
        let digest = |name: &str| hex(&Sha256::digest(name.as_bytes()));
        names.into_iter().map(|name| (name.clone(), format!("sha256:{}", digest(&name)), 92_000_000)).collect()
    }

    pub(super) fn storage_disks(&self) -> Vec<storage::Disk> {
        let system = self.state().system_disk.clone();
        let disk = |device: Device| storage::Disk {
            size: device.drive.size,
            model: device.model().to_owned(),
            device_name: device.path(),
            name: device.drive.serial.clone().unwrap_or_default(),
            serial: device.drive.serial.clone().unwrap_or_default(),
            r#type: if device.drive.kind == DriveKind::Cdrom { storage::DiskDiskType::Cd } else { storage::DiskDiskType::Hdd } as i32,
            bus_path: device.bus_path(),
            system_disk: device.drive.volume.is_some() && device.drive.volume == system,
            subsystem: "/sys/class/block".to_owned(),
            readonly: device.drive.kind == DriveKind::Cdrom,
            ..Default::default()
        };
        disks::devices(&self.boot.machine).into_iter().filter(|device| device.drive.volume.is_some()).map(disk).collect()
    }

    pub(super) fn wipe_devices(&self, request: &storage::BlockDeviceWipeRequest) -> Result<(), Status> {
        let devices = disks::devices(&self.boot.machine);
        let system = self.state().system_disk.clone();
        let mut volumes = Vec::new();
        for asked in &request.devices {
            let name = &asked.device;
            let device = devices.iter().find(|device| device.name == *name);
            let device = device.ok_or_else(|| Status::not_found(format!("blockdevice {name:?} not found")))?;
            if device.drive.kind == DriveKind::Cdrom {
                return Err(Status::precondition(format!("blockdevice {name:?} is read-only")));
            }
            if device.drive.volume == system && !asked.skip_volume_check {
                return Err(Status::precondition(format!("blockdevice {name:?} is in use by volume \"STATE\"")));
            }
            volumes.extend(device.drive.volume.clone());
        }
        let fleet = self.need_fleet()?;
        for volume in volumes {
            let wiped = fleet.parts.ground.write_disk(&volume, &emhost_sim_kit::Disk::default());
            wiped.map_err(|error| Status::unknown(error.to_string()))?;
        }
        resources::hardware(self);
        Ok(())
    }
}
