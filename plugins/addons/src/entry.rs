//! The entries of `addons:` in cluster.yaml.

use emhost_sdk::{Attribute, Failure};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One entry. A plain name is one that says nothing more.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    pub name: String,
    /// Of the chart, or of the image where there is no chart.
    pub version: Option<String>,
    /// Where the chart is, where it is not where emhost knows it to be.
    pub chart: Option<String>,
    pub values: Map<String, Value>,
    pub manifests: Option<String>,
    pub namespace: Option<String>,
    /// Whether pods in its namespace may do what Talos lets none do by default.
    pub privileged: bool,
}

impl Entry {
    /// One that says nothing but its name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Where it is written, for a person.
    pub fn place(&self) -> String {
        format!("cluster.yaml addons {}", self.name)
    }
}

/// Every entry, in the order in which they are written.
pub fn list(attributes: &[Attribute]) -> Result<Vec<Entry>, Failure> {
    let Some(written) = attributes.iter().find(|attribute| attribute.key == "addons") else { return Ok(Vec::new()) };
    let strange = |why: String| {
        Failure::invalid("addons/list", format!("`addons` in cluster.yaml cannot be read: {why}"))
            .pointer("cluster.yaml addons")
            .help("write a list of names, and of `{name, version, values}`, `{name, chart, version}` or `{name, manifests}`")
    };
    let all: Vec<Value> = serde_json::from_str(&written.value).map_err(|error| strange(error.to_string()))?;
    let read = |(index, value): (usize, Value)| match value {
        Value::String(name) => Ok(Entry::named(&name)),
        other => serde_json::from_value(other).map_err(|error| strange(format!("entry {}: {error}", index + 1))),
    };
    all.into_iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>, Failure> {
        list(&[Attribute { key: "addons".to_owned(), value: text.to_owned() }])
    }

    #[test]
    fn a_name_is_an_entry_that_says_nothing_more() {
        let all = read(r#"["metrics-server", {"name": "cilium", "version": "1.18.2", "values": {"debug": {"enabled": true}}}]"#).unwrap();
        assert_eq!((all[0].name.as_str(), all[1].version.as_deref()), ("metrics-server", Some("1.18.2")));
        assert_eq!(all[1].values["debug"]["enabled"], true);
        assert_eq!(list(&[]).unwrap(), []);
    }

    #[test]
    fn what_is_no_entry_is_told_by_its_number() {
        for (text, why) in [(r#"["a", {"name": "b", "colour": 1}]"#, "entry 2: unknown field `colour`"), ("7", "invalid type")] {
            let failure = read(text).unwrap_err();
            assert!(failure.diagnostics[0].summary.contains(why), "{failure:?}");
        }
    }
}
