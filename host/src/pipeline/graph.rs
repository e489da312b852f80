//! What depends on what, as pictures: Graphviz text, an SVG laid out by phase, and a page with it. Pure.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::plan::{Change, Plan};
use super::unit::{Phase, UnitId};
use crate::redact::one_line;

/// How it stands with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// This is planned.
    Planned(Change),
    /// Nothing is planned, it is only waited for.
    Waited,
    /// It is as intended.
    AsIs,
    /// It was done the last time.
    Done,
    /// It was begun and is not done.
    Open,
    /// It failed.
    Failed,
}

impl Status {
    /// Every one, in the order of the legend.
    pub const ALL: [Self; 9] = [
        Self::Planned(Change::Create),
        Self::Planned(Change::Update),
        Self::Planned(Change::Replace),
        Self::Planned(Change::Destroy),
        Self::Waited,
        Self::AsIs,
        Self::Done,
        Self::Open,
        Self::Failed,
    ];

    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned(Change::Create) => "to create",
            Self::Planned(Change::Update) => "to update",
            Self::Planned(Change::Replace) => "to replace",
            Self::Planned(Change::Destroy) => "to destroy",
            Self::Waited => "waited for",
            Self::AsIs => "as it is",
            Self::Done => "done",
            Self::Open => "not done",
            Self::Failed => "failed",
        }
    }

    /// The name of its colours in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Self::Planned(Change::Create) => "create",
            Self::Planned(Change::Update) => "update",
            Self::Planned(Change::Replace) => "replace",
            Self::Planned(Change::Destroy) => "destroy",
            Self::Waited => "waited",
            Self::AsIs => "asis",
            Self::Done => "done",
            Self::Open => "open",
            Self::Failed => "failed",
        }
    }

    fn color(self) -> &'static str {
        match self {
            Self::Planned(Change::Create) | Self::Done => "#1a7f37",
            Self::Planned(Change::Update) | Self::Open => "#9a6700",
            Self::Planned(Change::Replace | Change::Destroy) | Self::Failed => "#cf222e",
            Self::Waited | Self::AsIs => "#6e7781",
        }
    }
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vertex {
    /// The unit.
    pub unit: UnitId,
    /// What has to be done before it.
    pub after: Vec<UnitId>,
    /// How it stands with it.
    pub status: Status,
    /// The plugin that answers for it.
    pub plugin: String,
}

/// Units and what each needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// What it is of.
    pub title: String,
    /// The units, each after those it needs.
    pub units: Vec<Vertex>,
}

impl Graph {
    /// Of what a plan would do. What is as intended is not in a plan; add it to `units` where it is known.
    pub fn of(plan: &Plan) -> Self {
        let worst = |actions: &[super::plan::Action]| actions.iter().map(|action| action.change).max();
        let units = plan.units.iter().map(|planned| Vertex {
            unit: planned.unit.clone(),
            after: planned.after.clone(),
            status: worst(&planned.actions).map_or(Status::Waited, Status::Planned),
            plugin: planned.plugin.clone(),
        });
        Self { title: plan.cluster.clone(), units: units.collect() }
    }

    /// What each unit needs, as numbers of units; names of none are left out.
    fn edges(&self) -> Vec<Vec<usize>> {
        let index: HashMap<&UnitId, usize> = self.units.iter().enumerate().map(|(at, vertex)| (&vertex.unit, at)).collect();
        let needs = |vertex: &Vertex| vertex.after.iter().filter_map(|unit| index.get(unit).copied()).collect();
        self.units.iter().map(needs).collect()
    }
}

/// As Graphviz reads it.
pub fn dot(graph: &Graph) -> String {
    let quoted = |text: &str| format!("\"{}\"", one_line(text, usize::MAX).replace('\\', "\\\\").replace('"', "\\\""));
    let mut text =
        format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n", quoted(&graph.title));
    for phase in Phase::ALL {
        let units: Vec<&Vertex> = graph.units.iter().filter(|vertex| vertex.unit.phase() == phase).collect();
        if units.is_empty() {
            continue;
        }
        let _ = writeln!(text, "  subgraph \"cluster_{phase}\" {{\n    label=\"{phase}\";");
        for vertex in units {
            let (color, plugin) = (vertex.status.color(), quoted(&format!("{}, {}", vertex.status.as_str(), vertex.plugin)));
            let _ = writeln!(text, "    {} [color=\"{color}\", tooltip={plugin}];", quoted(&vertex.unit.to_string()));
        }
        text.push_str("  }\n");
    }
    for (vertex, needs) in graph.units.iter().zip(graph.edges()) {
        for need in needs {
            let _ = writeln!(text, "  {} -> {};", quoted(&graph.units[need].unit.to_string()), quoted(&vertex.unit.to_string()));
        }
    }
    text.push_str("}\n");
    text
}

/// As a picture that stands alone.
pub fn svg(graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let (width, height) = (layout.width, layout.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>{COLORS}{STYLE}</style>\n{}</svg>\n",
        escaped(&graph.title),
        layout.drawn(graph)
    )
}

/// As a page that stands alone: the picture, a legend and a table.
pub fn html(graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let (width, height) = (layout.width, layout.height);
    let mut legend = String::new();
    for status in Status::ALL {
        let number = graph.units.iter().filter(|vertex| vertex.status == status).count();
        if number > 0 {
            let _ = write!(legend, "<span class=\"key {}\"><i></i>{number} {}</span>", status.class(), status.as_str());
        }
    }
    let mut rows = String::new();
    for (at, vertex) in graph.units.iter().enumerate() {
        let after: Vec<String> = vertex.after.iter().map(|unit| escaped(&unit.to_string())).collect();
        let _ = writeln!(
            rows,
            "<tr data-row=\"{at}\"><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>",
            vertex.unit.phase(),
            escaped(&vertex.unit.to_string()),
            vertex.status.class(),
            vertex.status.as_str(),
            escaped(&vertex.plugin),
            after.join(", ")
        );
    }
    let title = escaped(&graph.title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n<style>{COLORS}{STYLE}{PAGE}</style></head><body>\n\
         <h1>{title}</h1>\n<p class=\"legend\">{legend}</p>\n<div class=\"picture\">\
         <svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n{}</svg></div>\n\
         <table><thead><tr><th>phase</th><th>unit</th><th>status</th><th>plugin</th><th>needs</th></tr></thead><tbody>\n{rows}</tbody></table>\n\
         <script>{SCRIPT}</script>\n</body></html>\n",
        layout.drawn(graph)
    )
}

const COLORS: &str = "svg,body{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--soft:#656d76;--line:#d0d7de;--box:#f6f8fa;\
--create:#1a7f37;--update:#9a6700;--destroy:#cf222e;--quiet:#6e7781}\
@media(prefers-color-scheme:dark){svg,body{--paper:#0d1117;--ink:#e6edf3;--soft:#8d96a0;--line:#3d444d;--box:#161b22;\
--create:#3fb950;--update:#d29922;--destroy:#f85149;--quiet:#8b949e}}";
const STYLE: &str = "svg{background:var(--paper);font:12px system-ui,sans-serif}text{fill:var(--ink)}\
.phase{fill:var(--soft);font-weight:600}.edge{fill:none;stroke:var(--line);stroke-width:1.3}\
.unit rect{fill:var(--box);stroke:var(--color);stroke-width:1.3}.unit .bar{fill:var(--color);stroke:none}\
.create,.done{--color:var(--create)}.update,.open{--color:var(--update)}.replace,.destroy,.failed{--color:var(--destroy)}\
.waited,.asis{--color:var(--quiet)}.waited rect{stroke-dasharray:4 3}";
const PAGE: &str = "body{margin:2rem;background:var(--paper);color:var(--ink);font:14px system-ui,sans-serif}h1{font-size:1.3rem}\
.key{margin-right:1.2rem}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px;background:var(--color)}\
.picture{overflow:auto;margin:1rem 0 2rem}table{border-collapse:collapse}th,td{text-align:left;padding:.25rem 1.2rem .25rem 0;\
border-bottom:1px solid var(--line);vertical-align:top}td[class]{color:var(--color)}\
.chosen .unit,.chosen .edge{opacity:.2}.chosen .unit.on,.chosen .edge.on{opacity:1}\
.edge.needs{stroke:var(--update)}.edge.needed{stroke:var(--create)}.edge.on{stroke-width:2}tr.on{background:var(--box)}";
const SCRIPT: &str = "\
const svg=document.querySelector('svg'),edges=[...svg.querySelectorAll('.edge')].map(e=>[e,+e.dataset.from,+e.dataset.to]);\
const walk=(at,a,b,name,on)=>{const seen=new Set([at]),todo=[at];while(todo.length){const u=todo.pop();for(const e of edges)if(e[a]===u){\
e[0].classList.add('on',name);if(!seen.has(e[b])){seen.add(e[b]);todo.push(e[b])}}}seen.forEach(u=>on.add(u))};\
const clear=()=>{svg.classList.remove('chosen');document.querySelectorAll('.on').forEach(e=>e.classList.remove('on','needs','needed'))};\
const show=at=>{clear();const on=new Set();walk(at,2,1,'needs',on);walk(at,1,2,'needed',on);svg.classList.add('chosen');\
document.querySelectorAll('[data-unit],[data-row]').forEach(e=>{if(on.has(+(e.dataset.unit??e.dataset.row)))e.classList.add('on')})};\
document.querySelectorAll('[data-unit],[data-row]').forEach(e=>{e.addEventListener('mouseenter',()=>show(+(e.dataset.unit??e.dataset.row)));\
e.addEventListener('mouseleave',clear)});";

/// Sizes in pixels.
const BOX: (usize, usize) = (176, 26);
const GAP: (usize, usize) = (64, 10);
const MARGIN: usize = 16;
const HEADER: usize = 28;
/// As much of a name as fits a box.
const NAME: usize = 24;

/// Where everything is: phases from left to right, what a phase needs of itself in columns of its own.
struct Layout {
    /// The corner of every unit.
    at: Vec<(usize, usize)>,
    edges: Vec<Vec<usize>>,
    phases: Vec<(Phase, usize)>,
    width: usize,
    height: usize,
}

impl Layout {
    fn of(graph: &Graph) -> Self {
        let edges = graph.edges();
        let columns = columns(graph, &edges);
        let number = columns.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); number];
        for (unit, column) in columns.iter().enumerate() {
            members[*column].push(unit);
        }
        let tallest = members.iter().map(Vec::len).max().unwrap_or(0);
        let step = (BOX.0 + GAP.0, BOX.1 + GAP.1);
        let mut at = vec![(0, 0); graph.units.len()];
        for (column, units) in members.iter_mut().enumerate() {
            // Beside what they need, so that lines go straight where they can.
            let middle = |unit: usize| {
                let needs = &edges[unit];
                let sum: usize = needs.iter().map(|need| at[*need].1).sum();
                if needs.is_empty() { usize::MAX } else { sum / needs.len() }
            };
            let mut keyed: Vec<(usize, usize)> = units.iter().map(|unit| (middle(*unit), *unit)).collect();
            keyed.sort_unstable();
            let top = MARGIN + HEADER + (tallest - keyed.len()) * step.1 / 2;
            for (row, (_, unit)) in keyed.into_iter().enumerate() {
                at[unit] = (MARGIN + column * step.0, top + row * step.1);
            }
        }
        let mut phases: Vec<(Phase, usize)> = Vec::new();
        for (vertex, (x, _)) in graph.units.iter().zip(&at) {
            match phases.iter_mut().find(|(phase, _)| *phase == vertex.unit.phase()) {
                Some((_, left)) => *left = (*left).min(*x),
                None => phases.push((vertex.unit.phase(), *x)),
            }
        }
        let width = 2 * MARGIN + (number * step.0).saturating_sub(GAP.0);
        let height = 2 * MARGIN + HEADER + (tallest * step.1).saturating_sub(GAP.1);
        Self { at, edges, phases, width, height }
    }

    fn drawn(&self, graph: &Graph) -> String {
        let mut text = String::new();
        for (phase, x) in &self.phases {
            let _ = writeln!(text, "<text class=\"phase\" x=\"{x}\" y=\"{}\">{phase}</text>", MARGIN + 10);
        }
        for (to, needs) in self.edges.iter().enumerate() {
            for from in needs {
                let ((left, top), (right, bottom)) = (self.at[*from], self.at[to]);
                let (x1, y1, x2, y2) = (left + BOX.0, top + BOX.1 / 2, right, bottom + BOX.1 / 2);
                // However far apart, the bend is beside the boxes and not behind others.
                let (c1, c2) = (x1 + GAP.0 / 2, x2.saturating_sub(GAP.0 / 2));
                let _ = writeln!(
                    text,
                    "<path class=\"edge\" data-from=\"{from}\" data-to=\"{to}\" d=\"M{x1} {y1}C{c1} {y1} {c2} {y2} {x2} {y2}\"/>"
                );
            }
        }
        for (unit, (vertex, (x, y))) in graph.units.iter().zip(&self.at).enumerate() {
            let name = vertex.unit.to_string();
            let about = format!("{name}: {}, by {}", vertex.status.as_str(), vertex.plugin);
            let _ = writeln!(
                text,
                "<g class=\"unit {}\" data-unit=\"{unit}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
                 <rect class=\"bar\" x=\"{x}\" y=\"{y}\" width=\"4\" height=\"{}\" rx=\"2\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
                vertex.status.class(),
                escaped(&about),
                BOX.0,
                BOX.1,
                BOX.1,
                x + 12,
                y + 17,
                escaped(&one_line(&name, NAME))
            );
        }
        text
    }
}

/// The column of every unit: behind all of the phases before its own, and behind what it needs.
fn columns(graph: &Graph, edges: &[Vec<usize>]) -> Vec<usize> {
    let mut columns = vec![0; graph.units.len()];
    let mut first = 0;
    for phase in Phase::ALL {
        let units: Vec<usize> = (0..graph.units.len()).filter(|unit| graph.units[*unit].unit.phase() == phase).collect();
        for unit in &units {
            columns[*unit] = first;
        }
        // As often as there are units at most: a circle, which no plan has, ends there too.
        for _ in 0..units.len() {
            let mut moved = false;
            for unit in &units {
                let behind = edges[*unit].iter().filter(|need| units.contains(need) && *need != unit).map(|need| columns[*need] + 1).max();
                if let Some(column) = behind.filter(|column| *column > columns[*unit] && *column < first + units.len()) {
                    columns[*unit] = column;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        first = units.iter().map(|unit| columns[*unit] + 1).max().unwrap_or(first).max(first);
    }
    columns
}

/// A text in XML or HTML, in an attribute or between tags.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text, usize::MAX).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // No XML may hold these, in whatever form.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
