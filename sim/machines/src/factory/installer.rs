//! Which image an installer's reference stands for: what a Talos upgrade writes.

use emhost_sim_kit::{Image, Medium, Platform};

use super::catalogue::Version;
use super::{Factory, build};

/// Why a reference leads to no installer. The text is what a node would say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to resolve reference {reference:?}: {why}")]
pub struct NoInstaller {
    /// The reference.
    pub reference: String,
    /// Why.
    pub why: String,
}

impl Factory {
    /// The image an upgrade to this reference writes: `factory.talos.dev/nocloud-installer/<schematic>:v1.11.5`,
    /// `ghcr.io/siderolabs/installer:v1.11.5`, or this factory under its own address.
    ///
    /// An image of the official installer has no schematic: its id is empty.
    ///
    /// # Errors
    /// No registry has it, or the factory would not build it.
    pub fn installer(&self, reference: &str) -> Result<Image, NoInstaller> {
        self.resolve(reference).map_err(|why| NoInstaller { reference: reference.to_owned(), why })
    }

    /// The same for a node that runs `current`: the architecture stays, and up to Talos 1.9 the platform too,
    /// because before 1.10 an installer has none of its own.
    ///
    /// # Errors
    /// No registry has it, or the factory would not build it.
    pub fn upgrade(&self, reference: &str, current: &Image) -> Result<Image, NoInstaller> {
        let image = self.installer(reference)?;
        let own = Version::parse(&image.version).is_some_and(|version| version.at_least(10));
        let platform = if own { image.platform } else { current.platform };
        Ok(Image { arch: current.arch.clone(), platform, ..image })
    }

    fn resolve(&self, reference: &str) -> Result<Image, String> {
        let (name, _digest) = reference.split_once('@').unwrap_or((reference, ""));
        let (host, path) = name.split_once('/').ok_or("invalid reference format")?;
        let (path, tag) = path.rsplit_once(':').ok_or_else(|| format!("{host}/{path}:latest: not found"))?;
        let missing = || format!("{host}/{path}:{tag}: not found");
        let version = Version::parse(tag).filter(|_| tag.starts_with('v')).filter(|version| version.is_released()).ok_or_else(missing)?;
        let ours = self.is_ours(host);
        match (host, path) {
            ("ghcr.io", "siderolabs/installer") => Ok(official(version)),
            (_, "siderolabs/installer") if ours => Ok(official(version)),
            _ if ours => {
                let (image, id) = path.split_once('/').ok_or_else(missing)?;
                let (platform, secure_boot) = named(image).ok_or_else(missing)?;
                let schematic =
                    self.schematic(id).ok_or_else(|| format!("unexpected status: 404 Not Found: schematic ID {id:?} not found"))?;
                build::installer(platform, secure_boot, id, &schematic, version)
                    .map_err(|why| format!("unexpected status: 400 Bad Request: {why}"))
            }
            ("ghcr.io" | "factory.talos.dev", _) => Err(missing()),
            _ => Err(format!("dial tcp: lookup {host}: no such host")),
        }
    }
}

/// Platform and secure boot of an installer's name; no platform where it names none.
pub(super) fn named(image: &str) -> Option<(&str, bool)> {
    let (name, secure_boot) = image.strip_suffix("-secureboot").map_or((image, false), |name| (name, true));
    let platform = if name == "installer" { "" } else { name.strip_suffix("-installer")? };
    Some((platform, secure_boot))
}

fn official(version: Version) -> Image {
    Image {
        version: format!("v{version}"),
        platform: Platform::Metal,
        arch: "amd64".into(),
        medium: Medium::Disk,
        secure_boot: false,
        schematic: String::new(),
        customization: String::new(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        meta: std::collections::BTreeMap::new(),
    }
}
