//! What is remembered of one machine between two steps.

use emhost_sdk::{Again, Failure, State, Step};
use serde::{Deserialize, Serialize};

use crate::api::Trouble;

/// The layout of the state.
pub const LAYOUT: u32 = 1;
/// How often something that nobody can explain is tried before it counts as a refusal.
const PATIENCE: u32 = 6;
/// How often the same request is made before somebody has to look.
const REPEATS: u32 = 10;

/// A task of Proxmox that is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its name.
    pub upid: String,
    /// What it does, as the end of `could not …`.
    pub what: String,
}

/// What is remembered of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Its number.
    pub vmid: u32,
    /// Made at random for one creation.
    pub identity: String,
    /// The host it is made on.
    pub host: String,
    /// Whether it was finished once. Until then everything about it may still be set.
    #[serde(default)]
    pub made: bool,
    /// The volume of the medium that it installed from, to take it out later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iso: Option<String>,
    /// How many devices of its host it was given, to take them back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub devices: u32,
    /// Numbers that somebody else has and that we cannot see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<u32>,
    /// The disks of a machine that is to go, in case Proxmox leaves one behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
    /// What is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// What the host was asked to hold for the next step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// How often the same thing was waited for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looks: u32,
    /// How often in a row something unknown went wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub troubles: u32,
    /// The last request that changed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// How often it was made in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// Whether Proxmox answered it with a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Memory {
    /// Of a machine that is to be made.
    pub fn new(vmid: u32, identity: String, host: String) -> Self {
        Self {
            vmid,
            identity,
            host,
            made: false,
            iso: None,
            devices: 0,
            refused: Vec::new(),
            disks: Vec::new(),
            task: None,
            held: Vec::new(),
            looks: 0,
            troubles: 0,
            asked: None,
            repeats: 0,
            answered: false,
        }
    }

    /// Writes down that a request goes out, and refuses one that was made again and again and changed nothing.
    ///
    /// # Errors
    /// It has no effect.
    pub fn ask(&mut self, what: &str) -> Result<(), Failure> {
        self.answered = false;
        if self.asked.as_deref() != Some(what) {
            (self.asked, self.repeats) = (Some(what.to_owned()), 0);
            return Ok(());
        }
        self.repeats += 1;
        if self.repeats < REPEATS {
            return Ok(());
        }
        (self.asked, self.repeats) = (None, 0);
        let summary = format!("could not {what}: Proxmox took the request {REPEATS} times and nothing changed");
        let help = "see the tasks of the machine in Proxmox, mend the cause, then apply again";
        Err(self.clone().keep(Failure::conflict("proxmox/no-effect", summary).help(help)))
    }

    /// Whether this was the last request, and Proxmox took it.
    pub fn was_answered(&self, what: &str) -> bool {
        self.answered && self.asked.as_deref() == Some(what)
    }

    /// Whether the host holds all of these for this step.
    pub fn holds(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.held.contains(name))
    }

    /// Reads it back.
    ///
    /// # Errors
    /// State of another layout.
    pub fn read(state: Option<&State>) -> Result<Option<Self>, Failure> {
        state.map(State::read).transpose()
    }

    /// The state of it.
    ///
    /// # Errors
    /// None in practice: it is plain data.
    pub fn state(&self) -> Result<State, Failure> {
        State::of(LAYOUT, self)
    }

    /// Goes on at once, holding these.
    ///
    /// # Errors
    /// None in practice.
    pub fn next(mut self, reason: impl Into<String>, holds: Vec<String>) -> Result<Step, Failure> {
        self.held.clone_from(&holds);
        (self.looks, self.troubles) = (0, 0);
        Ok(Step::Again(Again { after_ms: 0, reason: reason.into(), state: Some(self.state()?), holds }))
    }

    /// Asks for its turn, which is nothing new to wait for.
    ///
    /// # Errors
    /// None in practice.
    pub fn turn(mut self, holds: Vec<String>) -> Result<Step, Failure> {
        self.held.clone_from(&holds);
        Ok(Step::Again(Again { after_ms: 0, reason: "waits for its turn".to_owned(), state: Some(self.state()?), holds }))
    }

    /// Waits, longer each time, and holds nothing.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(mut self, reason: impl Into<String>) -> Result<Step, Failure> {
        // A short task is noticed at once, and fifty machines that wait for a long one do not keep Proxmox busy with their questions.
        let after_ms = match self.looks {
            early @ 0..=4 => 50 << early,
            5..=14 => 1000,
            15..=24 => 2000,
            _ => 4000,
        };
        self.looks += 1;
        self.troubles = 0;
        self.held.clear();
        Ok(Step::Again(Again { after_ms, reason: reason.into(), state: Some(self.state()?), holds: Vec::new() }))
    }

    /// Begins to wait for a task.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait_for(mut self, upid: String, what: impl Into<String>, reason: impl Into<String>) -> Result<Step, Failure> {
        self.task = Some(Task { upid, what: what.into() });
        (self.looks, self.answered) = (0, true);
        self.wait(reason)
    }

    /// It is as it should be.
    ///
    /// # Errors
    /// None in practice.
    pub fn done(self) -> Result<Step, Failure> {
        let Self { vmid, identity, host, iso, devices, .. } = self;
        Ok(Step::done(Self { made: true, iso, devices, ..Self::new(vmid, identity, host) }.state()?))
    }

    /// A request came to nothing. One that was refused had no effect, and says why.
    pub fn in_vain(mut self, trouble: Trouble, what: &str) -> Failure {
        if trouble.meaning().is_some() {
            (self.asked, self.repeats) = (None, 0);
        }
        self.keep(trouble.failure(what))
    }

    /// A failure that loses nothing of this, and that is not repeated for ever.
    pub fn keep(mut self, failure: Failure) -> Failure {
        use emhost_sdk::FailureKind::{Conflict, Unavailable};
        let mut failure = failure;
        if failure.kind == Unavailable && failure.diagnostics.first().is_some_and(|first| first.code == crate::api::UNEXPLAINED) {
            self.troubles += 1;
            if self.troubles >= PATIENCE {
                failure.kind = Conflict;
                self.troubles = 0;
            }
        }
        match self.state() {
            Ok(state) => failure.state(state),
            Err(worse) => worse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let mut memory = Memory::new(300, "i".to_owned(), "pve1".to_owned());
        let mut pauses = Vec::new();
        for _ in 0..26 {
            let Ok(Step::Again(again)) = memory.wait("waits") else { panic!("waits") };
            pauses.push(again.after_ms);
            memory = Memory::read(again.state.as_ref()).expect("reads").expect("is there");
        }
        assert_eq!(pauses[..7], [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!((pauses[15], pauses[25], memory.looks), (2000, 4000, 26));
        let Ok(Step::Again(again)) = memory.turn(vec!["storage:local".to_owned()]) else { panic!("goes on") };
        let memory = Memory::read(again.state.as_ref()).expect("reads").expect("is there");
        assert_eq!((again.after_ms, memory.looks), (0, 26), "a turn is nothing new to wait for");
    }

    #[test]
    fn what_cannot_be_explained_is_not_tried_for_ever() {
        let mut memory = Memory::new(300, "i".to_owned(), "pve1".to_owned());
        let mut tries = 0;
        loop {
            tries += 1;
            let failure = memory.keep(Failure::unavailable(crate::api::UNEXPLAINED, "no"));
            memory = Memory::read(failure.state.as_ref()).expect("reads").expect("is there");
            if failure.kind == emhost_sdk::FailureKind::Conflict {
                break;
            }
        }
        assert_eq!((tries, memory.troubles), (6, 0));
    }

    #[test]
    fn a_request_that_changes_nothing_is_not_made_for_ever_and_a_refused_one_does_not_count() {
        let mut memory = Memory::new(300, "i".to_owned(), "pve1".to_owned());
        let refusal = || Trouble::Refused(crate::api::Refusal { status: 500, text: "no".to_owned(), errors: Vec::new() });
        for _ in 0..30 {
            memory.ask("start it").expect("goes out");
            let failure = memory.in_vain(refusal(), "start it");
            memory = Memory::read(failure.state.as_ref()).expect("reads").expect("is there");
        }
        let lost = || Trouble::Failed(Failure::unavailable("http/failed", "no answer"));
        let mut tries = 0;
        let failure = loop {
            match memory.ask("start it") {
                Ok(()) => tries += 1,
                Err(failure) => break failure,
            }
            memory = Memory::read(memory.in_vain(lost(), "start it").state.as_ref()).expect("reads").expect("is there");
        };
        assert_eq!(tries, 10);
        let mut memory = Memory::read(failure.state.as_ref()).expect("reads").expect("is there");
        memory.ask("start it").expect("the next run tries again");
    }

    #[test]
    fn done_forgets_what_was_on_the_way() {
        let mut memory = Memory::new(300, "i".to_owned(), "pve1".to_owned());
        memory.task = Some(Task { upid: "UPID".to_owned(), what: "x".to_owned() });
        memory.iso = Some("local:iso/a.iso".to_owned());
        let Ok(Step::Done(Some(state))) = memory.done() else { panic!("done") };
        assert_eq!(state.data, r#"{"vmid":300,"identity":"i","host":"pve1","made":true,"iso":"local:iso/a.iso"}"#);
    }
}
