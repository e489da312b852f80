//! The fixtures and the small world they work on: each plugin is driven by hand, and the world says whether it did well.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use emhost::bindings::emhost::plugin::inventory::{Disk, InterfaceCard, NodeRole};
use emhost::bindings::emhost::plugin::types::{Again, Boot, Disruption, Document, FailureKind, Intent, Proposal, State, Step};
use emhost::bindings::exports::emhost::plugin::provisioner::FirstBoot;
use emhost::inventory::site::Site;
use emhost::inventory::{Cluster, Node};
use emhost::plugins::inspect::inspect;
use emhost::plugins::lock::Lock;
use emhost::plugins::{CallError, Cause};
use emhost_testkit::Kit;
use emhost_tests::guest;
use emhost_world::{Fate, Lossy, Outcome, PLUGINS, Power, World, lay};
use futures::StreamExt;
use serde_json::{Value, json};

/// One plugin for each role, and the cluster they make.
struct Crew {
    world: World,
    configurator: Kit,
    boot: Kit,
    provisioner: Kit,
    distro: Kit,
    addon: Kit,
    nodes: Vec<Node>,
    /// What the host would remember: machines and nodes by name, and the cluster.
    machines: Vec<Option<State>>,
    systems: Vec<Option<State>>,
    cluster: Option<State>,
}

fn node(name: &str, role: NodeRole, number: u8) -> Node {
    let mut node = Node::new(name, role);
    node.disks.push(Disk {
        name: "system".to_owned(),
        size_gib: 40,
        storage: "local-lvm".to_owned(),
        system: true,
        attributes: Vec::new(),
    });
    node.cards.push(InterfaceCard {
        name: "eth0".to_owned(),
        bridge: "vmbr0".to_owned(),
        vlan: None,
        mac: format!("02:00:00:00:00:{number:02x}"),
        address: Some(format!("10.0.10.{number}/16")),
        gateway: None,
        attributes: Vec::new(),
    });
    node
}

/// The steps of a unit, and how many failed on the way.
async fn drive(mut state: Option<State>, mut step: impl AsyncFnMut(Option<&State>) -> Result<Step, CallError>) -> Option<State> {
    for _ in 0..300 {
        match step(state.as_ref()).await {
            Ok(Step::Done(last)) => return last,
            Ok(Step::Again(Again { state: next, .. })) => state = next,
            Err(CallError { cause: Cause::Failed { kind: FailureKind::Unavailable, state: learnt, .. }, .. }) => {
                state = learnt.or(state);
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no end after 300 steps")
}

/// A call that does not change anything, until it gets through.
async fn insist<T>(mut call: impl AsyncFnMut() -> Result<T, CallError>) -> T {
    for _ in 0..50 {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if error.is_passing() => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("nothing gets through")
}

impl Crew {
    fn new(control_planes: u8, workers: u8) -> Self {
        Self::at(World::start(), control_planes, workers)
    }

    fn at(world: World, control_planes: u8, workers: u8) -> Self {
        let cps = (1..=control_planes).map(|number| node(&format!("dev-cp-{number}"), NodeRole::ControlPlane, 10 + number));
        let nodes: Vec<Node> =
            cps.chain((1..=workers).map(|number| node(&format!("dev-wk-{number}"), NodeRole::Worker, 20 + number))).collect();
        let kit = |name: &str| {
            let all = nodes.iter().cloned().map(Arc::new).collect();
            let kit = Kit::file(guest(name)).cluster(|cluster: &mut Cluster| cluster.nodes = all).settings(json!({"pause_ms": 0}));
            world.slots().into_iter().fold(kit, |kit, (name, config)| kit.slot(&name, config)).load()
        };
        Self {
            configurator: kit("fixture-configurator"),
            boot: kit("fixture-boot"),
            provisioner: kit("fixture-provisioner"),
            distro: kit("fixture-distro"),
            addon: kit("fixture-addon"),
            machines: vec![None; nodes.len()],
            systems: vec![None; nodes.len()],
            cluster: None,
            nodes,
            world,
        }
    }

    /// What comes before machines: contributions, boot, configuration, media.
    async fn prepared(&mut self) -> Vec<(Boot, Vec<Document>, FirstBoot)> {
        self.configurator.plugin.prepare(&self.configurator.context).await.expect("prepares");
        let mut all = Vec::new();
        for node in &mut self.nodes {
            let addon = self.addon.plugin.contribute_addon(&self.addon.context, node).await.expect("contributes");
            node.contribution = addon;
            let boot = self.boot.plugin.resolve(&self.boot.context, node).await.expect("resolves");
            let config = self.configurator.plugin.render_config(&self.configurator.context, node, &boot).await.expect("renders");
            let media = self.boot.plugin.media(&self.boot.context, node, &boot, &config).await.expect("media");
            all.push((boot.clone(), config, FirstBoot { boot, media }));
        }
        all
    }

    /// Observes a machine, and lets its node know.
    async fn observe(&mut self, index: usize) -> bool {
        let (kit, node, state) = (&self.provisioner, &self.nodes[index], &self.machines[index]);
        let machine = insist(async || kit.plugin.observe_machine(&kit.context, node, state.as_ref()).await).await;
        self.nodes[index].machine_identity = machine.as_ref().map(|machine| machine.identity.clone());
        self.nodes[index].machine_id = machine.as_ref().map(|machine| machine.id.clone());
        machine.is_some()
    }

    async fn plan_machine(&self, index: usize, first_boot: Option<&FirstBoot>, intent: Intent) -> Proposal {
        let (kit, node, state) = (&self.provisioner, &self.nodes[index], &self.machines[index]);
        insist(async || kit.plugin.plan_machine(&kit.context, node, first_boot, intent, state.as_ref()).await).await
    }

    async fn apply_machine(&mut self, index: usize, first_boot: Option<&FirstBoot>, intent: Intent) {
        let (kit, node) = (&self.provisioner, &self.nodes[index]);
        let step = async |state: Option<&State>| kit.plugin.apply_machine(&kit.context, node, first_boot, intent, state).await;
        self.machines[index] = drive(self.machines[index].take(), step).await;
        self.observe(index).await;
    }

    async fn plan_node(&self, index: usize, config: &[Document], intent: Intent) -> Proposal {
        let (kit, node, state) = (&self.distro, &self.nodes[index], &self.systems[index]);
        insist(async || kit.plugin.plan_node(&kit.context, node, config, None, intent, state.as_ref()).await).await
    }

    async fn apply_node(&mut self, index: usize, config: &[Document], intent: Intent) {
        let (kit, node) = (&self.distro, &self.nodes[index]);
        let step = async |state: Option<&State>| kit.plugin.apply_node(&kit.context, node, config, None, intent, state).await;
        self.systems[index] = drive(self.systems[index].take(), step).await;
    }

    async fn build(&mut self) -> Vec<(Boot, Vec<Document>, FirstBoot)> {
        let prepared = self.prepared().await;
        for (index, (boot, _, first_boot)) in prepared.iter().enumerate() {
            let (kit, node) = (&self.boot, &self.nodes[index]);
            insist(async || kit.plugin.ensure(&kit.context, node, boot).await).await;
            // Media are for machines that did not join yet.
            let first_boot = Some(first_boot).filter(|_| self.systems[index].is_none());
            self.apply_machine(index, first_boot, Intent::Present).await;
        }
        for (index, (_, config, _)) in prepared.iter().enumerate() {
            self.apply_node(index, config, Intent::Present).await;
        }
        let kit = &self.distro;
        let step = async |state: Option<&State>| kit.plugin.apply_cluster(&kit.context, state).await;
        self.cluster = drive(self.cluster.take(), step).await;
        drive(None, async |_| kit.plugin.health(&kit.context, true).await).await;
        for index in 0..prepared.len() {
            self.apply_machine(index, None, Intent::Present).await;
        }
        prepared
    }

    async fn destroy(&mut self) {
        self.world.teardown(true);
        for index in 0..self.nodes.len() {
            self.observe(index).await;
            self.apply_node(index, &[], Intent::Absent).await;
            self.apply_machine(index, None, Intent::Absent).await;
        }
        self.cluster = None;
    }

    /// What every test ends with.
    fn spotless(&self) {
        assert_eq!((self.world.twice(), self.world.violations()), (Vec::<String>::new(), Vec::<String>::new()));
    }

    fn applied(&self) -> Vec<String> {
        let changes = self.world.changes();
        let applied = changes.iter().filter(|change| change.outcome == Outcome::Applied);
        applied.map(|change| format!("{} {}", change.what, change.key)).collect()
    }
}

const LIFE: &str = "\
image os-v1.11.5-01ba4719c80b.raw
create dev-cp-1
start dev-cp-1
image os-v1.11.5-fab64513dd31.raw
create dev-wk-1
start dev-wk-1
configure dev-cp-1
configure dev-wk-1
bootstrap dev-cp-1
update dev-cp-1
update dev-wk-1
reset dev-cp-1
stop dev-cp-1
delete dev-cp-1
reset dev-wk-1
stop dev-wk-1
delete dev-wk-1";

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_life_and_nothing_twice() {
    let mut crew = Crew::new(1, 1);
    let prepared = crew.build().await;
    let built = crew.world.snapshot();
    assert_eq!(built["clusters"], json!([{"bootstrapped": "dev-cp-1", "members": {"dev-cp-1": true}}]));
    let machine = &built["machines"][1];
    assert_eq!((&machine["status"], &machine["stage"], &machine["media"]), (&json!("running"), &json!("running"), &json!([])));

    // Nothing is left to do, and doing it again does nothing.
    let count = crew.world.changes().len();
    for (index, (_, config, _)) in prepared.iter().enumerate() {
        assert!(crew.observe(index).await);
        assert_eq!(crew.plan_machine(index, None, Intent::Present).await.actions, []);
        assert_eq!(crew.plan_node(index, config, Intent::Present).await.actions, []);
    }
    let kit = &crew.distro;
    assert_eq!(kit.plugin.plan_cluster(&kit.context, crew.cluster.as_ref()).await.expect("plans").actions, []);
    let members = kit.plugin.members(&kit.context).await.expect("members");
    assert_eq!(members.iter().map(|member| (member.node.as_deref(), member.healthy)).collect::<Vec<_>>(), [(Some("dev-cp-1"), true)]);
    let access = kit.plugin.access(&kit.context, "kubernetes", &[], 60).await.expect("a kubeconfig");
    assert!(String::from_utf8_lossy(&access).contains("https://127.0.0.1:6443"));
    crew.build().await;
    assert_eq!((crew.world.changes().len(), crew.world.snapshot()), (count, built));

    crew.destroy().await;
    assert_eq!(crew.world.machines(), []);
    assert_eq!(crew.applied().join("\n"), LIFE);
    crew.spotless();
    assert_eq!(crew.world.outages(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn any_change_may_be_lost_on_its_way_there_or_back() {
    let mut calm = Crew::new(1, 1);
    calm.build().await;
    let built = calm.world.snapshot();
    calm.destroy().await;
    let gone = calm.world.snapshot();
    for fate in [Fate::LoseRequest, Fate::LoseReply] {
        for lost in 1..=LIFE.lines().count() as u64 {
            let mut crew = Crew::new(1, 1);
            let told = fate.clone();
            crew.world.on_change(move |number, _| if number == lost { told.clone() } else { Fate::Answer });
            crew.build().await;
            assert_eq!(crew.world.snapshot(), built, "{fate:?} of change {lost}");
            crew.destroy().await;
            assert_eq!(crew.world.snapshot(), gone, "{fate:?} of change {lost}");
            crew.spotless();
            assert_eq!(crew.applied().join("\n"), LIFE, "{fate:?} of change {lost}");
            let count = crew.world.changes().len();
            let more = usize::from(fate == Fate::LoseRequest);
            assert_eq!(count, LIFE.lines().count() + more, "{fate:?} of change {lost}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_way_that_loses_a_fifth_of_everything_is_a_way() {
    for seed in 0..5 {
        let mut crew = Crew::new(3, 1);
        crew.world.lossy(Some(Lossy { seed, requests: 0.1, replies: 0.1 }));
        crew.build().await;
        crew.destroy().await;
        assert_eq!(crew.world.machines(), [], "seed {seed}");
        crew.spotless();
        let lost = crew.world.changes().iter().filter(|change| change.outcome == Outcome::Lost).count();
        assert!(lost > 0, "seed {seed} loses nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_honest_about_what_it_disturbs() {
    let mut crew = Crew::new(3, 0);
    let prepared = crew.prepared().await;
    let (_, config, first_boot) = &prepared[0];
    let create = crew.plan_machine(0, Some(first_boot), Intent::Present).await;
    assert_eq!(create.holds, ["storage:local-lvm"]);
    let configure = crew.plan_node(0, config, Intent::Present).await;
    // Asked again, it is the same.
    assert_eq!(crew.plan_machine(0, Some(first_boot), Intent::Present).await, create);
    crew.boot.plugin.ensure(&crew.boot.context, &crew.nodes[0], &prepared[0].0).await.expect("ensures");
    crew.apply_machine(0, Some(first_boot), Intent::Present).await;
    // A machine that is there does not change what its first configuration is.
    assert_eq!(crew.plan_node(0, config, Intent::Present).await, configure);
    crew.build().await;

    let shown = |proposal: &Proposal| {
        let fields = |action: &emhost::bindings::emhost::plugin::types::Action| {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            action
                .fields
                .iter()
                .map(|field| format!("{} {} -> {}", field.pointer, text(&field.before), text(&field.after)))
                .collect::<Vec<_>>()
        };
        proposal.actions.iter().map(|action| (action.disruption, fields(action).join(", "))).collect::<Vec<_>>()
    };
    crew.nodes[0].disks[0].size_gib = 60;
    let plan = crew.plan_machine(0, None, Intent::Present).await;
    assert_eq!(shown(&plan), [(Disruption::None, "/disks/0/size-gib 40 -> 60".to_owned())]);
    crew.nodes[0].memory_mib = 8192;
    let plan = crew.plan_machine(0, None, Intent::Present).await;
    let fields = "/memory-mib 4096 -> 8192, /disks/0/size-gib 40 -> 60".to_owned();
    assert_eq!(shown(&plan), [(Disruption::Reboot, fields)]);
    crew.apply_machine(0, None, Intent::Present).await;
    let machine = crew.world.machine("dev-cp-1").expect("a machine");
    assert_eq!((machine.memory, machine.disk), (8192, 60));
    assert_eq!(crew.world.members().iter().filter(|(_, healthy)| *healthy).count(), 2, "it reboots");
    crew.nodes[0].disks[0].size_gib = 50;
    let kit = &crew.provisioner;
    let error = kit.plugin.plan_machine(&kit.context, &crew.nodes[0], None, Intent::Present, crew.machines[0].as_ref()).await;
    assert!(error.expect_err("refused").to_string().contains("cannot shrink"));

    // A new configuration restarts a node that runs, and only that.
    let mut other = config.clone();
    other[0].body = other[0].body.replace("\"labels\":{}", "\"labels\":{\"a\":\"b\"}");
    drive(None, async |_| crew.distro.plugin.health(&crew.distro.context, true).await).await;
    let plan = crew.plan_node(0, &other, Intent::Present).await;
    assert_eq!(plan.actions.iter().map(|action| action.disruption).collect::<Vec<_>>(), [Disruption::Restart]);
    crew.apply_node(0, &other, Intent::Present).await;
    assert_eq!(crew.plan_node(0, &other, Intent::Present).await.actions, []);
    let plan = crew.plan_machine(0, None, Intent::Absent).await;
    assert_eq!(plan.actions[0].disruption, Disruption::DataLoss);
    crew.spotless();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_waits_holds_nothing() {
    let mut crew = Crew::new(1, 0);
    let prepared = crew.prepared().await;
    crew.boot.plugin.ensure(&crew.boot.context, &crew.nodes[0], &prepared[0].0).await.expect("ensures");
    let (kit, node) = (&crew.provisioner, &crew.nodes[0]);
    let (mut state, mut told) = (None, Vec::new());
    loop {
        match kit.plugin.apply_machine(&kit.context, node, Some(&prepared[0].2), Intent::Present, state.as_ref()).await.expect("a step") {
            Step::Done(_) => break,
            Step::Again(again) => {
                told.push(format!("{} {:?}", again.reason, again.holds));
                state = again.state;
            }
        }
    }
    assert_eq!(told, ["an identity was made for it [\"storage:local-lvm\"]", "being made []", "being made []", "made []", "started []"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_proves_nothing() {
    let mut crew = Crew::new(1, 0);
    crew.build().await;
    let id = crew.world.machine("dev-cp-1").expect("a machine").id;
    // The machine goes, and its number to somebody else.
    crew.world.edit(|machines| machines.remove(&id));
    assert_eq!(crew.world.add_foreign("their-database"), id);
    assert!(!crew.observe(0).await);
    crew.world.teardown(true);
    crew.apply_node(0, &[], Intent::Absent).await;
    crew.apply_machine(0, None, Intent::Absent).await;
    assert_eq!(crew.world.machines().len(), 1);

    // The same when there is one of that name and mark which nobody here made.
    let mut crew = Crew::new(1, 0);
    crew.build().await;
    crew.world.edit(std::collections::BTreeMap::clear);
    crew.world.add_owned_orphan("c0ffee", "dev-cp-1");
    let kit = &crew.provisioner;
    let removed = kit.plugin.apply_machine(&kit.context, &crew.nodes[0], None, Intent::Absent, crew.machines[0].as_ref()).await;
    assert!(removed.expect_err("refused").to_string().contains("not the one that was made for it"));

    // Unless a person saw it and agreed.
    let owned = kit.plugin.owned(&kit.context).await.expect("owned");
    assert_eq!(owned.len(), 1);
    let mut other = owned[0].clone();
    "somebody else".clone_into(&mut other.identity);
    let step = kit.plugin.discard(&kit.context, &other, None).await.expect("a step");
    assert_eq!((step, crew.world.machines().len()), (Step::Done(None), 1));
    drive(None, async |state| kit.plugin.discard(&kit.context, &owned[0], state).await).await;
    assert_eq!(crew.world.machines(), []);
    crew.spotless();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_vanished_is_made_anew() {
    let mut crew = Crew::new(1, 1);
    crew.build().await;
    let old = crew.world.machine("dev-wk-1").expect("a machine");
    crew.world.edit(|machines| machines.remove(&old.id));
    let prepared = crew.prepared().await;
    assert!(!crew.observe(1).await);
    // The system is planned anew with its machine.
    assert_eq!(crew.plan_node(1, &prepared[1].1, Intent::Present).await.actions.len(), 1);
    crew.apply_machine(1, Some(&prepared[1].2), Intent::Present).await;
    crew.apply_node(1, &prepared[1].1, Intent::Present).await;
    let new = crew.world.machine("dev-wk-1").expect("a machine");
    assert!(new.id == old.id && new.identity != old.identity, "the number is reused, the identity never");
    crew.spotless();

    // What somebody else changed is changed back.
    crew.world.edit(|machines| machines.values_mut().for_each(|machine| machine.memory = 1024));
    crew.apply_machine(1, None, Intent::Present).await;
    assert_eq!(crew.world.machine("dev-wk-1").expect("a machine").memory, 4096);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_settles_does_not_run_for_ever() {
    let mut crew = Crew::new(1, 0);
    crew.build().await;
    crew.world.dial(|dials| dials.stubborn = Some("memory".to_owned()));
    crew.nodes[0].memory_mib = 8192;
    let count = crew.world.changes().len();
    crew.apply_machine(0, None, Intent::Present).await;
    assert_eq!(crew.world.changes().len(), count + 1);
    assert_eq!(crew.plan_machine(0, None, Intent::Present).await.actions.len(), 1, "the host is to see that it did not settle");
    crew.spotless();

    let mut crew = Crew::new(1, 0);
    crew.world.dial(|dials| dials.endless = true);
    let prepared = crew.prepared().await;
    crew.boot.plugin.ensure(&crew.boot.context, &crew.nodes[0], &prepared[0].0).await.expect("ensures");
    let (kit, mut state) = (&crew.provisioner, None);
    for _ in 0..20 {
        match kit.plugin.apply_machine(&kit.context, &crew.nodes[0], Some(&prepared[0].2), Intent::Present, state.as_ref()).await {
            Ok(Step::Again(again)) => state = again.state,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(crew.applied().len(), 2, "an image, and one machine that is never made");

    for (setting, what) in [("again_forever", "again"), ("drift", "a difference")] {
        let mut context = crew.provisioner.context.clone();
        context.settings = json!({setting: true});
        let kit = &crew.provisioner;
        let apply = kit.plugin.apply_machine(&context, &crew.nodes[0], Some(&prepared[0].2), Intent::Present, None).await;
        let plans = [(); 2].map(|()| kit.plugin.plan_machine(&context, &crew.nodes[0], Some(&prepared[0].2), Intent::Present, None));
        let [one, other] = plans;
        let drifts = one.await.expect("plans") != other.await.expect("plans");
        assert_eq!((matches!(apply, Ok(Step::Again(_))), drifts), (true, setting == "drift"), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_creates_at_once_are_noted() {
    let mut crew = Crew::new(2, 0);
    let prepared = crew.prepared().await;
    crew.boot.plugin.ensure(&crew.boot.context, &crew.nodes[0], &prepared[0].0).await.expect("ensures");
    crew.world.dial(|dials| dials.create_latency = Duration::from_millis(300));
    let make = async |index: usize| {
        let (kit, node) = (&crew.provisioner, &crew.nodes[index]);
        let step = async |state: Option<&State>| {
            kit.plugin.apply_machine(&kit.context, node, Some(&prepared[index].2), Intent::Present, state).await
        };
        drive(None, step).await
    };
    tokio::join!(make(0), make(1));
    assert!(crew.world.violations().iter().all(|text| text.starts_with("two at once on storage local-lvm: the create of dev-cp-")));
    assert!(!crew.world.violations().is_empty());
    // It was only refused, and tried again.
    assert_eq!((crew.world.machines().len(), crew.world.twice()), (2, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_sees_a_change_before_and_after_it_happens() {
    let crew = Crew::new(1, 0);
    let boot = crew.boot.plugin.resolve(&crew.boot.context, &crew.nodes[0]).await.expect("resolves");
    let ensure = async |wall| {
        let mut context = crew.boot.context.clone();
        context.limits.wall = wall;
        crew.boot.plugin.ensure(&context, &crew.nodes[0], &boot).await.map(drop).map_err(|error| error.to_string())
    };
    let (soon, late) = (Duration::from_millis(200), Duration::from_mins(1));

    crew.world.on_change(|_, _| Fate::Refuse(503, "not now".to_owned()));
    assert!(ensure(late).await.expect_err("refused").contains("not now"));
    crew.world.on_change(|_, _| Fate::Hang);
    assert!(ensure(soon).await.expect_err("no answer").contains("did not finish within"));
    assert_eq!(crew.world.snapshot()["images"], json!([]));

    let (before, seen) = (crew.world.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let (after, told) = (crew.world.clone(), Arc::clone(&seen));
    crew.world.on_change(move |number, change| {
        let images = before.snapshot()["images"].as_array().map_or(0, Vec::len);
        told.lock().expect("no panic").push((number, change.outcome.clone(), images));
        Fate::Answer
    });
    let told = Arc::clone(&seen);
    crew.world.after_change(move |number, change| {
        let images = after.snapshot()["images"].as_array().map_or(0, Vec::len);
        told.lock().expect("no panic").push((number, change.outcome.clone(), images));
        Fate::Hang
    });
    assert!(ensure(soon).await.expect_err("no answer").contains("did not finish within"));
    assert_eq!(*seen.lock().expect("no panic"), [(3, Outcome::Pending, 0), (3, Outcome::Applied, 1)]);
    crew.world.calm();
    ensure(late).await.expect("it is there");
    assert_eq!(
        crew.world.changes().iter().map(|change| change.outcome.clone()).collect::<Vec<_>>(),
        [Outcome::Refused("not now".to_owned()), Outcome::Lost, Outcome::Applied]
    );
    crew.spotless();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_machines_are_no_trouble() {
    let crew = Crew::new(1, 0);
    let boot = crew.boot.plugin.resolve(&crew.boot.context, &crew.nodes[0]).await.expect("resolves");
    crew.boot.plugin.ensure(&crew.boot.context, &crew.nodes[0], &boot).await.expect("ensures");
    let first_boot = FirstBoot { boot, media: Vec::new() };
    let kit = &crew.provisioner;
    let make = async |number: u16| {
        let node = node(&format!("dev-wk-{number}"), NodeRole::Worker, 1);
        drive(None, async |state| kit.plugin.apply_machine(&kit.context, &node, Some(&first_boot), Intent::Present, state).await).await;
    };
    futures::stream::iter(0..1000).for_each_concurrent(16, make).await;
    let machines = crew.world.machines();
    assert_eq!((machines.len(), machines[0].id, machines[999].id), (1000, 100, 1099));
    assert!(machines.iter().all(|machine| machine.status == Power::Running));
    let owned = kit.plugin.owned(&kit.context).await.expect("owned");
    assert_eq!(owned.len(), 1000);
    crew.spotless();
}

/// A plugin without manners: it does not look before it changes something.
async fn rude(crew: &Crew, method: &str, node: &str) -> Result<Value, CallError> {
    // Its messages are text, which is what a field with tag 1 or 2 is on the wire.
    let field = |tag: u8, text: &str| [&[tag << 3 | 2, u8::try_from(text.len()).expect("short")], text.as_bytes()].concat();
    let message = [field(1, "c0ffee"), field(2, node)].concat();
    let mut client = tonic::client::Grpc::new(
        tonic::transport::Endpoint::from_shared(crew.world.url()).expect("a URL").connect().await.expect("a connection"),
    );
    client.ready().await.expect("ready");
    let path = format!("/world.Os/{method}").parse().expect("a path");
    let request = tonic::Request::new(bytes::Bytes::from(message));
    let answer = client.unary(request, path, emhost::capabilities::RawCodec).await;
    Ok(json!(answer.err().map(|status| status.code() as i32)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_bootstrap_and_a_lost_quorum_are_noted() {
    let mut crew = Crew::new(3, 0);
    let prepared = crew.build().await;
    assert_eq!(crew.world.members().len(), 3);
    assert_eq!(rude(&crew, "Bootstrap", "dev-cp-2").await.expect("an answer"), json!(6));
    assert_eq!(crew.world.violations(), ["bootstrapped twice: dev-cp-2 after dev-cp-1"]);
    assert_eq!(crew.world.twice().len(), 1);
    crew.world.forget();

    // Two of three restart at once. Each on its own would have been well.
    for index in [0, 1] {
        let mut config = prepared[index].1.clone();
        config[0].body = config[0].body.replace("\"labels\":{}", "\"labels\":{\"a\":\"b\"}");
        let (kit, state) = (&crew.distro, crew.systems[index].as_ref());
        kit.plugin.apply_node(&kit.context, &crew.nodes[index], &config, None, Intent::Present, state).await.expect("a step");
    }
    assert_eq!(crew.world.violations(), ["quorum lost: 1 of 3 healthy after a new configuration of dev-cp-2"]);
    crew.world.forget();
    drive(None, async |_| crew.distro.plugin.health(&crew.distro.context, true).await).await;

    // One that leaves takes its vote along, so two of two are left, then one of one.
    for index in [0, 1] {
        crew.apply_node(index, &[], Intent::Absent).await;
    }
    assert_eq!((crew.world.violations(), crew.world.members()), (Vec::new(), vec![("dev-cp-3".to_owned(), true)]));
    // What was only edited is nobody's fault.
    crew.world.edit(|machines| machines.values_mut().for_each(|machine| machine.status = Power::Stopped));
    assert_eq!((crew.world.violations(), crew.world.outages()), (Vec::new(), Vec::new()));

    // With one control plane there is no quorum to keep.
    let mut crew = Crew::new(1, 0);
    crew.build().await;
    crew.nodes[0].memory_mib = 8192;
    crew.apply_machine(0, None, Intent::Present).await;
    assert_eq!(crew.world.violations(), Vec::<String>::new());
    assert_eq!(crew.world.outages(), ["quorum lost: 0 of 1 healthy after an update of dev-cp-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_member_is_taken_out() {
    let mut crew = Crew::new(3, 0);
    crew.build().await;
    crew.world.edit(|machines| machines.remove(&100));
    assert!(!crew.observe(0).await);
    crew.apply_node(0, &[], Intent::Absent).await;
    assert_eq!(crew.world.members(), [("dev-cp-2".to_owned(), true), ("dev-cp-3".to_owned(), true)]);
    crew.spotless();
    // Refused while it is under way, it is done on the next try.
    crew.world.edit(|machines| machines.remove(&101));
    crew.world.on_change(|number, change| match (number % 2, change.what.as_str()) {
        (0, "evict") => Fate::Refuse(14, "not now".to_owned()),
        _ => Fate::Answer,
    });
    assert!(!crew.observe(1).await);
    crew.apply_node(1, &[], Intent::Absent).await;
    assert_eq!(crew.world.members(), [("dev-cp-3".to_owned(), true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_inputs_give_the_same_bytes_and_the_token_stays_hidden() {
    let mut crew = Crew::new(1, 1);
    let (one, other) = (crew.prepared().await, crew.prepared().await);
    assert_eq!(one.iter().map(|all| &all.1).collect::<Vec<_>>(), other.iter().map(|all| &all.1).collect::<Vec<_>>());
    let document = &one[1].1[0];
    assert!(document.sensitive && one[1].2.media[0].sensitive);
    let config: Value = serde_json::from_str(&document.body).expect("JSON");
    let token = config["token"].as_str().expect("a token");
    assert_eq!(config["labels"], json!({"fixture.emhost.dev/worker": "true"}));
    assert!(!crew.configurator.context.redactor.text(&format!("see {token}")).contains(token));
    let images: BTreeSet<&str> = one.iter().map(|all| all.0.id.as_str()).collect();
    assert_eq!(images.len(), 2, "workers boot with another kernel argument");
    let nothing = crew.addon.plugin.render_addon(&crew.addon.context).await.expect("renders");
    assert!(nothing.is_empty());
    crew.addon.context.settings = json!({"stages": [{"name": "one", "objects": [{"kind": "ConfigMap", "metadata": {"name": "a"}}]}]});
    let stages = crew.addon.plugin.render_addon(&crew.addon.context).await.expect("renders");
    assert!(stages[0].manifests[0].body.contains("ConfigMap"));
    let versions = crew.boot.plugin.versions(&crew.boot.context).await.expect("versions");
    assert!(versions.contains(&"v1.11.5".to_owned()));
}

#[test]
fn a_folder_is_laid_in_one_line() {
    let world = World::start();
    let folder = tempfile::tempdir().expect("a folder");
    lay(&folder.path().join("dev"), &world, 3, 300);
    let folder = folder.path().join("dev");
    let site = Site::load(&folder).expect("a site");
    assert_eq!(site.slots, world.slots());
    let lock = Lock::load(&folder).expect("a lock");
    let references = site.plugins.references();
    assert_eq!(references.len(), PLUGINS.len());
    for (_, reference) in references {
        let source: emhost::plugins::locate::Reference = reference.parse().expect("a path");
        let bytes = source.read(&folder).expect("a component");
        lock.policy(&source, &inspect(&bytes).expect("a plugin")).expect("pinned");
    }
    let nodes = std::fs::read_to_string(folder.join("nodes.yaml")).expect("nodes");
    let addresses: BTreeSet<&str> =
        nodes.lines().filter_map(|line| line.split_once("ip: ")?.1.split_once(',')).map(|pair| pair.0).collect();
    assert_eq!(addresses.len(), 303);
    assert!(nodes.contains("{name: dev-cp-1, ip: 10.0.10.11, cpu: 2, ram: 4096, disk: 40G}"), "{nodes}");
}
