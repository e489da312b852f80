//! A run where there is no terminal: one line for each thing that is worth one. And for programs: one object for each event.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use emhost::capabilities::events as plugin;
use emhost::pipeline::{Event, Progress, UnitId, Wait, Watch};

use super::messages::{Message, Messages};
use super::text::{Line, Style, count, took, width};
use super::tree::{stopping, waits};
use super::{Ui, Volume};

/// A unit's activity is worth a line no more often than this.
const PACE: Duration = Duration::from_secs(5);
/// The widest column for names.
const COLUMN: usize = 32;

/// Events as lines on standard error.
pub struct Lines {
    ui: Ui,
    began: Instant,
    log: Mutex<Log>,
}

impl Lines {
    /// Begins to count time.
    pub fn new(ui: &Ui) -> Self {
        Self { ui: ui.clone(), began: Instant::now(), log: Mutex::new(Log::new(ui.volume == Volume::Verbose)) }
    }
}

impl Watch for Lines {
    fn event(&self, event: Event) {
        let messages = self.log.lock().unwrap_or_else(PoisonError::into_inner).take(&event, self.began.elapsed());
        for message in &messages {
            self.ui.message(message);
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let left = self.log.get_mut().unwrap_or_else(PoisonError::into_inner).messages.rest();
        for message in &left {
            self.ui.message(message);
        }
    }
}

/// Events as JSON, a line each.
pub struct Json(pub Ui);

impl Watch for Json {
    fn event(&self, event: Event) {
        // An event is made of text and numbers: there is nothing that could not be written.
        if let Ok(event) = serde_json::to_value(&event) {
            self.0.json(&event);
        }
    }
}

/// Nothing but what plugins report as errors; how it ended is said at the end.
pub struct Silent(pub Ui);

impl Watch for Silent {
    fn event(&self, event: Event) {
        if let Event::Plugin { said: plugin::Event::Report { diagnostic, .. }, .. } = event {
            self.0.diagnostic(&diagnostic);
        }
    }
}

/// What was said last, so that it is not said twice. Pure.
struct Log {
    verbose: bool,
    column: usize,
    /// What each unit did or waited for when that was last told, and when.
    told: HashMap<UnitId, (String, Option<Duration>)>,
    running: HashSet<UnitId>,
    messages: Messages,
}

impl Log {
    fn new(verbose: bool) -> Self {
        Self { verbose, column: 0, told: HashMap::new(), running: HashSet::new(), messages: Messages::new(verbose) }
    }

    fn take(&mut self, event: &Event, now: Duration) -> Vec<Message> {
        let stamp = Line::new(Style::Dim, format!("[{:>7}] ", took(now)));
        let messages = self.messages.take(event, now).into_iter().map(|message| match message {
            Message::Line(line) => Message::Line(stamp.clone().join(line)),
            Message::Report { by, diagnostic } => Message::Report { by: stamp.clone().join(by), diagnostic },
        });
        let mut messages: Vec<Message> = messages.collect();
        let line = match event {
            Event::Planning { what } => Some(Line::new(Style::Plain, format!("planning: {what}"))),
            Event::Run { units } => {
                self.column = units.iter().map(|(unit, _)| width(&unit.to_string())).max().unwrap_or(0).min(COLUMN);
                Some(Line::new(Style::Plain, count(units.len(), "unit to look after", "units to look after")))
            }
            Event::Unit { unit, progress } => self.unit(unit, progress).map(|line| self.named(unit, line)),
            Event::Plugin { unit: Some(unit), said: plugin::Event::Progress { activity, percent, .. } } => {
                self.activity(unit, activity, *percent, now).map(|line| self.named(unit, line))
            }
            Event::Plugin { .. } => None,
            Event::Stopping { .. } => Some(Line::new(Style::Yellow, stopping(self.running.len()))),
        };
        messages.extend(line.map(|line| Message::Line(stamp.join(line))));
        messages
    }

    fn named(&self, unit: &UnitId, line: Line) -> Line {
        Line::new(Style::Bold, unit.to_string()).padded(self.column).plain("  ").join(line)
    }

    /// Whether this is news about the unit.
    fn news(&mut self, unit: &UnitId, what: &str) -> bool {
        let told = self.told.entry(unit.clone()).or_default();
        if told.0 == what {
            return false;
        }
        what.clone_into(&mut told.0);
        true
    }

    fn unit(&mut self, unit: &UnitId, progress: &Progress) -> Option<Line> {
        let plain = |text: String| Some(Line::new(Style::Plain, text));
        match progress {
            Progress::Began { .. } => self.running.insert(unit.clone()),
            Progress::Done { .. } | Progress::Failed { .. } | Progress::Skipped { .. } | Progress::Stopped => self.running.remove(unit),
            Progress::Waits { .. } | Progress::Again { .. } | Progress::Retries { .. } => false,
        };
        match progress {
            // Every unit waits for those before it; nobody needs a line for that.
            Progress::Waits { on: Wait::Units(_) | Wait::Turn } if !self.verbose => None,
            Progress::Waits { on } => {
                let text = waits(on);
                if self.news(unit, &text) { plain(text) } else { None }
            }
            Progress::Began { activity, estimate } => {
                self.told.remove(unit);
                let earlier = estimate.map(|estimate| format!(" (about {} earlier)", took(estimate))).unwrap_or_default();
                plain(format!("began: {activity}{earlier}"))
            }
            Progress::Again { reason, .. } => {
                if self.news(unit, reason) {
                    plain(reason.clone())
                } else {
                    None
                }
            }
            Progress::Retries { reason, pause, attempt } => {
                self.told.remove(unit);
                Some(Line::new(Style::Yellow, format!("{reason} (try {attempt} in {})", took(*pause))))
            }
            Progress::Done { elapsed, changed: true } => Some(Line::new(Style::Green, format!("done in {}", took(*elapsed)))),
            Progress::Done { changed: false, .. } => Some(Line::new(Style::Dim, "as it is")),
            Progress::Failed { diagnostics } => {
                let why = diagnostics.first().map(|first| format!(": {}", first.summary)).unwrap_or_default();
                Some(Line::new(Style::Red, format!("failed{why}")))
            }
            Progress::Skipped { because } => Some(Line::new(Style::Dim, format!("not begun: {because} failed"))),
            Progress::Stopped => Some(Line::new(Style::Yellow, "stopped; the next run goes on with it")),
        }
    }

    fn activity(&mut self, unit: &UnitId, activity: &str, percent: Option<u8>, now: Duration) -> Option<Line> {
        let (told, at) = self.told.entry(unit.clone()).or_default();
        if told == activity || at.is_some_and(|at| now < at + PACE) {
            return None;
        }
        (*told, *at) = (activity.to_owned(), Some(now));
        let percent = percent.filter(|percent| *percent > 0).map(|percent| format!(" {percent} %")).unwrap_or_default();
        Some(Line::new(Style::Plain, format!("{activity}{percent}")))
    }
}

#[cfg(test)]
mod tests;
