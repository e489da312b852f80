//! The little of an OCI registry that says which installer a reference stands for.

use emhost_sim_kit::Image;
use http::StatusCode;
use serde_json::json;

use super::answer::Answer;
use super::catalogue::{self, Version, digest};
use super::{Factory, build, installer};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

impl Factory {
    /// `/v2/<image>/<schematic>/{manifests,blobs}/<reference>`.
    pub(super) fn registry(&self, path: &[&str]) -> Answer {
        let [image, id, resource @ ("manifests" | "blobs"), reference] = path else {
            return if path.is_empty() || path == [""] { Answer::new(StatusCode::OK) } else { Answer::missing("unknown registry route") };
        };
        let Some(schematic) = self.schematic(id) else { return Answer::missing(&format!("schematic ID {id:?} not found")) };
        let Some((platform, secure_boot)) = installer::named(image) else {
            return Answer::text(StatusCode::BAD_REQUEST, &format!("invalid image: {image}"));
        };
        let latest = catalogue::versions().last().copied();
        // What is known by its digest only is found among everything this schematic could be.
        let wanted = match *reference {
            "latest" => latest.into_iter().collect(),
            reference if reference.starts_with("sha256:") => catalogue::versions(),
            reference => match Version::parse(reference).filter(|_| reference.starts_with('v')) {
                Some(version) if version.is_released() => vec![version],
                Some(version) => return Answer::missing(&format!("version {version} is not available")),
                None => return Answer::missing("manifest unknown"),
            },
        };
        for version in wanted {
            let built = match build::installer(platform, secure_boot, id, &schematic, version) {
                Ok(built) => built,
                Err(_) if reference.starts_with("sha256:") => continue,
                Err(error) => return Answer::text(StatusCode::BAD_REQUEST, &error.to_string()),
            };
            let (manifest, config) = documents(&built);
            let (body, kind) = if *resource == "manifests" { (manifest, MANIFEST) } else { (config, CONFIG) };
            let own = digest(&body);
            if !reference.starts_with("sha256:") || *reference == own {
                return Answer::new(StatusCode::OK).header("content-type", kind).header("docker-content-digest", &own).body(body);
            }
        }
        Answer::missing("blob unknown")
    }
}

/// Manifest and configuration of an installer.
fn documents(image: &Image) -> (String, String) {
    let labels = json!({ "org.opencontainers.image.version": image.version, "dev.talos.platform": image.platform.name(), "dev.talos.schematic": image.schematic, "dev.talos.secureboot": image.secure_boot.to_string() });
    let config = json!({ "architecture": image.arch, "os": "linux", "config": { "Labels": labels }, "rootfs": { "type": "layers", "diff_ids": [] } });
    let config = config.to_string();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": CONFIG, "digest": digest(&config), "size": config.len() },
        "layers": [],
    });
    (manifest.to_string(), config)
}
