//! Addons that the site brings itself: manifests in a folder or at an address, and charts.

use emhost_sdk::Failure;
use emhost_sdk::addon::Stage;
use serde_json::{Map, Value};

use crate::builtin::ALL;
use crate::entry::Entry;
use crate::manifest::{Freedom, chart, document, namespace, stage};
use crate::values::merged;

/// Namespaces that every cluster has.
const GIVEN: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// What keeps an entry from being installed.
pub fn check(entry: &Entry) -> Result<(), Failure> {
    let name = &entry.name;
    let refused = |code: &str, summary: String, help: &str| Err(Failure::invalid(code, summary).pointer(entry.place()).help(help));
    match (&entry.manifests, &entry.chart) {
        (Some(_), Some(_)) => refused(
            "addons/kind",
            format!("addon {name} is made of manifests and of a chart"),
            "keep one of them, and make the other an addon of its own",
        ),
        // The host pins what it finds there in emhost.lock, which is worth nothing if anybody can put something else into its way.
        (Some(manifests), None) if manifests.contains("://") && scheme(manifests) != "https" => {
            let summary = format!("the manifests of addon {name} are at `{}://`", scheme(manifests));
            refused("addons/manifests", summary, "write `https://HOST/FILE.yaml`, or a file or folder such as `./mine/`")
        }
        (Some(_), None) if entry.namespace.is_some() || entry.privileged => {
            let summary = format!("addon {name} is made of manifests, which say themselves where they belong");
            refused("addons/namespace", summary, "leave `namespace` and `privileged` out, and add the Namespace to the manifests")
        }
        (None, Some(reference)) if reference.contains("://") && !["oci", "https"].contains(&scheme(reference)) => {
            let summary = format!("the chart of addon {name} is at `{}://`", scheme(reference));
            refused(
                "addons/chart",
                summary,
                "write `oci://HOST/PATH/CHART`, `https://HOST/PATH/CHART`, or a folder such as `./charts/mine`",
            )
        }
        (None, Some(_)) if entry.version.is_none() => {
            refused("addons/version", format!("addon {name} does not say which version of the chart"), "add for example `version: 1.2.3`")
        }
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (None, None) => Err(unknown(entry)),
    }
}

/// A name that says nothing to us, and says nothing more.
fn unknown(entry: &Entry) -> Failure {
    let known: Vec<&str> = ALL.iter().map(|addon| addon.name()).collect();
    let near = |known: &&&str| strsim::damerau_levenshtein(known, &entry.name) <= 2;
    let meant = known.iter().find(near).map(|near| format!("did you mean {near}? Otherwise ")).unwrap_or_default();
    Failure::invalid("addons/unknown", format!("no addon is known as {}", entry.name))
        .detail(format!("Known by name are {}.", known.join(", ")))
        .pointer(entry.place())
        .help(format!(
            "{meant}say what it is: `{{name: {0}, manifests: ./{0}/}}`, or `{{name: {0}, chart: oci://HOST/PATH/CHART, version: 1.2.3}}`",
            entry.name
        ))
}

fn scheme(reference: &str) -> &str {
    reference.split_once("://").map_or("", |(scheme, _)| scheme)
}

/// What is applied. What runs of it is for nobody here to know, so nothing is waited for.
pub fn render(entry: &Entry) -> Stage {
    let mut stage = stage(&entry.name);
    stage.sources.extend(entry.manifests.clone());
    if let (Some(reference), Some(version)) = (&entry.chart, &entry.version) {
        let home = entry.namespace.as_deref().unwrap_or(&entry.name);
        if !GIVEN.contains(&home) {
            let freedom = if entry.privileged { Freedom::Privileged } else { Freedom::Usual };
            stage.manifests.push(document(&namespace(home, freedom)));
        }
        let values = merged(Value::Object(Map::new()), &entry.values);
        stage.charts.push(chart(&entry.name, home, reference, version, &values));
    }
    stage
}
