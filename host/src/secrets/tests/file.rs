//! One file.

use jiff::Timestamp;

use super::super::document::{Document, OpenError};
use super::super::metadata::Rule;
use super::super::scalar::Plain;
use super::super::tree::Content;
use super::*;

fn document(text: &str) -> Result<Document, String> {
    Document::open(text.to_owned(), &[identity(ONE)]).map_err(|error| match error {
        OpenError::Format(error) => error.to_string(),
        OpenError::NoKey(recipients) => format!("for {recipients}"),
    })
}

fn wrong(text: &str) -> String {
    document(text).err().expect("an error")
}

fn value(document: &Document, name: &str) -> String {
    match &document.get(name).unwrap().content {
        Content::Scalar { plain, .. } => String::from_utf8(plain.bytes().to_vec()).unwrap(),
        _ => panic!("{name} is not one value"),
    }
}

#[test]
fn every_rule_of_sops_is_kept() {
    for (text, sealed, clear) in [
        (include_str!("../fixtures/encrypted-regex.sops.yaml"), "pw_x", "x"),
        (include_str!("../fixtures/mac-only.sops.yaml"), "pw_x", "x"),
        (include_str!("../fixtures/unencrypted-regex.sops.yaml"), "x", "api_x"),
        (include_str!("../fixtures/encrypted-suffix.sops.yaml"), "x_key", "x"),
    ] {
        let document = document(text).unwrap();
        assert_eq!(value(&document, "other"), "seen");
        assert_eq!(value(&document, "secret_key"), "not matched");
        let added = document.with(sealed, b"new value", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(value(&added, sealed), "new value");
        assert!(matches!(added.with(clear, b"new value", Timestamp::UNIX_EPOCH), Err(FormatError::WouldBeClear { .. })));
    }
    let error = document(TYPES).unwrap().with("x_unencrypted", b"value", Timestamp::UNIX_EPOCH).err().unwrap();
    assert_eq!(
        error.to_string(),
        "secret `x_unencrypted` would be kept in the clear, as the file has `unencrypted_suffix: _unencrypted`: change that rule, in \
         .sops.yaml and in the file"
    );
}

#[test]
fn what_is_clear_counts_unless_the_mac_is_of_encrypted_values_only() {
    let edited = |text: &str| text.replace("other: seen", "other: changed");
    assert!(wrong(&edited(include_str!("../fixtures/encrypted-regex.sops.yaml"))).starts_with("MAC mismatch"));
    assert_eq!(value(&document(&edited(include_str!("../fixtures/mac-only.sops.yaml"))).unwrap(), "other"), "changed");
}

#[test]
fn adding_changes_three_lines() {
    let before = document(TYPES).unwrap();
    let after = before.with("talos.os-ca", "two\nlines – ünï".as_bytes(), "2026-01-02T03:04:05.678Z".parse().unwrap()).unwrap();
    let (old, new): (Vec<&str>, Vec<&str>) = (TYPES.lines().collect(), after.text.lines().collect());
    assert_eq!(old.len() + 1, new.len());
    let block = old.iter().position(|line| *line == "sops:").unwrap();
    assert_eq!(new[..block], old[..block]);
    assert!(new[block].starts_with("talos.os-ca: ENC[AES256_GCM,data:"));
    let changed: Vec<&str> = (block..old.len()).filter(|number| old[*number] != new[number + 1]).map(|number| new[number + 1]).collect();
    assert_eq!(changed.len(), 2);
    assert_eq!(changed[0], "    lastmodified: \"2026-01-02T03:04:05Z\"");
    assert!(changed[1].starts_with("    mac: ENC["));
    for key in [ONE, TWO] {
        let again = Document::open(after.text.clone(), &[identity(key)]).ok().unwrap();
        assert_eq!(value(&again, "talos.os-ca"), "two\nlines – ünï");
        assert_eq!(value(&again, "unicode"), "пароль-密码-🔑");
    }
}

#[test]
fn odd_layouts_are_added_to_or_left_alone() {
    let spread = TYPES.replace('\n', "\r\n");
    let added = document(&spread).unwrap().with("a", b"value", Timestamp::UNIX_EPOCH).unwrap();
    assert!(!added.text.replace("\r\n", "").contains('\n'));
    let marked = format!("---\n{TYPES}...\n");
    document(&marked).unwrap().with("a", b"value", Timestamp::UNIX_EPOCH).unwrap();
    let explicit = TYPES.replace("\nsops:\n", "\n? sops\n:\n");
    let error = document(&explicit).unwrap().with("a", b"value", Timestamp::UNIX_EPOCH).err().unwrap();
    assert!(matches!(error, FormatError::Layout));
}

#[test]
fn a_new_file_is_for_all_its_recipients() {
    let rule = Rule::new(|name| (name == "encrypted_regex").then_some("^a\"?b")).unwrap();
    let new = Document::new(&[public(ONE), public(TWO)], &rule, true).unwrap();
    let new = new.with("ab", b"\x00\xff any bytes", Timestamp::now()).unwrap().with("ab2", b"", Timestamp::now()).unwrap();
    assert!(new.text.contains("\n    encrypted_regex: \"^a\\\"?b\"\n    mac_only_encrypted: true\n    version: "));
    for key in [ONE, TWO] {
        let again = Document::open(new.text.clone(), &[identity(key)]).ok().unwrap();
        assert!(
            matches!(&again.get("ab").unwrap().content, Content::Scalar { plain: Plain::Text(bytes), .. } if ***bytes == *b"\x00\xff any bytes")
        );
        assert_eq!(value(&again, "ab2"), "");
    }
    let other = Identity::generate();
    assert!(matches!(Document::open(new.text, &[other]), Err(OpenError::NoKey(recipients)) if recipients.contains(&public(TWO))));
}

#[test]
fn names_that_look_like_something_else_are_quoted() {
    let rule = Rule::new(|_| None).unwrap();
    let mut file = Document::new(&[public(ONE)], &rule, false).unwrap();
    let names = ["true", "12", "0x1f", "1.5", "null", "no", "2020-01-01", "1e3", "a.b", "a-b_c"];
    for name in names {
        file = file.with(name, name.as_bytes(), Timestamp::now()).unwrap();
    }
    let again = document(&file.text).unwrap();
    for name in names {
        assert_eq!(value(&again, name), name);
    }
}

/// The lines whose every byte is protected: values by tag and MAC, the MAC by its own tag.
fn protected(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let sealed = line.contains("ENC[") && !line.trim_start().starts_with('#') && !line.contains("type:comment");
        if sealed || line.contains("lastmodified") || (line.contains("_unencrypted: ") && !line.contains("suffix")) {
            lines.push(at..at + line.len());
        }
        at += line.len();
    }
    lines
}

#[test]
fn a_flipped_byte_is_refused() {
    let mut flips = 0;
    for line in protected(TYPES) {
        let clear = !TYPES[line.clone()].contains("ENC[") && !TYPES[line.clone()].contains("lastmodified");
        // The name of what is in the clear is nobody's to protect, as in sops.
        let from = if clear { line.start + TYPES[line.clone()].find(": ").unwrap() + 2 } else { line.start };
        for at in from..line.end {
            for bit in [1, 0x20] {
                let mut bytes = TYPES.as_bytes().to_vec();
                bytes[at] ^= bit;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                if let Ok(opened) = document(&text) {
                    // Another spelling of the same: `T` and `t` in a time, a space for a line's end.
                    assert!(clear, "byte {at} of {:?}", &TYPES[line.clone()]);
                    let same = |name| value(&opened, name) == value(&document(TYPES).unwrap(), name);
                    assert!(["mode_unencrypted", "hex_unencrypted", "ratio_unencrypted", "day_unencrypted"].into_iter().all(same));
                }
                flips += 1;
            }
        }
    }
    assert!(flips > 5000, "{flips}");
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let whole = TYPES.find("    version: ").unwrap() + "    version:".len();
    for end in 0..whole {
        if TYPES.is_char_boundary(end) {
            assert!(document(&TYPES[..end]).is_err(), "{end}");
        }
    }
    for line in TYPES.lines().filter(|line| line.contains("type:str") || line.contains("_unencrypted: ")) {
        assert!(document(&TYPES.replace(&format!("{line}\n"), "")).is_err(), "{line}");
    }
}

#[test]
fn values_do_not_change_places() {
    let lines: Vec<&str> = TYPES.lines().collect();
    let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap();
    assert_eq!(
        wrong(&TYPES.replace(value("unicode"), value("pve_token"))),
        "`unicode` was damaged, moved or renamed outside of sops: restore the file from version control, and make such changes with `sops edit`"
    );
    assert!(wrong(&TYPES.replace("\nunicode: ", "\nrenamed: ")).starts_with("`renamed` was damaged"));
    assert!(wrong(&TYPES.replace("\nempty: \"\"", "\nempty: hello")).starts_with("`empty` is there in the clear"));
    assert!(wrong(&TYPES.replace("\nnothing: null", "\nnothing: 5")).starts_with("`nothing` is there in the clear"));
    assert!(wrong(&TYPES.replace("mode_unencrypted: 493", "mode_unencrypted: 494")).starts_with("MAC mismatch"));
    let items: Vec<&&str> = lines.iter().filter(|line| line.starts_with("    - ENC")).collect();
    let swapped = TYPES.replace(*items[0], "@").replace(*items[2], items[0]).replace('@', items[2]);
    assert!(wrong(&swapped).starts_with("MAC mismatch"));
}

#[test]
fn what_is_not_a_sops_file_is_refused() {
    assert!(wrong("").starts_with("the file is empty"));
    assert!(wrong("# nothing\n").starts_with("the file is empty"));
    assert!(wrong("---\n").starts_with("the file is empty"));
    assert!(wrong("a: b\n").starts_with("the file is not encrypted (it has no `sops:` block)"));
    assert_eq!(wrong("- a\n"), "line 1: expected `NAME: VALUE` lines");
    assert!(wrong("a: b\nsops:\n    mac: x\n").contains("no `version`"));
    assert!(wrong(include_str!("../fixtures/shamir.sops.yaml")).contains("several key groups at once (Shamir)"));
    let rule = TYPES.replace("unencrypted_suffix: _unencrypted", "unencrypted_comment_regex: x");
    assert!(wrong(&rule).starts_with("the file uses `unencrypted_comment_regex`, which emhost does not know"));
    let rules = TYPES.replace("unencrypted_suffix: _unencrypted", "unencrypted_suffix: a\n    encrypted_regex: b");
    assert!(wrong(&rules).contains("more than one rule"));
    let regex = TYPES.replace("unencrypted_suffix: _unencrypted", "encrypted_regex: (");
    assert!(wrong(&regex).starts_with("`encrypted_regex` is not a regular expression"));
}

#[test]
fn hostile_yaml_is_refused() {
    let laughs = (1..40).map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0}]\n", n - 1)).collect::<Vec<_>>().concat();
    for (text, word) in [
        (format!("a0: &a0 lol\n{laughs}{TYPES}"), "anchors and aliases"),
        (TYPES.replacen("sops:", "x: *y\nsops:", 1), ""),
        (TYPES.replacen("sops:", "<<: {a: b}\nsops:", 1), "in the clear"),
        (format!("a: {}{}\n{TYPES}", "[".repeat(100_000), "]".repeat(100_000)), ""),
        (format!("{}{TYPES}", "a:\n".repeat(3)), "this key was there before"),
        (format!("a: [{}]\n{TYPES}", "1,".repeat(150_000)), "too many values"),
        (format!("{TYPES}---\n{TYPES}"), "a second document"),
        (format!("5: a\n{TYPES}"), "a key is not text"),
        (format!("[a]: a\n{TYPES}"), "a key is not text"),
        (format!("a: !!python/object x\n{TYPES}"), "tag"),
        (format!("a_unencrypted: 18446744073709551615\n{TYPES}"), "too large"),
        (format!("a: \"\\xZZ\"\n{TYPES}"), ""),
    ] {
        let error = wrong(&text);
        assert!(error.contains(word), "{error}");
    }
    let deep = (0..5000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<Vec<_>>().concat();
    assert!(document(&format!("{deep}{TYPES}")).is_err());
}

#[test]
fn scalars_mean_what_they_mean_to_go() {
    for (text, means) in [
        ("0755", "493"),
        ("0o17", "15"),
        ("-0x1F", "-31"),
        ("0b101", "5"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("089", "89"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5e1", "-5"),
        ("1e999", "1e999"),
        (".inf", "+Inf"),
        ("-.INF", "-Inf"),
        (".nan", "NaN"),
        ("-0.0", "-0"),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        ("+-5", "+-5"),
        ("0x", "0x"),
        ("12:30:45", "12:30:45"),
        ("True", "True"),
        ("FALSE", "False"),
        ("yes", "yes"),
        ("tRUE", "tRUE"),
        ("2001-12-14", "2001-12-14T00:00:00Z"),
        ("2001-1-2t3:4:5.600+00:00", "2001-01-02T03:04:05.6Z"),
        ("2001-12-14T21:59:43.10-05:00", "2001-12-14T21:59:43.1-05:00"),
        ("2001-12-14 21:59:43", "2001-12-14T21:59:43Z"),
        ("2001-13-14", "2001-13-14"),
        ("2001-02-30", "2001-02-30"),
        ("<<", "<<"),
    ] {
        let plain = Plain::resolve(text).unwrap();
        assert_eq!(String::from_utf8_lossy(&plain.mac_bytes()), means, "{text}");
    }
    assert!(Plain::resolve("18446744073709551615").is_none());
}
