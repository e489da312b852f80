//! The only place that prints. Whatever passes through it is without secrets and cannot drive the
//! terminal.

mod findings;
mod lines;
mod live;
mod messages;
mod plan;
mod screen;
mod status;
mod summary;
mod text;
mod tree;
mod watching;

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use emhost::diagnostic::{Diagnostic, Place, Severity};
use emhost::pipeline::Plan;
use emhost::redact::{Redactor, printable};
use serde_json::{Value, json};

use messages::Message;
use screen::{Screen, To};
pub use status::Cell;
use text::Line;
pub use text::Style;
pub use watching::Watching;

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

/// Where everything that people or programs read goes through. Clones print to the same place, from any thread.
#[derive(Clone)]
pub struct Ui {
    volume: Volume,
    json: bool,
    color: bool,
    redactor: Redactor,
    screen: Arc<Screen>,
    /// The tree that is on the terminal now.
    live: Arc<Mutex<Weak<live::Drawing>>>,
    /// Whether what was printed is a whole document, which no event may follow.
    document: Arc<AtomicBool>,
}

impl Ui {
    /// With `color` unset, colours are for terminals.
    pub fn new(volume: Volume, json: bool, color: Option<bool>, redactor: Redactor) -> Self {
        let color = color.unwrap_or_else(|| std::io::stdout().is_terminal() && std::io::stderr().is_terminal());
        Self::on(Screen::standard(), volume, json, color, redactor)
    }

    fn on(screen: Screen, volume: Volume, json: bool, color: bool, redactor: Redactor) -> Self {
        Self { volume, json, color, redactor, screen: Arc::new(screen), live: Arc::default(), document: Arc::default() }
    }

    /// What must never be shown.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    fn clean(&self, text: &str) -> String {
        printable(&self.redactor.text(text))
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.color { style.paint(text) } else { text.to_owned() }
    }

    fn out(&self, text: &str) {
        self.screen.write(To::Out, &format!("{text}\n"));
    }

    /// The columns of a terminal that reads standard output.
    fn width(&self) -> Option<usize> {
        (!self.json && std::io::stdout().is_terminal()).then(|| self.screen.size().0)
    }

    /// A line of a result.
    fn show(&self, line: &Line) {
        if !self.json && self.volume > Volume::Quiet {
            self.write(To::Out, line, self.width());
        }
    }

    /// A line on standard error, also for those who want to see errors only.
    fn tell(&self, line: &Line) {
        let width = std::io::stderr().is_terminal().then(|| self.screen.size().0);
        self.write(To::Err, line, width);
    }

    fn write(&self, to: To, line: &Line, width: Option<usize>) {
        let lines = line.clone().mapped(|text| self.redactor.text(text).into_owned()).wrapped(width, 2);
        let lines: Vec<String> = lines.iter().map(|line| line.painted(self.color)).collect();
        self.screen.write(to, &format!("{}\n", lines.join("\n")));
    }

    fn message(&self, message: &Message) {
        match message {
            Message::Line(line) => self.tell(line),
            Message::Report { by, diagnostic } => {
                self.tell(&by.clone().plain("reports"));
                self.diagnostic(diagnostic);
            }
        }
    }

    /// A plan.
    pub fn plan(&self, plan: &Plan) {
        self.event("plan", plan::event(plan));
        let view = plan::View { redactor: &self.redactor, width: self.width(), verbose: self.volume == Volume::Verbose };
        for line in plan::lines(plan, &view) {
            self.show(&line);
        }
    }

    /// What to do next.
    pub fn next(&self, text: &str) {
        self.show(&Line::default());
        self.show(&Line::new(Style::Bold, "next: ").plain(text));
    }

    /// A text that is all a command prints, as it is: a script, a picture, an object. Its author has made it safe to be shown.
    pub fn document(&self, text: &str) {
        self.document.store(true, Ordering::Relaxed);
        self.screen.write(To::Out, &self.redactor.text(text));
    }

    /// A text that holds secrets and was asked for by name: the only one that is printed with them.
    pub fn secret(&self, text: &str) {
        self.document.store(true, Ordering::Relaxed);
        self.screen.write(To::Out, text);
    }

    /// A line for people.
    pub fn line(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            self.out(&self.clean(text));
        }
    }

    /// A line that heads others.
    pub fn heading(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            self.out(&self.paint(Style::Bold, &self.clean(text)));
        }
    }

    /// A name and a value, in columns.
    pub fn field(&self, name: &str, value: &str) {
        if !self.json && self.volume > Volume::Quiet {
            self.out(&format!("  {} {}", self.paint(Style::Dim, &format!("{name:<12}")), self.clean(value)));
        }
    }

    /// Something that went well.
    pub fn success(&self, text: &str) {
        if !self.json && self.volume > Volume::Quiet {
            self.out(&format!("{} {}", self.paint(Style::Green, "✓"), self.clean(text)));
        }
    }

    /// A line for people who want to know more.
    pub fn verbose(&self, text: &str) {
        if !self.json && self.volume == Volume::Verbose {
            self.out(&self.paint(Style::Dim, &self.clean(text)));
        }
    }

    /// An event for programs.
    pub fn event(&self, event: &str, mut fields: Value) {
        if let Some(object) = fields.as_object_mut() {
            object.insert("event".to_owned(), json!(event));
        }
        self.json(&fields);
    }

    fn json(&self, event: &Value) {
        if !self.json || self.document.load(Ordering::Relaxed) {
            return;
        }
        let mut event = event.clone();
        if let Some(object) = event.as_object_mut() {
            object.insert("time".to_owned(), json!(format!("{:.3}", jiff::Timestamp::now())));
        }
        self.out(&json_text(&self.redactor.text(&event.to_string())));
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
        if let Some(place) = &diagnostic.place {
            text.push_str(&self.snippet(place));
        }
        if let Some(pointer) = &diagnostic.pointer {
            text = format!("{text}\n  at {}", self.clean(pointer));
        }
        if let Some(detail) = &diagnostic.detail {
            text.push_str(&indented(&self.clean(detail)));
        }
        if let Some(help) = &diagnostic.help {
            text = format!("{text}\n  {}{}", self.paint(Style::Bold, "help: "), self.clean(help).replace('\n', "\n        "));
        }
        self.screen.write(To::Err, &format!("{text}\n"));
    }

    /// The line of a file that is meant, with a mark below the column.
    fn snippet(&self, place: &Place) -> String {
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        let bar = self.paint(Style::Dim, &format!("{margin} |"));
        let mut text = format!("\n{margin}{} {}", self.paint(Style::Dim, "-->"), self.clean(&place.to_string()));
        if let Some(line) = &place.text {
            text = format!("{text}\n{bar}\n{} {}", self.paint(Style::Dim, &format!("{number} |")), self.clean(line));
            // Of a long line, only the beginning is there.
            let before = usize::try_from(place.column.saturating_sub(1)).unwrap_or(usize::MAX);
            if before <= line.chars().count() {
                text = format!("{text}\n{bar} {}{}", " ".repeat(before), self.paint(Style::Red, "^"));
            }
        }
        text
    }

    /// Asks a person for a line; an empty one is the default, and nobody there is `None`.
    pub fn prompt(&self, question: &str, default: &str) -> Option<String> {
        if self.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return None;
        }
        self.end_live();
        self.screen.write(To::Out, &format!("{} [{}] ", self.clean(question), self.clean(default)));
        let mut answer = String::new();
        if std::io::stdin().read_line(&mut answer).ok()? == 0 {
            return None;
        }
        let answer = answer.trim();
        Some(if answer.is_empty() { default } else { answer }.to_owned())
    }

    /// Whether only errors are shown.
    pub fn is_quiet(&self) -> bool {
        self.volume == Volume::Quiet && !self.json
    }

    /// Asks a person; nobody there is `None`.
    pub fn ask(&self, question: &str) -> Option<bool> {
        if self.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return None;
        }
        self.end_live();
        self.screen.write(To::Out, &format!("{} [y/N] ", self.clean(question)));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

/// JSON in which every character that would act on a terminal is written as an escape: such characters are in strings only.
fn json_text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() || printable(character.encode_utf8(&mut [0; 4])).starts_with(character) {
            safe.push(character);
        } else {
            safe.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    safe
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| format!("{all}\n  | {line}"))
}

#[cfg(test)]
mod tests;
