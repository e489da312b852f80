//! Verdicts and texts compared with those of Talos itself, over configurations changed in every place.

use super::super::oracle::{Oracle, Verdict};
use super::super::schema::{Leaf, MAIN, Shape, Table, words};
use super::super::yaml::{Content, Node, Style, emit, parse};
use super::super::{Version, load};
use super::*;

/// What we say about a text: whether it is taken, the refusal, the warnings.
fn ours(text: &str, version: Version, mode: Mode) -> Verdict {
    let refused = |text: String| Verdict { accepted: false, text: text.replace('\n', "; "), warnings: Vec::new() };
    match load(text.as_bytes(), version) {
        Err(error) => refused(error.to_string()),
        Ok(config) => match validate(&config, mode) {
            Err(invalid) => refused(invalid.to_string()),
            Ok(warnings) => Verdict { accepted: true, text: String::new(), warnings },
        },
    }
}

/// Compares verdicts, and answers with those that differ.
fn differences(oracle: &Oracle, mode: Mode, base: &str, texts: &[String]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let verdicts = oracle.judge(folder.path(), &mode.to_string(), texts);
    let (mut verdict, mut wording) = (Vec::new(), Vec::new());
    for (text, theirs) in texts.iter().zip(verdicts) {
        // Talos itself breaks down on a few of them: there is no verdict to agree with.
        if theirs.text == "CRASH" {
            continue;
        }
        let ours = ours(text, oracle.version, mode);
        let change = if base.is_empty() { text.clone() } else { super::super::diff::unified(base, text) };
        let shown = || {
            format!(
                "{} {mode}\n{change}  ours:   {} {} {:?}\n  theirs: {} {} {:?}",
                oracle.version, ours.accepted, ours.text, ours.warnings, theirs.accepted, theirs.text, theirs.warnings
            )
        };
        if ours.accepted != theirs.accepted {
            verdict.push(shown());
        } else if ours.text != theirs.text || ours.accepted && ours.warnings != theirs.warnings {
            wording.push(shown());
        }
    }
    (verdict, wording)
}

fn scalar(text: &str) -> Node {
    Node::scalar(text, Style::Plain)
}

fn entry(key: &str, value: Node) -> Node {
    Node::map(vec![(scalar(key), value)])
}

/// Values for a key of a kind: right ones, wrong ones, and those at the edge.
fn candidates(shape: &Shape, version: Version, depth: usize) -> Vec<Node> {
    let texts = |all: &[&str]| all.iter().map(|text| parse(text).documents.remove(0)).collect::<Vec<_>>();
    let mut all = texts(&["~", "[x]", "{zz: 1}", "word", "''", "7"]);
    match shape {
        Shape::Leaf(Leaf::Text) => {
            all.extend(texts(&["10.0.0.1", "10.0.0.0/24", "https://a.example:6443", "tcp://a:5", "true", "a_b", "a.b/c"]));
        }
        Shape::Leaf(Leaf::Bool) => all.extend(texts(&["true", "false", "yes", "'true'"])),
        Shape::Leaf(Leaf::Number(..)) => all.extend(texts(&["0", "-1", "255", "256", "65536", "4294967296", "1.5", "0x10", "'5'"])),
        Shape::Leaf(Leaf::Duration) => all.extend(texts(&["1m", "-5s", "0", "9s", "1h2m"])),
        Shape::Leaf(Leaf::Anything) => all.extend(texts(&["{memory: 1}", "{cpu: a, disk: 5}", "{port: 5}", "{}"])),
        Shape::Leaf(Leaf::Address(_) | Leaf::Prefix(_) | Leaf::AddressPort(_)) => all.extend(texts(&[
            "10.0.0.1",
            "fd00::1",
            "0.0.0.0",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "10.0.0.1:5",
            "'[fd00::1]:5'",
            "fd00::/8",
            "1.2.3",
        ])),
        Shape::Leaf(Leaf::Expression) => all.extend(texts(&[
            "true",
            "'disk.size > 5u'",
            "'disk.size > 5'",
            "'!system_disk'",
            "'link.driver == \"x\"'",
            "'mac(link.hardware_addr) == \"x\"'",
            "'volume.name == \"a\"'",
            "'(('",
            "'nothing'",
            "'1.0'",
        ])),
        Shape::Leaf(Leaf::Bytes | Leaf::Size | Leaf::DiskSize | Leaf::SizeMatch) => {
            all.extend(texts(&["10GiB", "50%", "-5GB", "'>= 5 GB'", "150%", "0"]));
        }
        Shape::Leaf(Leaf::Url | Leaf::Endpoint) => {
            all.extend(texts(&["https://a.example", "http://b/c", "tcp://a:5", "udp://a", "':x'", "10.0.0.1:5"]));
        }
        Shape::Leaf(Leaf::DiskType) => all.extend(texts(&["ssd", "nvme", "SSD"])),
        Shape::Leaf(Leaf::Ports) => all.extend(texts(&["80-90", "90-80", "70000", "'80'"])),
        Shape::Leaf(Leaf::Pem { .. }) => all.extend(texts(&["{crt: QQ==, key: QQ==}", "{crt: QQ==}", "{key: QQ==}", "{crt: '*'}", "{}"])),
        Shape::Leaf(Leaf::Base64 | Leaf::Hardware) => all.extend(texts(&["QQ==", "00:11", "aabb"])),
        Shape::Leaf(Leaf::FailOverMac) => all.extend(texts(&["1", "active"])),
        Shape::Leaf(Leaf::Argument) => all.extend(texts(&["[a, b]", "[[a]]"])),
        Shape::Leaf(Leaf::Word(name)) => all.extend(words(name).iter().map(|word| scalar(word))),
        Shape::List(many) if depth > 0 => {
            all.extend(texts(&["[]", "[~]"]));
            let items = candidates(&many.element, version, depth - 1);
            all.extend(items.iter().map(|item| Node::list(vec![item.clone()])));
            all.extend(items.into_iter().skip(6).take(2).map(|item| Node::list(vec![item.clone(), item])));
        }
        Shape::Map(many) if depth > 0 => {
            all.extend(texts(&["{}"]));
            all.extend(candidates(&many.element, version, depth - 1).into_iter().map(|item| entry("a.example", item)));
        }
        Shape::Struct(name) if depth > 0 => {
            all.extend(texts(&["{}"]));
            for key in Table::get().keys(name, version) {
                all.extend(candidates(&key.shape, version, depth - 1).into_iter().map(|inner| entry(key.name, inner)));
            }
        }
        _ => {}
    }
    all
}

/// Documents of every kind, each with one key beside its name.
fn documents(version: Version) -> Vec<String> {
    let table = Table::get();
    let newest = Version::new(1, 13, 0);
    let mut all = Vec::new();
    for kind in table.all_kinds(newest) {
        let name = table.kind(kind, newest).unwrap();
        let head = format!("apiVersion: v1alpha1\nkind: {kind}\n");
        all.push(head.clone());
        let names: &[&str] = match table.key(name, "name", newest) {
            None => &[""],
            Some(_) if kind == "VolumeConfig" => &["name: EPHEMERAL\n", "name: STATE\n"],
            Some(_) if kind == "RoutingRuleConfig" => &["name: '100'\n"],
            Some(_) if ["Layer2VIPConfig", "HCloudVIPConfig", "StaticHostConfig"].contains(&kind) => &["name: 10.0.0.1\n"],
            Some(_) => &["name: one\n"],
        };
        for (number, given) in names.iter().enumerate() {
            for key in table.keys(name, newest).filter(|key| key.name != "kind" && key.name != "apiVersion") {
                // A kind too new is refused as such: one document of it is enough.
                let deep = if table.kind(kind, version).is_some() { 3 } else { 0 };
                let given = if key.name == "name" { "" } else { given };
                if key.name == "name" && number > 0 {
                    continue;
                }
                for value in candidates(&key.shape, newest, deep) {
                    all.push(format!("{head}{given}{}", emit(&entry(key.name, value))));
                }
            }
        }
    }
    all
}

/// Every place of a tree changed once: a key that nobody knows, a key less, a value of another kind.
fn mutations(root: &Node) -> Vec<Node> {
    let mut all = Vec::new();
    match &root.content {
        Content::Map(entries) => {
            let mut more = entries.clone();
            more.push((scalar("zzUnknown"), scalar("1")));
            all.push(Node::map(more));
            for at in 0..entries.len() {
                let mut fewer = entries.clone();
                fewer.remove(at);
                all.push(Node::map(fewer));
                for changed in mutations(&entries[at].1) {
                    let mut other = entries.clone();
                    other[at].1 = changed;
                    all.push(Node::map(other));
                }
            }
        }
        Content::List(items) => {
            for at in 0..items.len() {
                for changed in mutations(&items[at]) {
                    let mut other = items.clone();
                    other[at] = changed;
                    all.push(Node::list(other));
                }
            }
            all.push(Node::list([items.as_slice(), items.as_slice()].concat()));
        }
        Content::Scalar { .. } => {}
    }
    for text in ["~", "word", "''", "5", "true", "[x]", "{x: y}", "[]", "{}"] {
        all.push(parse(text).documents.remove(0));
    }
    all
}

/// The base with one key of the main document set to a value, wherever the tables have a key.
fn insertions(base: &Node, version: Version) -> Vec<String> {
    let mut all = Vec::new();
    for section in ["machine", "cluster"] {
        let Some(Shape::Struct(name)) = Table::get().key(MAIN, section, version) else { continue };
        for key in Table::get().keys(name, version) {
            for value in candidates(&key.shape, version, 4) {
                let mut changed = base.clone();
                let Content::Map(sections) = &mut changed.content else { continue };
                let Some((_, inner)) = sections.iter_mut().find(|(found, _)| found.raw() == Some(section)) else { continue };
                let Content::Map(entries) = &mut inner.content else { continue };
                entries.retain(|(found, _)| found.raw() != Some(key.name));
                entries.push((scalar(key.name), value));
                all.push(emit(&changed));
            }
        }
    }
    all
}

/// What a version generates for itself, with short keys: nobody looks into them here.
fn bases(oracle: &Oracle) -> Vec<String> {
    let contract = format!("v1.{}", oracle.version.minor);
    let short = |line: &str| if line.len() > 200 { format!("{}: QUJD\n", line.split(':').next().unwrap()) } else { format!("{line}\n") };
    ["controlplane", "worker"].map(|kind| oracle.generate(&contract, kind).lines().map(short).collect()).to_vec()
}

/// Texts only of every so-many, so that the test stays fast; all of them with `EMHOST_THOROUGH`.
fn sampled(texts: Vec<String>, one_of: usize) -> Vec<String> {
    if std::env::var_os("EMHOST_THOROUGH").is_some() {
        return texts;
    }
    texts.into_iter().enumerate().filter(|(number, _)| number % one_of == 0).map(|(_, text)| text).collect()
}

fn report(differences: Vec<(Vec<String>, Vec<String>)>, judged: usize, tolerated: usize) {
    let (verdicts, wordings): (Vec<_>, Vec<_>) = differences.into_iter().unzip();
    let (verdicts, wordings) = (verdicts.concat(), wordings.concat());
    assert!(
        verdicts.is_empty(),
        "{} of {judged} verdicts differ:\n{}",
        verdicts.len(),
        verdicts.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(
        wordings.len() <= tolerated,
        "{} of {judged} texts differ:\n{}",
        wordings.len(),
        wordings.iter().take(60).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn what_talos_generates_is_clean_where_it_should_be() {
    let oracles = Oracle::all();
    let Some(newest) = oracles.last() else { return };
    let mut texts = Vec::new();
    let mut places = Vec::new();
    for minor in 8..=newest.version.minor {
        for kind in ["controlplane", "worker"] {
            texts.push(newest.generate(&format!("v1.{minor}"), kind));
            places.push(minor);
        }
    }
    for oracle in &oracles {
        for mode in [Mode::Metal, Mode::Cloud] {
            let (verdicts, wordings) = differences(oracle, mode, "", &texts);
            assert!(verdicts.is_empty() && wordings.is_empty(), "{verdicts:?} {wordings:?}");
            for (text, minor) in texts.iter().zip(&places) {
                let verdict = ours(text, oracle.version, mode);
                let older = *minor <= oracle.version.minor;
                assert!(!older || verdict.accepted && verdict.warnings.is_empty(), "{} {minor}: {verdict:?}", oracle.version);
                // Contracts that bring something new are refused by older nodes.
                if oracle.version.minor < 12 && *minor >= 12 {
                    assert!(!verdict.accepted, "{} {minor}", oracle.version);
                }
            }
        }
    }
}

#[test]
fn changed_configurations_get_the_verdict_of_talos() {
    let mut found = Vec::new();
    let mut judged = 0;
    for oracle in Oracle::all() {
        for base in bases(&oracle) {
            let mut stream = parse(&base);
            let main = stream.documents.remove(0);
            let rest: String = stream.documents.iter().flat_map(|document| ["---\n".to_owned(), emit(document)]).collect();
            let texts: Vec<_> = mutations(&main).iter().map(|changed| format!("{}{rest}", emit(changed))).collect();
            let texts = sampled(texts, 9);
            judged += texts.len();
            found.push(differences(&oracle, Mode::Metal, &format!("{}{rest}", emit(&main)), &texts));
        }
    }
    report(found, judged, 0);
}

#[test]
fn every_key_of_the_machine_and_the_cluster_gets_the_verdict_of_talos() {
    let mut found = Vec::new();
    let mut judged = 0;
    for oracle in Oracle::all() {
        for base in bases(&oracle) {
            let main = parse(&base).documents.remove(0);
            let texts = sampled(insertions(&main, oracle.version), 97);
            judged += texts.len();
            found.push(differences(&oracle, Mode::Cloud, &emit(&main), &texts));
        }
    }
    report(found, judged, 0);
}

#[test]
fn documents_of_every_kind_get_the_verdict_of_talos() {
    let mut found = Vec::new();
    let mut judged = 0;
    for oracle in Oracle::all() {
        let texts = sampled(documents(oracle.version), 17);
        judged += texts.len();
        found.push(differences(&oracle, Mode::Metal, "", &texts));
    }
    report(found, judged, 0);
}
