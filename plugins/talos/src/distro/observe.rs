//! How one node is.

use emhost_sdk::distro::{NodeStatus, Stage};
use emhost_sdk::{Attribute, Failure, Unit};

use super::api::Api;
use super::client::{Answer, Client};
use super::configuration;

/// Looks at a node.
pub fn observe(unit: Unit<'_>) -> Result<NodeStatus, Failure> {
    match Client::new(unit.cluster).reach(unit.node)? {
        Answer::Configured(api, version) => configured(&api, version),
        Answer::Maintenance(api) => maintenance(&api),
        Answer::Foreign(why) | Answer::Silent(why) => Ok(unreachable(&why)),
    }
}

fn attribute(key: &str, value: impl Into<String>) -> Attribute {
    Attribute { key: key.to_owned(), value: value.into() }
}

fn unreachable(why: &str) -> NodeStatus {
    let attributes = vec![attribute("why", why)];
    NodeStatus { stage: Stage::Unreachable, os_version: None, kubernetes_version: None, config_digest: None, attributes }
}

fn maintenance(api: &Api) -> Result<NodeStatus, Failure> {
    // Up to 1.9 a machine without configuration does not say what it is.
    let version = api.get("runtime", "Versions.runtime.talos.dev", "version").ok().flatten();
    let version = version.and_then(|version| version["version"].as_str().map(str::to_owned));
    let schematic = configuration::schematic(api)?;
    Ok(NodeStatus {
        stage: Stage::Maintenance,
        os_version: version.filter(|version| !version.is_empty()),
        kubernetes_version: None,
        config_digest: None,
        attributes: schematic.map(|schematic| attribute("schematic", schematic)).into_iter().collect(),
    })
}

fn configured(api: &Api, version: String) -> Result<NodeStatus, Failure> {
    let status = api.machine_status().map_err(api.failed("ask for the stage"))?;
    let config = api.machine_config("v1alpha1").map_err(api.failed("read the configuration"))?;
    let hostname = api.get("network", "HostnameStatuses.net.talos.dev", "hostname").map_err(api.failed("ask for the host name"))?;
    let hostname = hostname.and_then(|hostname| hostname["hostname"].as_str().map(str::to_owned));
    let mut attributes = vec![attribute("stage", status.stage.clone()), attribute("ready", status.is_ready().to_string())];
    attributes.extend(hostname.map(|hostname| attribute("hostname", hostname)));
    attributes.extend(configuration::schematic(api)?.map(|schematic| attribute("schematic", schematic)));
    if !status.unmet().is_empty() {
        let unmet: Vec<String> = status.unmet().iter().map(|unmet| format!("{}: {}", unmet.name, unmet.reason)).collect();
        attributes.push(attribute("waits-for", unmet.join("; ")));
    }
    Ok(NodeStatus {
        stage: stage(&status.stage),
        os_version: Some(version),
        kubernetes_version: config.as_deref().and_then(configuration::kubernetes_version),
        config_digest: config.as_deref().map(configuration::digest),
        attributes,
    })
}

fn stage(name: &str) -> Stage {
    match name {
        "running" => Stage::Running,
        "installing" | "upgrading" => Stage::Installing,
        "maintenance" => Stage::Maintenance,
        // One that is on its way down answers no less than one that comes up.
        _ => Stage::Booting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_told_by_what_they_mean() {
        assert_eq!(stage("running"), Stage::Running);
        assert_eq!(stage("installing"), Stage::Installing);
        assert_eq!(stage("maintenance"), Stage::Maintenance);
        assert_eq!(stage("rebooting"), Stage::Booting);
    }
}
