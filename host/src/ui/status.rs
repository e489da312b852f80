//! What a cluster is: tables of its units, and the values that other tools want to know.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Ui;
use super::text::{Line, Style, width};

/// A cell of a table.
pub type Cell = (Style, String);

impl Ui {
    /// Rows in columns; what does not fit the terminal is cut at the end of its line.
    pub fn table(&self, head: &[&str], rows: &[Vec<Cell>]) {
        for line in lines(head, rows) {
            self.show(&match self.width() {
                Some(width) => line.cut(width),
                None => line,
            });
        }
    }
}

impl Ui {
    /// Values by name. With `--json` they are one object; one alone is its value, as a script wants it.
    pub fn outputs(&self, outputs: &BTreeMap<&str, Value>, alone: bool) {
        if self.json {
            let text = serde_json::to_string_pretty(outputs).unwrap_or_default();
            self.document(&format!("{}\n", super::json_text(&text)));
            return;
        }
        for (name, value) in outputs {
            let values = words(value);
            if alone {
                let lines: Vec<String> = match value {
                    Value::Object(_) => vec![format!("{value:#}")],
                    _ => values.into_iter().map(|(_, value)| value).collect(),
                };
                let lines = lines.join("\n");
                self.document(&if lines.is_empty() { lines } else { format!("{}\n", self.clean(&lines)) });
                continue;
            }
            self.heading(name);
            for (name, value) in values {
                let name = name.map(|name| format!("{name}  ")).unwrap_or_default();
                self.show(&Line::new(Style::Plain, "  ").and(Style::Dim, name).plain(value));
            }
        }
    }
}

impl Ui {
    /// Names and values in their order. With `--json` they are one object.
    pub fn values(&self, values: &[(&str, Value)]) {
        if self.json {
            self.outputs(&values.iter().cloned().collect(), false);
            return;
        }
        let wide = values.iter().map(|(name, _)| width(name)).max().unwrap_or_default();
        for (name, value) in values {
            let value = words(value).into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(", ");
            self.show(&Line::new(Style::Dim, name).padded(wide + 2).plain(value));
        }
    }
}

/// A value as lines: those of a list, or of an object with their names.
fn words(value: &Value) -> Vec<(Option<String>, String)> {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    match value {
        Value::Array(all) => all.iter().map(|value| (None, plain(value))).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(name, value)| {
                let inner =
                    value.as_object().map(|all| all.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>());
                (Some(name.clone()), inner.map_or_else(|| plain(value), |all| all.join(" ")))
            })
            .collect(),
        other => vec![(None, plain(other))],
    }
}

fn lines(head: &[&str], rows: &[Vec<Cell>]) -> Vec<Line> {
    let cell = |(style, text): &Cell| Line::new(*style, text);
    let mut wide: Vec<usize> = head.iter().map(|name| width(name)).collect();
    for row in rows {
        for (column, text) in wide.iter_mut().zip(row) {
            *column = (*column).max(cell(text).width());
        }
    }
    let line = |cells: Vec<Line>| {
        let cells = cells.into_iter().zip(&wide).map(|(cell, wide)| cell.padded(wide + 2));
        cells.fold(Line::default(), Line::join)
    };
    let mut lines = vec![line(head.iter().map(|name| Line::new(Style::Dim, name)).collect())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(cell).collect())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_is_in_them() {
        let rows = [["machine/dev-cp-1", "done", "300"], ["os/漢字", "open\u{1b}[2J", ""]]
            .map(|row| row.map(|text| (Style::Plain, text.to_owned())).to_vec());
        let text: Vec<String> = lines(&["unit", "state", "id"], &rows).iter().map(|line| line.painted(false)).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        unit              state          id
        machine/dev-cp-1  done           300
        os/漢字           open\u{1b}[2J
        ");
    }
}
