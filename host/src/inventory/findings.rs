//! What is wrong with an inventory, collected rather than thrown.

use crate::diagnostic::{Diagnostic, Severity};
use crate::redact::one_line;

/// The most findings that are kept: who made more mistakes than this starts with these.
const MOST: usize = 100;

/// Findings in the order in which they were made.
#[derive(Debug, Default)]
pub struct Findings {
    all: Vec<Diagnostic>,
    more: usize,
    errors: usize,
}

impl Findings {
    pub fn push(&mut self, mut finding: Diagnostic) {
        // What was written is in the words, and a key may have line breaks in it.
        finding.summary = one_line(&finding.summary, 500);
        self.errors += usize::from(finding.severity == Severity::Error);
        if self.all.len() < MOST {
            self.all.push(finding);
        } else {
            self.more += 1;
        }
    }

    /// Counts an error whose words nobody will read, if there are that many: with thousands of them, words take time.
    pub fn only_count(&mut self) -> bool {
        let full = self.all.len() >= MOST;
        if full {
            self.more += 1;
            self.errors += 1;
        }
        full
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them, file by file and line by line.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        let place =
            |finding: &Diagnostic| finding.place.as_ref().map(|place| (rank(&place.file), place.file.clone(), place.line, place.column));
        self.all.sort_by_key(place);
        if self.more > 0 {
            self.all.push(Diagnostic::error("inventory/more", format!("and {} more", self.more)));
        }
        self.all
    }
}

/// The order in which people read the files.
fn rank(file: &str) -> usize {
    ["cluster.yaml", "nodes.yaml", "site.yaml", "../site.yaml"].iter().position(|known| *known == file).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use crate::inventory::{Files, read};

    #[test]
    fn a_summary_is_one_line_whatever_was_written() {
        // Found by the fuzzer: a slot whose name has line breaks in it.
        let loaded = read(&Files::default().with("site.yaml", "slots:\n {u\r\r\ren}\n"));
        assert!(!loaded.findings.is_empty());
        assert!(loaded.findings.iter().all(|finding| !finding.summary.contains('\n')));
    }
}
