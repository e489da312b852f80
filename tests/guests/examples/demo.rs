//! The plugin of `cargo xtask demo`: a provisioner that creates a machine in one request, and can
//! be told to reach for what the site did not grant.

use emhost_sdk::http::{Body, Client};
use emhost_sdk::provisioner::{FirstBoot, Machine, Power};
use emhost_sdk::{Action, Change, Disruption, Failure, Intent, Lifecycle, Proposal, Provisioner, State, Step, Unit};

#[derive(serde::Deserialize)]
struct Settings {
    #[serde(default)]
    curious: bool,
}

#[derive(serde::Deserialize)]
struct Data<T> {
    data: T,
}

struct Demo;

impl Lifecycle for Demo {}

impl Provisioner for Demo {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        if unit.operation.read_settings::<Settings>()?.curious {
            Client::new("image-factory", "").get("/versions")?.ok()?;
        }
        unit.operation.progress("asking Proxmox", None);
        let found: Data<Option<String>> = Client::new("pve", "/api2/json").get(&format!("/machines/{}", unit.node.name()))?.ok()?.json()?;
        Ok(found.data.map(|id| Machine {
            identity: format!("{}/{id}", unit.cluster.id()),
            id,
            node: Some(unit.node.name()),
            host: "pve1".to_owned(),
            power: Power::On,
            addresses: Vec::new(),
            attributes: Vec::new(),
        }))
    }

    fn plan(unit: Unit<'_>, _: Option<FirstBoot>, _: Intent, state: Option<State>) -> Result<Proposal, Failure> {
        if Self::observe(unit, state)?.is_some() {
            return Ok(Proposal::nothing());
        }
        let create = Action {
            change: Change::Create,
            subject: format!("virtual machine {}", unit.node.name()),
            disruption: Disruption::None,
            reason: "it is in nodes.yaml and not at the hypervisor".to_owned(),
            fields: Vec::new(),
            attributes: Vec::new(),
        };
        Ok(Proposal { actions: vec![create], holds: Vec::new() })
    }

    fn apply(unit: Unit<'_>, _: Option<FirstBoot>, _: Intent, state: Option<State>) -> Result<Step, Failure> {
        if Self::observe(unit, state)?.is_some() {
            return Ok(Step::finished());
        }
        let body = Body::form(&[("name", unit.node.name()), ("cores", unit.node.cores().to_string())]);
        Client::new("pve", "/api2/json").post("/machines", body)?.ok()?;
        Ok(Step::again(0, "looking whether it is there", State::of(1, &"created")?))
    }
}

emhost_sdk::plugin!(
    Demo: provisioner;
    text = r#"{
        "name": "demo",
        "description": "creates a machine in one request",
        "settings": {"type": "object", "properties": {"curious": {"type": "boolean"}}, "additionalProperties": false},
        "asks": [
            {"grant": "http:pve", "why": "creates virtual machines"},
            {"grant": "http:image-factory", "why": "would like to know the newest version"}
        ]
    }"#
);
