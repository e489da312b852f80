//! The boot sources through the sandbox, on a simulated site: what they say, ask and change, and whether machines start from it.

mod lab;

use std::time::Duration;

use emhost::bindings::emhost::plugin::inventory::Disk;
use emhost::bindings::emhost::plugin::types::{Addressing, Artifact, Boot, BootBase, Delivery, Intent, Step};
use emhost::bindings::exports::emhost::plugin::provisioner::FirstBoot;
use emhost::capabilities::events::Event;
use emhost_sim::Template;
use emhost_testkit::servers::{HttpServer, answer};
use emhost_testkit::{Builder, Kit};
use emhost_tests::example::Example;
use insta::assert_snapshot;
use serde_json::json;

use crate::probe::told;
use lab::{ADDRESS, Lab, VERSION, boot_source, with_node};

const AGENT: &str = "siderolabs/qemu-guest-agent";
const AGENTS_ID: &str = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";

async fn resolve(kit: &Kit) -> Boot {
    kit.plugin.resolve(&kit.context, &kit.node()).await.expect("it resolves")
}

async fn ensure(kit: &Kit) -> Boot {
    let boot = resolve(kit).await;
    kit.plugin.ensure(&kit.context, &kit.node(), &boot).await.expect("it can be had")
}

/// What the person sees when a boot source refuses.
async fn refusal(kit: Kit) -> String {
    let boot = match kit.plugin.resolve(&kit.context, &kit.node()).await {
        Ok(boot) => boot,
        Err(error) => return told(&error, &[]),
    };
    let error = kit.plugin.ensure(&kit.context, &kit.node(), &boot).await.expect_err("refused");
    assert_eq!(kit.journal.entries().len(), 0, "a refusal comes before any change");
    told(&error, &[])
}

fn artifact(boot: &Boot) -> &Artifact {
    match &boot.base {
        BootBase::DiskImage(image) | BootBase::Installer(image) => image,
        BootBase::Template(name) => panic!("a template: {name}"),
    }
}

fn extended(builder: Builder, extensions: &[&str]) -> Builder {
    builder.cluster(|cluster| {
        with_node(cluster, |node| node.contribution.extensions = extensions.iter().map(|name| (*name).to_owned()).collect());
    })
}

fn versioned(builder: Builder, version: &str) -> Builder {
    builder.cluster(|cluster| version.clone_into(&mut cluster.os_version))
}

// ---- image-factory ------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_known_without_a_network_and_registered_once() {
    // Slots that lead nowhere: whoever looks through one fails.
    let alone = resolve(&extended(boot_source("image-factory"), &[AGENT]).load()).await;
    assert_eq!(artifact(&alone).url, format!("https://image-factory.emhost.internal/image/{AGENTS_ID}/v1.11.5/nocloud-amd64.qcow2"));
    assert_eq!((alone.addressing, alone.delivery), (Addressing::Provisioner, Delivery::Network));

    let lab = Lab::new(Vec::new()).await;
    let kit = extended(lab.kit("image-factory"), &[AGENT]).load();
    assert_eq!(resolve(&kit).await, alone);
    assert_eq!(lab.asked(), Vec::<String>::new());
    assert_eq!(ensure(&kit).await, alone);
    assert_eq!(kit.journal.entries().len(), 1, "the schematic is new");
    assert_eq!(lab.asked().iter().filter(|request| request.starts_with("POST")).count(), 1);
    ensure(&kit).await;
    assert_eq!(kit.journal.entries().len(), 1, "and is known now");

    let versions = kit.plugin.versions(&kit.context).await.unwrap();
    assert!(versions.contains(&VERSION.to_owned()) && !versions.contains(&"v1.7.0".to_owned()), "{versions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_factory_does_not_have_is_told_with_what_it_has() {
    let lab = Lab::new(Vec::new()).await;
    let kit = || lab.kit("image-factory");
    assert_snapshot!(refusal(versioned(kit(), "v1.11.99").load()).await, @"
    error[boot/version] plugin `image-factory`, boot-source.ensure of `dev-wk-1`: the Image Factory has no Talos v1.11.99
      help: set `talos_version` in cluster.yaml to a version that it has, such as v1.11.6
    ");
    assert_snapshot!(refusal(versioned(kit(), "v1.7.6").load()).await, @"
    error[boot/version] plugin `image-factory`, boot-source.resolve of `dev-wk-1`: Talos v1.7.6 is not supported: emhost boots Talos 1.8 and later versions of Talos 1
      help: set `talos_version` in cluster.yaml to a release of Talos from v1.8 on, such as v1.11.5
    ");
    assert_snapshot!(refusal(extended(kit(), &["siderolabs/qemu-gest-agent", "siderolabs/zfs"]).load()).await, @"
    error[boot/extension] plugin `image-factory`, boot-source.ensure of `dev-wk-1`: the Image Factory has no extension `siderolabs/qemu-gest-agent` for Talos v1.11.5
      help: did you mean `siderolabs/qemu-guest-agent`? Correct `extensions`, or remove it there
    ");
    assert_snapshot!(refusal(extended(kit(), &["qemu-guest-agent"]).load()).await, @"
    error[boot/extension] plugin `image-factory`, boot-source.resolve of `dev-wk-1`: `qemu-guest-agent` is not the name of an official extension of Talos
      help: write `siderolabs/qemu-guest-agent` in `extensions`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_calls_it_otherwise_is_a_conflict() {
    let server = HttpServer::start(None, |received| match (received.method.as_str(), received.path.as_str()) {
        ("GET", "/versions") => answer(200, r#"["v1.11.5"]"#),
        ("POST", "/schematics") => answer(201, r#"{"id": "0000", "schematic": "customization:\n  x: 1\n"}"#),
        _ => answer(404, ""),
    })
    .await;
    let kit = boot_source("image-factory").url("image-factory", &server.url()).load();
    let boot = resolve(&kit).await;
    let error = kit.plugin.ensure(&kit.context, &kit.node(), &boot).await.expect_err("another id");
    assert_snapshot!(told(&error, &[]), @"
    error[boot/schematic] plugin `image-factory`, boot-source.ensure of `dev-wk-1`: the Image Factory calls the schematic 0000, and it should be 376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba
      detail: sent:
        customization: {}
        understood:
        customization:
          x: 1
      help: check where slot `image-factory` leads in site.yaml, and report this: images would not be the ones that were approved
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_is_away_or_says_no_is_told_so() {
    let away = boot_source("image-factory").url("image-factory", "http://127.0.0.1:1").load();
    assert_snapshot!(refusal(away).await, @"
    error[http/failed] plugin `image-factory`, boot-source.ensure of `dev-wk-1`: slot `image-factory`: connection refused
      help: check that slot `image-factory` in site.yaml leads to an Image Factory, and try again
    ");
    let server = HttpServer::start(None, |_| answer(503, "try later")).await;
    assert_snapshot!(refusal(boot_source("image-factory").url("image-factory", &server.url()).load()).await, @"
    error[boot/factory] plugin `image-factory`, boot-source.ensure of `dev-wk-1`: the Image Factory was asked which versions of Talos it builds, and answered 503: try later
      help: try again later
    ");
}

/// The image of the default platform takes its address from the drive that Proxmox writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_starts_from_the_image_at_the_address_of_its_cloud_init_drive() {
    let lab = Lab::new(Vec::new()).await;
    let boot = ensure(&extended(lab.kit("image-factory"), &[AGENT]).load()).await;
    let volume = lab.fetch(artifact(&boot), "import").await;
    let disk = format!("local-lvm:0,import-from={volume}");
    let ipconfig = format!("ip={ADDRESS}/16,gw=10.0.0.1");
    lab.start(&[("scsi0", &disk), ("boot", "order=scsi0"), ("ide0", "local-lvm:cloudinit"), ("ipconfig0", &ipconfig)]).await;
    let node = lab.node(|node| node.stage == "maintenance").await;
    assert_eq!((node.version.as_str(), node.addresses.as_slice()), (VERSION, &[ADDRESS][..]));
}

/// The image for bare metal has the address in it: there is nothing but the disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_starts_at_the_address_in_its_image() {
    let lab = Lab::new(Vec::new()).await;
    let boot = ensure(&lab.kit("image-factory").settings(json!({"platform": "metal"})).load()).await;
    assert_eq!(boot.addressing, Addressing::Image);
    let volume = lab.fetch(artifact(&boot), "import").await;
    lab.start(&[("scsi0", &format!("local-lvm:0,import-from={volume}")), ("boot", "order=scsi0")]).await;
    let node = lab.node(|node| node.stage == "maintenance").await;
    assert_eq!((node.hostname.as_str(), node.addresses.as_slice()), ("dev-wk-1", &[ADDRESS][..]));
}

// ---- config-iso ---------------------------------------------------------------------------

/// A machine with an empty disk installs itself with what is on the volume, and comes up where the volume says.
async fn installs(platform: &str) {
    let lab = Lab::new(Vec::new()).await;
    let kit = lab.kit("config-iso").settings(json!({"platform": platform})).load();
    let boot = ensure(&kit).await;
    assert_eq!((boot.addressing, boot.delivery), (Addressing::Medium, Delivery::Medium));
    let Some(config) = lab.configuration(&boot.installer) else { return };
    let media = kit.plugin.media(&kit.context, &kit.node(), &boot, &config).await.unwrap();
    assert_eq!(media.len(), 1);
    assert!(media[0].sensitive);
    let (iso, volume) = (lab.fetch(artifact(&boot), "iso").await, lab.upload(&media[0]).await);
    let (iso, volume) = (format!("{iso},media=cdrom"), format!("{volume},media=cdrom"));
    lab.start(&[("scsi0", "local-lvm:10"), ("ide0", &iso), ("ide2", &volume), ("boot", "order=scsi0;ide0")]).await;
    let node = lab.node(|node| node.stage == "booting" && node.cluster.is_some() && !node.addresses.is_empty()).await;
    assert_eq!((node.cluster.as_deref(), node.addresses.as_slice()), (Some("lab"), &[ADDRESS][..]));
    if platform == "nocloud" {
        assert_eq!(node.hostname, "dev-wk-1", "the volume has its name");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_installs_itself_from_cidata() {
    installs("nocloud").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_installs_itself_from_metal_iso() {
    installs("metal").await;
}

// ---- template -----------------------------------------------------------------------------

fn template(name: &str, vmid: u32, host: &str, version: &str) -> Template {
    let (name, host, version) = (name.to_owned(), Some(host.to_owned()), version.to_owned());
    Template { name, vmid: Some(vmid), host, storage: "local-lvm".to_owned(), version, extensions: Vec::new() }
}

fn cloned(builder: Builder, template: &str) -> Kit {
    builder.cluster(|cluster| with_node(cluster, |node| node.template = Some(template.to_owned()))).load()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_is_there_is_one_and_fits() {
    let templates = vec![
        template("talos-v1.11.5-base", 9000, "pve1", VERSION),
        template("talos-v1.10.6-base", 9001, "pve2", "v1.10.6"),
        template("golden", 9002, "pve1", VERSION),
        template("twice", 9003, "pve1", VERSION),
    ];
    let lab = Lab::new(templates).await;
    let administrator = lab.site.administrator();
    administrator.run("/nodes/pve1/qemu", &[("vmid", "9004"), ("name", "twice")]).await.unwrap();
    administrator.run("/nodes/pve1/qemu/9004/template", &[]).await.unwrap();
    administrator.run("/nodes/pve1/qemu", &[("vmid", "9005"), ("name", "half")]).await.unwrap();

    let kit = lab.kit("template").load();
    let boot = ensure(&kit).await;
    assert_eq!(boot.base, BootBase::Template("talos-v1.11.5-base".to_owned()));
    assert_eq!((boot.addressing, boot.delivery), (Addressing::Provisioner, Delivery::Network));
    assert_eq!(kit.journal.entries().len(), 0, "it only looks");
    assert_eq!(kit.plugin.versions(&kit.context).await.unwrap(), ["v1.11.5", "v1.10.6"]);
    ensure(&cloned(lab.kit("template"), "9000")).await;

    // What nobody can tell is said, and stops nothing.
    let golden = cloned(lab.kit("template"), "golden");
    ensure(&golden).await;
    let reported: Vec<Event> = golden.events.all().into_iter().filter(|event| format!("{event:?}").contains("template/version")).collect();
    assert_eq!(reported.len(), 1);

    let refused = async |name: &str| refusal(cloned(lab.kit("template"), name)).await;
    assert_snapshot!(refused("talos-v1.10.6-base").await, @"
    error[template/version] plugin `template`, boot-source.ensure of `dev-wk-1`: template 9001 (`talos-v1.10.6-base`) holds Talos v1.10.6, and node dev-wk-1 is to run v1.11.5
      help: make one with `emhost template build`, and name it in `templates` of cluster.yaml; or set `talos_version` to v1.10.6
    ");
    assert_snapshot!(refused("talos-v1.11.5-bse").await, @"
    error[template/missing] plugin `template`, boot-source.ensure of `dev-wk-1`: there is no template `talos-v1.11.5-bse` at this Proxmox
      detail: templates that are there: golden (9002), talos-v1.10.6-base (9001), talos-v1.11.5-base (9000), twice (9003), twice (9004)
      help: did you mean `talos-v1.11.5-base`? Correct `template` or `templates`, or make one with `emhost template build`
    ");
    assert_snapshot!(refused("half").await, @"
    error[template/unfinished] plugin `template`, boot-source.ensure of `dev-wk-1`: virtual machine 9005 (`half`) on pve1 is to be cloned, and is not a template
      help: shut it down and run `qm template 9005` on pve1, or name another in `templates` of cluster.yaml
    ");
    assert_snapshot!(refused("twice").await, @"
    error[template/several] plugin `template`, boot-source.ensure of `dev-wk-1`: 2 templates are called `twice`: 9003 on pve1, 9004 on pve1
      help: name the one to clone by its number in `templates` of cluster.yaml
    ");
    administrator.put("/nodes/pve1/qemu/9002/config", &[("description", "version=v1.11.5 schematic=ce4c980550dd")]).await.unwrap();
    assert_snapshot!(refused("golden").await, @"
    error[template/schematic] plugin `template`, boot-source.ensure of `dev-wk-1`: template 9002 (`golden`) was made with other extensions or kernel arguments than node dev-wk-1 asks for
      detail: its schematic is ce4c980550dd, and the node's is 376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:
        customization: {}
      help: make one with `emhost template build`, or change `extensions` and `kernel_args`
    ");
}

/// Makes a template step by step, and forgets everything after so many of them, as one who was killed does. Says how many steps it took.
async fn built(lab: &Lab, kit: &Kit, forget: usize) -> usize {
    let mut boot = ensure(&lab.kit("image-factory").load()).await;
    if let BootBase::DiskImage(image) = &mut boot.base {
        image.url = image.url.replace("https://image-factory.emhost.internal", &lab.site.access().factory);
    }
    let (first_boot, mut state) = (FirstBoot { boot, media: Vec::new() }, None);
    for step in 1..500 {
        match kit.plugin.apply_machine(&kit.context, &kit.node(), Some(&first_boot), Intent::Present, state.as_ref()).await.unwrap() {
            Step::Done(_) => return step,
            Step::Again(again) => {
                state = again.state.filter(|_| step != forget);
                tokio::time::sleep(Duration::from_millis(again.after_ms.min(20).into())).await;
            }
        }
    }
    panic!("it does not come to an end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_is_made_once_wherever_it_was_cut_off() {
    let mut forget = 0;
    loop {
        let lab = Lab::new(Vec::new()).await;
        let kit = lab.kit("template").cluster(|cluster| {
            with_node(cluster, |node| {
                "talos-v1.11.5-base".clone_into(&mut node.name);
                node.placement = Some("pve1".to_owned());
                let attributes = Vec::new();
                node.disks =
                    vec![Disk { name: "system".to_owned(), size_gib: 10, storage: "local-lvm".to_owned(), system: true, attributes }];
            });
        });
        let kit = kit.load();
        let proposal = async || kit.plugin.plan_machine(&kit.context, &kit.node(), None, Intent::Present, None).await.unwrap();
        assert_eq!(proposal().await.actions.len(), 1);
        let steps = built(&lab, &kit, forget).await;
        let changes: Vec<String> = kit.journal.entries().into_iter().map(|(change, _)| change.request).collect();
        assert_eq!(changes.len(), 3, "download, create, convert; forgotten after step {forget}: {changes:?}");
        assert_eq!(proposal().await.actions, []);
        // Whoever clones it finds that it fits, and one with other extensions that it does not.
        ensure(&lab.kit("template").load()).await;
        let other = refusal(extended(lab.kit("template"), &[AGENT]).load()).await;
        assert!(other.contains("template/schematic"), "{other}");
        if forget >= steps {
            return;
        }
        // The first steps are where something is under way.
        forget += 1 + forget / 4;
    }
}

#[test]
fn a_template_is_made_by_one_command() {
    let example = Example::new("boot/image-factory").started();
    example.emhost(&["template", "build"]).ended(0).says("template talos-v1.11.5-base is there: machine 9000 on pve1");
    let posted = || example.audit().into_iter().filter(|asked| asked.part == "pve" && asked.request.starts_with("POST")).count();
    assert_eq!(posted(), 3, "{:?}", example.audit());
    assert!(example.read("emhost.lock").contains("nocloud-amd64.qcow2"), "the image is pinned");
    example.emhost(&["template", "build"]).ended(1).says("there is a template talos-v1.11.5-base already: machine 9000 on pve1");
    assert_eq!(posted(), 3, "nothing was made twice");
}

/// Killed after a request that changes something, the command is run again, and nothing is made twice.
#[test]
fn a_template_that_was_cut_off_is_taken_up() {
    for killed_after in 1..=2 {
        let example = Example::new("boot/image-factory").edited("site.yaml", "slots:", "sim: {profile: home, speed: 40}\nslots:").started();
        let posted = |what: &str| {
            let of = |asked: &&emhost_tests::example::Asked| asked.part == "pve" && asked.request.starts_with("POST");
            example.audit().iter().filter(of).filter(|asked| asked.request.contains(what)).count()
        };
        let mut child = example.command(&["template", "build"], "").spawn().unwrap();
        example.until("a change went out", || posted("") >= killed_after);
        child.kill().unwrap();
        child.wait().unwrap();
        example.emhost(&["template", "build"]).ended(0).says("template talos-v1.11.5-base is there");
        assert_eq!((posted("/download-url"), posted("/template"), posted("")), (1, 1, 3), "{:?}", example.audit());
    }
}
