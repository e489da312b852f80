//! What Helm answers, for the pipeline and for people.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::error::ChartError;
use super::sandbox::{Source, Stopped};
use super::{Hook, Rendered};
use crate::diagnostic::{Place, story};
use crate::redact::{Redactor, one_line};

/// The fields of `helm/render.go`.
#[derive(Deserialize)]
struct Answer {
    chart: String,
    version: String,
    text: String,
    crds: Vec<Value>,
    objects: Vec<Value>,
    hooks: Vec<Hook>,
    #[serde(default)]
    notes: String,
}

#[derive(Deserialize)]
struct Failure {
    step: String,
    message: String,
}

/// Who asks, for messages.
pub(super) struct About<'a> {
    pub reference: &'a str,
    pub version: &'a str,
    pub release: &'a str,
    pub source: &'a Source,
    pub redactor: &'a Redactor,
}

impl About<'_> {
    fn name(&self) -> String {
        format!("chart {} of release `{}`", one_line(self.reference, 200), one_line(self.release, 80))
    }

    fn error(&self, code: &str, what: &str, help: &str) -> ChartError {
        ChartError::new(code, format!("{}: {}", self.name(), one_line(&self.redactor.text(what), 400)), help)
    }

    /// Reads the answer, and sees that it is of the chart that was asked for.
    pub fn rendered(&self, answer: &str) -> Result<Rendered, ChartError> {
        let answer: Answer = serde_json::from_str(answer).map_err(|error| {
            self.error("chart/answer", &format!("what Helm answered cannot be read: {error}"), "this is a bug of emhost")
        })?;
        let bare = |version: &str| version.trim_start_matches('v').replace('_', "+");
        if !self.version.is_empty() && bare(self.version) != bare(&answer.version) {
            let what = format!("it is version {}, and {} was asked for", answer.version, self.version);
            return Err(self.error("chart/version", &what, "write the version that is there, or the address of the one that is meant"));
        }
        let mut manifests = answer.crds;
        manifests.extend(answer.objects);
        let notes = Some(answer.notes).filter(|notes| !notes.trim().is_empty());
        Ok(Rendered { chart: answer.chart, version: answer.version, manifests, hooks: answer.hooks, notes, text: answer.text })
    }

    /// What Helm says when it cannot.
    pub fn failed(&self, said: &str) -> ChartError {
        let failure: Failure = serde_json::from_str(said).unwrap_or_else(|_| Failure { step: "bug".to_owned(), message: said.to_owned() });
        let message = story(failure.message.trim(), self.redactor);
        let last = message.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("Helm does not say why");
        // Templates that include others: what is wrong comes last.
        let last = failure.message.trim().rsplit_once("error calling include: ").map_or(last, |(_, end)| end).to_owned();
        let whole = if message.lines().count() > 1 || message.len() > 300 { message.as_str() } else { "" };
        match failure.step.as_str() {
            "template" | "manifest" => {
                let place = located(&message);
                let here = place.as_ref().and_then(|(file, line, column)| self.place(file, *line, *column));
                let what = match &place {
                    // Said already where the message is of one line.
                    Some((file, line, _)) if !last.contains(file.as_str()) => format!("{file}, line {line}: {last}"),
                    _ => last,
                };
                let help = if failure.step == "template" {
                    "see what the template wants at that line, and set it in the chart's values; Helm says the same"
                } else {
                    "the template gives what is no Kubernetes object with these values; Helm says the same"
                };
                self.error("chart/template", &what, help).detail(whole).at(here.as_ref())
            }
            "values" if message.starts_with("values don't meet the specifications") => {
                let what = "the values are not what the chart's schema allows";
                self.error("chart/values", what, "change the chart's values; the detail is Helm's own").detail(message.clone())
            }
            "values" => self.error("chart/values", &last, "change the chart's values").detail(whole),
            "release" => self.error("chart/release", &last, "a release has a name of at most 53 small letters, digits and dashes"),
            "kubernetes" => self.error("chart/kubernetes", &last, "use a version of the chart that knows this version of Kubernetes"),
            "chart" => self.error("chart/chart", &last, "see whether `helm template` takes the chart; it says the same").detail(whole),
            _ => {
                self.error("chart/bug", &last, "this is a bug of emhost or of Helm: report it with the chart and its values").detail(whole)
            }
        }
    }

    /// What is said when Helm did not come to an answer.
    pub fn stopped(&self, stopped: &Stopped) -> ChartError {
        match stopped {
            Stopped::Limit(what) => {
                let help = "a template of the chart does not come to an end, or makes too much of the values it is given; it was stopped, and nothing else was affected";
                self.error("chart/limit", &format!("was stopped: it {what}"), help)
            }
            Stopped::Broken(how, words) => {
                let help = "this is a bug of emhost or of Helm: report it with the chart and its values";
                self.error("chart/bug", &format!("Helm did not come to an answer: {how}"), help).detail(story(words.trim(), self.redactor))
            }
        }
    }

    /// A place in a file that the person has: of a chart in the cluster's folder.
    fn place(&self, file: &str, line: u32, column: u32) -> Option<Place> {
        let Source::Folder(files) = self.source else { return None };
        // Helm puts the chart's name before it.
        let (_, name) = file.split_once('/')?;
        let (_, bytes) = files.iter().find(|(known, _)| known == name)?;
        let text = String::from_utf8_lossy(bytes).lines().nth(usize::try_from(line).ok()?.checked_sub(1)?).map(str::to_owned);
        let text = text.map(|text| one_line(&self.redactor.text(&text), 200));
        let folder = self.reference.trim_start_matches("./").trim_end_matches('/');
        Some(Place { file: format!("{folder}/{name}"), line, column: column.max(1), text })
    }
}

/// The first `CHART/templates/FILE:LINE:COLUMN` of a message.
fn located(message: &str) -> Option<(String, u32, u32)> {
    // None if it is no expression, which the test below would say.
    static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"([\w.-]+(?:/[\w.-]+)+):(\d+)(?::(\d+))?").ok());
    let found = PLACE.as_ref()?.captures(message)?;
    let number = |at: usize| found.get(at).and_then(|digits| digits.as_str().parse().ok());
    Some((found.get(1)?.as_str().to_owned(), number(2)?, number(3).unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_what_helm_says() {
        let at = |message: &str| located(message).map(|(file, line, column)| format!("{file} {line} {column}"));
        assert_eq!(at("parse error at (x/templates/a.yaml:3): unclosed action").as_deref(), Some("x/templates/a.yaml 3 1"));
        let executing =
            "x/charts/sub/templates/_h.tpl:12:34\n  executing \"x\" at <.Values.a.b>:\n    nil pointer evaluating interface {}.b\n";
        assert_eq!(at(executing).as_deref(), Some("x/charts/sub/templates/_h.tpl 12 34"));
        assert_eq!(at("something else: 12:34"), None);
    }
}
