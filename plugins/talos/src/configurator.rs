//! The role `configurator`: the secrets of a cluster, and the configuration of each of its nodes.

mod attributes;
mod machine;
mod patches;
mod secrets;

use emhost_sdk::{Boot, Configurator, Document, Failure, Site, Unit};
use emhost_talos_config::{check, generate};

use crate::Talos;

impl Configurator for Talos {
    fn prepare(site: Site<'_>) -> Result<(), Failure> {
        secrets::prepare(site)
    }

    fn render(unit: Unit<'_>, boot: Boot) -> Result<Vec<Document>, Failure> {
        let (cluster, node) = (unit.cluster, unit.node);
        let name = node.name();
        let machine = machine::Machine::of(cluster, node, boot, secrets::tailscale(cluster)?);
        let input = machine.input()?;
        let base = generate(&secrets::bundle()?, &input).map_err(|why| {
            Failure::invalid("talos/configuration", format!("no configuration can be made for node {name}: {why}"))
                .help("correct cluster.yaml or nodes.yaml; the versions of Talos and Kubernetes have to fit each other")
        })?;
        let body = patches::apply(&name, &base, input.contract, node.contribution().patches, node.patches())?;
        let warnings = check(&body, input.contract, machine.platform).map_err(|refused| patches::refused(&name, &refused, body == base))?;
        for warning in warnings {
            let said = format!("Talos {} warns about the configuration of node {name}: {warning}", input.contract);
            unit.operation.report(&emhost_sdk::Diagnostic::warning("talos/configuration", said));
        }
        Ok(vec![Document { name: format!("{name}.yaml"), media_type: "application/yaml".to_owned(), body, sensitive: true }])
    }
}
