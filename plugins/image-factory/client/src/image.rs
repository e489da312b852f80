//! The file that fulfils what a node asks of its image.

use emhost_schematic::Schematic;
use emhost_sdk::types::{Addressing, BootBase, Delivery, ImageFormat};
use emhost_sdk::{Artifact, Attribute, Boot};
use serde::Deserialize;

use crate::version::Version;
use crate::wanted::Wanted;

/// Characters of a schematic's id that tell files apart.
const SHORT: usize = 12;

/// Where Talos takes itself to run, which decides how it finds its configuration and address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Reads cloud-init's volumes.
    #[default]
    Nocloud,
    /// Knows nothing of the machine it runs on.
    Metal,
}

impl Platform {
    /// As files and installers are named.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nocloud => "nocloud",
            Self::Metal => "metal",
        }
    }
}

/// The kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A disk that a machine starts from.
    Disk,
    /// A CD that runs from memory and installs to a disk.
    Iso,
}

/// An image of the factory.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// What it is made of.
    pub schematic: Schematic,
    /// The version of Talos.
    pub version: Version,
    /// The platform it is for.
    pub platform: Platform,
    /// The kind of file.
    pub medium: Medium,
    /// As images are named.
    pub architecture: &'static str,
    /// Whether it is the signed kind.
    pub secure_boot: bool,
}

impl Image {
    /// The image of this kind for what is wanted.
    pub fn new(wanted: &Wanted, platform: Platform, medium: Medium) -> Self {
        Self {
            schematic: wanted.schematic(),
            version: wanted.version.clone(),
            platform,
            medium,
            architecture: wanted.architecture,
            secure_boot: wanted.secure_boot,
        }
    }

    fn signed(&self) -> &'static str {
        if self.secure_boot { "-secureboot" } else { "" }
    }

    /// Names the content, for people too: version, schematic, and which of its files.
    pub fn id(&self) -> String {
        let (version, schematic) = (&self.version, self.schematic.id());
        format!("talos-{version}-{}-{}-{}{}", &schematic[..SHORT], self.platform.name(), self.architecture, self.signed())
    }

    fn extension(&self) -> &'static str {
        match self.medium {
            Medium::Disk => "qcow2",
            Medium::Iso => "iso",
        }
    }

    /// The file, and where it is served.
    pub fn artifact(&self) -> Artifact {
        let (schematic, version, extension) = (self.schematic.id(), &self.version, self.extension());
        let file = format!("{}-{}{}.{extension}", self.platform.name(), self.architecture, self.signed());
        Artifact {
            name: format!("{}.{extension}", self.id()),
            url: format!("https://image-factory.emhost.internal/image/{schematic}/{version}/{file}"),
            format: match self.medium {
                Medium::Disk => ImageFormat::Qcow2,
                Medium::Iso => ImageFormat::Iso,
            },
            digest: None,
        }
    }

    /// What the machine installs and upgrades from. Before 1.10 an installer has no platform of its own.
    pub fn installer(&self, registry: &str) -> String {
        let (schematic, version, signed) = (self.schematic.id(), &self.version, self.signed());
        let platform = if version.at_least(10) { format!("{}-", self.platform.name()) } else { String::new() };
        format!("{registry}/{platform}installer{signed}/{schematic}:{version}")
    }

    /// Everything that a machine needs to start from this image.
    pub fn boot(&self, registry: &str, addressing: Addressing, delivery: Delivery) -> Boot {
        let artifact = self.artifact();
        Boot {
            id: self.id(),
            os_version: self.version.to_string(),
            base: match self.medium {
                Medium::Disk => BootBase::DiskImage(artifact),
                Medium::Iso => BootBase::Installer(artifact),
            },
            addressing,
            delivery,
            installer: self.installer(registry),
            attributes: self.attributes(),
        }
    }

    /// What the other roles are told about it.
    pub fn attributes(&self) -> Vec<Attribute> {
        let attribute = |key: &str, value: &str| Attribute { key: key.to_owned(), value: value.to_owned() };
        vec![attribute("platform", self.platform.name()), attribute("schematic", &self.schematic.id())]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wanted::tests::wanted;

    const AGENT: &str = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";

    fn image(version: &str) -> Image {
        let wanted = Wanted { version: Version::parse(version).unwrap(), ..wanted(&["siderolabs/qemu-guest-agent"], &[]) };
        Image::new(&wanted, Platform::Nocloud, Medium::Disk)
    }

    #[test]
    fn a_file_is_named_after_its_content() {
        let artifact = image("v1.11.5").artifact();
        assert_eq!(artifact.name, "talos-v1.11.5-ce4c980550dd-nocloud-amd64.qcow2");
        assert_eq!(artifact.url, format!("https://image-factory.emhost.internal/image/{AGENT}/v1.11.5/nocloud-amd64.qcow2"));
        let signed = Image { secure_boot: true, medium: Medium::Iso, platform: Platform::Metal, ..image("v1.11.5") };
        assert_eq!(signed.artifact().name, "talos-v1.11.5-ce4c980550dd-metal-amd64-secureboot.iso");
        assert!(signed.artifact().url.ends_with("/v1.11.5/metal-amd64-secureboot.iso"), "{}", signed.artifact().url);
    }

    #[test]
    fn an_installer_is_of_the_platform_of_its_image() {
        assert_eq!(image("v1.11.5").installer(crate::REGISTRY), format!("factory.talos.dev/nocloud-installer/{AGENT}:v1.11.5"));
        assert_eq!(image("v1.9.6").installer("registry.example:5000"), format!("registry.example:5000/installer/{AGENT}:v1.9.6"));
        let signed = Image { secure_boot: true, platform: Platform::Metal, ..image("v1.10.0") };
        assert_eq!(signed.installer(crate::REGISTRY), format!("factory.talos.dev/metal-installer-secureboot/{AGENT}:v1.10.0"));
    }
}
