//! What a component is, read from its bytes and without running any of it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::contract::{self, ContractError, Shape};
use super::manifest::{Manifest, ManifestError};

/// Everything the bytes of a plugin tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// `sha256:` and the hexadecimal digest of the bytes.
    pub digest: String,
    /// How many bytes there are.
    pub size: u64,
    /// What it says of itself.
    pub manifest: Manifest,
    /// What it fills and imports.
    pub shape: Shape,
    /// What its imports amount to.
    pub capabilities: Vec<Capability>,
}

/// Why a component is not a plugin this host can use. Reads on from the name of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// It is not a component, or not for this host.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// Its manifest is missing or wrong.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// Reads a component.
///
/// # Errors
/// When it is not a plugin this host can use.
pub fn inspect(component: &[u8]) -> Result<Inspection, InspectError> {
    let shape = contract::check(component)?;
    let manifest = Manifest::read(component)?;
    Ok(Inspection { digest: digest(component), size: component.len() as u64, manifest, capabilities: Capability::of(&shape), shape })
}

/// `sha256:` and the hexadecimal digest of the bytes.
pub(super) fn digest(component: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(component))
}

/// Something a plugin can do because of what it imports. Whether it may is granted elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Structured logging.
    Log,
    /// The running call: progress, settings.
    Operations,
    /// The cluster and its nodes.
    Inventory,
    /// Secrets as handles.
    Secrets,
    /// The bytes of secrets.
    Reveal,
    /// Key work of the host.
    Keys,
    /// gRPC through the host.
    Grpc,
    /// Large bytes kept by the host.
    Archives,
    /// HTTP through the host.
    Http,
    /// The time.
    Clocks,
    /// Random numbers.
    Random,
    /// Standard input, output and error.
    Stdio,
    /// Files.
    Filesystem,
    /// Raw sockets.
    Sockets,
    /// Environment variables and arguments.
    Environment,
}

impl Capability {
    /// Every capability, ours first.
    pub const ALL: [Self; 15] = [
        Self::Log,
        Self::Operations,
        Self::Inventory,
        Self::Secrets,
        Self::Reveal,
        Self::Keys,
        Self::Grpc,
        Self::Archives,
        Self::Http,
        Self::Clocks,
        Self::Random,
        Self::Stdio,
        Self::Filesystem,
        Self::Sockets,
        Self::Environment,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Operations => "operations",
            Self::Inventory => "inventory",
            Self::Secrets => "secrets",
            Self::Reveal => "reveal",
            Self::Keys => "keys",
            Self::Grpc => "grpc",
            Self::Archives => "archives",
            Self::Http => "http",
            Self::Clocks => "clocks",
            Self::Random => "random",
            Self::Stdio => "stdio",
            Self::Filesystem => "filesystem",
            Self::Sockets => "sockets",
            Self::Environment => "environment",
        }
    }

    /// What it comes down to, in a line for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Log => "writes to the log",
            Self::Operations => "reports progress and reads its own settings",
            Self::Inventory => "reads the cluster and its nodes",
            Self::Secrets => "holds granted secrets without seeing them",
            Self::Reveal => "reads the values of granted secrets",
            Self::Keys => "has the host make keys and sign with them",
            Self::Grpc => "calls gRPC services in granted slots",
            Self::Archives => "keeps large data with the host, encrypted",
            Self::Http => "sends HTTP requests to granted slots",
            Self::Clocks => "reads the time",
            Self::Random => "draws random numbers",
            Self::Stdio => "writes to standard error, which goes to the log",
            Self::Filesystem => "asks for files; gets none",
            Self::Sockets => "asks for raw sockets; gets none",
            Self::Environment => "asks for environment variables; gets none",
        }
    }

    fn of(shape: &Shape) -> Vec<Self> {
        let found: BTreeSet<_> = shape.imports.iter().filter_map(|i| Self::from_import(i)).collect();
        found.into_iter().collect()
    }

    /// None for what carries nothing by itself: types, streams, the exit of a process.
    fn from_import(import: &str) -> Option<Self> {
        let (name, _) = import.split_once('@')?;
        let (package, interface) = name.split_once('/')?;
        match (package, interface) {
            ("wasi:http", _) => Some(Self::Http),
            ("wasi:clocks", _) => Some(Self::Clocks),
            ("wasi:random", _) => Some(Self::Random),
            ("wasi:filesystem", _) => Some(Self::Filesystem),
            ("wasi:sockets", _) => Some(Self::Sockets),
            ("wasi:cli", "environment") => Some(Self::Environment),
            ("wasi:cli", "exit") => None,
            ("wasi:cli", _) => Some(Self::Stdio),
            (contract::PACKAGE, _) => Self::ALL.into_iter().find(|c| c.as_str() == interface),
            _ => None,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plugins::contract::tests::{component, plugin};
    use crate::plugins::manifest::SECTION;
    use crate::plugins::manifest::tests::with_section;

    const MANIFEST: &[u8] = br#"{"name":"sample","version":"1.0.0"}"#;

    #[test]
    fn a_plugin() {
        let bytes = with_section(plugin(), SECTION, MANIFEST);
        let inspection = inspect(&bytes).unwrap();
        assert_eq!(inspection.size, bytes.len() as u64);
        assert_eq!(inspection.digest.len(), "sha256:".len() + 64);
        assert_ne!(inspection.digest, inspect(&with_section(bytes, "x", b"")).unwrap().digest);
        let json = serde_json::to_value(&inspection).unwrap();
        assert_eq!(json["manifest"]["version"], "1.0.0");
        assert_eq!(json["shape"]["roles"][0], "provisioner");
        assert_eq!(json["shape"]["contract"], contract::CONTRACT);
        assert_eq!(json["capabilities"][7], "archives");
    }

    #[test]
    fn each_part_can_fail() {
        assert!(matches!(inspect(b""), Err(InspectError::Contract(_))));
        assert_eq!(inspect(&plugin()), Err(ManifestError::Missing.into()));
    }

    /// An interface that is added to the contract has to show up among the capabilities.
    #[test]
    fn every_interface_of_the_host_is_a_capability() {
        let shape = contract::check(&plugin()).unwrap();
        let ours = |import: &&String| import.starts_with(contract::PACKAGE);
        for import in shape.imports.iter().filter(ours) {
            let types = import.starts_with("emhost:plugin/types@");
            assert_eq!(Capability::from_import(import).is_none(), types, "{import}");
        }
        let all = &Capability::ALL[..=Capability::Archives as usize];
        assert_eq!(Capability::of(&shape), all);
    }

    #[test]
    fn capabilities_of_wasi() {
        let capability = |import| Capability::from_import(import).map(Capability::as_str);
        for (import, expected) in [
            ("wasi:http/outgoing-handler@0.2.6", Some("http")),
            ("wasi:clocks/wall-clock@0.2.6", Some("clocks")),
            ("wasi:random/insecure-seed@0.2.0", Some("random")),
            ("wasi:cli/stderr@0.2.6", Some("stdio")),
            ("wasi:cli/terminal-input@0.2.6", Some("stdio")),
            ("wasi:cli/environment@0.2.6", Some("environment")),
            ("wasi:cli/exit@0.2.6", None),
            ("wasi:filesystem/preopens@0.2.6", Some("filesystem")),
            ("wasi:sockets/tcp@0.2.6", Some("sockets")),
            ("wasi:io/poll@0.2.6", None),
            ("acme:foo/http@0.2.6", None),
        ] {
            assert_eq!(capability(import), expected, "{import}");
        }
    }

    #[test]
    fn a_plugin_that_imports_nothing_of_use() {
        let world = "world test { export lifecycle; export configurator; }";
        let bytes = with_section(component(world, str::to_owned), SECTION, MANIFEST);
        assert_eq!(inspect(&bytes).unwrap().capabilities, [Capability::Operations, Capability::Inventory]);
    }
}
