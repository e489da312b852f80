//! One thing to tell the person at the terminal: the only shape in which errors reach the edge.

use serde::{Deserialize, Serialize};

use crate::bindings::emhost::plugin::types as wit;
use crate::redact::{Redactor, one_line, printable};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// A place in a file that a person wrote. Lines and columns begin at 1; columns count characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file, relative to the cluster's folder.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The text of that line, for showing; without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A message with a stable code, what to do next and, where one value is to blame, where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable identifier, for example `http/denied`.
    pub code: String,
    /// One line, no full stop.
    pub summary: String,
    /// The whole story, when there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// JSON pointer to the value to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Where the value to blame is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether the other side refused a credential, or said that a right is missing.
    #[serde(skip)]
    pub denied: bool,
}

/// The longest summary or code that is shown.
const LINE: usize = 500;
/// The longest detail or help that is shown.
const STORY: usize = 8 * 1024;

impl Diagnostic {
    /// An error.
    pub fn error(code: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, summary)
    }

    /// Something that is not wrong but should be known.
    pub fn warning(code: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, summary)
    }

    /// Something to know about an error that is reported elsewhere.
    pub fn note(code: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, summary)
    }

    fn new(severity: Severity, code: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { severity, code: code.into(), summary: summary.into(), detail: None, pointer: None, place: None, help: None, denied: false }
    }

    /// Adds the whole story.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds where the value to blame is written.
    #[must_use]
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into);
        self
    }

    /// Takes what a plugin said, without secrets and without control over the terminal.
    pub fn from_plugin(said: &wit::Diagnostic, redactor: &Redactor) -> Self {
        let line = |text: &str| one_line(&redactor.text(text), LINE);
        Self {
            severity: match said.severity {
                wit::Severity::Error => Severity::Error,
                wit::Severity::Warning => Severity::Warning,
                wit::Severity::Note => Severity::Note,
            },
            code: line(&said.code),
            summary: line(&said.summary),
            detail: said.detail.as_deref().map(|text| story(text, redactor)),
            pointer: said.pointer.as_deref().map(line),
            place: None,
            help: said.help.as_deref().map(|text| story(text, redactor)),
            denied: false,
        }
    }
}

/// Several lines from a plugin or a remote side, fit to be shown.
pub(crate) fn story(text: &str, redactor: &Redactor) -> String {
    let clean = printable(&redactor.text(text));
    match clean.char_indices().nth(STORY) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}
