//! A site that is killed in the middle of its work, and started again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use emhost_sim::{Access, Administrator, Plan, Profile, Site};
use emhost_sim_kit::addresses::claims_of_tests;

use crate::common::{VERSION, mac, plan};
use crate::process::Process;

/// Machine 101 that boots and runs, and 102 that is off and has a large disk.
async fn furnish(api: &Administrator) {
    let schematic = api.schematic("customization: {}\n").await.unwrap();
    let url = format!("{}/image/{schematic}/{VERSION}/nocloud-amd64.qcow2", api.access().factory);
    let form = [("content", "import"), ("filename", "talos.qcow2"), ("url", url.as_str())];
    api.run("/nodes/pve1/storage/local/download-url", &form).await.unwrap();
    let net = format!("virtio={},bridge=vmbr0", mac(1));
    let machine = [
        ("vmid", "101"),
        ("name", "node-1"),
        ("memory", "4096"),
        ("cpu", "host"),
        ("scsihw", "virtio-scsi-pci"),
        ("scsi0", "local-lvm:0,import-from=local:import/talos.qcow2"),
        ("net0", &net),
        ("boot", "order=scsi0"),
    ];
    api.run("/nodes/pve1/qemu", &machine).await.unwrap();
    api.run("/nodes/pve1/qemu/101/status/start", &[]).await.unwrap();
    api.run("/nodes/pve1/qemu", &[("vmid", "102"), ("scsi0", "local-lvm:30")]).await.unwrap();
}

/// Writes 1, 2, 3… into the description of a machine until nobody answers any more, and tells which were confirmed.
async fn write(access: Access, confirmed: &AtomicU32) {
    let authority = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only(authority).no_proxy().build().unwrap();
    for number in 1_u32.. {
        let put = client.put(format!("{}/api2/json/nodes/pve1/qemu/101/config", access.pve));
        let put = put.header("Authorization", format!("PVEAPIToken={}", access.token)).form(&[("description", number.to_string())]);
        match put.send().await {
            Ok(answer) if answer.status().is_success() => confirmed.store(number, Ordering::SeqCst),
            Ok(answer) => panic!("{answer:?}"),
            Err(_) => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_confirmed_is_lost_when_a_site_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let slow = Plan { profile: Profile::Home, speed: 20, ..plan(2) };
    let mut process = Process::start(folder.path(), &slow).await;
    let api = Administrator::new(process.access.clone()).unwrap();
    furnish(&api).await;
    let before = api.get("/nodes/pve1/tasks?limit=100").await.unwrap();
    let clone = api.post("/nodes/pve1/qemu/102/clone", &[("newid", "103"), ("full", "1")]).await.unwrap().as_str().unwrap().to_owned();
    let confirmed = AtomicU32::new(0);
    let kill = async {
        let started = Instant::now();
        let locked = || async { api.get("/nodes/pve1/qemu").await.unwrap().as_array().unwrap().iter().any(|vm| vm["lock"] == "clone") };
        while confirmed.load(Ordering::SeqCst) < 10 || !locked().await {
            assert!(started.elapsed() < Duration::from_secs(30), "the clone does not begin");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        process.kill();
    };
    tokio::join!(write(api.access().clone(), &confirmed), kill);
    let confirmed = confirmed.load(Ordering::SeqCst);

    let site = Site::start(folder.path(), &claims_of_tests(), Plan { profile: Profile::Fast, ..plan(2) }).await.unwrap();
    assert_eq!((site.access().network, &site.access().token), (api.access().network, &api.access().token), "clients find it again");
    let api = Administrator::new(site.access().clone()).unwrap();
    let written: u32 = api.get("/nodes/pve1/qemu/101/config").await.unwrap()["description"].as_str().unwrap().trim().parse().unwrap();
    assert!(written == confirmed || written == confirmed + 1, "{confirmed} was confirmed, {written} is there");

    for (vmid, status) in [(101, "running"), (102, "stopped"), (103, "stopped")] {
        assert_eq!(api.get(&format!("/nodes/pve1/qemu/{vmid}/status/current")).await.unwrap()["status"], status, "{vmid}");
    }
    let started = Instant::now();
    while !site.nodes().iter().any(|node| node.id == 101 && node.stage == "maintenance") {
        assert!(started.elapsed() < Duration::from_secs(30), "{:?} {:?}", site.nodes(), site.silent());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let task = api.get(&format!("/nodes/pve1/tasks/{clone}/status")).await.unwrap();
    assert_eq!((&task["status"], &task["exitstatus"]), (&"stopped".into(), &"unexpected status".into()), "{task}");
    assert_eq!(api.get("/nodes/pve1/qemu/103/config").await.unwrap()["lock"], "clone", "as after a power cut");
    let after = api.get("/nodes/pve1/tasks?limit=100").await.unwrap();
    let ended = |tasks: &serde_json::Value| -> Vec<String> {
        tasks.as_array().unwrap().iter().filter(|task| task["upid"] != clone.as_str()).map(ToString::to_string).collect()
    };
    assert_eq!(ended(&before), ended(&after), "what had ended is told as before");
}
