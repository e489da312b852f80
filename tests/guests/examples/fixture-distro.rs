//! Drives the operating system of the small world.
//!
//! A node's configuration in force is looked up by its digest before anything is sent, so that nothing is sent twice; the node for the
//! bootstrap is in the state before the bootstrap goes out.

use emhost_sdk::distro::{Member, NodeStatus, Stage};
use emhost_sdk::secrets::{Secret, ephemeral};
use emhost_sdk::types::Again;
use emhost_sdk::{
    Action, Boot, Change, Cluster, Disruption, Distro, Document, Failure, FieldChange, Intent, Lifecycle, Node, NodeRole, Proposal, Site,
    State, Step, Unit,
};
use guests::fixture::{Configure, Os, Settings, digest, next, remembered};
use serde::{Deserialize, Serialize};
use serde_json::json;

struct Fixture;

impl Lifecycle for Fixture {}

/// What is remembered of one node: which machine got which configuration.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Memory {
    identity: String,
    digest: String,
    /// The node was told to leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reset: bool,
    /// How often it did not answer while it should leave.
    #[serde(default, skip_serializing_if = "is_zero")]
    unanswered: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How often a node that should leave may not answer before it is taken for dead.
const PATIENCE: u32 = 20;

/// What is remembered of the cluster.
#[derive(Serialize, Deserialize)]
struct Chosen {
    /// The node that is bootstrapped.
    node: String,
}

/// Its one document.
fn only(config: Vec<Document>) -> Result<(String, String), Failure> {
    match <[Document; 1]>::try_from(config) {
        Ok([document]) => Ok((digest(document.body.as_bytes()), document.body)),
        Err(other) => Err(Failure::invalid("fixture/config", format!("a node takes one document, not {}", other.len()))),
    }
}

fn act(change: Change, subject: String, disruption: Disruption, reason: &str, fields: Vec<FieldChange>) -> Proposal {
    let action = Action { change, subject, disruption, reason: reason.to_owned(), fields, attributes: Vec::new() };
    Proposal { actions: vec![action], holds: Vec::new() }
}

/// Waits without having learnt anything.
fn unchanged(settings: &Settings, reason: impl Into<String>, state: Option<State>) -> Step {
    Step::Again(Again { after_ms: settings.pause_ms, reason: reason.into(), state, holds: Vec::new() })
}

fn is_member(os: &Os, unit: Unit<'_>) -> Result<bool, Failure> {
    let name = unit.node.name();
    Ok(os.members(unit.cluster)?.is_some_and(|members| members.iter().any(|member| member.node == name)))
}

fn plan_present(unit: Unit<'_>, config: Vec<Document>, memory: Option<Memory>) -> Result<Proposal, Failure> {
    let (wanted, _) = only(config)?;
    let subject = format!("operating system of {}", unit.node.name());
    // A node that is down has what was last given to its machine, if it still is that machine. One that is still installing is
    // planned like one that was never configured: the work is the same, and not done.
    let current = match Os::open()?.status(unit.cluster, unit.node)? {
        Some(status) if status.stage == "running" => status.digest,
        Some(_) => None,
        None => memory.filter(|memory| unit.node.machine_identity().as_ref() == Some(&memory.identity)).map(|memory| memory.digest),
    };
    if current.as_ref() == Some(&wanted) {
        return Ok(Proposal::nothing());
    }
    let fields = vec![FieldChange {
        pointer: "/config".to_owned(),
        before: current.as_ref().map(|current| json!(current).to_string()),
        after: Some(json!(wanted).to_string()),
        sensitive: false,
    }];
    Ok(match current {
        None => act(Change::Create, subject, Disruption::None, "it has no configuration yet", fields),
        Some(_) => act(Change::Update, subject, Disruption::Restart, "its configuration changed", fields),
    })
}

fn plan_absent(unit: Unit<'_>, memory: Option<&Memory>) -> Result<Proposal, Failure> {
    let os = Os::open()?;
    let leaves = match os.status(unit.cluster, unit.node)? {
        Some(status) => status.stage != "maintenance",
        None => (memory.is_some() && unit.node.machine_identity().is_some()) || is_member(&os, unit)?,
    };
    if !leaves {
        return Ok(Proposal::nothing());
    }
    let subject = format!("operating system of {}", unit.node.name());
    Ok(act(Change::Destroy, subject, Disruption::DataLoss, "its node is to go", Vec::new()))
}

fn present(unit: Unit<'_>, settings: &Settings, config: Vec<Document>, state: Option<State>) -> Result<Step, Failure> {
    let name = unit.node.name();
    let (wanted, config) = only(config)?;
    let os = Os::open()?;
    let Some(status) = os.status(unit.cluster, unit.node)? else {
        return Ok(unchanged(settings, format!("waiting for {name} to answer"), state));
    };
    if unit.node.machine_identity().is_some_and(|expected| expected != status.identity) {
        return Err(Failure::conflict("fixture/identity", format!("what answers as {name} is not its machine")).help("plan again"));
    }
    let memory = Memory { identity: status.identity.clone(), digest: wanted.clone(), ..Memory::default() };
    match (status.stage.as_str(), status.digest == Some(wanted)) {
        ("running", true) => Ok(Step::done(State::of(1, &memory)?)),
        ("installing", _) => settings.wait(format!("{name} is installing"), &memory),
        _ => {
            let control_plane = unit.node.role() == NodeRole::ControlPlane;
            os.configure(&Configure {
                cluster: unit.cluster.id(),
                node: name.clone(),
                identity: status.identity,
                digest: memory.digest.clone(),
                config,
                control_plane,
            })?;
            settings.wait(format!("{name} takes its configuration"), &memory)
        }
    }
}

fn absent(unit: Unit<'_>, settings: &Settings, memory: Option<Memory>) -> Result<Step, Failure> {
    let name = unit.node.name();
    let os = Os::open()?;
    match os.status(unit.cluster, unit.node)? {
        Some(status) if status.stage == "maintenance" => Ok(Step::finished()),
        Some(status) => {
            os.reset(unit.cluster, unit.node)?;
            let memory = Memory { identity: status.identity, reset: true, ..memory.unwrap_or_default() };
            next(format!("{name} leaves"), &memory, Vec::new())
        }
        None => {
            // It may only be restarting, in which case it can still say goodbye.
            if let Some(memory) = memory
                && !memory.reset
                && memory.unanswered < PATIENCE
                && unit.node.machine_identity().is_some()
            {
                let memory = Memory { unanswered: memory.unanswered + 1, ..memory };
                return settings.wait(format!("waiting for {name} to answer"), &memory);
            }
            if !is_member(&os, unit)? {
                return Ok(Step::finished());
            }
            os.evict(unit.cluster, unit.node)?;
            next(format!("{name} is taken out"), &Memory { reset: true, ..Memory::default() }, Vec::new())
        }
    }
}

/// Where a node is expected.
fn address(node: &Node) -> Option<String> {
    let address = node.cards().into_iter().find_map(|card| card.address)?;
    Some(address.split_once('/').map_or(address.clone(), |(host, _)| host.to_owned()))
}

fn control_planes(cluster: &Cluster) -> Vec<Node> {
    cluster.nodes().into_iter().filter(|node| node.role() == NodeRole::ControlPlane).collect()
}

/// The node that was chosen, as long as there is one of that name; otherwise the first.
fn choose(site: Site<'_>, chosen: Option<&Chosen>) -> Result<Node, Failure> {
    let mut nodes = control_planes(site.cluster);
    let kept = chosen.and_then(|chosen| nodes.iter().position(|node| node.name() == chosen.node));
    if nodes.is_empty() {
        return Err(Failure::invalid("fixture/control-plane", "the cluster has no control plane"));
    }
    Ok(nodes.swap_remove(kept.unwrap_or(0)))
}

impl Distro for Fixture {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<NodeStatus, Failure> {
        let status = Os::open()?.status(unit.cluster, unit.node)?;
        let stage = match status.as_ref().map(|status| status.stage.as_str()) {
            None => Stage::Unreachable,
            Some("maintenance") => Stage::Maintenance,
            Some("installing") => Stage::Installing,
            Some(_) => Stage::Running,
        };
        let version = |version: String| (stage == Stage::Running).then_some(version);
        Ok(NodeStatus {
            stage,
            os_version: version(unit.cluster.os_version()),
            kubernetes_version: version(unit.cluster.kubernetes_version()),
            config_digest: status.and_then(|status| status.digest),
            attributes: Vec::new(),
        })
    }

    fn plan(unit: Unit<'_>, config: Vec<Document>, _: Option<Boot>, intent: Intent, state: Option<State>) -> Result<Proposal, Failure> {
        let memory = remembered(state.as_ref())?;
        match intent {
            Intent::Present => plan_present(unit, config, memory),
            Intent::Absent => plan_absent(unit, memory.as_ref()),
        }
    }

    fn apply(unit: Unit<'_>, config: Vec<Document>, _: Option<Boot>, intent: Intent, state: Option<State>) -> Result<Step, Failure> {
        let settings = Settings::of(unit.operation)?;
        if settings.again_forever {
            return Ok(unchanged(&settings, "never done", state));
        }
        match intent {
            Intent::Present => present(unit, &settings, config, state),
            Intent::Absent => absent(unit, &settings, remembered(state.as_ref())?),
        }
    }

    fn plan_cluster(site: Site<'_>, state: Option<State>) -> Result<Proposal, Failure> {
        let chosen: Option<Chosen> = remembered(state.as_ref())?;
        // Where no member answers there are members.
        if Os::open()?.members(site.cluster)?.is_none_or(|members| !members.is_empty()) {
            return Ok(Proposal::nothing());
        }
        let node = choose(site, chosen.as_ref())?.name();
        let subject = format!("cluster {}", site.cluster.name());
        Ok(act(Change::Create, subject, Disruption::None, &format!("it is bootstrapped on {node}"), Vec::new()))
    }

    fn apply_cluster(site: Site<'_>, state: Option<State>) -> Result<Step, Failure> {
        let settings = Settings::of(site.operation)?;
        let chosen: Option<Chosen> = remembered(state.as_ref())?;
        let os = Os::open()?;
        if os.members(site.cluster)?.is_none_or(|members| !members.is_empty()) {
            return Ok(Step::Done(state));
        }
        let node = choose(site, chosen.as_ref())?;
        let name = node.name();
        if chosen.is_none_or(|chosen| chosen.node != name) {
            return next(format!("{name} was chosen"), &Chosen { node: name }, Vec::new());
        }
        let chosen = Chosen { node: name.clone() };
        match os.status(site.cluster, &node)? {
            Some(status) if status.stage == "running" => {
                os.bootstrap(site.cluster, &node)?;
                settings.wait("bootstrapped", &chosen)
            }
            _ => settings.wait(format!("waiting for {name} to run"), &chosen),
        }
    }

    fn members(site: Site<'_>) -> Result<Vec<Member>, Failure> {
        let Some(members) = Os::open()?.members(site.cluster)? else {
            return Err(Failure::unavailable("fixture/members", "no member answers"));
        };
        let member = |node, healthy| Member { node: Some(node), voting: true, healthy, attributes: Vec::new() };
        Ok(members.into_iter().map(|one| member(one.node, one.healthy)).collect())
    }

    fn health(site: Site<'_>, _: bool) -> Result<Step, Failure> {
        let settings = Settings::of(site.operation)?;
        Ok(match Os::open()?.health(site.cluster)? {
            None => Step::finished(),
            Some(waits_for) => unchanged(&settings, format!("waiting for {waits_for}"), None),
        })
    }

    fn access(site: Site<'_>, kind: String, roles: Vec<String>, valid_seconds: u32) -> Result<Secret, Failure> {
        let (name, server) = (site.cluster.name(), site.cluster.endpoint());
        if kind == "talos" {
            let addresses =
                |nodes: Vec<Node>| -> Vec<String> { nodes.iter().filter_map(address).map(|at| format!("      - {at}\n")).collect() };
            let (endpoints, nodes) = (addresses(control_planes(site.cluster)).concat(), addresses(site.cluster.nodes()).concat());
            let (roles, key) = (roles.join(","), guests::fixture::random());
            let text = format!(
                "context: {name}\ncontexts:\n  {name}:\n    endpoints:\n{endpoints}    nodes:\n{nodes}    roles: \"{roles}\"\n    seconds: {valid_seconds}\n    key: {key}\n"
            );
            return Ok(ephemeral(text.as_bytes()));
        }
        if kind != "kubernetes" {
            return Err(Failure::invalid("fixture/access", format!("there is no access of kind {kind}")));
        }
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": server}}],
            "users": [{"name": "admin", "user": {"token": guests::fixture::random()}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
            "current-context": name,
        });
        Ok(ephemeral(config.to_string().as_bytes()))
    }
}

emhost_sdk::plugin!(
    Fixture: distro;
    text = concat!(r#"{
        "name": "fixture-distro",
        "description": "drives the operating system of the small world",
        "settings": "#, guests::fixture_settings!(), r#",
        "asks": [
            {"grant": "grpc:os", "why": "configures, resets and bootstraps nodes"},
            {"grant": "grpc-read:os:/world.Os/Status", "why": "only looks"},
            {"grant": "grpc-read:os:/world.Os/Members", "why": "only looks"},
            {"grant": "grpc-read:os:/world.Os/Health", "why": "only looks"}
        ]
    }"#)
);
