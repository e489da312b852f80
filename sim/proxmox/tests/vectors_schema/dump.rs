//! The published schema as it was dumped.

use std::collections::BTreeMap;

use emhost_oracles::facts;
use emhost_sim_proxmox::Release;
use emhost_sim_proxmox::schema::{Endpoint, endpoints};
use serde_json::Value as Json;

use crate::BOTH;

/// One endpoint of one release, as published.
pub struct Published {
    pub release: Release,
    pub whose: String,
    pub parameters: BTreeMap<String, Json>,
    pub endpoint: Json,
    pub ours: &'static Endpoint,
}

/// The keys of a property string.
pub type Keys = BTreeMap<String, Json>;

/// The whole dump.
pub struct Dump(Json);

impl Dump {
    pub fn read() -> Option<Self> {
        Some(Self(serde_json::from_str(&facts("pve-schema.json")?).unwrap()))
    }

    /// Every endpoint that is published and that we have.
    pub fn common(&self) -> Vec<Published> {
        let mut found = Vec::new();
        for theirs in self.0["endpoints"].as_array().unwrap() {
            for release in BOTH {
                let ours = endpoints(release).iter().find(|ours| theirs["method"] == ours.method && theirs["path"] == ours.path);
                if let Some(ours) = ours {
                    let whose = format!("{release:?} {} {}", ours.method, ours.path);
                    assert!(release == Release::V9 || theirs["since"] == "pve8", "{whose} is newer");
                    let mut endpoint = theirs.clone();
                    let parameters = of_release(&mut endpoint, release);
                    found.push(Published { release, whose, parameters: expanded(parameters), endpoint, ours });
                }
            }
        }
        assert!(found.len() > 350, "only {} endpoints are in both", found.len());
        found
    }

    /// The keys of a property string, where the dump has them.
    pub fn keys(&self, release: Release, parameter: &Json) -> Option<Keys> {
        let format = &parameter["format"];
        let keys = match format["$ref"].as_str() {
            Some(reference) => &self.0["property_string_formats"][reference.rsplit('/').next()?],
            // What is said of a processor as a whole comes before what is said of its keys.
            None if format == "pve-vm-cpu-conf" => return None,
            None => &self.0["simple_formats"]["named_property_strings"][format.as_str()?],
        };
        let known = |key: &Json| key.is_object() && (release == Release::V9 || key["since"] != "pve9");
        let keys = keys.as_object()?.iter().filter(|(_, key)| known(key));
        Some(keys.map(|(name, key)| (name.clone(), key.clone())).collect())
    }

    /// What is said of a text without the form it should have.
    pub fn complaint(&self, parameter: &Json, text: &str) -> Option<String> {
        let format = parameter["format"].as_str()?;
        let format = format.strip_suffix("-list").unwrap_or(format);
        let error = self.0["simple_formats"]["string"][format]["error"].as_str()?;
        Some(format!("invalid format - {}\n", error.replace("<v>", text)))
    }
}

/// Applies what is different on 9.
fn of_release(endpoint: &mut Json, release: Release) -> BTreeMap<String, Json> {
    let mut parameters: BTreeMap<String, Json> = endpoint["parameters"].as_object().unwrap().clone().into_iter().collect();
    let Some(change) = endpoint["pve9_diff"].as_object().filter(|_| release == Release::V9).cloned() else {
        return parameters;
    };
    let entries = |name: &str| change.get(name).and_then(Json::as_object).into_iter().flatten();
    parameters.extend(entries("parameters_added").map(|(name, parameter)| (name.clone(), parameter.clone())));
    parameters.extend(entries("parameters_changed").map(|(name, both)| (name.clone(), both["pve9"].clone())));
    for name in change.get("parameters_removed").and_then(Json::as_array).into_iter().flatten() {
        parameters.remove(name.as_str().unwrap());
    }
    for name in ["permissions", "proxyto"] {
        if let Some(changed) = change.get(name) {
            endpoint[name] = changed.clone();
        }
    }
    parameters
}

/// `scsi[n]` becomes `scsi0` to `scsi30`.
fn expanded(parameters: BTreeMap<String, Json>) -> BTreeMap<String, Json> {
    let mut all = BTreeMap::new();
    for (name, parameter) in parameters {
        match name.strip_suffix("[n]") {
            Some(prefix) => {
                // The dump has no limit for the links of a cluster and for the domains of a host.
                let last = parameter["index_max"].as_u64().unwrap_or(if prefix == "link" { 7 } else { 5 });
                all.extend((0..=last).map(|index| (format!("{prefix}{index}"), parameter.clone())));
            }
            None => {
                all.insert(name, parameter);
            }
        }
    }
    all
}
