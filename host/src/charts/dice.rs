//! The clock and the dice of a chart: the same inputs give the same bytes, and nobody else can throw them.
//!
//! A chart may make passwords and certificates. Made anew on every run they would change on every run; so randomness comes from a
//! secret of the cluster, and is different for each release. The clock stands at the beginning of the quarter, so certificates are
//! renewed while they are valid, with the same keys.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use rand_core::TryRng;
use ring::hmac;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};
use zeroize::Zeroizing;

/// Dice that fall the same way for the same seed: HMAC-SHA-256 over a counter.
pub(super) struct Dice {
    key: hmac::Key,
    counter: u64,
    rest: Zeroizing<Vec<u8>>,
}

impl Dice {
    /// The dice of one release.
    pub fn new(secret: &[u8], namespace: &str, release: &str) -> Self {
        let of = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), format!("emhost chart\0{namespace}\0{release}").as_bytes());
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, of.as_ref()), counter: 0, rest: Zeroizing::default() }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(hmac::sign(&self.key, &self.counter.to_be_bytes()).as_ref());
                self.counter += 1;
            }
            *byte = self.rest.pop().unwrap_or_default();
        }
    }
}

impl TryRng for Dice {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

/// The beginning of the quarter in which a moment is, since 1970.
pub(super) fn quarter(now: Timestamp) -> Duration {
    let now = now.to_zoned(TimeZone::UTC);
    let month = (now.month() - 1) / 3 * 3 + 1;
    let start = date(now.year(), month, 1).at(0, 0, 0, 0).to_zoned(TimeZone::UTC).map(|start| start.timestamp().as_second());
    // Before 1970 there was no Kubernetes.
    Duration::from_secs(start.ok().and_then(|start| u64::try_from(start).ok()).unwrap_or_default())
}

/// A clock that stands.
pub(super) struct Standing(pub Duration);

impl HostWallClock for Standing {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for Standing {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        // The runtime of Go does not start at zero.
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_those_of_the_cluster_and_the_release() {
        let throw = |secret: &[u8], namespace: &str, release: &str| {
            let mut bytes = [0; 100];
            Dice::new(secret, namespace, release).fill(&mut bytes);
            bytes
        };
        let first = throw(b"one", "a", "b");
        assert_eq!(first, throw(b"one", "a", "b"));
        for other in [throw(b"two", "a", "b"), throw(b"one", "b", "b"), throw(b"one", "a", "a"), throw(b"one", "a\0b", "")] {
            assert_ne!(first, other);
        }
        assert_ne!(first[..32], first[32..64]);
    }

    #[test]
    fn the_clock_stands_at_the_beginning_of_the_quarter() {
        for (now, start) in [
            ("2026-11-16T22:00:00Z", "2026-10-01T00:00:00Z"),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2026-06-30T23:59:59Z", "2026-04-01T00:00:00Z"),
        ] {
            let start: Timestamp = start.parse().expect("a time");
            let quarter = quarter(now.parse().expect("a time"));
            assert_eq!(quarter.as_secs(), u64::try_from(start.as_second()).expect("after 1970"), "{now}");
        }
    }
}
