//! Words for what is wrong with the text of a file.

use super::findings::Findings;
use super::sources::Document;
use super::yaml::{Flaw, FlawKind};
use crate::diagnostic::Diagnostic;
use crate::redact::one_line;

/// Says what is wrong with the text of a file.
pub fn tell(document: &Document, flaws: Vec<Flaw>, findings: &mut Findings) {
    for flaw in flaws {
        let finding = finding(&document.file, flaw.kind);
        findings.push(finding.at(flaw.at.map(|at| document.place(at))));
    }
}

fn finding(file: &str, kind: FlawKind) -> Diagnostic {
    let (code, summary, help) = match kind {
        FlawKind::Large => ("yaml/large", format!("{file} is larger than 1 MiB"), "look whether this is the right file"),
        FlawKind::Binary => ("yaml/binary", format!("{file} is not a text file"), "look whether this is the right file"),
        FlawKind::NotUtf8 => ("yaml/encoding", format!("{file} is not UTF-8 from here on"), "save it as UTF-8"),
        FlawKind::Syntax(message) => {
            ("yaml/syntax", one_line(&message, 200), "look at indentation, quotes and brackets here and in the line above")
        }
        FlawKind::Deep => ("yaml/deep", "this is nested too deeply".to_owned(), "look at the brackets and the indentation above"),
        FlawKind::Many => (
            "yaml/many",
            format!("{file} holds too many values, counting those that aliases repeat"),
            "look whether this is the right file",
        ),
        FlawKind::Tag(tag) => ("yaml/tag", format!("tags such as `{}` mean nothing here", one_line(&tag, 40)), "leave the tag out"),
        FlawKind::Documents => {
            ("yaml/documents", format!("{file} holds a second document"), "keep one document, and remove the `---` before the second")
        }
        FlawKind::KeyShape => ("yaml/key", "a key has to be plain text".to_owned(), "put what is meant as text in quotes"),
        FlawKind::Merge => ("yaml/merge", "merge keys (`<<`) are not supported".to_owned(), "repeat the keys, or alias whole values"),
        FlawKind::Twice(key, first) => {
            let summary = format!("the key `{}` is given twice", one_line(&key, 80));
            let detail = format!("the first one is at {file}:{}:{}", first.line, first.column);
            return Diagnostic::error("inventory/duplicate-key", summary).detail(detail).help(Some("remove one of them"));
        }
    };
    Diagnostic::error(code, summary).help(Some(help))
}
