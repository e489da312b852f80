//! A run as it stands: every unit with what it does or waits for, and the picture of it that fits a terminal. Pure.

use std::collections::HashMap;
use std::time::Duration;

use emhost::capabilities::events as plugin;
use emhost::pipeline::{Event, Phase, Progress, UnitId, Wait};
use emhost::redact::Redactor;

use super::text::{Line, Style, count, shortened, whole, width};

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Done,
    Failed,
    /// Not begun because another one failed, or stopped.
    Left,
}

#[derive(Debug)]
struct Row {
    unit: UnitId,
    after: Vec<UnitId>,
    state: State,
    /// What it does or waits for; empty: for the units before it.
    activity: String,
    percent: Option<u8>,
    /// When another try follows, and which.
    retry: Option<(Duration, u32)>,
    began: Duration,
    ended: Duration,
    estimate: Option<Duration>,
}

/// The run. Times count from its beginning.
#[derive(Debug)]
pub struct Tree {
    title: String,
    planning: Option<String>,
    rows: Vec<Row>,
    index: HashMap<UnitId, usize>,
    estimates: HashMap<UnitId, Duration>,
    stopping: bool,
    redactor: Redactor,
}

impl Tree {
    /// With what earlier runs took, and what must not be shown.
    pub fn new(title: &str, estimates: HashMap<UnitId, Duration>, redactor: Redactor) -> Self {
        let index = HashMap::new();
        Self { title: title.to_owned(), planning: None, rows: Vec::new(), index, estimates, stopping: false, redactor }
    }

    /// A text before it is cut: half a secret is not found any more.
    fn clean(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    /// Takes in what happened.
    pub fn take(&mut self, event: &Event, now: Duration) {
        match event {
            Event::Planning { what } => self.planning = Some(self.clean(what)),
            Event::Run { units } => {
                self.planning = None;
                for (unit, after) in units {
                    let row = self.row(unit);
                    row.after.clone_from(after);
                }
            }
            Event::Unit { unit, progress } => self.progress(unit, progress, now),
            Event::Plugin { unit: Some(unit), said: plugin::Event::Progress { activity, percent, .. } } => {
                let activity = self.clean(activity);
                let row = self.row(unit);
                (row.activity, row.percent, row.retry) = (activity, *percent, None);
            }
            Event::Plugin { unit: None, said: plugin::Event::Progress { activity, .. } } if self.rows.is_empty() => {
                self.planning = Some(self.clean(activity));
            }
            Event::Plugin { .. } => {}
            Event::Stopping { .. } => self.stopping = true,
        }
    }

    fn row(&mut self, unit: &UnitId) -> &mut Row {
        let next = self.rows.len();
        let at = *self.index.entry(unit.clone()).or_insert(next);
        if at == next {
            self.rows.push(Row {
                unit: unit.clone(),
                after: Vec::new(),
                state: State::Waiting,
                activity: String::new(),
                percent: None,
                retry: None,
                began: Duration::ZERO,
                ended: Duration::ZERO,
                estimate: self.estimates.get(unit).copied(),
            });
        }
        &mut self.rows[at]
    }

    fn progress(&mut self, unit: &UnitId, progress: &Progress, now: Duration) {
        let activity = match progress {
            Progress::Began { activity: text, .. } | Progress::Again { reason: text, .. } | Progress::Retries { reason: text, .. } => {
                text.clone()
            }
            Progress::Failed { diagnostics } => diagnostics.first().map_or_else(|| "failed".to_owned(), |first| first.summary.clone()),
            Progress::Skipped { because } => format!("not begun: {because} failed"),
            Progress::Stopped => "stopped".to_owned(),
            // What it waits for is told from what is open when it is drawn.
            Progress::Waits { on: Wait::Units(_) } | Progress::Done { .. } => String::new(),
            Progress::Waits { on } => waits(on),
        };
        let activity = self.clean(&activity);
        let row = self.row(unit);
        (row.activity, row.percent, row.retry) = (activity, None, None);
        match progress {
            Progress::Began { estimate, .. } => {
                (row.state, row.began) = (State::Running, now);
                row.estimate = estimate.or(row.estimate);
            }
            Progress::Retries { pause, attempt, .. } => row.retry = Some((now + *pause, *attempt)),
            Progress::Done { .. } => (row.state, row.ended) = (State::Done, now),
            Progress::Failed { .. } => (row.state, row.ended) = (State::Failed, now),
            Progress::Skipped { .. } | Progress::Stopped => (row.state, row.ended) = (State::Left, now),
            Progress::Waits { .. } | Progress::Again { .. } => {}
        }
    }

    fn number(&self, state: State) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }

    /// The picture at this time, on a terminal of this size.
    pub fn frame(&self, now: Duration, (columns, rows): (usize, usize)) -> Vec<Line> {
        let wide = columns.saturating_sub(1);
        let mut frame = vec![self.head(now, if wide < 60 { "  " } else { "   " })];
        if self.stopping {
            frame.extend(Line::new(Style::Yellow, stopping(self.number(State::Running))).wrapped(Some(wide), 2));
        }
        // The line of the cursor is needed too.
        let room = rows.saturating_sub(frame.len() + 1);
        let tree = self.grouped(now, wide);
        frame.extend(if tree.len() <= room { tree } else { self.folded(now, wide, room) });
        frame.truncate(rows.saturating_sub(1).max(1));
        frame.into_iter().map(|line| line.cut(wide)).collect()
    }

    fn head(&self, now: Duration, gap: &str) -> Line {
        let line = Line::new(Style::Bold, &self.title).plain(gap);
        if self.rows.is_empty() {
            let what = self.planning.as_deref().unwrap_or("begins");
            return Line::new(Style::Green, spinner(now)).plain(" ").join(line).plain(format!("{}{gap}{what}", whole(now)));
        }
        let done = self.number(State::Done);
        let mut line = line.plain(format!("{done}/{} done{gap}{}", self.rows.len(), whole(now)));
        let failed = self.number(State::Failed);
        if failed > 0 {
            line = line.plain(gap).and(Style::Red, format!("{failed} failed"));
        }
        match self.left(now).filter(|left| !self.stopping && *left >= Duration::from_secs(1)) {
            Some(left) if left < Duration::from_secs(55) => line.plain(format!("{gap}about {}s left", left.as_secs().div_ceil(5) * 5)),
            Some(left) => line.plain(format!("{gap}about {}m left", (left.as_secs() + 30) / 60)),
            None => line,
        }
    }

    /// How long the longest chain of what is left will take, if every part of it has been seen before, here or in an earlier run.
    fn left(&self, now: Duration) -> Option<Duration> {
        let mut ends: HashMap<&UnitId, Duration> = HashMap::new();
        for row in &self.rows {
            let own = match row.state {
                State::Done | State::Failed | State::Left => continue,
                State::Running => row.estimate.or_else(|| self.like(&row.unit))?.saturating_sub(now.saturating_sub(row.began)),
                State::Waiting => row.estimate.or_else(|| self.like(&row.unit))?,
            };
            let before = row.after.iter().filter_map(|unit| ends.get(unit)).max().copied().unwrap_or_default();
            ends.insert(&row.unit, before + own);
        }
        ends.into_values().max()
    }

    /// What units of its kind took so far.
    fn like(&self, unit: &UnitId) -> Option<Duration> {
        let same = self.rows.iter().filter(|row| row.state == State::Done && row.unit.kind() == unit.kind());
        let took: Vec<Duration> = same.map(|row| row.ended.saturating_sub(row.began)).collect();
        took.iter().sum::<Duration>().checked_div(u32::try_from(took.len()).ok()?)
    }

    /// Every node with its units below it; what is done is on the node's own line.
    fn grouped(&self, now: Duration, wide: usize) -> Vec<Line> {
        let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in &self.rows {
            let name = row.unit.node().unwrap_or_else(|| match row.unit {
                UnitId::Orphan(_) => "orphans",
                UnitId::Image(_) => "images",
                _ => row.unit.phase().as_str(),
            });
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((name, vec![row])),
            }
        }
        // A stable sort: nodes stay in their order, between what comes before all of them and what comes after.
        groups.sort_by_key(|(_, rows)| rows.first().map(|row| if row.unit.node().is_some() { Phase::Machines } else { row.unit.phase() }));
        let column = groups.iter().map(|(name, _)| width(name)).max().unwrap_or(0).clamp(8, (wide / 3).max(8));
        let names = self.rows.iter().filter(|row| row.state != State::Done).map(|row| width(short(&row.unit))).max().unwrap_or(0);
        let mut lines = Vec::new();
        for (name, rows) in groups {
            let (done, open): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| row.state == State::Done);
            let mut line = Line::new(Style::Bold, shortened(name, column)).padded(column);
            for row in &done {
                line = line.and(Style::Green, "  ✓ ").and(Style::Dim, short(&row.unit));
            }
            lines.push(line);
            lines.extend(open.iter().map(|row| self.line(row, short(&row.unit), names, now, wide)));
        }
        lines
    }

    /// What runs, then what failed, then what waits, and the rest as numbers.
    fn folded(&self, now: Duration, wide: usize, room: usize) -> Vec<Line> {
        let mut open: Vec<&Row> = self.rows.iter().filter(|row| row.state != State::Done).collect();
        open.sort_by_key(|row| match row.state {
            State::Running => 0,
            State::Failed => 1,
            State::Waiting if !row.activity.is_empty() => 2,
            State::Waiting => 3,
            State::Left | State::Done => 4,
        });
        let shown = room.saturating_sub(1).min(open.len());
        let hidden = open.split_off(shown);
        let names: Vec<String> = open.iter().map(|row| row.unit.to_string()).collect();
        let column = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let mut lines: Vec<Line> = open.iter().zip(&names).map(|(row, name)| self.line(row, name, column, now, wide)).collect();
        let hidden = |state: State| hidden.iter().filter(|row| row.state == state).count();
        let rest = [
            (hidden(State::Running), "running"),
            (hidden(State::Failed), "failed"),
            (hidden(State::Waiting), "waiting"),
            (hidden(State::Left), "not begun"),
            (self.number(State::Done), "done"),
        ];
        let rest: Vec<String> = rest.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
        if !rest.is_empty() && room > 0 {
            lines.push(Line::new(Style::Dim, format!("  … {}", rest.join(", "))));
        }
        lines
    }

    fn line(&self, row: &Row, name: &str, column: usize, now: Duration, wide: usize) -> Line {
        let (symbol, style) = match row.state {
            State::Running => (spinner(now), Style::Green),
            State::Waiting => ("·".to_owned(), Style::Dim),
            State::Done => ("✓".to_owned(), Style::Green),
            State::Failed => ("✗".to_owned(), Style::Red),
            State::Left => ("-".to_owned(), Style::Dim),
        };
        let column = column.min(if wide < 60 { wide / 2 } else { wide / 3 });
        let line = Line::new(style, format!("  {symbol} ")).plain(shortened(name, column)).padded(column + 6);
        let time = match (row.state, row.estimate) {
            (State::Running, Some(estimate)) if wide >= 60 => {
                format!("  {} / ~{}", whole(now.saturating_sub(row.began)), whole(estimate))
            }
            (State::Running, _) => format!("  {}", whole(now.saturating_sub(row.began))),
            _ => String::new(),
        };
        let room = wide.saturating_sub(line.width() + width(&time));
        let activity = Line::new(if row.state == State::Failed { Style::Red } else { Style::Plain }, self.activity(row, now));
        let activity = if row.state == State::Waiting { Line::new(Style::Dim, self.activity(row, now)) } else { activity };
        line.join(activity.cut(room).padded(if time.is_empty() { 0 } else { room })).and(Style::Dim, time)
    }

    fn activity(&self, row: &Row, now: Duration) -> String {
        if row.state == State::Waiting && row.activity.is_empty() {
            let open = |unit: &&UnitId| self.index.get(*unit).is_some_and(|at| self.rows[*at].state != State::Done);
            return waits(&Wait::Units(row.after.iter().filter(open).cloned().collect()));
        }
        match (row.retry, row.percent) {
            (Some((at, attempt)), _) if at > now => {
                format!("try {attempt} in {}: {}", whole(at.saturating_sub(now) + Duration::from_millis(999)), row.activity)
            }
            (Some((_, attempt)), _) => format!("try {attempt}: {}", row.activity),
            (None, Some(percent)) => format!("{} {percent} %", row.activity),
            (None, None) => row.activity.clone(),
        }
    }
}

/// What a unit waits for, in words.
pub fn waits(on: &Wait) -> String {
    match on {
        Wait::Units(units) => match units.as_slice() {
            [] => "waits".to_owned(),
            [one] => format!("waits for {one}"),
            [one, rest @ ..] => format!("waits for {one} and {} more", rest.len()),
        },
        Wait::Holds(names) => format!("waits for {}", names.join(", ")),
        Wait::Turn => "waits for its turn".to_owned(),
        Wait::Quorum(why) => format!("waits for quorum: {why}"),
    }
}

/// What is said when a person asks to stop.
pub fn stopping(running: usize) -> String {
    let (steps, them) = (count(running, "running step", "running steps"), if running == 1 { "it" } else { "them" });
    format!("stopping: no new step starts; waiting for {steps} (Ctrl-C again to leave {them})")
}

/// A unit's name below its node.
fn short(unit: &UnitId) -> &str {
    match unit {
        UnitId::Boot(name) | UnitId::Addon(name) | UnitId::Orphan(name) | UnitId::Image(name) => name,
        _ => unit.kind(),
    }
}

fn spinner(now: Duration) -> String {
    let at = usize::try_from(now.as_millis() / 100).unwrap_or(0) % SPINNER.len();
    SPINNER[at].to_string()
}

#[cfg(test)]
mod tests;
