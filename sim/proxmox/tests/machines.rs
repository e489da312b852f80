//! Machines and storages over HTTP, with guests that only write down what they are told.
#![allow(clippy::unwrap_used, clippy::panic)]

mod site;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use emhost_sim_kit::{Dials, Disk, Drive, Guests, Hypervisor as _, Image, Interface, Machine, Medium, Platform, Profile};
use emhost_sim_machines::image::{Format, encode};
use emhost_sim_proxmox::{Release, Spec, StorageSpec};
use reqwest::Method;
use serde_json::Value;
use site::{Api, PASSWORD, Site, TOKEN, receive, spec};

/// Writes down what it is told.
#[derive(Default)]
struct Told {
    on: Mutex<BTreeMap<u32, Machine>>,
    events: Mutex<Vec<String>>,
}

impl Told {
    fn say(&self, text: String) {
        self.events.lock().unwrap().push(text);
    }

    fn machine(&self, id: u32) -> Option<Machine> {
        self.on.lock().unwrap().get(&id).cloned()
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

impl Guests for Told {
    fn power_on(&self, machine: Machine) {
        self.say(format!("on {}", machine.id));
        self.on.lock().unwrap().insert(machine.id, machine);
    }
    fn power_off(&self, id: u32) {
        self.say(format!("off {id}"));
        self.on.lock().unwrap().remove(&id);
    }
    fn reset(&self, id: u32) {
        self.say(format!("reset {id}"));
    }
    fn shutdown(&self, id: u32) -> bool {
        self.say(format!("button {id}"));
        true
    }
    fn moved(&self, id: u32, host: &str) {
        self.say(format!("moved {id} {host}"));
    }
    fn media_changed(&self, id: u32, drive: Drive) {
        self.say(format!("disc {id} {} {}", drive.slot, drive.volume.unwrap_or_default()));
    }
    fn agent(&self, id: u32) -> Option<Vec<Interface>> {
        let machine = self.machine(id)?;
        let addresses = vec![(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 24)];
        Some(vec![Interface { name: "eth0".to_owned(), mac: machine.nics[0].mac.to_lowercase(), addresses }])
    }
}

struct World {
    _folder: tempfile::TempDir,
    site: Site,
    told: Arc<Told>,
    api: Api,
}

async fn world_of(spec: Spec, dials: Dials) -> World {
    let folder = tempfile::tempdir().unwrap();
    let (site, told, api) = enter(folder.path(), spec, dials).await;
    World { _folder: folder, site, told, api }
}

async fn enter(folder: &Path, spec: Spec, dials: Dials) -> (Site, Arc<Told>, Api) {
    let site = Site::open(folder, spec, dials).await;
    let told = Arc::new(Told::default());
    site.pve.attach(Arc::clone(&told) as Arc<dyn Guests>);
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    (site, told, api)
}

async fn world() -> World {
    world_of(spec(Release::V9), Dials::default()).await
}

fn talos() -> Image {
    Image {
        version: "v1.11.5".to_owned(),
        platform: Platform::Nocloud,
        arch: "amd64".to_owned(),
        medium: Medium::Disk,
        secure_boot: false,
        schematic: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba".to_owned(),
        customization: "customization: {}\n".to_owned(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        meta: BTreeMap::new(),
    }
}

impl Api {
    /// A call that starts a task, and how the task ended.
    async fn task(&self, method: Method, path: &str, params: &[(&str, &str)]) -> String {
        let upid = self.ok(method, path, params).await;
        self.end(upid.as_str().unwrap()).await
    }

    async fn end(&self, upid: &str) -> String {
        let node = upid.split(':').nth(1).unwrap();
        loop {
            let status = self.get(&format!("/nodes/{node}/tasks/{upid}/status")).await;
            if let Some(end) = status.data()["exitstatus"].as_str() {
                return end.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn config(&self, host: &str, id: u32) -> Value {
        self.ok(Method::GET, &format!("/nodes/{host}/qemu/{id}/config"), &[]).await
    }

    async fn volumes(&self, host: &str, storage: &str) -> Vec<String> {
        let found = self.ok(Method::GET, &format!("/nodes/{host}/storage/{storage}/content"), &[]).await;
        found.as_array().unwrap().iter().map(|item| item["volid"].as_str().unwrap().to_owned()).collect()
    }

    async fn upload(&self, content: &str, name: &str, bytes: &[u8]) {
        let mut body = format!(
            "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n{content}\r\n--B\r\n\
            Content-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n--B--\r\n");
        let request =
            self.request(Method::POST, "/nodes/pve1/storage/local/upload").header("Content-Type", "multipart/form-data; boundary=B");
        let reply = receive(request.body(body)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(self.end(reply.data().as_str().unwrap()).await, "OK");
    }

    /// A template with Talos on its disk.
    async fn template(&self, id: u32, storage: &str) {
        self.upload("import", "talos.qcow2", &encode(&talos(), Format::Qcow2)).await;
        let (vmid, disk) = (id.to_string(), format!("{storage}:0,import-from=local:import/talos.qcow2"));
        let made = [
            ("vmid", vmid.as_str()),
            ("scsi0", &disk),
            ("net0", "virtio,bridge=vmbr0"),
            ("agent", "1"),
            ("memory", "2048"),
            ("name", "talos"),
        ];
        assert_eq!(self.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
        assert_eq!(self.task(Method::POST, &format!("/nodes/pve1/qemu/{id}/template"), &[]).await, "OK");
    }
}

#[tokio::test]
async fn what_is_imported_is_on_every_clone_and_runs_on_after_a_restart_of_the_site() {
    let folder = tempfile::tempdir().unwrap();
    let (site, told, api) = enter(folder.path(), spec(Release::V8), Dials::default()).await;
    api.template(9000, "local-lvm").await;
    for (id, full) in [("101", "0"), ("102", "1")] {
        assert_eq!(api.task(Method::POST, "/nodes/pve1/qemu/9000/clone", &[("newid", id), ("full", full)]).await, "OK");
    }
    let (template, clone) = (api.config("pve1", 9000).await, api.config("pve1", 101).await);
    assert_eq!(clone["name"], "Copy-of-VM-talos");
    for key in ["net0", "smbios1", "vmgenid"] {
        assert_ne!(template[key], clone[key], "{key}");
    }
    assert_eq!(api.task(Method::POST, "/nodes/pve1/qemu/101/status/start", &[]).await, "OK");
    let machine = told.machine(101).unwrap();
    let volume = machine.drives[0].volume.clone().unwrap();
    assert_eq!(site.pve.read_disk(&volume).boot, Some(talos()));
    assert_eq!(site.pve.read_disk("local-lvm:vm-102-disk-0").boot, Some(talos()));
    let mut disk = site.pve.read_disk(&volume);
    disk.partitions.insert("STATE".to_owned(), serde_json::json!("config"));
    site.pve.write_disk(&volume, &disk).unwrap();
    assert!(site.pve.write_disk("local-lvm:vm-999-disk-0", &disk).is_err());
    drop(api);
    site.close().await;
    let (site, told, api) = enter(folder.path(), spec(Release::V8), Dials::default()).await;
    assert_eq!(told.machine(101), Some(machine), "it was running, so it runs again");
    assert_eq!(site.pve.read_disk(&volume), disk);
    assert_eq!(api.get("/nodes/pve1/qemu/101/status/current").await.data()["status"], "running");
    site.pve.powered_off(101);
    assert_eq!(api.get("/nodes/pve1/qemu/101/status/current").await.data()["status"], "stopped");
}

#[tokio::test]
async fn garbage_is_imported_and_does_not_boot() {
    let world = world().await;
    world.api.upload("import", "garbage.raw", &[7; 2048]).await;
    let made = [("vmid", "100"), ("scsi0", "local:0,import-from=local:import/garbage.raw")];
    assert_eq!(world.api.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
    assert_eq!(world.api.config("pve1", 100).await["scsi0"], "local:100/vm-100-disk-0.raw,size=2K");
    assert_eq!(world.site.pve.read_disk("local:100/vm-100-disk-0.raw"), Disk::default());
}

/// Starts a clone for each number at once, and gives how each ended.
async fn clones(api: &Api, numbers: std::ops::Range<u32>) -> Vec<String> {
    let each = numbers.map(|id| async move {
        let id = id.to_string();
        api.task(Method::POST, "/nodes/pve1/qemu/9000/clone", &[("newid", &id), ("full", "1")]).await
    });
    futures::future::join_all(each).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_full_clones_at_once_are_too_many_for_a_storage_at_home() {
    let dials = Dials::new(Profile::Home, 7, Vec::new()).at_speed(20);
    let world = world_of(spec(Release::V8), dials).await;
    world.api.template(9000, "local-lvm").await;
    assert_eq!(clones(&world.api, 201..204).await, ["OK", "OK", "OK"], "a few go well");
    let ends = clones(&world.api, 101..111).await;
    let late = "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout";
    let failed = ends.iter().filter(|end| *end == late).count();
    assert!((1..10).contains(&failed), "{ends:?}");
    assert_eq!(ends.iter().filter(|end| *end == "OK").count(), 10 - failed, "{ends:?}");
    let machines = world.api.get("/nodes/pve1/qemu").await;
    assert_eq!(machines.data().as_array().unwrap().len(), 1 + 3 + 10 - failed, "what failed left nothing");
    assert_eq!(world.api.volumes("pve1", "local-lvm").await.len(), 1 + 3 + 10 - failed);
}

#[tokio::test]
async fn the_loser_of_a_number_gets_nothing() {
    let world = world().await;
    world.api.template(9000, "local-lvm").await;
    let ask = || world.api.call(Method::POST, "/nodes/pve1/qemu/9000/clone", &[("newid", "105"), ("full", "1")]);
    let (one, two) = tokio::join!(ask(), ask());
    let mut ends = Vec::new();
    for reply in [one, two] {
        ends.push(if reply.status == 200 {
            world.api.end(reply.data().as_str().unwrap()).await
        } else {
            reply.message().trim().to_owned()
        });
    }
    ends.sort();
    assert_eq!(ends, ["OK", "unable to create VM 105: config file already exists"]);
    let again = world.api.call(Method::POST, "/nodes/pve1/qemu", &[("vmid", "105")]).await;
    assert_eq!(again.message(), "unable to create VM 105 - VM 105 already exists on node 'pve1'\n");
}

#[tokio::test]
async fn a_device_is_in_one_running_machine_at_a_time() {
    let world = world().await;
    let root = world.site.client("pve1").log_in("root@pam", PASSWORD).await;
    for id in ["100", "101"] {
        let made = [("vmid", id), ("machine", "q35"), ("hostpci0", "0000:01:00.0,pcie=1")];
        assert_eq!(root.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
    }
    assert_eq!(root.task(Method::POST, "/nodes/pve1/qemu/100/status/start", &[]).await, "OK");
    assert_eq!(world.told.machine(100).unwrap().pci[0].bdf, "0000:01:00.0");
    let end = root.task(Method::POST, "/nodes/pve1/qemu/101/status/start", &[]).await;
    assert_eq!(end, "PCI device '0000:01:00.0' already in use by VMID '100'");
    assert_eq!(root.task(Method::POST, "/nodes/pve1/qemu/100/status/stop", &[]).await, "OK");
    assert_eq!(root.task(Method::POST, "/nodes/pve1/qemu/101/status/start", &[]).await, "OK");
    root.ok(Method::PUT, "/nodes/pve1/qemu/100/config", &[("machine", "pc")]).await;
    root.task(Method::POST, "/nodes/pve1/qemu/101/status/stop", &[]).await;
    assert_eq!(root.task(Method::POST, "/nodes/pve1/qemu/100/status/start", &[]).await, "q35 machine model is not enabled");
}

#[tokio::test]
async fn what_cannot_be_plugged_waits_for_the_next_start() {
    let World { api, told, site, .. } = &world().await;
    let made = [("vmid", "100"), ("scsi0", "local-lvm:4"), ("ide2", "none,media=cdrom"), ("net0", "virtio,bridge=vmbr0"), ("start", "1")];
    assert_eq!(api.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
    let path = "/nodes/pve1/qemu/100/config";
    api.upload("iso", "a.iso", &[0; 4096]).await;
    api.ok(Method::PUT, path, &[("cores", "4"), ("name", "new"), ("scsi1", "local-lvm:2"), ("ide2", "local:iso/a.iso,media=cdrom")]).await;
    let current = api.ok(Method::GET, path, &[("current", "1")]).await;
    assert_eq!((&current["name"], &current["scsi1"]), (&"new".into(), &"local-lvm:vm-100-disk-1,size=2G".into()));
    assert!(current.get("cores").is_none(), "{current}");
    assert!(told.events().contains(&"disc 100 ide2 local:iso/a.iso".to_owned()), "{:?}", told.events());
    assert_eq!(site.pve.read_media("local:iso/a.iso").unwrap(), [0; 4096]);
    api.ok(Method::PUT, path, &[("revert", "cores")]).await;
    let pending = api.get("/nodes/pve1/qemu/100/pending").await;
    assert!(!pending.text.contains("\"pending\""), "{}", pending.text);
    api.ok(Method::PUT, path, &[("delete", "scsi1")]).await;
    assert_eq!(api.config("pve1", 100).await["unused0"], "local-lvm:vm-100-disk-1");
    api.ok(Method::PUT, path, &[("delete", "unused0")]).await;
    assert_eq!(api.volumes("pve1", "local-lvm").await, ["local-lvm:vm-100-disk-0"]);
    let wrong = api.call(Method::PUT, path, &[("memory", "1024"), ("digest", "00")]).await;
    assert_eq!(wrong.message(), "checksum mismatch (file change by other user?)\n");
    api.ok(Method::PUT, path, &[("protection", "1")]).await;
    let refused = api.call(Method::PUT, path, &[("delete", "scsi0")]).await;
    assert_eq!(refused.message(), "can't remove drive 'scsi0' - protection mode enabled\n");
    let refused = api.call(Method::DELETE, "/nodes/pve1/qemu/100", &[]).await;
    assert_eq!(refused.message(), "can't remove VM 100 - protection mode enabled\n");
}

#[tokio::test]
async fn a_guest_that_does_not_listen_is_stopped_only_by_force() {
    let world = world_of(spec(Release::V8), Dials::default().at_speed(100)).await;
    let made = [("vmid", "100"), ("start", "1")];
    assert_eq!(world.api.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
    let path = "/nodes/pve1/qemu/100/status/shutdown";
    assert_eq!(world.api.task(Method::POST, path, &[("timeout", "3")]).await, "VM quit/powerdown failed - got timeout");
    assert_eq!(world.api.task(Method::POST, path, &[("timeout", "3"), ("forceStop", "1")]).await, "OK");
    assert_eq!(world.told.events(), ["on 100", "button 100", "button 100", "off 100"]);
    assert_eq!(world.api.task(Method::POST, "/nodes/pve1/qemu/100/status/stop", &[]).await, "OK", "off is off");
    let refused = world.api.call(Method::POST, "/nodes/pve1/qemu/100/status/reset", &[]).await;
    assert_eq!((refused.status, refused.message()), (500, "VM 100 not running\n"));
}

#[tokio::test]
async fn a_machine_moves_with_its_disks_while_the_guest_notices_nothing() {
    let World { api, told, site, .. } = &world().await;
    api.template(9000, "local-lvm").await;
    api.task(Method::POST, "/nodes/pve1/qemu/9000/clone", &[("newid", "101"), ("full", "1")]).await;
    api.task(Method::POST, "/nodes/pve1/qemu/101/status/start", &[]).await;
    let volume = told.machine(101).unwrap().drives[0].volume.clone().unwrap();
    let path = "/nodes/pve1/qemu/101/migrate";
    let refused = api.call(Method::POST, path, &[("target", "pve2")]).await;
    assert_eq!(refused.message(), "can't migrate running VM without --online\n");
    assert_eq!(api.task(Method::POST, path, &[("target", "pve2"), ("online", "1")]).await, "migration aborted");
    let seen = api.ok(Method::GET, path, &[]).await;
    assert_eq!(seen["allowed_nodes"][0], "pve2");
    assert_eq!(seen["local_disks"][0]["volid"], "local-lvm:vm-101-disk-0");
    let how = [("target", "pve2"), ("online", "1"), ("with-local-disks", "1"), ("targetstorage", "local")];
    assert_eq!(api.task(Method::POST, path, &how).await, "OK");
    assert!(told.events().contains(&"moved 101 pve2".to_owned()));
    let moved = api.config("pve2", 101).await;
    assert_eq!(moved["scsi0"], "local:101/vm-101-disk-0.raw,size=10G");
    assert!(moved.get("lock").is_none(), "{moved}");
    assert!(api.get("/nodes/pve1/qemu/101/config").await.message().contains("does not exist"));
    assert_eq!(site.pve.read_disk(&volume).boot, Some(talos()), "by the name it was switched on with");
    assert_eq!(api.volumes("pve1", "local-lvm").await.len(), 1);
}

#[tokio::test]
async fn what_does_not_fit_fails_and_leaves_nothing() {
    let mut spec = spec(Release::V8);
    let thick = StorageSpec { id: "thick".to_owned(), kind: "lvm".to_owned(), size: 10 << 30, ..spec.storages[0].clone() };
    spec.storages.push(StorageSpec { content: vec!["images".to_owned()], ..thick });
    let world = world_of(spec, Dials::default()).await;
    let made = [("vmid", "100"), ("scsi0", "thick:6"), ("scsi1", "thick:6")];
    let end = world.api.task(Method::POST, "/nodes/pve1/qemu", &made).await;
    assert!(end.starts_with("unable to create VM 100 - lvcreate 'pve/vm-100-disk-1' error:"), "{end}");
    assert!(end.contains("insufficient free space"), "{end}");
    assert_eq!(world.api.volumes("pve1", "thick").await, Vec::<String>::new());
    assert!(world.api.get("/nodes/pve1/qemu/100/config").await.message().contains("does not exist"));
    assert_eq!(world.api.task(Method::POST, "/nodes/pve1/qemu", &made[..2]).await, "OK");
    let status = world.api.get("/nodes/pve1/storage/thick/status").await;
    assert_eq!((&status.data()["used"], &status.data()["avail"]), (&(6_u64 << 30).into(), &(4_u64 << 30).into()));
    world.api.task(Method::POST, "/nodes/pve1/qemu/100/template", &[]).await;
    assert_eq!(world.api.config("pve1", 100).await["scsi0"], "thick:vm-100-disk-0,size=6G", "no base volumes on thick LVM");
    let refused = world.api.call(Method::POST, "/nodes/pve1/qemu/100/clone", &[("newid", "101"), ("full", "0")]).await;
    assert_eq!(refused.message(), "Linked clone feature is not supported for 'thick:vm-100-disk-0' (scsi0)\n");
}

#[tokio::test]
async fn the_cloud_init_drive_is_what_the_options_say() {
    let World { api, site, told, .. } = &world().await;
    let made = [
        ("vmid", "100"),
        ("name", "cp-1"),
        ("ide2", "local-lvm:cloudinit"),
        ("net0", "virtio,bridge=vmbr0"),
        ("ipconfig0", "ip=10.0.0.11/24,gw=10.0.0.1"),
        ("cipassword", "secret"),
        ("start", "1"),
    ];
    assert_eq!(api.task(Method::POST, "/nodes/pve1/qemu", &made).await, "OK");
    let config = api.config("pve1", 100).await;
    assert_eq!(config["ide2"], "local-lvm:vm-100-cloudinit,media=cdrom");
    assert_eq!(config["cipassword"], "**********");
    let volume = told.machine(100).unwrap().drives[0].volume.clone().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let written = text(&site.pve.read_media(&volume).unwrap());
    assert!(written.contains("10.0.0.11") && written.contains("hostname: cp-1") && !written.contains("secret"));
    api.ok(Method::PUT, "/nodes/pve1/qemu/100/config", &[("ipconfig0", "ip=10.0.0.12/24,gw=10.0.0.1")]).await;
    assert!(!text(&site.pve.read_media(&volume).unwrap()).contains("10.0.0.12"), "not before it is written anew");
    let changes = api.get("/nodes/pve1/qemu/100/cloudinit").await;
    assert!(changes.text.contains("\"pending\":\"ip=10.0.0.12/24,gw=10.0.0.1\""), "{}", changes.text);
    api.ok(Method::PUT, "/nodes/pve1/qemu/100/cloudinit", &[]).await;
    assert!(text(&site.pve.read_media(&volume).unwrap()).contains("10.0.0.12"));
    let second = api.call(Method::PUT, "/nodes/pve1/qemu/100/config", &[("scsi3", "local:cloudinit")]).await;
    assert_eq!(second.message(), "scsi3 - cloud-init drive is already attached at 'ide2'\n");
}

#[tokio::test]
async fn the_agent_answers_only_where_there_is_one() {
    let World { api, .. } = &world().await;
    let agent = "/nodes/pve1/qemu/100/agent/network-get-interfaces";
    assert_eq!(api.task(Method::POST, "/nodes/pve1/qemu", &[("vmid", "100"), ("net0", "virtio,bridge=vmbr0")]).await, "OK");
    assert_eq!(api.get(agent).await.message(), "No QEMU guest agent configured\n");
    api.ok(Method::PUT, "/nodes/pve1/qemu/100/config", &[("agent", "1")]).await;
    assert_eq!(api.get(agent).await.message(), "VM 100 is not running\n");
    api.task(Method::POST, "/nodes/pve1/qemu/100/status/start", &[]).await;
    let answer = api.get(agent).await;
    assert_eq!(answer.data()["result"][0]["ip-addresses"][0]["ip-address"], "10.0.0.9");
    assert_eq!(api.ok(Method::POST, "/nodes/pve1/qemu/100/agent/ping", &[]).await["result"], serde_json::json!({}));
}

#[tokio::test]
async fn a_snapshot_brings_the_disk_back_and_is_not_cloned() {
    let World { api, site, .. } = &world().await;
    api.template(9000, "local-lvm").await;
    api.task(Method::POST, "/nodes/pve1/qemu/9000/clone", &[("newid", "101"), ("full", "1")]).await;
    let (volume, path) = ("local-lvm:vm-101-disk-0", "/nodes/pve1/qemu/101/snapshot");
    assert_eq!(api.task(Method::POST, path, &[("snapname", "before")]).await, "OK");
    site.pve.write_disk(volume, &Disk::default()).unwrap();
    api.ok(Method::PUT, "/nodes/pve1/qemu/101/config", &[("cores", "7")]).await;
    let refused = api.call(Method::POST, "/nodes/pve1/qemu/101/clone", &[("newid", "102"), ("snapname", "before")]).await;
    assert_eq!(refused.message(), "Full clone feature is not supported for a snapshot of 'local-lvm:vm-101-disk-0' (scsi0)\n");
    let refused = api.call(Method::POST, "/nodes/pve1/qemu/101/template", &[]).await;
    assert_eq!(refused.message(), "unable to create template, because VM contains snapshots\n");
    assert_eq!(api.task(Method::POST, &format!("{path}/before/rollback"), &[]).await, "OK");
    assert_eq!(site.pve.read_disk(volume).boot, Some(talos()));
    assert!(api.config("pve1", 101).await.get("cores").is_none());
    assert_eq!(
        api.task(Method::POST, "/nodes/pve1/qemu/9000/snapshot", &[("snapname", "no")]).await,
        "you can't take a snapshot if it's a template"
    );
    assert_eq!(api.task(Method::DELETE, "/nodes/pve1/qemu/101", &[]).await, "OK");
    assert_eq!(api.volumes("pve1", "local-lvm").await, ["local-lvm:base-9000-disk-0"]);
}
