//! Failures and diagnostics in one line each.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::types::{Diagnostic, Failure, FailureKind, Proposal, Severity, State, Step};

impl Diagnostic {
    /// Something that keeps the work from being done.
    pub fn error(code: &str, summary: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, summary)
    }

    /// Something a person should look at.
    pub fn warning(code: &str, summary: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, summary)
    }

    /// Something good to know.
    pub fn note(code: &str, summary: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, summary)
    }

    fn new(severity: Severity, code: &str, summary: impl Into<String>) -> Self {
        Self { severity, code: code.to_owned(), summary: summary.into(), detail: None, pointer: None, help: None }
    }

    /// Adds the whole story.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Points at the value to blame.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }
}

impl Failure {
    /// The settings or the inventory are wrong; retrying cannot help.
    pub fn invalid(code: &str, summary: impl Into<String>) -> Self {
        Self::new(FailureKind::Invalid, code, summary)
    }

    /// The remote side, or the host's policy, refused.
    pub fn denied(code: &str, summary: impl Into<String>) -> Self {
        Self::new(FailureKind::Denied, code, summary)
    }

    /// The world is not what this step expects; plan again.
    pub fn conflict(code: &str, summary: impl Into<String>) -> Self {
        Self::new(FailureKind::Conflict, code, summary)
    }

    /// Passing trouble; the host may retry after a pause.
    pub fn unavailable(code: &str, summary: impl Into<String>) -> Self {
        Self::new(FailureKind::Unavailable, code, summary)
    }

    /// A bug in the plugin.
    pub fn internal(code: &str, summary: impl Into<String>) -> Self {
        Self::new(FailureKind::Internal, code, summary)
    }

    fn new(kind: FailureKind, code: &str, summary: impl Into<String>) -> Self {
        Self { kind, diagnostics: vec![Diagnostic::error(code, summary)], retry_after_ms: None, state: None }
    }

    fn on_first(mut self, change: impl FnOnce(Diagnostic) -> Diagnostic) -> Self {
        if !self.diagnostics.is_empty() {
            let first = self.diagnostics.remove(0);
            self.diagnostics.insert(0, change(first));
        }
        self
    }

    /// Adds the whole story.
    #[must_use]
    pub fn detail(self, detail: impl Into<String>) -> Self {
        self.on_first(|first| first.detail(detail))
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        self.on_first(|first| first.help(help))
    }

    /// Points at the value to blame.
    #[must_use]
    pub fn pointer(self, pointer: impl Into<String>) -> Self {
        self.on_first(|first| first.pointer(pointer))
    }

    /// Adds something else to tell.
    #[must_use]
    pub fn and(mut self, diagnostic: Diagnostic) -> Self {
        self.diagnostics.push(diagnostic);
        self
    }

    /// The pause before the next try.
    #[must_use]
    pub fn retry_after_ms(mut self, pause: u32) -> Self {
        self.retry_after_ms = Some(pause);
        self
    }

    /// What was learnt on the way and must not be lost.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        self.state = Some(state);
        self
    }
}

impl State {
    /// Writes a value down as state of this layout.
    ///
    /// # Errors
    /// A value that is no JSON.
    pub fn of<T: Serialize>(schema: u32, value: &T) -> Result<Self, Failure> {
        let data = serde_json::to_string(value).map_err(|error| Failure::internal("state/write", error.to_string()))?;
        Ok(Self { schema, data })
    }

    /// Reads the value back.
    ///
    /// # Errors
    /// State that is not what this release writes.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.data).map_err(|error| {
            Failure::conflict("state/read", format!("the remembered state cannot be read: {error}"))
                .help("plan again; if that does not help, report it to the plugin's author")
        })
    }
}

impl Step {
    /// The unit is as intended, and there is something to remember.
    pub fn done(state: State) -> Self {
        Self::Done(Some(state))
    }

    /// The unit is as intended, and there is nothing to remember.
    pub const fn finished() -> Self {
        Self::Done(None)
    }

    /// Not yet: call again after a pause, with this state.
    pub fn again(after_ms: u32, reason: impl Into<String>, state: State) -> Self {
        Self::Again(crate::types::Again { after_ms, reason: reason.into(), state: Some(state), holds: Vec::new() })
    }
}

impl Proposal {
    /// Nothing to do.
    pub const fn nothing() -> Self {
        Self { actions: Vec::new(), holds: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_a_sentence() {
        let failure = Failure::unavailable("pve/locked", "the storage is locked")
            .help("wait")
            .retry_after_ms(500)
            .and(Diagnostic::note("pve/by", "a backup runs"));
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert_eq!(failure.diagnostics[0].help.as_deref(), Some("wait"));
        assert_eq!((failure.diagnostics.len(), failure.retry_after_ms), (2, Some(500)));
    }

    #[test]
    fn state_reads_back() {
        let state = State::of(1, &("upid", 7)).expect("writes");
        assert_eq!(state.read::<(String, u8)>().expect("reads"), ("upid".to_owned(), 7));
        assert_eq!(state.read::<u8>().expect_err("other shape").kind, FailureKind::Conflict);
    }
}
