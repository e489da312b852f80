//! YAML as Talos prints its resources: four spaces, keys in the order of the
//! structure.

use std::fmt::Write;

/// A value.
pub(crate) enum Yaml {
    /// Written as it is: numbers, truths, words without anything special.
    Plain(String),
    /// Quoted where it has to be.
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl From<&str> for Yaml {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Yaml {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Yaml {
    fn from(truth: bool) -> Self {
        Self::Plain(truth.to_string())
    }
}

impl From<u64> for Yaml {
    fn from(number: u64) -> Self {
        Self::Plain(number.to_string())
    }
}

impl From<u32> for Yaml {
    fn from(number: u32) -> Self {
        Self::Plain(number.to_string())
    }
}

impl<T: Into<Yaml>> From<Vec<T>> for Yaml {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// A map that is filled field by field.
#[derive(Default)]
pub(crate) struct Fields(Vec<(String, Yaml)>);

impl Fields {
    /// Always there.
    pub fn with(mut self, key: &str, value: impl Into<Yaml>) -> Self {
        self.0.push((key.to_owned(), value.into()));
        self
    }

    /// Left out where it is empty.
    pub fn maybe(self, key: &str, value: impl Into<Yaml>) -> Self {
        let value = value.into();
        let empty = match &value {
            Yaml::Plain(text) => text == "0" || text == "false",
            Yaml::Text(text) => text.is_empty(),
            Yaml::List(items) => items.is_empty(),
            Yaml::Map(fields) => fields.is_empty(),
        };
        if empty { self } else { self.with(key, value) }
    }

    pub fn text(self) -> String {
        let mut out = String::new();
        map(&mut out, &self.0, 0);
        out
    }
}

impl From<Fields> for Yaml {
    fn from(fields: Fields) -> Self {
        Self::Map(fields.0)
    }
}

fn map(out: &mut String, fields: &[(String, Yaml)], depth: usize) {
    if fields.is_empty() && depth == 0 {
        out.push_str("{}\n");
    }
    for (key, value) in fields {
        let _ = write!(out, "{}{}:", "    ".repeat(depth), scalar(key));
        under(out, value, depth + 1);
    }
}

/// What comes after the colon of a key.
fn under(out: &mut String, value: &Yaml, depth: usize) {
    match value {
        Yaml::Plain(text) => {
            let _ = writeln!(out, " {text}");
        }
        Yaml::Text(text) if text.contains('\n') => {
            out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
            for line in text.lines() {
                let _ = writeln!(out, "{}{line}", if line.is_empty() { String::new() } else { "    ".repeat(depth) });
            }
        }
        Yaml::Text(text) => {
            let _ = writeln!(out, " {}", scalar(text));
        }
        Yaml::List(items) if items.is_empty() => out.push_str(" []\n"),
        Yaml::Map(fields) if fields.is_empty() => out.push_str(" {}\n"),
        Yaml::List(items) => {
            out.push('\n');
            for item in items {
                let mut inner = String::new();
                match item {
                    Yaml::Map(fields) if !fields.is_empty() => map(&mut inner, fields, 0),
                    other => under(&mut inner, other, 1),
                }
                let indent = "    ".repeat(depth);
                for (at, line) in inner.trim_start_matches(' ').lines().enumerate() {
                    let _ = writeln!(out, "{indent}{}{line}", if at == 0 { "- " } else { "  " });
                }
            }
        }
        Yaml::Map(fields) => {
            out.push('\n');
            map(out, fields, depth);
        }
    }
}

/// Quotes what would be read as something else.
fn scalar(text: &str) -> String {
    let odd = text.is_empty()
        || text.parse::<f64>().is_ok()
        || ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"].contains(&text.to_lowercase().as_str())
        || text.starts_with(|c: char| "!&*-?{}[],#|>@`\"'% ".contains(c))
        || text.ends_with(' ')
        || text.contains(": ")
        || text.contains(" #")
        || text.ends_with(':');
    if odd { format!("{text:?}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_talos_prints() {
        let status = Fields::default().with("ready", false).with(
            "unmetConditions",
            vec![Fields::default().with("name", "services").with("reason", "etcd not running, kubelet not healthy")],
        );
        let text = Fields::default()
            .with("stage", "running")
            .with("status", status)
            .with("addresses", vec!["10.0.0.1", "10.0.0.2"])
            .with("none", Vec::<String>::new())
            .with("empty", "")
            .maybe("gone", "")
            .text();
        let expected = "stage: running\nstatus:\n    ready: false\n    unmetConditions:\n        - name: services\n          reason: etcd not running, kubelet not healthy\naddresses:\n    - 10.0.0.1\n    - 10.0.0.2\nnone: []\nempty: \"\"\n";
        assert_eq!(text, expected);
    }
}
