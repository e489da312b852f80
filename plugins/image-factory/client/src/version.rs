//! Versions of Talos.

use std::fmt;

use emhost_sdk::Failure;

/// The oldest minor version of Talos 1 that boots here: before it, images and configurations were others.
const OLDEST: u64 = 8;

/// A version of Talos, such as `v1.11.5` or `v1.12.0-beta.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: (u64, u64, u64),
    /// What comes before the release itself; empty for a release.
    before: String,
}

impl Version {
    /// Reads a version, with or without the `v`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, before) = text.split_once('-').map_or((text, ""), |(numbers, before)| (numbers, before));
        let mut parts = numbers.split('.').map(|part| part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit())));
        let numbers = (parts.next()??, parts.next()??, parts.next()??);
        let plain = before.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        (parts.next().is_none() && plain && !text.ends_with('-')).then(|| Self { numbers, before: before.to_owned() })
    }

    /// Reads the version that a cluster is to run.
    ///
    /// # Errors
    /// It is none, or one that is not booted this way.
    pub fn wanted(text: &str) -> Result<Self, Failure> {
        let refused = |why: String| {
            Failure::invalid("boot/version", why)
                .pointer("/os-version")
                .help(format!("set `talos_version` in cluster.yaml to a release of Talos from v1.{OLDEST} on, such as v1.11.5"))
        };
        let version = Self::parse(text).ok_or_else(|| refused(format!("`{text}` is not a version of Talos")))?;
        if version.is_supported() {
            return Ok(version);
        }
        let known = format!("Talos {version} is not supported: emhost boots Talos 1.{OLDEST} and later versions of Talos 1");
        Err(refused(known))
    }

    /// Whether emhost boots it.
    pub fn is_supported(&self) -> bool {
        self.numbers.0 == 1 && self.numbers.1 >= OLDEST
    }

    /// Whether it is of this minor version of Talos 1 or later.
    pub fn at_least(&self, minor: u64) -> bool {
        (self.numbers.0, self.numbers.1) >= (1, minor)
    }

    /// The one of these that is nearest to this: the newest release of the same minor version, else the newest of all.
    pub(crate) fn nearest(&self, known: &[Self]) -> Option<Self> {
        let releases = || known.iter().filter(|known| known.before.is_empty() && known.is_supported());
        let same = releases().filter(|known| known.numbers.1 == self.numbers.1).max_by_key(|known| known.numbers);
        same.or_else(|| releases().max_by_key(|known| known.numbers)).cloned()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(f, "v{major}.{minor}.{patch}")?;
        if self.before.is_empty() { Ok(()) } else { write!(f, "-{}", self.before) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_are_read_and_written() {
        for text in ["v1.11.5", "v1.12.0-beta.1"] {
            assert_eq!(Version::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Version::parse("1.9.0").unwrap().to_string(), "v1.9.0");
        for wrong in ["", "v1.11", "v1.11.5.1", "1.x.0", "v1.11.+5", "v1.11.5-", "v1.11.5-a/b", "latest"] {
            assert_eq!(Version::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_where_it_is_written() {
        for (text, why) in [("v1.7.6", "Talos v1.7.6 is not supported"), ("v2.0.0", "Talos v2.0.0"), ("new", "`new` is not a version")] {
            let failure = Version::wanted(text).unwrap_err();
            assert!(failure.diagnostics[0].summary.starts_with(why), "{failure:?}");
            assert_eq!(failure.diagnostics[0].pointer.as_deref(), Some("/os-version"));
        }
    }

    #[test]
    fn the_nearest_is_of_the_same_minor_version_where_there_is_one() {
        let known: Vec<Version> =
            ["v1.7.9", "v1.11.5", "v1.11.10", "v1.12.1", "v1.13.0-alpha.1"].iter().map(|text| Version::parse(text).unwrap()).collect();
        let near = |text| Version::parse(text).unwrap().nearest(&known).unwrap().to_string();
        assert_eq!((near("v1.11.99"), near("v1.14.0"), near("v1.13.1")), ("v1.11.10".into(), "v1.12.1".into(), "v1.12.1".into()));
    }
}
