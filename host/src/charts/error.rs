//! Why a chart gave no objects, for the person at the terminal.

use crate::diagnostic::{Diagnostic, Place};

/// Why a chart gave no objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .diagnostics.first().map_or("the chart gave no objects", |first| first.summary.as_str()))]
pub struct ChartError {
    /// What was tried, what was answered, and what to do.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether another try may help.
    pub passing: bool,
}

impl ChartError {
    pub(super) fn new(code: &str, summary: impl Into<String>, help: &str) -> Self {
        Self { diagnostics: vec![Diagnostic::error(code, summary).help(Some(help))], passing: false }
    }

    /// With the whole story.
    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into()).filter(|detail| !detail.trim().is_empty());
        self.diagnostics.iter_mut().take(1).for_each(|first| first.detail.clone_from(&detail));
        self
    }

    /// With the place to blame.
    pub(super) fn at(mut self, place: Option<&Place>) -> Self {
        self.diagnostics.iter_mut().take(1).for_each(|first| first.place = place.cloned());
        self
    }

    /// As something that may be gone at the next try.
    pub(super) fn passing(mut self, passing: bool) -> Self {
        self.passing = passing;
        self
    }
}
