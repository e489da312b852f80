//! Which loopback address stands for which address of the site.
//!
//! An address a.b.c.d of the site is dialled as 127.N.c.d. N belongs to one
//! site on this computer, so that several run side by side.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Where the Proxmox API of every site answers.
const API_PORT: u16 = 8006;

/// The addresses of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    number: u8,
}

impl Network {
    /// The network with this number, 1 to 254.
    pub fn new(number: u8) -> Self {
        Self { number }
    }

    /// N of 127.N.c.d.
    pub fn number(self) -> u8 {
        self.number
    }

    /// Where an address of the site is dialled. A loopback address of this site stands for itself.
    pub fn dial(self, address: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, d] = address.octets();
        if a == 127 && b == self.number { address } else { Ipv4Addr::new(127, self.number, c, d) }
    }

    /// Whether two addresses are dialled the same way.
    pub fn same(self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        self.dial(one) == self.dial(other)
    }

    /// An address of the site's own services: the last /24.
    pub fn service(self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.number, 255, last)
    }
}

/// Claims a number for the site in this folder; the same folder gets the same one again, and otherwise the one it `had` before
/// if that is free. `claims` is a folder shared by every site of this user.
///
/// # Errors
/// The claims cannot be read or written, or all numbers are taken.
pub fn claim(claims: &Path, site: &Path, had: Option<u8>) -> io::Result<Network> {
    claim_among(claims, site, had, is_silent)
}

/// What [`claim`] does, told by `is_silent` which numbers nobody uses.
fn claim_among(claims: &Path, site: &Path, had: Option<u8>, is_silent: impl Fn(u8) -> bool) -> io::Result<Network> {
    std::fs::create_dir_all(claims)?;
    let site = site.canonicalize()?;
    let gate = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(claims.join("lock"))?;
    gate.lock()?;
    let owner = |number: u8| -> io::Result<Option<PathBuf>> {
        match std::fs::read_to_string(claims.join(number.to_string())) {
            Ok(text) => Ok(Some(PathBuf::from(text.trim_end()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    };
    let mut free = None;
    for number in had.into_iter().chain(1..=254) {
        match owner(number)? {
            Some(path) if path == site => return Ok(Network::new(number)),
            Some(path) if path.exists() => {}
            // A site that is gone leaves its number.
            _ => free = free.or_else(|| is_silent(number).then_some(number)),
        }
    }
    let number = free.ok_or_else(|| io::Error::other("254 simulated sites exist already; `emhost sim reset` frees one"))?;
    std::fs::write(claims.join(number.to_string()), format!("{}\n", site.display()))?;
    Ok(Network::new(number))
}

/// Where the state of simulated sites is while tests run: one folder for all tests of this user, so that sites which run at once
/// never share addresses.
pub fn state_of_tests() -> PathBuf {
    std::env::temp_dir().join("emhost-test-state")
}

/// The claims in [`state_of_tests`].
pub fn claims_of_tests() -> PathBuf {
    state_of_tests().join("emhost/sim")
}

/// Whether nobody is at the first address of a site. The claims of another user do not say so.
fn is_silent(number: u8) -> bool {
    TcpListener::bind((Network::new(number).service(1), API_PORT)).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A folder with the claims and the folders of some sites. No test here depends on who else runs on this computer.
    struct Claims(tempfile::TempDir);

    impl Claims {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn claim(&self, site: &str, had: Option<u8>, used: &[u8]) -> u8 {
            let folder = self.0.path().join(site);
            std::fs::create_dir_all(&folder).unwrap();
            claim_among(&self.0.path().join("claims"), &folder, had, |number| !used.contains(&number)).unwrap().number()
        }

        fn remove(&self, folder: &str) {
            std::fs::remove_dir_all(self.0.path().join(folder)).unwrap();
        }
    }

    #[test]
    fn sites_never_share_a_number_and_keep_theirs() {
        let claims = Claims::new();
        assert_eq!((claims.claim("one", None, &[]), claims.claim("two", None, &[])), (1, 2));
        assert_eq!(claims.claim("one", None, &[]), 1);
        claims.remove("one");
        assert_eq!(claims.claim("three", None, &[]), 1, "a site that is gone leaves its number");
        claims.remove("claims");
        assert_eq!(claims.claim("two", Some(2), &[]), 2, "claims that are gone are made again");
        assert_eq!(claims.claim("three", Some(2), &[]), 1, "unless somebody has the number by now");
    }

    #[test]
    fn a_number_at_which_somebody_listens_is_not_free() {
        let claims = Claims::new();
        assert_eq!(claims.claim("one", None, &[]), 1);
        assert_eq!(claims.claim("one", None, &[1]), 1, "a site that runs keeps its own");
        claims.remove("claims");
        assert_eq!(claims.claim("two", Some(1), &[1, 2]), 3);
    }

    #[test]
    fn who_listens_is_heard() {
        let number = (200..=254).find(|&number| is_silent(number)).unwrap();
        let _somebody = TcpListener::bind((Network::new(number).service(1), API_PORT)).unwrap();
        assert!(!is_silent(number));
    }

    #[test]
    fn addresses_are_dialled_on_loopback() {
        let network = Network::new(3);
        assert_eq!(network.dial(Ipv4Addr::new(10, 0, 10, 11)), Ipv4Addr::new(127, 3, 10, 11));
        assert_eq!(network.dial(Ipv4Addr::new(127, 3, 10, 11)), Ipv4Addr::new(127, 3, 10, 11));
        assert!(network.same(Ipv4Addr::new(10, 0, 10, 11), Ipv4Addr::new(192, 168, 10, 11)));
    }
}
