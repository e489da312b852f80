//! How long things take and what goes wrong, from a seed.
//!
//! A decision depends on the seed, on what is asked and on how often it was
//! asked before, never on the order in which different things happen to run.
//! So the same seed gives the same run, however many requests are in flight.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How long things take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Nothing takes time.
    #[default]
    Fast,
    /// Believable times of a small server at home.
    Home,
}

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The request never arrives: the connection closes and nothing happened.
    RequestLost,
    /// The request does its work, and the connection closes instead of an answer.
    ReplyLost,
    /// An answer of 5xx, and nothing happened.
    ServerError,
    /// The lock cannot be had in time.
    LockTimeout,
    /// The task it starts ends with an error and has changed nothing.
    TaskFailed,
    /// The task it starts ends with an error half way.
    TaskHalfDone,
}

/// How often each fault happens, in thousandths.
pub type Faults = Vec<(Fault, u16)>;

/// The dials of a site.
#[derive(Debug)]
pub struct Dials {
    profile: Profile,
    seed: u64,
    speed: u32,
    faults: Mutex<Faults>,
    asked: Mutex<HashMap<String, u64>>,
}

impl Default for Dials {
    fn default() -> Self {
        Self::new(Profile::Fast, 1, Vec::new())
    }
}

impl Dials {
    /// Dials that are set so.
    pub fn new(profile: Profile, seed: u64, faults: Faults) -> Self {
        Self { profile, seed, speed: 1, faults: Mutex::new(faults), asked: Mutex::default() }
    }

    /// Lets everything, time-outs too, take this many times less.
    #[must_use]
    pub fn at_speed(mut self, speed: u32) -> Self {
        self.speed = speed.max(1);
        self
    }

    /// A time-out of the real thing at this site's speed.
    pub fn limit(&self, real: Duration) -> Duration {
        real / self.speed
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Sets other faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// A number that this seed gives for the next time `what` is asked, from 0 to `below` - 1.
    pub fn draw(&self, what: &str, below: u64) -> u64 {
        let count = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let count = asked.entry(what.to_owned()).or_default();
            *count += 1;
            *count
        };
        let hash = Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(what).chain_update(count.to_be_bytes());
        let hash = hash.finalize();
        let number = u64::from_be_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]]);
        number % below.max(1)
    }

    /// What goes wrong with this request, such as `POST /nodes/{node}/qemu`, out of the faults that can happen to it.
    pub fn fault(&self, what: &str, possible: &[Fault]) -> Option<Fault> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut left = faults.into_iter().filter(|(fault, _)| possible.contains(fault)).peekable();
        left.peek()?;
        let drawn = self.draw(&format!("fault {what}"), 1000);
        let mut sum = 0;
        left.find_map(|(fault, often)| {
            sum += u64::from(often);
            (drawn < sum).then_some(fault)
        })
    }

    /// How long `what` takes, where a real one takes `home` give or take a quarter. Nothing in the fast profile.
    pub fn lasts(&self, what: &str, home: Duration) -> Duration {
        match self.profile {
            Profile::Fast => Duration::ZERO,
            Profile::Home => {
                let thousandths = 750 + self.draw(&format!("time {what}"), 500);
                home * u32::try_from(thousandths).unwrap_or(1000) / 1000 / self.speed
            }
        }
    }

    /// Waits as long as `what` takes.
    pub async fn wait(&self, what: &str, home: Duration) {
        let time = self.lasts(what, home);
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_faults_in_any_order() {
        let every = [Fault::RequestLost, Fault::ReplyLost];
        let faults = vec![(Fault::RequestLost, 200), (Fault::ReplyLost, 300)];
        let (one, two) = (Dials::new(Profile::Fast, 7, faults.clone()), Dials::new(Profile::Fast, 7, faults.clone()));
        let first: Vec<_> = (0..200).map(|_| (one.fault("a", &every), one.fault("b", &every))).collect();
        let b: Vec<_> = (0..200).map(|_| two.fault("b", &every)).collect();
        let a: Vec<_> = (0..200).map(|_| two.fault("a", &every)).collect();
        assert!(first.iter().copied().eq(a.into_iter().zip(b)));
        let lost = first.iter().filter(|pair| pair.0 == Some(Fault::RequestLost)).count();
        assert!((20..60).contains(&lost), "{lost} of 200 at 20 %");
        let other = Dials::new(Profile::Fast, 8, faults);
        assert!(!first.iter().map(|pair| pair.0).eq((0..200).map(|_| other.fault("a", &every))));
    }

    #[test]
    fn without_faults_nothing_goes_wrong_and_nothing_takes_time() {
        let dials = Dials::default();
        assert_eq!(dials.fault("a", &[Fault::ServerError]), None);
        assert!(dials.lasts("a", Duration::from_secs(9)).is_zero());
        let home = Dials::new(Profile::Home, 1, Vec::new()).lasts("a", Duration::from_secs(100));
        assert!((75..=125).contains(&home.as_secs()), "{home:?}");
    }
}
