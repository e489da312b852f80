//! Whether a configuration that was loaded makes sense, in the words of Talos.

mod cluster;
mod interfaces;
mod labels;
mod links;
mod machine;
mod others;
mod runtime;
mod volumes;

#[cfg(test)]
mod judged;
#[cfg(test)]
mod tests;

use std::fmt;

use super::{Config, Document};

pub use runtime::{Running, runtime_validate};

/// Where a machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// On hardware: Talos installs itself.
    Metal,
    /// From an image that somebody else put on the disk.
    Cloud,
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Metal => "metal",
            Self::Cloud => "cloud",
        })
    }
}

/// Why a configuration makes no sense. Written out, it is the text a node answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    problems: Vec<String>,
}

impl Invalid {
    /// One text per document that is wrong, and per conflict between documents.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&many(&self.problems))
    }
}

impl std::error::Error for Invalid {}

/// Several problems as one text.
fn many(problems: &[String]) -> String {
    let points: Vec<_> = problems.iter().map(|problem| format!("* {problem}")).collect();
    match problems.len() {
        1 => format!("1 error occurred:\n\t{}\n\n", points[0]),
        count => format!("{count} errors occurred:\n\t{}\n\n", points.join("\n\t")),
    }
}

/// What is found while looking.
#[derive(Debug, Default)]
struct Findings {
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn problem_if(&mut self, wrong: bool, text: &str) {
        if wrong {
            self.problem(text);
        }
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

/// Checks everything that can be checked without the machine, and answers with warnings.
///
/// # Errors
/// With everything that is wrong.
pub fn validate(config: &Config, mode: Mode) -> Result<Vec<String>, Invalid> {
    let mut all = Findings::default();
    if config.is_complete() {
        let mut findings = Findings::default();
        machine::check(config, mode, &mut findings);
        // Which document a problem is of is said since 1.12.
        if !config.version.since(1, 12) {
            all.problems.append(&mut findings.problems);
        } else if !findings.problems.is_empty() {
            all.problem(format!("v1alpha1.Config: {}", many(&findings.problems)));
        }
        all.warnings = findings.warnings;
    }
    for document in config.documents.iter().filter(|document| !document.is_main()) {
        let mut findings = Findings::default();
        check(document, config, &mut findings);
        if !findings.problems.is_empty() {
            let problems = findings.problems.join("\n");
            all.problem(if config.version.since(1, 12) { format!("{}: {problems}", document.id()) } else { problems });
        }
        all.warnings.append(&mut findings.warnings);
    }
    if config.is_complete() && config.version.since(1, 12) {
        for document in &config.documents {
            if let Some(conflict) = conflict(document, config) {
                all.problem(conflict);
            }
        }
    }
    if all.problems.is_empty() { Ok(all.warnings) } else { Err(Invalid { problems: all.problems }) }
}

fn check(document: &Document, config: &Config, findings: &mut Findings) {
    let handled = links::check(document, config.version, findings) || volumes::check(document, config.version, findings);
    if !handled {
        others::check(document, findings);
    }
}

/// What a document and the machine's section say both.
fn conflict(document: &Document, config: &Config) -> Option<String> {
    let says = |way: &[&str]| config.at(&[&["machine"], way].concat()).is_some_and(|node| node.raw() != Some(""));
    let list = |way: &[&str]| config.at(&[&["machine"], way].concat()).is_some();
    let found = match document.kind.as_str() {
        "HostnameConfig" if says(&["network", "hostname"]) => "static hostname is already set in v1alpha1 config",
        "HostnameConfig" if config.truth(&["machine", "features", "stableHostname"]) == Some(true) => {
            "stable hostname is already set in v1alpha1 config"
        }
        "ResolverConfig" if list(&["network", "searchDomains"]) => ".machine.network.searchDomains is already set in v1alpha1 config",
        "ResolverConfig"
            if !config
                .at(&["machine", "network", "nameservers"])
                .is_none_or(|all| all.texts().iter().all(|text| super::values::address(text).is_err())) =>
        {
            ".machine.network.nameservers is already set in v1alpha1 config"
        }
        "ResolverConfig" if config.truth(&["machine", "network", "disableSearchDomain"]) == Some(true) => {
            ".machine.network.disableSearchDomain is already set in v1alpha1 config"
        }
        "TimeSyncConfig" if config.truth(&["machine", "time", "disabled"]) == Some(true) => {
            "time sync cannot be disabled in both v1alpha1 and new-style configuration"
        }
        "TimeSyncConfig" if config.at(&["machine", "time", "servers"]).is_some_and(|servers| !servers.items().is_empty()) => {
            "time servers cannot be specified in both v1alpha1 and new-style configuration"
        }
        "TimeSyncConfig"
            if config.machine_text(&["time", "bootTimeout"]).and_then(super::values::duration).is_some_and(|timeout| timeout != 0) =>
        {
            "boot timeout cannot be specified in both v1alpha1 and new-style configuration"
        }
        "KubeSpanConfig" if says(&["network", "kubespan"]) => "kubespan is already configured in v1alpha1 machine.network.kubespan",
        "VolumeConfig" => return volumes::conflict(document, config),
        _ => return None,
    };
    Some(found.to_owned())
}
