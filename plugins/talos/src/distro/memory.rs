//! What is remembered between steps. The world is the truth; this only says what was tried and with what.

use emhost_sdk::{Failure, State, Step};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const LAYOUT: u32 = 1;

/// What is remembered of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeMemory {
    /// The machine that got the configuration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// The digest of the configuration in force.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// A configuration that is on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
    /// The node was told to leave.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// How often it was looked at since something last happened.
    #[serde(skip_serializing_if = "is_zero")]
    pub looks: u32,
    /// How often, one after the other, it did not answer since it was told to leave.
    #[serde(skip_serializing_if = "is_zero")]
    pub quiet: u32,
    /// How often, one after the other, it answered as somebody else's.
    #[serde(skip_serializing_if = "is_zero")]
    pub strange: u32,
}

/// A configuration that is about to be sent, or was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
pub struct Sending {
    /// Its digest.
    pub digest: String,
    /// The number of the boot before it.
    pub boot: String,
    /// Whether the node was running before it.
    pub running: bool,
    /// It went out, whatever came back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sent: bool,
    /// The node said that it has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// The node said that it restarts for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restarts: bool,
}

/// What is remembered of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterMemory {
    /// The node that is bootstrapped, and no other.
    pub node: String,
    /// Its machine.
    pub identity: String,
    /// The request went out, whatever came back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sent: bool,
    /// The node said that it has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// etcd was seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bootstrapped: bool,
    /// How often it was looked at since something last happened.
    #[serde(skip_serializing_if = "is_zero")]
    pub looks: u32,
}

impl ClusterMemory {
    /// What stays once etcd was seen.
    pub fn bootstrapped(self) -> Self {
        Self { bootstrapped: true, node: self.node, identity: self.identity, ..Self::default() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Reads it back; nothing remembered is the default.
pub fn read<T: DeserializeOwned + Default>(state: Option<&State>) -> Result<T, Failure> {
    state.map_or_else(|| Ok(T::default()), State::read)
}

/// The unit is as intended.
pub fn done<T: Serialize>(memory: &T) -> Result<Step, Failure> {
    Ok(Step::done(State::of(LAYOUT, memory)?))
}

/// Goes on at once: what is in the memory had to be written down first.
pub fn next<T: Serialize>(reason: impl Into<String>, memory: &T) -> Result<Step, Failure> {
    Ok(Step::again(0, reason, State::of(LAYOUT, memory)?))
}

/// Looks again after a pause that grows with the number of looks.
pub fn wait<T: Serialize>(looks: u32, reason: impl Into<String>, memory: &T) -> Result<Step, Failure> {
    Ok(Step::again(pause(looks), reason, State::of(LAYOUT, memory)?))
}

/// How often to look before a request is made again: long where it was answered, a few seconds where the answer was lost.
pub const fn patience(answered: bool) -> u32 {
    if answered { 40 } else { 12 }
}

/// From a twentieth of a second to a whole one.
pub fn pause(looks: u32) -> u32 {
    looks.saturating_mul(50).saturating_add(50).min(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_short() {
        assert_eq!([0, 1, 5, 19, 1_000_000, u32::MAX].map(pause), [50, 100, 300, 1000, 1000, 1000]);
    }

    #[test]
    fn what_is_done_is_remembered_in_two_words() {
        let memory = NodeMemory { identity: "a".to_owned(), digest: "b".to_owned(), ..NodeMemory::default() };
        let state = State::of(LAYOUT, &memory).expect("state");
        assert_eq!(state.data, r#"{"identity":"a","digest":"b"}"#);
        assert_eq!(read::<NodeMemory>(Some(&state)).expect("state"), memory);
        assert_eq!(read::<NodeMemory>(None).expect("nothing"), NodeMemory::default());
    }
}
