//! What plugins say while they work, as messages to print: which of them, and no more than anybody can read.

use std::time::Duration;

use emhost::capabilities::events as plugin;
use emhost::diagnostic::Diagnostic;
use emhost::pipeline::{Event, UnitId};

use super::text::{Line, Style, count};

/// So many messages may come at once,
const BURST: u32 = 20;
/// and then one per this time.
const PACE: Duration = Duration::from_millis(500);

/// Something to print above or between the lines of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A line.
    Line(Line),
    /// A plugin's report.
    Report {
        /// Who says it, about what.
        by: Line,
        /// What it is.
        diagnostic: Diagnostic,
    },
}

/// Lets messages through, at a pace.
#[derive(Debug, Default)]
pub struct Messages {
    verbose: bool,
    /// How much of the burst is used, and since when it comes back.
    used: u32,
    since: Duration,
    left_out: usize,
    last: Option<Message>,
}

impl Messages {
    /// With `verbose`, more than warnings.
    pub fn new(verbose: bool) -> Self {
        Self { verbose, ..Self::default() }
    }

    /// What to print for this event.
    pub fn take(&mut self, event: &Event, now: Duration) -> Vec<Message> {
        let Some(message) = message(event, self.verbose) else { return Vec::new() };
        let back = u32::try_from(now.saturating_sub(self.since).as_millis() / PACE.as_millis()).unwrap_or(u32::MAX);
        self.used = self.used.saturating_sub(back);
        self.since += PACE.saturating_mul(back);
        if self.used == 0 {
            self.since = now;
        }
        // What was just said need not be said again.
        if self.used >= BURST || self.last.as_ref() == Some(&message) {
            self.left_out += 1;
            return Vec::new();
        }
        self.used += 1;
        self.last = Some(message.clone());
        let mut messages = self.rest();
        messages.push(message);
        messages
    }

    /// What to print about messages that were left out.
    pub fn rest(&mut self) -> Vec<Message> {
        if self.left_out == 0 {
            return Vec::new();
        }
        let number = count(std::mem::take(&mut self.left_out), "message", "messages");
        vec![Message::Line(Line::new(Style::Dim, format!("… {number} left out (--json has them all)")))]
    }
}

fn message(event: &Event, verbose: bool) -> Option<Message> {
    let Event::Plugin { unit, said } = event else { return None };
    match said {
        plugin::Event::Log { source, level, message, fields } => {
            let style = match *level {
                "error" => Style::Red,
                "warn" => Style::Yellow,
                "info" | "debug" if verbose => Style::Dim,
                _ => return None,
            };
            let line = by(unit.as_ref(), source).and(style, format!("{level}: ")).plain(message);
            let line = fields.iter().fold(line, |line, (name, value)| line.and(Style::Dim, format!(" {name}=")).plain(value));
            Some(Message::Line(line))
        }
        plugin::Event::Report { source, diagnostic } => {
            Some(Message::Report { by: by(unit.as_ref(), source), diagnostic: diagnostic.clone() })
        }
        plugin::Event::Progress { .. } => None,
    }
}

fn by(unit: Option<&UnitId>, source: &plugin::Source) -> Line {
    let unit = unit.map(ToString::to_string).or_else(|| source.unit.clone());
    let unit = unit.map(|unit| format!("{unit} ")).unwrap_or_default();
    Line::new(Style::Bold, unit).and(Style::Dim, format!("({}) ", source.plugin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(level: &'static str, message: &str) -> Event {
        let source = plugin::Source { plugin: "demo".to_owned(), call: "apply", unit: None };
        let said = plugin::Event::Log { source, level, message: message.to_owned(), fields: vec![("a".to_owned(), "b".to_owned())] };
        Event::Plugin { unit: Some(UnitId::Machine("dev-cp-1".to_owned())), said }
    }

    #[test]
    fn a_flood_becomes_a_number() {
        let mut messages = Messages::new(false);
        let shown: usize = (0..1000).map(|number| messages.take(&log("warn", &format!("flood {number}")), Duration::ZERO).len()).sum();
        assert_eq!(shown, BURST as usize);
        let later = messages.take(&log("warn", "calm"), Duration::from_millis(550));
        let text: Vec<String> = later
            .iter()
            .map(|message| match message {
                Message::Line(line) => line.painted(false),
                Message::Report { .. } => panic!("no report was made"),
            })
            .collect();
        assert_eq!(text, ["… 980 messages left out (--json has them all)", "machine/dev-cp-1 (demo) warn: calm a=b"]);
        assert_eq!(messages.take(&log("warn", "too soon"), Duration::from_millis(700)), []);
        assert_eq!(messages.take(&log("warn", "again"), Duration::from_millis(1050)).len(), 2);
    }

    #[test]
    fn nothing_is_said_twice_in_a_row() {
        let mut messages = Messages::new(false);
        let shown = [0, 60, 120].map(|second| messages.take(&log("warn", "same"), Duration::from_secs(second)).len());
        assert_eq!(shown, [1, 0, 0]);
        assert_eq!(messages.take(&log("warn", "other"), Duration::from_secs(130)).len(), 2);
    }

    #[test]
    fn how_much_is_said_depends_on_who_asks() {
        for (level, normal, verbose) in [("trace", 0, 0), ("debug", 0, 1), ("info", 0, 1), ("warn", 1, 1), ("error", 1, 1)] {
            assert_eq!(Messages::new(false).take(&log(level, "x"), Duration::ZERO).len(), normal, "{level}");
            assert_eq!(Messages::new(true).take(&log(level, "x"), Duration::ZERO).len(), verbose, "{level}");
        }
    }
}
