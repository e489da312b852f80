//! The plan as people read it: what happens, why, what it costs, and what cannot be undone.

use std::collections::HashMap;

use emhost::diagnostic::{Diagnostic, Place, Severity};
use emhost::pipeline::plan::{Action, Change, Disruption, Field, Orphan, Plan, Planned, Purpose};
use emhost::pipeline::{Phase, UnitId};
use emhost::redact::{Redactor, one_line};
use serde_json::Value;

use super::text::{Line, Style, count, shortened};

/// How many similar harmless actions are shown before the rest is folded.
const SHOWN: usize = 20;
/// The most that is shown of one value.
const VALUE: usize = 60;
/// Where everything below an action begins.
const INDENT: usize = 6;

/// For whom a plan is written.
pub struct View<'a> {
    /// What must not be shown.
    pub redactor: &'a Redactor,
    /// Columns; none does not wrap.
    pub width: Option<usize>,
    /// Whether nothing is folded.
    pub verbose: bool,
}

impl View<'_> {
    /// A text that may come from a plugin, before it is wrapped: a secret that a line break cuts in two is not found any more.
    fn clean(&self, text: &str) -> String {
        one_line(&self.redactor.text(text), usize::MAX)
    }
}

/// The whole plan.
pub fn lines(plan: &Plan, view: &View<'_>) -> Vec<Line> {
    let mut page = Page { view, lines: Vec::new() };
    page.say(2, head(plan, view));
    if let Some(until) = plan.until {
        page.say(2, Line::new(Style::Dim, format!("  only up to phase `{until}`; what comes after it is not in this plan")));
    }
    if let Some(quorum) = plan.quorum.as_ref().filter(|quorum| view.verbose || !quorum.is_whole()) {
        let text =
            format!("  control plane: {} of {} members healthy, {} needed", quorum.healthy(), quorum.members.len(), quorum.majority());
        page.say(2, Line::new(if quorum.is_whole() { Style::Dim } else { Style::Yellow }, text));
    }
    for phase in Phase::ALL {
        page.phase(plan, phase);
    }
    page.irreversible(plan);
    page.orphans(plan);
    page.secrets(plan);
    page.notes(&plan.notes);
    page.plugins(plan);
    page.lines
}

/// The plan as an event: without the values that may not be shown.
pub fn event(plan: &Plan) -> Value {
    let mut plan = plan.clone();
    for field in plan.units.iter_mut().flat_map(|unit| &mut unit.actions).flat_map(|action| &mut action.fields) {
        if field.sensitive {
            (field.before, field.after) = (None, None);
        }
    }
    serde_json::json!({ "plan": plan, "digest": plan.digest(), "changes": !plan.is_empty() })
}

fn head(plan: &Plan, view: &View<'_>) -> Line {
    let cluster = view.clean(&plan.cluster);
    if plan.is_empty() {
        return Line::new(
            Style::Bold,
            match plan.purpose {
                Purpose::Apply => format!("no changes: {cluster} is as the inventory says"),
                Purpose::Destroy => format!("nothing to destroy: nothing of {cluster} is there"),
            },
        );
    }
    let kinds = [Change::Create, Change::Update, Change::Replace, Change::Destroy].map(|change| (change, plan.count(change)));
    let mut line = Line::new(
        Style::Bold,
        match plan.purpose {
            Purpose::Apply => format!("plan for {cluster}: "),
            Purpose::Destroy => format!("plan to destroy {cluster}: "),
        },
    );
    for (index, (change, number)) in kinds.into_iter().filter(|(_, number)| *number > 0).enumerate() {
        let style = if matches!(change, Change::Replace | Change::Destroy) { Style::Red } else { Style::Plain };
        line = line.plain(if index > 0 { ", " } else { "" }).and(style, format!("{number} to {change}"));
    }
    match plan.unchanged {
        0 => line,
        1 => line.plain("; 1 as it is"),
        number => line.plain(format!("; {number} as they are")),
    }
}

struct Page<'a> {
    view: &'a View<'a>,
    lines: Vec<Line>,
}

impl Page<'_> {
    fn say(&mut self, indent: usize, line: Line) {
        self.lines.extend(line.wrapped(self.view.width, indent));
    }

    fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    fn heading(&mut self, style: Style, text: &str) {
        self.blank();
        self.lines.push(Line::new(style, text));
    }

    fn phase(&mut self, plan: &Plan, phase: Phase) {
        let units: Vec<&Planned> = plan.units.iter().filter(|unit| unit.unit.phase() == phase).collect();
        let shown = |unit: &&&Planned| self.view.verbose || !unit.actions.is_empty();
        if !units.iter().any(|unit| shown(&unit)) {
            return;
        }
        self.heading(Style::Bold, phase.as_str());
        let mut similar: HashMap<(&str, Change), usize> = HashMap::new();
        let mut folded: HashMap<(&str, Change), (usize, usize)> = HashMap::new();
        for unit in units {
            if unit.actions.is_empty() && self.view.verbose {
                let name = self.view.clean(&unit.unit.to_string());
                self.say(INDENT, Line::new(Style::Dim, format!("    · {name}  nothing to change, only waited for")));
            }
            let mut said = false;
            for action in &unit.actions {
                let kind = (unit.unit.kind(), action.change);
                let seen = similar.entry(kind).or_default();
                *seen += usize::from(harmless(action));
                if !self.view.verbose && harmless(action) && *seen > SHOWN {
                    let (_, number) = folded.entry(kind).or_insert((self.lines.len(), 0));
                    if *number == 0 {
                        self.blank();
                    }
                    *number += 1;
                    continue;
                }
                self.action(&unit.unit, action);
                said = true;
            }
            if let Some(quorum) = unit.quorum.as_ref().filter(|_| said) {
                self.below(Line::new(Style::Yellow, "quorum: ").plain(self.view.clean(quorum)));
            }
        }
        for (at, number) in folded.into_values() {
            self.lines[at] = Line::new(Style::Dim, format!("      … and {number} more like these (-v shows all)"));
        }
    }

    fn below(&mut self, line: Line) {
        self.say(INDENT + 2, Line::new(Style::Plain, " ".repeat(INDENT)).join(line));
    }

    fn action(&mut self, unit: &UnitId, action: &Action) {
        let (sign, style) = sign(action.change);
        let mut line = Line::new(style, format!("{sign:>5} "))
            .and(Style::Bold, self.view.clean(&unit.to_string()))
            .plain("  ")
            .plain(self.view.clean(&action.subject));
        if action.disruption != Disruption::None {
            let style = if action.disruption == Disruption::DataLoss { Style::Red } else { Style::Yellow };
            line = line.plain(", ").and(style, self.disruption(unit, action.disruption));
        }
        self.say(INDENT + 2, line);
        let reason = self.view.clean(&action.reason);
        match (&action.place, reason.is_empty()) {
            (Some(place), true) => self.below(Line::new(Style::Dim, self.place(place))),
            (Some(place), false) => self.below(Line::new(Style::Dim, format!("{reason} ({})", self.place(place)))),
            (None, false) => self.below(Line::new(Style::Dim, reason)),
            (None, true) => {}
        }
        let fields = action.fields.iter().map(|field| self.field(field, action));
        if matches!(action.change, Change::Create | Change::Destroy) && !self.view.verbose {
            // What is all new or all gone needs no line for each value.
            let all: Vec<String> = fields.collect();
            if !all.is_empty() {
                self.below(Line::new(Style::Plain, all.join(", ")));
            }
        } else {
            for field in fields.collect::<Vec<_>>() {
                self.below(Line::new(Style::Plain, field));
            }
        }
    }

    fn disruption(&self, unit: &UnitId, disruption: Disruption) -> String {
        let whom = match unit {
            UnitId::Addon(name) | UnitId::Orphan(name) | UnitId::Image(name) => self.view.clean(name),
            UnitId::Drain(node) => format!("the pods of {}", self.view.clean(node)),
            _ => unit.node().map_or_else(|| "the control plane".to_owned(), |node| self.view.clean(node)),
        };
        match disruption {
            Disruption::None => String::new(),
            Disruption::Restart if matches!(unit, UnitId::Drain(_)) => format!("restarts {whom}"),
            Disruption::Restart => format!("restarts services of {whom}"),
            Disruption::Reboot => format!("reboots {whom}"),
            Disruption::DataLoss => format!("loses the data of {whom}"),
        }
    }

    fn place(&self, place: &Place) -> String {
        self.view.clean(&place.to_string())
    }

    fn field(&self, field: &Field, action: &Action) -> String {
        let name = self.view.clean(field.pointer.trim_start_matches('/'));
        let text = match (&field.before, &field.after) {
            _ if field.sensitive => format!("{name} (sensitive)"),
            (Some(before), Some(after)) => format!("{name} {} -> {}", self.value(before), self.value(after)),
            (None, Some(after)) => format!("{name} = {}", self.value(after)),
            (Some(before), None) if action.change == Change::Destroy => format!("{name} = {}", self.value(before)),
            (Some(before), None) => format!("{name} {} -> none", self.value(before)),
            (None, None) => name,
        };
        match &field.place {
            Some(place) if action.place.as_ref() != Some(place) => format!("{text} ({})", self.place(place)),
            _ => text,
        }
    }

    fn value(&self, value: &Value) -> String {
        let text = match value {
            Value::Null => "none".to_owned(),
            Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text.clone(),
            other => other.to_string(),
        };
        let text = self.view.clean(&text);
        if self.view.verbose { text } else { shortened(&text, VALUE) }
    }

    fn irreversible(&mut self, plan: &Plan) {
        let all = plan.units.iter().flat_map(|unit| unit.actions.iter().map(|action| (&unit.unit, action)));
        let all: Vec<(&UnitId, &Action)> = all.filter(|(_, action)| action.irreversible).collect();
        if all.is_empty() {
            return;
        }
        self.heading(Style::Red, "cannot be undone");
        for (unit, action) in all {
            let (sign, style) = sign(action.change);
            let line = Line::new(style, format!("{sign:>5} ")).plain(format!("{} {}", action.change, self.view.clean(&action.subject)));
            let line = line.and(Style::Dim, format!(" ({})", self.view.clean(&unit.to_string())));
            self.say(INDENT + 2, line);
        }
    }

    fn orphans(&mut self, plan: &Plan) {
        if plan.orphans.is_empty() {
            return;
        }
        self.heading(Style::Yellow, "of this cluster, but of no node");
        for orphan in &plan.orphans {
            self.orphan(orphan, plan.unit(&UnitId::Orphan(orphan.id.clone())).is_some());
        }
    }

    fn orphan(&mut self, orphan: &Orphan, planned: bool) {
        let (id, host) = (self.view.clean(&orphan.id), self.view.clean(&orphan.host));
        let line = Line::new(Style::Yellow, "    ! ").plain(format!("machine {id} on {host}"));
        let line = line.plain(orphan.node.as_ref().map(|node| format!(", made for {}", self.view.clean(node))).unwrap_or_default());
        self.say(INDENT + 2, line.and(Style::Dim, format!(" (identity {})", self.view.clean(&orphan.identity))));
        if planned {
            self.below(Line::new(Style::Plain, "this plan destroys it"));
            return;
        }
        let text = "carries the cluster's mark and is left alone; `emhost apply --discard-orphans` removes it and its data";
        self.below(Line::new(Style::Plain, text));
    }

    fn secrets(&mut self, plan: &Plan) {
        if plan.secrets.is_empty() {
            return;
        }
        let names: Vec<String> = plan.secrets.iter().map(|name| self.view.clean(name)).collect();
        let made = count(names.len(), "secret was", "secrets were");
        self.blank();
        self.say(2, Line::new(Style::Plain, format!("{made} made and stored in secrets.sops.yaml: {}", names.join(", "))));
    }

    fn notes(&mut self, notes: &[Diagnostic]) {
        for note in notes {
            self.blank();
            let (word, style) = match note.severity {
                Severity::Error => ("error: ", Style::Red),
                Severity::Warning => ("warning: ", Style::Yellow),
                Severity::Note => ("note: ", Style::Bold),
            };
            let mut line = Line::new(style, word).plain(self.view.clean(&note.summary));
            if let Some(place) = &note.place {
                line = line.and(Style::Dim, format!(" ({})", self.place(place)));
            }
            self.say(2, line);
            for text in note.detail.iter().flat_map(|detail| detail.lines()) {
                self.say(4, Line::new(Style::Plain, format!("  {}", self.view.clean(text))));
            }
            if let Some(help) = &note.help {
                self.say(4, Line::new(Style::Bold, "  help: ").plain(self.view.clean(help)));
            }
        }
    }

    fn plugins(&mut self, plan: &Plan) {
        if plan.plugins.is_empty() || (plan.is_empty() && !self.view.verbose) {
            return;
        }
        if self.view.verbose {
            self.heading(Style::Bold, "plugins");
            let wide = plan.plugins.iter().map(|plugin| plugin.role.len()).max().unwrap_or(0);
            for plugin in &plan.plugins {
                let role = Line::new(Style::Dim, format!("  {}", self.view.clean(&plugin.role))).padded(wide + 4);
                let name = format!("{} {} ({})", plugin.plugin, plugin.version, plugin.digest);
                self.say(4, role.plain(self.view.clean(&name)));
            }
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for plugin in &plan.plugins {
            let digest = plugin.digest.trim_start_matches("sha256:").chars().take(8).collect::<String>();
            let name = self.view.clean(&format!("{} {} ({digest})", plugin.plugin, plugin.version));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        self.blank();
        self.say(2, Line::new(Style::Dim, format!("by {}", names.join(", "))));
    }
}

/// What may be folded: nobody needs the 980th of them to decide.
fn harmless(action: &Action) -> bool {
    matches!(action.change, Change::Create | Change::Update) && action.disruption == Disruption::None && !action.irreversible
}

fn sign(change: Change) -> (&'static str, Style) {
    match change {
        Change::Create => ("+", Style::Green),
        Change::Update => ("~", Style::Yellow),
        Change::Replace => ("-/+", Style::Red),
        Change::Destroy => ("-", Style::Red),
    }
}

#[cfg(test)]
mod tests;
