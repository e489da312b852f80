//! What a version of Talos would refuse, before it is sent there.

use std::fmt;

use emhost_talos_schema::{Mode, load, validate};

use crate::{Contract, Platform};

/// A configuration that its version of Talos would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    contract: Contract,
    problems: Vec<String>,
}

impl Refused {
    /// What Talos would say, one text per problem.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Talos {} would refuse the configuration: {}", self.contract, self.problems.join("; "))
    }
}

impl std::error::Error for Refused {}

/// Reads a configuration as strictly as that version of Talos, and answers with its warnings.
///
/// # Errors
/// With everything that Talos would refuse, by document and key.
pub fn check(text: &str, contract: Contract, platform: Platform) -> Result<Vec<String>, Refused> {
    let refused = |problems: Vec<String>| Refused { contract, problems: problems.iter().flat_map(|problem| points(problem)).collect() };
    let config = load(text.as_bytes(), contract.version()).map_err(|error| refused(vec![error.to_string()]))?;
    if !config.is_complete() {
        return Err(refused(vec!["there is no document with `machine` and `cluster`".to_owned()]));
    }
    let mode = match platform {
        Platform::Metal => Mode::Metal,
        Platform::Nocloud => Mode::Cloud,
    };
    validate(&config, mode).map_err(|invalid| refused(invalid.problems().to_vec()))
}

/// Talos lists several problems of one document as points of one text; the document's name stays with each.
fn points(problem: &str) -> Vec<String> {
    let Some((head, points)) = problem.split_once(" occurred:\n\t* ") else { return vec![one_line(problem)] };
    let document = head.rsplit_once(' ').map_or("", |(before, _)| before.trim_end_matches(|last: char| last.is_ascii_digit()));
    points.split("\n\t* ").map(|point| format!("{document}{}", one_line(point))).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, release: &str) -> Vec<String> {
        check(text, Contract::of(release).unwrap(), Platform::Metal).unwrap_err().problems
    }

    #[test]
    fn what_a_version_does_not_know_is_named() {
        let known = "machine: {type: worker, install: {grubUseUKICmdline: true}}\ncluster: {}\n";
        let problem = problems(known, "v1.11.5").remove(0);
        assert!(problem.contains("grubUseUKICmdline"), "{problem}");
        let kind = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n";
        assert!(problems(kind, "v1.11.5")[0].contains("HostnameConfig"));
        assert_eq!(problems(kind, "v1.12.1"), ["there is no document with `machine` and `cluster`"]);
    }

    #[test]
    fn every_problem_is_told_with_its_document() {
        let text = "machine: {type: worker, network: {interfaces: [{interface: a, deviceSelector: {driver: b}}]}}\ncluster: {}\n---\napiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: nowhere}]\n";
        assert!(problems(text, "v1.12.1")[0].contains("nowhere"));
        let text = text.replace("nowhere", "1.1.1.1");
        let all = problems(&text, "v1.12.1");
        assert!(all.len() > 2 && all.iter().all(|problem| problem.starts_with("v1alpha1.Config: ")), "{all:#?}");
        let refused = check(&text, Contract::of("v1.12.1").unwrap(), Platform::Metal).unwrap_err().to_string();
        assert!(
            refused.starts_with("Talos v1.12.1 would refuse the configuration: v1alpha1.Config: ") && !refused.contains('\n'),
            "{refused}"
        );
    }
}
