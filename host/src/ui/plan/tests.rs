use emhost::pipeline::plan::{Answering, Intent, LAYOUT};
use emhost::pipeline::quorum::Quorum;
use serde_json::json;

use super::*;

fn plan(units: Vec<Planned>) -> Plan {
    let answering = |role: &str, plugin: &str| Answering {
        role: role.to_owned(),
        plugin: plugin.to_owned(),
        version: "0.1.0".to_owned(),
        digest: format!("sha256:{}", "1a2b3c4d5e6f".repeat(5)),
    };
    Plan {
        version: LAYOUT,
        purpose: Purpose::Apply,
        cluster: "dev".to_owned(),
        id: "0b5e".to_owned(),
        made: "2026-01-01T00:00:00Z".to_owned(),
        inventory: "sha256:00".to_owned(),
        until: None,
        plugins: vec![answering("provisioner", "proxmox"), answering("distro", "talos"), answering("configurator", "talos")],
        quorum: None,
        units,
        unchanged: 0,
        orphans: Vec::new(),
        secrets: Vec::new(),
        notes: Vec::new(),
    }
}

fn place(line: u32) -> Place {
    Place { file: "nodes.yaml".to_owned(), line, column: 5, text: None }
}

fn unit(name: &str, actions: Vec<Action>) -> Planned {
    Planned {
        unit: name.parse().expect("a unit"),
        plugin: "proxmox".to_owned(),
        intent: Intent::Present,
        actions,
        holds: Vec::new(),
        after: Vec::new(),
        quorum: None,
    }
}

fn action(change: Change, subject: &str, reason: &str) -> Action {
    Action {
        change,
        subject: subject.to_owned(),
        disruption: Disruption::None,
        reason: reason.to_owned(),
        fields: Vec::new(),
        place: None,
        irreversible: matches!(change, Change::Replace | Change::Destroy),
    }
}

fn field(pointer: &str, before: Option<Value>, after: Option<Value>) -> Field {
    Field { pointer: pointer.to_owned(), before, after, sensitive: false, place: None }
}

fn shown(plan: &Plan, width: usize, verbose: bool) -> String {
    let redactor = Redactor::new();
    redactor.learn("token", b"hunter2hunter2");
    let view = View { redactor: &redactor, width: Some(width), verbose };
    let lines = lines(plan, &view);
    for line in &lines {
        assert!(line.width() <= width, "{} columns: {}", line.width(), line.painted(false));
    }
    lines.iter().map(|line| line.painted(false)).collect::<Vec<_>>().join("\n")
}

fn one_and_one() -> Plan {
    let machine = |node: &str, id: u32, line| {
        let mut create = action(Change::Create, &format!("virtual machine {id} ({node})"), "no machine carries its mark");
        create.place = Some(place(line));
        create.fields = vec![
            field("/cores", None, Some(json!(4))),
            field("/memory-mib", None, Some(json!(8192))),
            field("/disks/0/size-gib", None, Some(json!(40))),
            field("/description", None, Some(json!("made by emhost"))),
        ];
        unit(&format!("machine/{node}"), vec![create])
    };
    let os =
        |node: &str| unit(&format!("os/{node}"), vec![action(Change::Create, &format!("Talos v1.11.5 on {node}"), "it is not installed")]);
    let mut plan = plan(vec![
        machine("dev-cp-1", 300, 2),
        machine("dev-wk-1", 301, 4),
        os("dev-cp-1"),
        os("dev-wk-1"),
        unit("cluster", vec![action(Change::Create, "etcd and the control plane", "the cluster is not bootstrapped")]),
        unit("ready", Vec::new()),
    ]);
    plan.secrets = vec!["talos_ca".to_owned(), "cluster_token".to_owned()];
    plan
}

#[test]
fn one_control_plane_and_one_worker() {
    insta::assert_snapshot!(shown(&one_and_one(), 80, false), @r#"
    plan for dev: 5 to create

    machines
        + machine/dev-cp-1  virtual machine 300 (dev-cp-1)
          no machine carries its mark (nodes.yaml:2:5)
          cores = 4, memory-mib = 8192, disks/0/size-gib = 40, description = "made
            by emhost"
        + machine/dev-wk-1  virtual machine 301 (dev-wk-1)
          no machine carries its mark (nodes.yaml:4:5)
          cores = 4, memory-mib = 8192, disks/0/size-gib = 40, description = "made
            by emhost"

    os
        + os/dev-cp-1  Talos v1.11.5 on dev-cp-1
          it is not installed
        + os/dev-wk-1  Talos v1.11.5 on dev-wk-1
          it is not installed

    cluster
        + cluster  etcd and the control plane
          the cluster is not bootstrapped

    2 secrets were made and stored in secrets.sops.yaml: talos_ca, cluster_token

    by proxmox 0.1.0 (1a2b3c4d), talos 0.1.0 (1a2b3c4d)
    "#);
}

#[test]
fn everything_when_asked() {
    let mut plan = one_and_one();
    plan.until = Some(Phase::Cluster);
    plan.quorum =
        Some(Quorum { members: vec![("dev-cp-1".to_owned(), true), ("dev-cp-2".to_owned(), false), ("dev-cp-3".to_owned(), true)] });
    insta::assert_snapshot!(shown(&plan, 100, true), @r#"
    plan for dev: 5 to create
      only up to phase `cluster`; what comes after it is not in this plan
      control plane: 2 of 3 members healthy, 2 needed

    machines
        + machine/dev-cp-1  virtual machine 300 (dev-cp-1)
          no machine carries its mark (nodes.yaml:2:5)
          cores = 4
          memory-mib = 8192
          disks/0/size-gib = 40
          description = "made by emhost"
        + machine/dev-wk-1  virtual machine 301 (dev-wk-1)
          no machine carries its mark (nodes.yaml:4:5)
          cores = 4
          memory-mib = 8192
          disks/0/size-gib = 40
          description = "made by emhost"

    os
        + os/dev-cp-1  Talos v1.11.5 on dev-cp-1
          it is not installed
        + os/dev-wk-1  Talos v1.11.5 on dev-wk-1
          it is not installed

    cluster
        + cluster  etcd and the control plane
          the cluster is not bootstrapped
        · ready  nothing to change, only waited for

    2 secrets were made and stored in secrets.sops.yaml: talos_ca, cluster_token

    plugins
      provisioner   proxmox 0.1.0 (sha256:1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f)
      distro        talos 0.1.0 (sha256:1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f)
      configurator  talos 0.1.0 (sha256:1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f)
    "#);
}

#[test]
fn consequences_of_changes() {
    let mut memory = action(Change::Update, "virtual machine 300 (dev-cp-1)", "the inventory asks for more memory");
    memory.disruption = Disruption::Reboot;
    memory.place = Some(place(3));
    memory.fields = vec![Field { place: Some(place(7)), ..field("/memory-mib", Some(json!(4096)), Some(json!(8192))) }];
    let mut first = unit("machine/dev-cp-1", vec![memory]);
    first.quorum = Some("3 of 3 members healthy before, 2 during, 2 needed".to_owned());

    let mut bios = action(Change::Replace, "virtual machine 310 (dev-wk-1)", "firmware cannot be changed in place");
    bios.disruption = Disruption::DataLoss;
    bios.fields = vec![field("/bios", Some(json!("seabios")), Some(json!("ovmf")))];

    let mut gone = action(Change::Destroy, "virtual machine 311 (dev-wk-2) and its 2 disks", "the node is not in the inventory any more");
    gone.disruption = Disruption::DataLoss;
    gone.fields = vec![field("/name", Some(json!("dev-wk-2")), None)];
    let mut gone = unit("machine/dev-wk-2", vec![gone]);
    gone.intent = Intent::Absent;

    let mut token = action(Change::Update, "configuration of dev-cp-1", "a certificate is renewed");
    token.disruption = Disruption::Restart;
    token.fields = vec![
        Field { sensitive: true, ..field("/machine/token", Some(json!("old secret")), Some(json!("new secret"))) },
        field("/machine/ca/crt", Some(json!("x".repeat(300))), None),
        field("/machine/note", Some(json!("has hunter2hunter2 in it")), Some(Value::Null)),
    ];
    let mut plan = plan(vec![first, unit("machine/dev-wk-1", vec![bios]), gone, unit("os/dev-cp-1", vec![token])]);
    plan.unchanged = 12;
    let text = shown(&plan, 80, false);
    assert!(!text.contains("old secret") && !text.contains("new secret") && !text.contains("hunter2"));
    insta::assert_snapshot!(text, @r#"
    plan for dev: 2 to update, 1 to replace, 1 to destroy; 12 as they are

    machines
        ~ machine/dev-cp-1  virtual machine 300 (dev-cp-1), reboots dev-cp-1
          the inventory asks for more memory (nodes.yaml:3:5)
          memory-mib 4096 -> 8192 (nodes.yaml:7:5)
          quorum: 3 of 3 members healthy before, 2 during, 2 needed
      -/+ machine/dev-wk-1  virtual machine 310 (dev-wk-1), loses the data of
            dev-wk-1
          firmware cannot be changed in place
          bios seabios -> ovmf
        - machine/dev-wk-2  virtual machine 311 (dev-wk-2) and its 2 disks, loses
            the data of dev-wk-2
          the node is not in the inventory any more
          name = dev-wk-2

    os
        ~ os/dev-cp-1  configuration of dev-cp-1, restarts services of dev-cp-1
          a certificate is renewed
          machine/token (sensitive)
          machine/ca/crt
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… -> none
          machine/note "has (secret token) in it" -> none

    cannot be undone
      -/+ replace virtual machine 310 (dev-wk-1) (machine/dev-wk-1)
        - destroy virtual machine 311 (dev-wk-2) and its 2 disks (machine/dev-wk-2)

    by proxmox 0.1.0 (1a2b3c4d), talos 0.1.0 (1a2b3c4d)
    "#);
    let event = event(&plan).to_string();
    assert!(!event.contains("old secret") && !event.contains("new secret") && event.contains("/machine/token"));
}

#[test]
fn a_thousand_machines_fit_a_screen_and_nothing_dangerous_is_folded() {
    let create = |number: usize| {
        let subject = format!("virtual machine {number}");
        unit(&format!("machine/dev-wk-{number}"), vec![action(Change::Create, &subject, "no machine carries its mark")])
    };
    let reboot = |number: usize| {
        let mut reboot = action(Change::Update, "kernel arguments", "");
        reboot.disruption = Disruption::Reboot;
        unit(&format!("os/dev-wk-{number}"), vec![reboot])
    };
    let mut units: Vec<Planned> = (1..=1000).map(create).collect();
    units.extend((1..=30).map(|number| unit(&format!("machine/old-{number}"), vec![action(Change::Destroy, "a machine", "")])));
    units.extend((1..=25).map(reboot));
    let plan = plan(units);
    let text = shown(&plan, 80, false);
    insta::assert_snapshot!(text.lines().skip(38).take(8).collect::<Vec<_>>().join("\n"), @"
      no machine carries its mark
    + machine/dev-wk-19  virtual machine 19
      no machine carries its mark
    + machine/dev-wk-20  virtual machine 20
      no machine carries its mark
      … and 980 more like these (-v shows all)
    - machine/old-1  a machine
    - machine/old-2  a machine
    ");
    assert!(text.starts_with("plan for dev: 1000 to create, 25 to update, 30 to destroy\n"));
    assert_eq!(text.matches("  - machine/old-").count(), 30, "every destroy is told");
    assert_eq!(text.matches("- destroy a machine (machine/old-").count(), 30, "and told to be final");
    assert_eq!(text.matches("reboots dev-wk-").count(), 25);
    assert_eq!(shown(&plan, 80, true).matches("+ machine/dev-wk-").count(), 1000);
}

#[test]
fn nothing_to_do() {
    let mut empty = plan(vec![unit("ready", Vec::new())]);
    empty.unchanged = 14;
    insta::assert_snapshot!(shown(&empty, 80, false), @"no changes: dev is as the inventory says");
    empty.purpose = Purpose::Destroy;
    insta::assert_snapshot!(shown(&empty, 80, false), @"nothing to destroy: nothing of dev is there");
}

#[test]
fn what_belongs_to_no_node_and_what_should_be_known() {
    let mut plan = plan(Vec::new());
    let orphan = |id: &str, node: Option<&str>| Orphan {
        id: id.to_owned(),
        identity: "6f9619ff-8b86-d011-b42d-00c04fc964ff".to_owned(),
        node: node.map(str::to_owned),
        host: "pve1".to_owned(),
    };
    plan.orphans = vec![orphan("312", Some("dev-wk-9")), orphan("313", None)];
    plan.units = vec![unit("orphan/313", vec![action(Change::Destroy, "virtual machine 313", "asked for")])];
    let note = Diagnostic::warning("site/dhcp", "10.0.10.21 is expected by reservation of bc:24:11:00:00:01").at(Some(place(9)));
    plan.notes = vec![note.detail("one\ntwo").help(Some("reserve it, or write `gateway:`"))];
    insta::assert_snapshot!(shown(&plan, 80, false), @"
    plan for dev: 1 to destroy

    machines
        - orphan/313  virtual machine 313
          asked for

    cannot be undone
        - destroy virtual machine 313 (orphan/313)

    of this cluster, but of no node
        ! machine 312 on pve1, made for dev-wk-9 (identity
            6f9619ff-8b86-d011-b42d-00c04fc964ff)
          carries the cluster's mark and is left alone; `emhost apply
            --discard-orphans` removes it and its data
        ! machine 313 on pve1 (identity 6f9619ff-8b86-d011-b42d-00c04fc964ff)
          this plan destroys it

    warning: 10.0.10.21 is expected by reservation of bc:24:11:00:00:01
      (nodes.yaml:9:5)
      one
      two
      help: reserve it, or write `gateway:`

    by proxmox 0.1.0 (1a2b3c4d), talos 0.1.0 (1a2b3c4d)
    ");
}

#[test]
fn text_of_plugins_stays_on_its_line_and_in_its_columns() {
    let mut evil = action(Change::Create, "vm\u{1b}[2J\n  - machine/prod  everything", "漢字".repeat(60).as_str());
    evil.fields = vec![field("/a\u{202e}b", None, Some(json!("\u{1b}]0;title\u{7}")))];
    let plan = plan(vec![unit("machine/dev-cp-1", vec![evil])]);
    for width in [20, 40, 80] {
        let text = shown(&plan, width, false);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains("\n  - machine/prod"));
    }
    insta::assert_snapshot!(shown(&plan, 60, false), @r"
    plan for dev: 1 to create

    machines
        + machine/dev-cp-1  vm\u{1b}[2J   - machine/prod
            everything
          漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
            字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
            字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
            字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
            字漢字漢字漢字漢字漢字漢字漢字
          a\u{202e}b = \u{1b}]0;title\u{7}

    by proxmox 0.1.0 (1a2b3c4d), talos 0.1.0 (1a2b3c4d)
    ");
}
