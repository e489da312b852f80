//! Patches for machine configurations, merged as Talos merges them.
//!
//! A patch is a piece of a configuration (a strategic patch, of one or more documents), or a list of operations by RFC 6902 where the
//! configuration is one document. The order of the base stays; what is new comes behind it. Comments go.

mod delete;
mod document;
mod json;
mod lists;
#[cfg(test)]
mod random;
mod strategic;
mod url;

use std::fmt;

pub(crate) use document::Identity;

use crate::pointer::pointer;
use crate::schema::Release;
use crate::tree::{Node, emit, parse};

/// Why a configuration could not be patched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration itself cannot be read.
    #[error("the configuration to patch cannot be read: {0}")]
    Base(String),
    /// A patch is wrong, or does not fit the configuration.
    #[error("patch {}, {}: {problem}", .index + 1, if path.is_empty() { "as a whole" } else { path })]
    Patch {
        /// Which of the patches, from 0.
        index: usize,
        /// Where in the patch, as a JSON pointer; empty for all of it. Documents with a kind begin with it, as `/VolumeConfig/EPHEMERAL`.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Base(_) => "Generate the configuration again.",
            Self::Patch { problem, .. } if problem.contains("`$patch") => {
                "Remove the `$patch: delete` or name a value that the configuration has; patches for one role go to that role's file."
            }
            Self::Patch { .. } => {
                "Correct the patch; it must be a piece of a Talos machine configuration, or a list of JSON patch operations."
            }
        }
    }
}

/// What is wrong with one patch, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    path: String,
    text: String,
}

impl Problem {
    pub(crate) fn at(path: &[impl AsRef<str>], text: impl Into<String>) -> Self {
        Self { path: pointer(path), text: text.into() }
    }

    fn whole(text: impl Into<String>) -> Self {
        Self { path: String::new(), text: text.into() }
    }

    /// The same, inside a document that has a kind.
    fn inside(mut self, prefix: &str) -> Self {
        self.path.insert_str(0, prefix);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(formatter, "{}{separator}{}", self.path, self.text)
    }
}

/// The identities of the documents of a configuration, or what is wrong with one.
pub(crate) fn identities(documents: &[Node]) -> Result<Vec<Identity>, String> {
    document::identities(documents).map_err(|problem| problem.to_string())
}

/// A configuration with patches merged into it, in their order, by the rules of the newest Talos.
///
/// # Errors
/// When the base or a patch is not usable; see [`Error`].
pub fn merge(base: &str, patches: &[&str]) -> Result<String, Error> {
    merged(base, patches, Release(None))
}

/// As [`merge`], for the Talos release with this minor version: what it does not know yet is refused, and its own rules count.
///
/// # Errors
/// When the base or a patch is not usable; see [`Error`].
pub fn merge_for(minor: u16, base: &str, patches: &[&str]) -> Result<String, Error> {
    merged(base, patches, Release(Some(minor)))
}

fn merged(base: &str, patches: &[&str], release: Release) -> Result<String, Error> {
    let mut documents = parse(base).map_err(Error::Base)?;
    documents.retain(|document| !document.is_null());
    identities(&documents).map_err(Error::Base)?;
    let mut changed = false;
    for (index, patch) in patches.iter().enumerate() {
        let wrong = |problem: Problem| Error::Patch { index, path: problem.path, problem: problem.text };
        let mut patch = parse(patch).map_err(|fault| wrong(Problem::whole(format!("it is no YAML: {fault}"))))?;
        patch.retain(|document| !document.is_null());
        match patch.as_mut_slice() {
            // Nothing but comments.
            [] => continue,
            [Node::List(operations)] => json::apply(&mut documents, std::mem::take(operations), release).map_err(wrong)?,
            _ => strategic::apply(&mut documents, patch, release).map_err(wrong)?,
        }
        changed = true;
    }
    Ok(if changed { emit(&documents) } else { base.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_change_the_text_stays_as_it_is() {
        let base = "machine:\n  type: worker # a comment\n";
        assert_eq!(merge(base, &[]).unwrap(), base);
        assert_eq!(merge(base, &["# only a comment\n", "---\n"]).unwrap(), base);
    }

    #[test]
    fn errors_name_the_patch_and_the_place() {
        let said = |base: &str, patches: &[&str]| merge(base, patches).unwrap_err().to_string();
        let base = "machine: {type: worker}\n";
        assert_eq!(said(base, &["machine: {}", "machine: [\n"]), "patch 2, as a whole: it is no YAML: line 1: unclosed bracket '['");
        assert_eq!(
            said(base, &["machine: {sysctls: {$patch: delete}}"]),
            "patch 1, /machine/sysctls: `$patch: delete` hits nothing: the configuration has no such value"
        );
        assert_eq!(said(base, &["hostname: x"]), "patch 1, as a whole: it says no `kind`, and has no `machine` or `cluster`");
        assert_eq!(said(base, &["text"]), "patch 1, as a whole: a document must be a map, not a text");
        assert!(said("a: [", &[]).starts_with("the configuration to patch cannot be read: line"));
        assert!(merge(base, &["machine: {sysctls: {$patch: delete}}"]).unwrap_err().help().contains("Remove"));
    }
}
