//! The only place that prints. Whatever passes through it is without secrets and cannot drive the
//! terminal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the only place that prints")]

use std::io::{IsTerminal, Write};

use emhost::diagnostic::{Diagnostic, Severity};
use emhost::redact::{Redactor, printable};
use serde_json::{Value, json};

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Errors only.
    Quiet,
    /// What a person wants to know.
    Normal,
    /// And what happens below.
    Verbose,
}

/// Where everything that people or programs read goes through.
pub struct Ui {
    volume: Volume,
    json: bool,
    color: bool,
    redactor: Redactor,
}

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
}

impl Ui {
    /// With `color` unset, colours are for terminals.
    pub fn new(volume: Volume, json: bool, color: Option<bool>, redactor: Redactor) -> Self {
        let color = color.unwrap_or_else(|| std::io::stdout().is_terminal() && std::io::stderr().is_terminal());
        Self { volume, json, color, redactor }
    }

    fn clean(&self, text: &str) -> String {
        printable(&self.redactor.text(text))
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Yellow => 33,
            Style::Green => 32,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    fn out(text: &str) {
        // A reader that went away is no reason to fail: whoever pipes into `head` knows.
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    /// A line for people.
    pub fn line(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            Self::out(&self.clean(text));
        }
    }

    /// A line that heads others.
    pub fn heading(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            Self::out(&self.paint(Style::Bold, &self.clean(text)));
        }
    }

    /// A name and a value, in columns.
    pub fn field(&self, name: &str, value: &str) {
        if !self.json && self.volume > Volume::Quiet {
            Self::out(&format!("  {} {}", self.paint(Style::Dim, &format!("{name:<12}")), self.clean(value)));
        }
    }

    /// Something that went well.
    pub fn success(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            Self::out(&format!("{} {}", self.paint(Style::Green, "✓"), self.clean(text)));
        }
    }

    /// A line for people who want to know more.
    pub fn verbose(&self, text: &str) {
        if !self.json && self.volume == Volume::Verbose {
            Self::out(&self.paint(Style::Dim, &self.clean(text)));
        }
    }

    /// An event for programs.
    pub fn event(&self, event: &str, mut fields: Value) {
        if !self.json {
            return;
        }
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        if let Some(object) = fields.as_object_mut() {
            object.insert("event".to_owned(), json!(event));
            object.insert("time".to_owned(), json!(time));
        }
        Self::out(&self.redactor.text(&fields.to_string()));
    }

    /// Something to tell, on standard error.
    pub fn diagnostic(&self, diagnostic: &Diagnostic) {
        if self.json {
            self.event("diagnostic", json!({ "diagnostic": diagnostic }));
            return;
        }
        let (word, style) = match diagnostic.severity {
            Severity::Error => ("error", Style::Red),
            Severity::Warning => ("warning", Style::Yellow),
            Severity::Note => ("note", Style::Dim),
        };
        if self.volume == Volume::Quiet && diagnostic.severity != Severity::Error {
            return;
        }
        let mut text = format!("{} {}", self.paint(style, &format!("{word}:")), self.clean(&diagnostic.summary));
        if let Some(pointer) = &diagnostic.pointer {
            text = format!("{text}\n  at {}", self.clean(pointer));
        }
        if let Some(detail) = &diagnostic.detail {
            text.push_str(&indented(&self.clean(detail)));
        }
        if let Some(help) = &diagnostic.help {
            text = format!("{text}\n  {}{}", self.paint(Style::Bold, "help: "), self.clean(help).replace('\n', "\n        "));
        }
        eprintln!("{text}");
    }

    /// Asks a person; nobody there is `None`.
    pub fn ask(&self, question: &str) -> Option<bool> {
        if self.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return None;
        }
        print!("{} [y/N] ", self.clean(question));
        // If the question cannot be shown, no answer will come either.
        let _ = std::io::stdout().flush();
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| format!("{all}\n  | {line}"))
}
