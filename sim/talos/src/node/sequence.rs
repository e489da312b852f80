//! Sequences: the long things a node does, in phases that it tells of.

use std::sync::Arc;
use std::time::Duration;

use emhost_talos_api::{common, machine};

use super::{Node, Stage};

/// Long enough for an answer and the last events to leave before connections die.
pub(crate) const PARTING: Duration = Duration::from_millis(250);

/// How long a node that somebody follows takes to go down. talosctl looks again a second after services were told to
/// stop, and must not find a node that is back already: it would wait for news that it has missed.
pub(crate) const FOLLOWED: Duration = Duration::from_millis(2500);

/// A sequence that runs.
#[derive(Clone)]
pub(crate) struct Sequence {
    node: Arc<Node>,
    name: &'static str,
    actor: String,
}

impl Sequence {
    pub fn actor(&self) -> &str {
        &self.actor
    }

    fn event(&self, action: machine::SequenceEventAction, error: Option<common::Error>) {
        let event = machine::SequenceEvent { sequence: self.name.to_owned(), action: action as i32, error };
        self.node.events.publish(&self.actor, "machine.SequenceEvent", &event);
    }

    /// Tells that it begins.
    pub fn begin(node: &Arc<Node>, name: &'static str, actor: &str) -> Self {
        let sequence = Self { node: node.clone(), name, actor: actor.to_owned() };
        node.journal.talos(&format!("{name} sequence: started"));
        sequence.event(machine::SequenceEventAction::Start, None);
        sequence
    }

    /// One phase with one task in it.
    pub async fn phase(&self, phase: &str, task: &str, work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        let node = &self.node;
        let of_phase = |action: machine::PhaseEventAction| {
            let event = machine::PhaseEvent { phase: phase.to_owned(), action: action as i32 };
            node.events.publish(&self.actor, "machine.PhaseEvent", &event);
        };
        let of_task = |action: machine::TaskEventAction| {
            let event = machine::TaskEvent { task: task.to_owned(), action: action as i32 };
            node.events.publish(&self.actor, "machine.TaskEvent", &event);
        };
        node.journal.talos(&format!("phase {phase}: task {task}: starting"));
        of_phase(machine::PhaseEventAction::Start);
        of_task(machine::TaskEventAction::Start);
        let result = work.await;
        match &result {
            Ok(()) => node.journal.talos(&format!("phase {phase}: task {task}: done")),
            Err(error) => node.journal.talos(&format!("phase {phase}: task {task}: failed: {error}")),
        }
        of_task(machine::TaskEventAction::Stop);
        of_phase(machine::PhaseEventAction::Stop);
        result.map_err(|error| format!("error running phase {phase} in {} sequence: task {task}: failed, {error}", self.name))
    }

    /// A phase in which nothing of interest happens.
    pub async fn pass(&self, phase: &str, task: &str) {
        let home = Duration::from_millis(300);
        let waited = self.phase(phase, task, async {
            if let Some(fleet) = self.node.fleet() {
                fleet.parts.dials.wait(&format!("{} {phase}", self.name), home).await;
            }
            Ok(())
        });
        // It cannot fail.
        let _ = waited.await;
    }

    /// Tells that it is over.
    pub fn end(&self, error: Option<&str>) {
        match error {
            None => self.node.journal.talos(&format!("{} sequence: done", self.name)),
            Some(error) => self.node.journal.talos(&format!("{} sequence: failed: {error}", self.name)),
        }
        let error =
            error.map(|message| common::Error { code: common::Code::Fatal as i32, message: message.to_owned(), details: Vec::new() });
        self.event(machine::SequenceEventAction::Stop, error);
    }
}

impl Node {
    /// Starts a sequence in the background. Only one runs at a time, but every one may break into a boot; `takeover` breaks into others too.
    pub fn run_sequence<F, W>(&self, name: &'static str, stage: Stage, actor: &str, takeover: bool, work: F)
    where
        F: FnOnce(Arc<Node>, Sequence) -> W + Send + 'static,
        W: Future<Output = Result<(), String>> + Send,
    {
        let Some(node) = self.me() else { return };
        {
            let mut now = self.state();
            let busy = now.sequence.is_some_and(|running| running != "boot" && running != "initialize");
            if busy && !takeover {
                drop(now);
                let event = machine::SequenceEvent {
                    sequence: name.to_owned(),
                    action: machine::SequenceEventAction::Noop as i32,
                    error: Some(common::Error {
                        code: common::Code::Locked as i32,
                        message: "sequence not started: locked".to_owned(),
                        details: Vec::new(),
                    }),
                };
                self.events.publish(actor, "machine.SequenceEvent", &event);
                return;
            }
            now.sequence = Some(name);
            if let Some(running) = now.runner.take() {
                running.abort();
            }
        }
        let actor = actor.to_owned();
        let handle = self.spawn(async move {
            let sequence = Sequence::begin(&node, name, &actor);
            node.enter(stage);
            let result = work(node.clone(), sequence.clone()).await;
            sequence.end(result.as_ref().err().map(String::as_str));
            node.state().sequence = None;
        });
        self.state().runner = handle;
    }
}
