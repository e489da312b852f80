//! The configuration a node is to have, the one it has, and what that says of versions.

use emhost_sdk::{Document, Failure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::api::Api;

/// The configuration a node is to have.
pub struct Wanted {
    /// Its text.
    pub text: String,
    /// SHA-256 of it.
    pub digest: String,
}

impl Wanted {
    /// Takes the one document there is.
    pub fn of(config: Vec<Document>) -> Result<Self, Failure> {
        let [document] = <[Document; 1]>::try_from(config).map_err(|other| {
            Failure::invalid("talos/config", format!("a Talos node takes one configuration, not {}", other.len()))
                .help("use a configurator for Talos, or leave `plugins.configurator` out of site.yaml")
        })?;
        Ok(Self { digest: digest(&document.body), text: document.body })
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().fold(String::from("sha256:"), |mut text, byte| {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The configuration in force on a node.
pub fn live(api: &Api) -> Result<String, Failure> {
    let live = api.machine_config("v1alpha1").map_err(api.failed("read the configuration"))?;
    live.ok_or_else(|| {
        Failure::unavailable("talos/no-config", format!("{} answers, and shows no configuration yet", api.node))
            .help(format!("wait until {} has booted, then apply again", api.node))
    })
}

/// The version of Kubernetes that a configuration asks for, by the image of the kubelet.
pub fn kubernetes_version(config: &str) -> Option<String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(config).ok()?;
    let image = documents.iter().find_map(|document| document["machine"]["kubelet"]["image"].as_str())?;
    // A digest after the tag, or a port in the registry's name, is no tag.
    let image = image.split('@').next().unwrap_or_default();
    let (_, tag) = image.rsplit_once(':')?;
    (!tag.contains('/')).then(|| tag.to_owned())
}

/// `v1.11.5`, whether or not it is written with the letter.
pub fn same_version(one: &str, other: &str) -> bool {
    one.trim_start_matches('v') == other.trim_start_matches('v')
}

/// The schematic of the image a node runs, if the Image Factory made it.
pub fn schematic(api: &Api) -> Result<Option<String>, Failure> {
    Ok(schematic_of(&api.list("runtime", "ExtensionStatuses.runtime.talos.dev")?))
}

fn schematic_of(extensions: &[Value]) -> Option<String> {
    let found = extensions.iter().find(|extension| extension["metadata"]["name"] == "schematic")?;
    found["metadata"]["version"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(body: &str) -> Document {
        Document { name: "a.yaml".to_owned(), media_type: "application/yaml".to_owned(), body: body.to_owned(), sensitive: true }
    }

    #[test]
    fn a_node_takes_one_document() {
        let wanted = Wanted::of(vec![document("abc")]).unwrap_or_else(|_| panic!("one document"));
        assert_eq!(wanted.digest, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(Wanted::of(Vec::new()).is_err() && Wanted::of(vec![document("a"), document("b")]).is_err());
    }

    #[test]
    fn the_kubelet_says_which_kubernetes() {
        let config = |image: &str| format!("version: v1alpha1\nmachine: {{kubelet: {{image: '{image}'}}}}\n---\nkind: HostnameConfig\n");
        for (image, version) in [
            ("ghcr.io/siderolabs/kubelet:v1.34.1", Some("v1.34.1")),
            ("localhost:5000/kubelet:v1.33.0@sha256:00", Some("v1.33.0")),
            ("localhost:5000/kubelet", None),
        ] {
            assert_eq!(kubernetes_version(&config(image)).as_deref(), version, "{image}");
        }
        assert_eq!(kubernetes_version("machine: {}\n"), None);
        assert!(same_version("v1.34.1", "1.34.1") && !same_version("v1.34.1", "v1.34.2"));
    }

    #[test]
    fn the_schematic_is_an_extension() {
        let extension = |name: &str, version: &str| serde_json::json!({"metadata": {"name": name, "version": version}});
        let all = [extension("qemu-guest-agent", "9.2"), extension("schematic", "ce4c98")];
        assert_eq!(schematic_of(&all).as_deref(), Some("ce4c98"));
        assert_eq!(schematic_of(&all[..1]), None);
    }
}
