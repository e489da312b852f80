//! The plugin for Proxmox VE on a simulated site: machines come, change and go, whatever is lost on the way.

mod lab;
mod rights;

use emhost::bindings::emhost::plugin::types::{Change, Disruption, FailureKind, Intent, Step};
use emhost::bindings::exports::emhost::plugin::provisioner::Power;
use emhost_sim::{Fault, PciSpec, Plan, Profile, Release};
use serde_json::json;

use lab::{Base, CLUSTER, Lab, plan, told};

async fn whole_life(release: Release, base: Base) {
    let mut lab = Lab::new(plan(release)).await;
    let first_boot = lab.first_boot(base);
    let planned = lab.plan(Some(&first_boot), Intent::Present).await;
    assert_eq!((planned.actions.len(), planned.actions[0].change), (1, Change::Create));
    assert_eq!(planned.actions[0].subject, "virtual machine dev-cp-1 on pve1");
    assert!(planned.holds.contains(&"storage:local-lvm".to_owned()), "{:?}", planned.holds);
    lab.make(base).await;
    lab.boots().await;

    let machine = lab.observe().await.expect("a machine");
    assert_eq!((machine.power, machine.host.as_str(), machine.addresses.as_slice()), (Power::On, "pve1", &["10.0.10.11".to_owned()][..]));
    let config = lab.config("pve1", lab.vmid()).await;
    assert_eq!((&config["cores"], &config["memory"], &config["name"]), (&json!(2), &json!("4096"), &json!("dev-cp-1")));
    assert_eq!(config["smbios1"], json!(format!("uuid={}", machine.identity)));
    assert!(config["tags"].as_str().unwrap().contains(&format!("emhost-{CLUSTER}")), "{config}");
    assert!(config["scsi0"].as_str().unwrap().contains("size=40G"), "{config}");
    assert_eq!((&config["bios"], &config["machine"]), (&json!("ovmf"), &json!("q35")));

    // Again, and with nothing remembered: no request changes anything.
    let before = lab.changes().len();
    lab.apply(Some(&first_boot), Intent::Present).await;
    let remembered = lab.state.take();
    lab.observe().await.expect("found by what it carries");
    assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions, []);
    lab.apply(Some(&first_boot), Intent::Present).await;
    lab.state = remembered;
    assert_eq!(lab.changes().len(), before);

    // It has joined.
    let media = usize::from(base == Base::Installer);
    assert_eq!(lab.volumes("pve1", "iso").await.iter().filter(|volume| volume.contains("emhost-")).count(), media);
    let joined = lab.plan(None, Intent::Present).await;
    assert_eq!(joined.actions.len(), media, "{joined:?}");
    assert!(joined.actions.iter().all(|action| action.change == Change::Update && action.disruption == Disruption::None));
    lab.apply(None, Intent::Present).await;
    assert_eq!(lab.plan(None, Intent::Present).await.actions, []);
    let config = lab.config("pve1", lab.vmid()).await.to_string();
    assert!(
        !config.contains(".iso,media=cdrom") && !lab.volumes("pve1", "iso").await.iter().any(|volume| volume.contains("emhost-")),
        "{config}"
    );
    assert_eq!(config.contains("cloudinit"), base == Base::Image);
    assert_eq!(lab.observe().await.expect("a machine").power, Power::On);

    // And goes. What others may start from stays.
    let owned = lab.kit.plugin.owned(&lab.kit.context).await.expect("owned");
    assert_eq!(owned.iter().map(|machine| machine.identity.clone()).collect::<Vec<_>>(), [machine.identity]);
    let planned = lab.plan(None, Intent::Absent).await;
    assert_eq!((planned.actions[0].change, planned.actions[0].disruption), (Change::Destroy, Disruption::DataLoss));
    lab.apply(None, Intent::Absent).await;
    assert_eq!(lab.machines().await, Vec::<serde_json::Value>::new());
    assert_eq!(lab.plan(None, Intent::Absent).await.actions, []);
    let content = if base == Base::Installer { "iso" } else { "import" };
    assert_eq!(lab.volumes("pve1", content).await.len(), 1 + usize::from(base == Base::Image));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_an_image() {
    whole_life(Release::V9, Base::Image).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_an_image_on_the_older_release() {
    whole_life(Release::V8, Base::Image).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_a_template() {
    whole_life(Release::V9, Base::Template).await;
    whole_life(Release::V8, Base::Template).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_installs_itself() {
    whole_life(Release::V9, Base::Installer).await;
    whole_life(Release::V8, Base::Installer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_changes_in_its_place() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    let first_boot = lab.make(Base::Image).await;
    let vmid = lab.vmid();
    let identity = lab.node.machine_identity.clone();
    lab.node.cores = 4;
    lab.node.memory_mib = 8192;
    lab.node.disks[0].size_gib = 60;
    let mut more = lab.node.disks[0].clone();
    (more.system, more.size_gib, more.name) = (false, 10, "data".to_owned());
    lab.node.disks.push(more);
    let planned = lab.plan(Some(&first_boot), Intent::Present).await;
    assert_eq!((planned.actions.len(), planned.actions[0].change, planned.actions[0].disruption), (1, Change::Update, Disruption::Reboot));
    let pointers: Vec<&str> = planned.actions[0].fields.iter().map(|field| field.pointer.as_str()).collect();
    assert_eq!(pointers, ["/cores", "/memory-mib", "/disks/0/size-gib", "/disks/1/size-gib"]);
    lab.boots().await;
    lab.apply(Some(&first_boot), Intent::Present).await;
    assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions, []);
    let status = lab.get(&format!("/nodes/pve1/qemu/{vmid}/status/current")).await;
    assert_eq!((&status["status"], &status["cpus"], &status["maxmem"]), (&json!("running"), &json!(4), &json!(8192u64 << 20)));
    let config = lab.config("pve1", vmid).await;
    assert!(config["scsi0"].as_str().unwrap().contains("size=60G") && config["scsi1"].as_str().unwrap().contains("size=10G"), "{config}");

    // Hot: another cable, and not started with its host.
    lab.node.cards[0].bridge = "vmbr1".to_owned();
    let planned = lab.plan(Some(&first_boot), Intent::Present).await;
    assert_eq!(planned.actions[0].disruption, Disruption::None);
    lab.apply(Some(&first_boot), Intent::Present).await;
    assert!(lab.config("pve1", vmid).await["net0"].as_str().unwrap().contains("bridge=vmbr1"));

    // One that somebody stopped is started.
    lab.administrator().run(&format!("/nodes/pve1/qemu/{vmid}/status/stop"), &[]).await.unwrap();
    assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions[0].fields[0].pointer, "/power");
    lab.apply(Some(&first_boot), Intent::Present).await;
    assert_eq!(lab.observe().await.expect("a machine").power, Power::On);

    // What would be another machine is refused, and nothing happens.
    let before = lab.changes().len();
    lab.node.disks[0].size_gib = 50;
    let error = lab.kit.plugin.plan_machine(&lab.kit.context, &lab.node, Some(&first_boot), Intent::Present, lab.state.as_ref()).await;
    let (kind, summary, help) = told(&error.expect_err("refused"));
    assert_eq!((kind, summary.as_str()), (FailureKind::Invalid, "disk scsi0 of dev-cp-1 has 60G and cannot shrink to 50G"));
    assert!(help.contains("60G"), "{help}");
    assert_eq!((lab.changes().len(), lab.node.machine_identity.clone()), (before, identity));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_moved_is_the_same_machine() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    lab.node.disks[0].storage = "ceph".to_owned();
    let first_boot = lab.make(Base::Template).await;
    let vmid = lab.vmid();
    let form = [("target", "pve2"), ("online", "1")];
    lab.administrator().run(&format!("/nodes/pve1/qemu/{vmid}/migrate"), &form).await.unwrap();
    let machine = lab.observe().await.expect("found where it is");
    assert_eq!((machine.host.as_str(), machine.id), ("pve2", vmid.to_string()));
    assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions, []);
    lab.apply(None, Intent::Absent).await;
    assert_eq!(lab.machines().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_of_others_are_never_touched() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    let tags = format!("emhost;emhost-{CLUSTER}");
    let description = format!("emhost cluster={CLUSTER} node=dev-cp-1 identity=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f");
    // The same name; the tag; the tag and the claim of a machine that is long gone.
    let strangers: [&[(&str, &str)]; 3] = [
        &[("vmid", "300"), ("name", "dev-cp-1")],
        &[("vmid", "301"), ("name", "dev-cp-1"), ("tags", &tags)],
        &[("vmid", "302"), ("name", "dev-cp-1"), ("tags", &tags), ("description", &description)],
    ];
    for form in strangers {
        lab.administrator().run("/nodes/pve1/qemu", form).await.unwrap();
    }
    assert!(lab.observe().await.is_none());
    let first_boot = lab.make(Base::Image).await;
    assert_eq!(lab.vmid(), 303);
    // A copy that somebody made of ours carries everything but its UUID.
    let form = [("newid", "350"), ("name", "dev-cp-1"), ("full", "1")];
    lab.administrator().run("/nodes/pve1/qemu/303/clone", &form).await.unwrap();
    let others = |machines: Vec<serde_json::Value>| machines.into_iter().filter(|vm| vm["vmid"] != 303).count();
    for remembered in [lab.state.clone(), None] {
        lab.state = remembered;
        assert_eq!(lab.observe().await.expect("ours").id, "303");
        assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions, []);
    }
    let owned = lab.kit.plugin.owned(&lab.kit.context).await.expect("owned");
    assert_eq!(owned.iter().map(|machine| machine.id.as_str()).collect::<Vec<_>>(), ["303"]);
    lab.apply(None, Intent::Absent).await;
    let left = lab.machines().await;
    assert_eq!((left.len(), others(left)), (4, 4));
    // The number of the one that went is given to somebody else before a late removal comes.
    lab.state = Some(emhost::bindings::emhost::plugin::types::State {
        schema: 1,
        data: json!({"vmid": 350, "identity": "7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f", "host": "pve1", "made": true}).to_string(),
    });
    lab.apply(None, Intent::Absent).await;
    assert_eq!(lab.machines().await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_somebody_takes_in_between_is_given_up() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    let first_boot = lab.first_boot(Base::Image);
    lab.step(Some(&first_boot), Intent::Present).await.unwrap();
    lab.administrator().run("/nodes/pve1/qemu", &[("vmid", "300"), ("name", "faster")]).await.unwrap();
    lab.make(Base::Image).await;
    assert_eq!((lab.vmid(), lab.machines().await.len()), (301, 2));

    // One that the inventory fixes is not given up.
    let mut lab = Lab::new(plan(Release::V9)).await;
    lab.administrator().run("/nodes/pve1/qemu", &[("vmid", "500"), ("name", "faster")]).await.unwrap();
    lab.node.machine_number = Some(500);
    let error = lab.kit.plugin.plan_machine(&lab.kit.context, &lab.node, Some(&first_boot), Intent::Present, None).await;
    let (kind, summary, help) = told(&error.expect_err("refused"));
    assert_eq!(kind, FailureKind::Conflict);
    assert_eq!(summary, "dev-cp-1 is to be VM 500, and somebody else has that number: VM 500 (faster) on pve1");
    assert_eq!(help, "give the node another `vmid`, or leave it out");
}

#[tokio::test(flavor = "multi_thread")]
async fn images_go_only_when_they_are_asked_for() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    lab.make(Base::Image).await;
    lab.attribute("destroy.images", "true");
    let owned = lab.kit.plugin.owned(&lab.kit.context).await.expect("owned");
    let image = owned.into_iter().find(|one| one.attributes.iter().any(|one| one.value == "image")).expect("its image");
    assert!(image.id.starts_with("pve1/local:import/talos-v1.11.5-nocloud-"), "{image:?}");
    lab.apply(None, Intent::Absent).await;
    let mut state = None;
    loop {
        match lab.kit.plugin.discard(&lab.kit.context, &image, state.as_ref()).await.expect("goes") {
            Step::Done(_) => break,
            Step::Again(again) => state = again.state,
        }
    }
    let left = lab.volumes("pve1", "import").await;
    assert_eq!((left.len(), left.iter().any(|volume| image.id.ends_with(volume))), (1, false), "the template's stays: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn protection_is_respected() {
    let mut lab = Lab::new(plan(Release::V9)).await;
    lab.make(Base::Image).await;
    let path = format!("/nodes/pve1/qemu/{}/config", lab.vmid());
    lab.administrator().put(&path, &[("protection", "1")]).await.unwrap();
    let before = lab.changes().len();
    let (kind, summary, help) = told(&lab.try_apply(None, Intent::Absent).await.expect_err("refused"));
    assert_eq!((kind, summary.as_str()), (FailureKind::Denied, "VM 300 (dev-cp-1) on pve1 is protected against removal"));
    assert!(help.contains("qm set 300 --protection 0"), "{help}");
    assert_eq!((lab.machines().await.len(), lab.changes().len()), (1, before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_given_and_taken_back() {
    let pci = PciSpec {
        bdf: "0000:01:00.0".to_owned(),
        class: "0x030000".to_owned(),
        vendor: "0x10de".to_owned(),
        device: "0x2204".to_owned(),
        vendor_name: "NVIDIA Corporation".to_owned(),
        device_name: "GA102".to_owned(),
        iommu_group: 14,
    };
    let gpus = vec![emhost_sim::Gpu { host: "pve1".to_owned(), pci, mapping: Some("gpu0".to_owned()) }];
    let mut lab = Lab::new(Plan { gpus, ..plan(Release::V9) }).await;
    lab.node.contribution.devices.push(lab::device("gpu0"));
    let first_boot = lab.make(Base::Image).await;
    let vmid = lab.vmid();
    assert_eq!(lab.config("pve1", vmid).await["hostpci0"], json!("mapping=gpu0,pcie=1"));
    lab.boots().await;
    lab.node.contribution.devices.clear();
    let planned = lab.plan(Some(&first_boot), Intent::Present).await;
    assert_eq!((planned.actions[0].disruption, planned.actions[0].fields[0].pointer.as_str()), (Disruption::Reboot, "/gpus/0"));
    lab.apply(Some(&first_boot), Intent::Present).await;
    assert_eq!(lab.config("pve1", vmid).await["hostpci0"], json!(null));
    assert_eq!(lab.plan(Some(&first_boot), Intent::Present).await.actions, []);
}

/// Machines that are made at once: each gets a number of its own, and what they start from is fetched once.
#[tokio::test(flavor = "multi_thread")]
async fn several_at_once_fetch_their_image_once() {
    let mut lab = Lab::new(Plan { profile: Profile::Home, speed: 200, ..plan(Release::V9) }).await;
    let first_boot = lab.first_boot(Base::Image);
    let nodes: Vec<_> = (1..=3u8)
        .map(|number| {
            let mut node = lab.node.clone();
            node.name = format!("dev-cp-{number}");
            node.cards[0].mac = format!("02:00:00:00:00:1{number}");
            node.cards[0].address = Some(format!("10.0.10.1{number}/16"));
            node
        })
        .collect();
    lab.known(&nodes);
    let mut states = vec![None; 3];
    let mut done = [false; 3];
    while done.iter().any(|done| !done) {
        for index in 0..3 {
            if done[index] {
                continue;
            }
            lab.node = nodes[index].clone();
            lab.state = states[index].take();
            match lab.step(Some(&first_boot), Intent::Present).await {
                Ok(None) => done[index] = true,
                Ok(Some(pause)) => tokio::time::sleep(pause / 50).await,
                Err(error) => assert!(error.is_passing(), "{error}"),
            }
            states[index] = lab.state.take();
        }
    }
    let machines = lab.machines().await;
    let mut numbers: Vec<u64> = machines.iter().filter_map(|vm| vm["vmid"].as_u64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [300, 301, 302]);
    let fetched = lab.changes().iter().filter(|(request, _)| request.contains("nocloud") || request.ends_with("/download-url")).count();
    // The template's image is another file.
    assert_eq!(fetched, 2, "{:#?}", lab.changes());
}

/// Tasks that fail: the run says so, and the next one goes on where it stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_is_told_and_the_next_run_goes_on() {
    let (mut told_of, mut locked) = (0, 0);
    for (seed, base) in [Base::Image, Base::Template, Base::Installer].into_iter().cycle().take(9).enumerate() {
        let faults = vec![(Fault::TaskFailed, 200), (Fault::TaskHalfDone, 100)];
        let mut lab = Lab::new(Plan { seed: seed as u64, faults, ..plan(Release::V9) }).await;
        let first_boot = lab.first_boot(base);
        let mut stuck = false;
        for intent in [Intent::Present, Intent::Absent] {
            let first_boot = Some(&first_boot).filter(|_| intent == Intent::Present);
            while let Err(error) = lab.try_apply(first_boot, intent).await {
                let (kind, summary, help) = told(&error);
                assert_eq!(kind, FailureKind::Conflict, "{summary}");
                assert!(!help.is_empty());
                if summary.contains("was left locked") {
                    // Only a person can say that nobody needs it.
                    assert!(help.contains("qm unlock"), "{help}");
                    stuck = true;
                    break;
                }
                assert!(summary.contains("the task on pve1 ended with"), "{summary}");
                told_of += 1;
            }
            if stuck {
                break;
            }
            assert_eq!(lab.machines().await.len(), usize::from(intent == Intent::Present), "seed {seed}");
        }
        locked += usize::from(stuck);
    }
    assert!(told_of > 5 && locked < 4, "{told_of} {locked}");
}

/// Each way to start from, with requests and answers lost on the way, from different seeds.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_lost_nothing_happens_twice() {
    let mut struck: Vec<String> = Vec::new();
    for (seed, base) in [Base::Image, Base::Template, Base::Installer].into_iter().cycle().take(9).enumerate() {
        let faults = vec![(Fault::RequestLost, 100), (Fault::ReplyLost, 250), (Fault::ServerError, 50), (Fault::LockTimeout, 100)];
        let mut lab = Lab::new(Plan { seed: seed as u64, faults, ..plan(Release::V9) }).await;
        lab.make(base).await;
        assert_eq!(lab.machines().await.len(), 1, "seed {seed}");
        lab.apply(None, Intent::Present).await;
        assert!(!lab.volumes("pve1", "iso").await.iter().any(|volume| volume.contains("emhost-")), "seed {seed}");
        let config = lab.config("pve1", lab.vmid()).await;
        assert!(!config.as_object().unwrap().keys().any(|key| key.starts_with("unused")), "seed {seed}: {config}");
        lab.apply(None, Intent::Absent).await;
        assert_eq!(lab.machines().await.len(), 0, "seed {seed}");
        let disks = lab.get("/nodes/pve1/storage/local-lvm/content?content=images").await;
        let ours = |disk: &&serde_json::Value| disk["vmid"] != 9000;
        assert_eq!(disks.as_array().unwrap().iter().filter(ours).count(), 0, "seed {seed}: {disks}");
        let lost = lab.changes().into_iter().filter(|(_, fault)| fault.as_deref() == Some("reply-lost"));
        struck.extend(lost.map(|(request, _)| request));
    }
    for part in [
        "/download-url",
        "POST /api2/json/nodes/pve1/qemu",
        "/clone",
        "/config",
        "/resize",
        "/upload",
        "/status/start",
        "/status/stop",
        "DELETE",
    ] {
        assert!(struck.iter().any(|request| request.contains(part)), "no answer to {part} was lost: {struck:#?}");
    }
}
