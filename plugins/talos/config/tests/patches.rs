//! Patches of files, merged here and by Talos itself.
//!
//! A case is `=== title @versions`, then `--base`, one or more `--patch`, and `--result` or `--refused words`. `--refused-by-us` is what
//! Talos takes without a word, though it does nothing. `EMHOST_RECORD=1` writes the results anew.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use emhost_talos_config::{diff, patch};

/// The versions that a result is recorded for.
const MINORS: std::ops::RangeInclusive<u16> = 8..=13;
/// The releases whose own merge is asked.
const JUDGES: [(&str, u16); 3] = [("v1.11.5", 11), ("v1.12.1", 12), ("v1.13.0", 13)];

#[derive(Clone, Default)]
struct Case {
    title: String,
    minors: Vec<u16>,
    base: String,
    patches: Vec<String>,
    result: String,
    refused: Option<(bool, String)>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/patches");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn minors(span: &str) -> Vec<u16> {
    let minor = |part: &str, otherwise| part.strip_prefix("1.").map_or(otherwise, |minor| minor.parse().unwrap());
    let (from, to) = span.split_once("..").unwrap();
    (minor(from, *MINORS.start())..=minor(to, *MINORS.end())).collect()
}

fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut part = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            let (title, span) = title.split_once(" @").unwrap_or((title, ".."));
            cases.push(Case { title: title.to_owned(), minors: minors(span), ..Case::default() });
            part.clear();
            continue;
        }
        let case = cases.last_mut().expect("a title first");
        let marker = line.strip_prefix("--").filter(|rest| !rest.starts_with('-'));
        if let Some(marker) = marker {
            let (name, words) = marker.split_once(' ').unwrap_or((marker, ""));
            name.clone_into(&mut part);
            match name {
                "patch" => case.patches.push(String::new()),
                "refused" | "refused-by-us" => case.refused = Some((name == "refused", words.to_owned())),
                "base" | "result" => {}
                other => panic!("{}: --{other}", case.title),
            }
            continue;
        }
        let text = match part.as_str() {
            "base" => &mut case.base,
            "patch" => case.patches.last_mut().unwrap(),
            "result" => &mut case.result,
            _ if line.is_empty() => continue,
            _ => panic!("{}: {line}", case.title),
        };
        text.push_str(line);
        text.push('\n');
    }
    // The empty line before the next title belongs to nobody.
    for case in &mut cases {
        for text in [&mut case.base, &mut case.result].into_iter().chain(&mut case.patches) {
            let length = text.trim_end_matches('\n').len();
            text.truncate((length + 1).min(text.len()));
        }
    }
    cases
}

fn merged(case: &Case, minor: u16) -> Result<String, patch::Error> {
    let patches: Vec<&str> = case.patches.iter().map(String::as_str).collect();
    patch::merge_for(minor, &case.base, &patches)
}

fn record(path: &Path, cases: &[Case]) {
    let mut text = String::new();
    for (index, case) in cases.iter().enumerate() {
        let span = match (case.minors.first(), case.minors.last()) {
            (Some(from), Some(to)) if (*from..=*to) == MINORS => String::new(),
            (Some(from), Some(to)) if from == MINORS.start() => format!(" @..1.{to}"),
            (Some(from), Some(to)) if to == MINORS.end() => format!(" @1.{from}.."),
            (Some(from), Some(to)) => format!(" @1.{from}..1.{to}"),
            _ => panic!("{}: no version", case.title),
        };
        let gap = if index == 0 { "" } else { "\n" };
        write!(text, "{gap}=== {}{span}\n--base\n{}", case.title, case.base).unwrap();
        for patch in &case.patches {
            write!(text, "--patch\n{patch}").unwrap();
        }
        match &case.refused {
            Some((true, words)) => writeln!(text, "--refused {words}").unwrap(),
            Some((false, words)) => writeln!(text, "--refused-by-us {words}").unwrap(),
            None => write!(text, "--result\n{}", merged(case, case.minors[0]).unwrap_or_else(|error| panic!("{}: {error}", case.title)))
                .unwrap(),
        }
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn every_case_has_the_recorded_end_in_each_of_its_versions() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let cases = read(&text);
        if std::env::var_os("EMHOST_RECORD").is_some() {
            record(&path, &cases);
            continue;
        }
        count += cases.len();
        for case in &cases {
            for minor in &case.minors {
                match (merged(case, *minor), &case.refused) {
                    (Ok(result), None) if result == case.result => {}
                    (Err(error), Some((_, words))) if error.to_string().contains(words) => {}
                    (ended, _) => wrong.push(format!("{} in 1.{minor}: {ended:?}\n", case.title)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count == 0 || count >= 60, "{count}");
}

/// Adds a document that no case has, so that Talos writes what it read anew and changes nothing else.
const REWRITE: &str = "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: rewritten-by-talos\nurl: tcp://192.0.2.1:1\n";

/// What Talos writes after its own merge, or its refusal.
fn judged(program: &Path, base: &str, patches: &[String]) -> Result<String, String> {
    let texts: Vec<&str> = [base].into_iter().chain(patches.iter().map(String::as_str)).chain([REWRITE]).collect();
    emhost_oracles::on_files(program, "patch", &texts)
}

#[test]
fn talos_merges_the_same() {
    let cases: Vec<Case> = files().iter().flat_map(|path| read(&std::fs::read_to_string(path).unwrap())).collect();
    let judges = JUDGES.iter().filter_map(|(release, minor)| {
        emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle").map(|program| (program, *minor))
    });
    let judges: Vec<(PathBuf, u16)> = judges.collect();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let compare = |half: &[Case]| -> Vec<String> {
            half.iter().flat_map(|case| judges.iter().filter_map(|(program, minor)| disagreement(case, program, *minor))).collect()
        };
        let (one, other) = cases.split_at(cases.len() / 2);
        let other = scope.spawn(move || compare(other));
        [compare(one), other.join().unwrap()].concat()
    });
    assert!(wrong.is_empty(), "{} of {} cases\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn disagreement(case: &Case, program: &Path, minor: u16) -> Option<String> {
    if !case.minors.contains(&minor) {
        return None;
    }
    let theirs = judged(program, &case.base, &case.patches);
    match (merged(case, minor), theirs) {
        (Err(_), Err(_)) => None,
        (Err(_), Ok(_)) if matches!(case.refused, Some((false, _))) => None,
        (Ok(ours), Ok(theirs)) => {
            let rewritten = match judged(program, &ours, &[]) {
                Ok(rewritten) => rewritten,
                Err(refusal) => return Some(format!("{} in 1.{minor}: Talos does not take it: {refusal}\n{ours}", case.title)),
            };
            if rewritten != theirs {
                return Some(format!("{} in 1.{minor}:\nours\n{rewritten}\ntheirs\n{theirs}", case.title));
            }
            // What Talos rewrote means the same as what we wrote.
            let changes = diff::changes(&format!("{ours}---\n{REWRITE}"), &theirs).unwrap();
            (!changes.is_empty()).then(|| format!("{} in 1.{minor}: {changes:?}", case.title))
        }
        (ours, theirs) => Some(format!("{} in 1.{minor}:\nours {ours:?}\ntheirs {theirs:?}", case.title)),
    }
}
