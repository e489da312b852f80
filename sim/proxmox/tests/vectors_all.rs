//! Every recorded answer of Proxmox's own code has a test that compares it, or a reason why none does.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking and say what they skip")]

mod site;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use site::facts::{exception, file};

const ACCESS: (&str, &str) = ("vectors_access.rs", include_str!("vectors_access.rs"));
const PARAMS: (&str, &str) = ("vectors_params.rs", include_str!("vectors_params.rs"));
const PUT: (&str, &str) = ("vectors_put.rs", include_str!("vectors_put.rs"));
const SCHEMA: (&str, &str) = ("vectors_schema/recorded.rs", include_str!("vectors_schema/recorded.rs"));

/// A kind of recorded answer: the suite, and the operation or else what the record is about.
type Kind = (&'static str, &'static str);

/// Which test compares which kind, and whether it asks over HTTP.
const REPLAYED: [(Kind, (&str, &str), &str, bool); 25] = [
    (("params", "accepted"), SCHEMA, "requests_are_checked_as_proxmox_does", false),
    (("params", "refused"), SCHEMA, "requests_are_checked_as_proxmox_does", false),
    (("params", "refused"), PARAMS, "what_is_refused_is_refused_over_http_in_the_same_words", true),
    (("property-string", "value"), SCHEMA, "property_strings_are_checked_read_and_printed_as_proxmox_does", false),
    (("property-string", "put"), SCHEMA, "property_strings_are_checked_read_and_printed_as_proxmox_does", false),
    (("property-string", "put"), PUT, "a_put_changes_what_it_changes_at_proxmox", true),
    (("permissions", "request"), ACCESS, "every_request_is_allowed_or_refused_as_by_proxmox", true),
    (("permissions", "builtin-role"), ACCESS, "the_built_in_roles_are_those_of_proxmox", true),
    (("permissions", "all-privileges"), ACCESS, "the_built_in_roles_are_those_of_proxmox", true),
    (("permissions", "acl-path"), SCHEMA, "paths_of_access_control_lists_are_those_of_proxmox", false),
    (("root-only", "request"), ACCESS, "only_root_may_what_only_root_may_at_proxmox", true),
    (("storage", "api"), PUT, "storages_answer_as_at_proxmox", true),
    (("storage", "parse_volname"), SCHEMA, "volumes_are_read_as_proxmox_does", false),
    (("storage", "parse_volume_id"), SCHEMA, "volumes_are_read_as_proxmox_does", false),
    (("storage", "normalize_content_filename"), SCHEMA, "volumes_are_read_as_proxmox_does", false),
    (("storage", "decompressor"), SCHEMA, "volumes_are_read_as_proxmox_does", false),
    (("upid", "api"), ACCESS, "status_and_log_of_tasks_are_told_as_by_proxmox", true),
    (("upid", "api-missing-log"), ACCESS, "status_and_log_of_tasks_are_told_as_by_proxmox", true),
    (("upid", "api-bad-upid"), ACCESS, "status_and_log_of_tasks_are_told_as_by_proxmox", true),
    (("upid", "api-log-paging"), ACCESS, "status_and_log_of_tasks_are_told_as_by_proxmox", true),
    (("upid", "decode"), SCHEMA, "task_identifiers_and_lists_are_read_as_proxmox_does", false),
    (("upid", "encode"), SCHEMA, "task_identifiers_and_lists_are_read_as_proxmox_does", false),
    (("upid", "status"), SCHEMA, "task_identifiers_and_lists_are_read_as_proxmox_does", false),
    (("upid", "read_status"), SCHEMA, "task_identifiers_and_lists_are_read_as_proxmox_does", false),
    (("upid", "split_list"), SCHEMA, "task_identifiers_and_lists_are_read_as_proxmox_does", false),
];

/// What a line is about.
fn kind(line: &Value) -> (String, String) {
    let suite = line["suite"].as_str().unwrap();
    let about = match (suite, line["input"]["op"].as_str()) {
        (_, Some(operation)) => operation,
        ("params", None) if line["expect"]["status"] == 200 => "accepted",
        ("params", None) => "refused",
        ("property-string", None) if line["expect"]["put"].is_object() => "put",
        ("property-string", None) => "value",
        _ if line["input"]["method"].is_string() => "request",
        _ => "unknown",
    };
    (suite.to_owned(), about.to_owned())
}

#[test]
fn every_line_is_compared_or_has_a_reason() {
    let Some(lines) = file() else { return };
    let known: BTreeSet<Kind> = REPLAYED.iter().map(|(kind, ..)| *kind).collect();
    let mut count: BTreeMap<(String, String), usize> = BTreeMap::new();
    let (mut nobody, mut excepted) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let kind = kind(line);
        assert!(line["pve"] == "8.4" || line["pve"] == "9", "line {}: a release that nobody compares", index + 1);
        if !known.contains(&(kind.0.as_str(), kind.1.as_str())) {
            nobody.push(format!("line {}: {kind:?}", index + 1));
        }
        if let Some(reason) = exception(&line["input"], &line["expect"]) {
            excepted.push(format!("line {}: {reason}", index + 1));
        }
        *count.entry(kind).or_default() += 1;
    }
    assert!(nobody.is_empty(), "no test compares these:\n{}", nobody.join("\n"));
    assert!(excepted.len() * 20 <= lines.len(), "{} of {} lines are excepted:\n{}", excepted.len(), lines.len(), excepted.join("\n"));
    let counted: usize = count.values().sum();
    assert_eq!(counted, lines.len());
    for ((suite, about), lines) in &count {
        eprintln!("{suite} {about}: {lines}");
    }
    eprintln!("{counted} lines, {} of them excepted:\n{}", excepted.len(), excepted.join("\n"));
}

/// The list above is only worth something if those tests are there and look at what it says.
#[test]
fn the_tests_that_compare_them_are_there() {
    for ((suite, about), (name, source), test, http) in &REPLAYED {
        let start = source.find(&format!("fn {test}()")).unwrap_or_else(|| panic!("no {test} in {name}"));
        let attribute = source[..start].rfind("#[").map(|at| &source[at..start]).unwrap();
        assert!(attribute.contains("test") && !attribute.contains("ignore"), "{test} in {name} is not run: {attribute}");
        assert!(source.contains(&format!("\"{suite}\"")), "{name} does not read the suite {suite}");
        let named = ["accepted", "refused", "value", "put", "request"].contains(about) || source.contains(&format!("\"{about}\""));
        assert!(named, "{name} does not know {about}");
        assert_eq!(source.contains("Site::open"), *http, "{name} asks over HTTP or it does not");
    }
}
