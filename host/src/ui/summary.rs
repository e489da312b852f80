//! How a run ended.

use emhost::diagnostic::Severity;
use emhost::pipeline::UnitId;
use emhost::pipeline::events::Report;
use serde_json::json;

use super::Ui;
use super::text::{Line, Style, took};

/// How many names of one kind are told.
const NAMES: usize = 8;

impl Ui {
    /// Takes the live tree off the terminal and says how the run ended, with every error.
    pub fn finish(&self, command: &str, report: &Report) {
        self.end_live();
        if self.json {
            self.event("report", json!({ "command": command, "report": report }));
            return;
        }
        for (unit, diagnostics) in &report.failed {
            self.tell(&Line::new(Style::Red, "✗ ").and(Style::Bold, unit.to_string()).plain(" failed"));
            for diagnostic in diagnostics {
                self.diagnostic(diagnostic);
            }
            if !diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
                self.tell(&Line::new(Style::Dim, "  no reason was given"));
            }
        }
        for line in lines(command, report) {
            self.show(&line);
        }
    }
}

/// All but the errors.
fn lines(command: &str, report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut causes: Vec<(&UnitId, Vec<&UnitId>)> = Vec::new();
    for (unit, because) in &report.skipped {
        match causes.iter_mut().find(|(cause, _)| *cause == because) {
            Some((_, units)) => units.push(unit),
            None => causes.push((because, vec![unit])),
        }
    }
    for (cause, units) in causes {
        lines.push(Line::new(Style::Yellow, "not begun: ").plain(names(&units)).and(Style::Dim, format!(" ({cause} failed)")));
    }
    if !report.stopped.is_empty() {
        lines.push(Line::new(Style::Yellow, "stopped: ").plain(names(&report.stopped.iter().collect::<Vec<_>>())));
    }
    let counts = [
        (report.done, "done"),
        (report.failed.len(), "failed"),
        (report.skipped.len(), "not begun"),
        (report.stopped.len(), "stopped"),
        (report.unchanged, if report.unchanged == 1 { "as it was" } else { "as they were" }),
    ];
    let counts: Vec<String> = counts.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
    let counts = if counts.is_empty() { "nothing to do".to_owned() } else { counts.join(", ") };
    let phases: Vec<String> = report.phases.iter().map(|one| format!("{} {}", one.phase, took(one.elapsed))).collect();
    let phases = if phases.is_empty() { String::new() } else { format!(" ({})", phases.join(", ")) };
    let text = format!("{counts}, in {}{phases}", took(report.elapsed));
    lines.push(if !report.failed.is_empty() {
        Line::new(Style::Bold, text).plain(format!("; the next {command} goes on where this one ended"))
    } else if report.stopped.is_empty() {
        Line::new(Style::Green, "✓ ").plain(text)
    } else {
        Line::new(Style::Bold, text)
    });
    lines
}

fn names(units: &[&UnitId]) -> String {
    let shown: Vec<String> = units.iter().take(NAMES).map(ToString::to_string).collect();
    match units.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use emhost::diagnostic::Diagnostic;
    use emhost::pipeline::Phase;
    use emhost::pipeline::events::Took;

    use super::*;

    fn machine(name: &str) -> UnitId {
        UnitId::Machine(name.to_owned())
    }

    fn text(report: &Report) -> String {
        lines("apply", report).iter().map(|line| line.painted(false)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn how_it_ended() {
        let good = Report { done: 12, unchanged: 1, elapsed: Duration::from_secs(192), ..Report::default() };
        insta::assert_snapshot!(text(&good), @"✓ 12 done, 1 as it was, in 3m12s");
        let took = |phase, seconds| Took { phase, elapsed: Duration::from_secs(seconds) };
        let phases = vec![took(Phase::Machines, 12), took(Phase::Os, 20)];
        insta::assert_snapshot!(text(&Report { phases, ..good }), @"✓ 12 done, 1 as it was, in 3m12s (machines 12s, os 20s)");
        insta::assert_snapshot!(text(&Report::default()), @"✓ nothing to do, in 0.0s");
        let bad = Report {
            done: 7,
            unchanged: 2,
            failed: vec![(machine("dev-wk-1"), vec![Diagnostic::error("http/status", "pve1 answered 500")])],
            skipped: (1..=12).map(|number| (UnitId::Os(format!("dev-wk-{number}")), machine("dev-wk-1"))).collect(),
            stopped: vec![machine("dev-wk-2")],
            elapsed: Duration::from_millis(3400),
            phases: Vec::new(),
        };
        insta::assert_snapshot!(text(&bad), @"
        not begun: os/dev-wk-1, os/dev-wk-2, os/dev-wk-3, os/dev-wk-4, os/dev-wk-5, os/dev-wk-6, os/dev-wk-7, os/dev-wk-8 and 4 more (machine/dev-wk-1 failed)
        stopped: machine/dev-wk-2
        7 done, 1 failed, 12 not begun, 1 stopped, 2 as they were, in 3.4s; the next apply goes on where this one ended
        ");
    }
}
