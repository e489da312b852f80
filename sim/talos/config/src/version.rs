//! Which Talos reads a configuration.

use std::fmt;
use std::str::FromStr;

/// A release of Talos, such as v1.11.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Always 1 so far.
    pub major: u16,
    /// What decides which keys and kinds are known.
    pub minor: u16,
    /// The patch release.
    pub patch: u16,
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a Talos version such as v1.11.5")]
pub struct NotAVersion(String);

impl Version {
    /// The first release of a minor version.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Whether this release is of the given minor version or a later one.
    pub const fn since(self, major: u16, minor: u16) -> bool {
        self.major > major || self.major == major && self.minor >= minor
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    /// Reads `v1.11.5`, `1.11.5`, `v1.11` and `v1.12.0-rc.1` (as the release it leads to).
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let wrong = || NotAVersion(text.to_owned());
        let bare = text.strip_prefix('v').unwrap_or(text);
        let bare = bare.split(['-', '+']).next().unwrap_or(bare);
        let mut numbers = bare.split('.').map(|part| part.parse::<u16>().map_err(|_| wrong()));
        let major = numbers.next().ok_or_else(wrong)??;
        let minor = numbers.next().ok_or_else(wrong)??;
        let patch = numbers.next().transpose()?.unwrap_or(0);
        if numbers.next().is_some() { Err(wrong()) } else { Ok(Self { major, minor, patch }) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!("v1.11.5".parse(), Ok(Version::new(1, 11, 5)));
        assert_eq!("1.12".parse(), Ok(Version::new(1, 12, 0)));
        assert_eq!("v1.13.0-rc.1".parse(), Ok(Version::new(1, 13, 0)));
        assert!(Version::new(1, 9, 5) < Version::new(1, 10, 0));
        for wrong in ["", "v1", "one.two", "v1.2.3.4", "v1.-2"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
        assert!(Version::new(1, 12, 1).since(1, 12) && !Version::new(1, 11, 9).since(1, 12));
    }
}
