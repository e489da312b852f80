//! Which Talos reads a configuration, and so what may be in it.

use std::fmt;

use emhost_talos_schema::Version;

/// The first and the last minor version whose configurations are made here.
const KNOWN: std::ops::RangeInclusive<u16> = 8..=13;

/// A version of Talos whose configurations are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contract(Version);

/// A version of Talos for which no configuration is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Not a version at all.
    #[error("`{0}` is not a version of Talos such as v1.11.5")]
    NotAVersion(String),
    /// Released before the first one that is known.
    #[error("Talos {0} is too old: configurations are made for v1.8 to v1.13")]
    Old(Version),
    /// Released after the last one that is known.
    #[error("Talos {0} is newer than the versions that configurations are made for, v1.8 to v1.13")]
    New(Version),
}

impl Contract {
    /// The contract of a release such as `v1.11.5`.
    ///
    /// # Errors
    /// For what is no version, and for versions that are not known.
    pub fn of(release: &str) -> Result<Self, Unsupported> {
        let version: Version = release.parse().map_err(|_| Unsupported::NotAVersion(release.to_owned()))?;
        if version.major == 1 && KNOWN.contains(&version.minor) {
            Ok(Self(version))
        } else if version.major < 1 || version.major == 1 && version.minor < *KNOWN.start() {
            Err(Unsupported::Old(version))
        } else {
            Err(Unsupported::New(version))
        }
    }

    /// The release.
    pub fn version(self) -> Version {
        self.0
    }

    /// The versions of Kubernetes that it runs, as minor versions of 1.
    pub fn kubernetes(self) -> std::ops::RangeInclusive<u16> {
        let (first, last) = emhost_talos_schema::kubernetes_range(self.0);
        first..=last
    }

    /// Hostname, links, resolvers and time servers are documents of their own.
    pub(crate) fn network_documents(self) -> bool {
        self.0.since(1, 12)
    }

    /// `machine.network` is there even if it says nothing.
    pub(crate) fn empty_network(self) -> bool {
        !self.0.since(1, 13)
    }

    /// What is always on, or gone, is still written.
    pub(crate) fn old_switches(self) -> bool {
        !self.0.since(1, 12)
    }

    /// The host of the endpoint is written among the names of the API server.
    pub(crate) fn endpoint_among_names(self) -> bool {
        !self.0.since(1, 12)
    }

    /// The boot loader takes kernel arguments from the image.
    pub(crate) fn arguments_of_the_image(self) -> bool {
        self.0.since(1, 12)
    }

    /// The installer carries the kernel arguments of its schematic.
    pub(crate) fn arguments_in_the_installer(self) -> bool {
        self.0.since(1, 10)
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_not_known_are_refused_with_a_reason() {
        for known in ["v1.8.0", "1.9.5", "v1.10", "v1.11.5", "v1.12.1", "v1.13.0-rc.1"] {
            assert!(Contract::of(known).is_ok(), "{known}");
        }
        let refusal = |release: &str| Contract::of(release).unwrap_err().to_string();
        assert_eq!(refusal("v1.7.6"), "Talos v1.7.6 is too old: configurations are made for v1.8 to v1.13");
        assert_eq!(refusal("v1.14.0"), "Talos v1.14.0 is newer than the versions that configurations are made for, v1.8 to v1.13");
        assert_eq!(refusal("v2.0.0"), "Talos v2.0.0 is newer than the versions that configurations are made for, v1.8 to v1.13");
        assert_eq!(refusal("latest"), "`latest` is not a version of Talos such as v1.11.5");
    }

    #[test]
    fn a_version_runs_its_versions_of_kubernetes() {
        assert_eq!(Contract::of("v1.11.5").unwrap().kubernetes(), 29..=34);
    }
}
