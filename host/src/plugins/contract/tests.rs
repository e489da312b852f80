#![allow(clippy::unwrap_used)]

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, PackageId, Resolve, SourceMap, WorldId};

use super::super::manifest::tests::section;
use super::component::{MAX_NESTING, MAX_TYPE_NESTING};
use super::ours::WIT;
use super::*;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// A world of every function the host has, and one role.
const WORLD: &str = "world test { import log; import operations; import inventory; \
     import secrets; import reveal; import keys; import grpc; import archives; \
     export lifecycle; export provisioner; }";

/// A component of the world `test` in `world`, against the contract as `edit` leaves it.
pub fn component(world: &str, edit: impl Fn(&str) -> String) -> Vec<u8> {
    let package = edit("package emhost:plugin@0.1.0;");
    let mut sources = SourceMap::new();
    for (path, text) in WIT {
        sources.push_str(path, edit(text));
    }
    sources.push_str("test.wit", format!("{package}\n{world}"));
    let mut resolve = Resolve::new();
    let package = resolve.push_group(sources.parse().unwrap()).unwrap();
    let world = resolve.packages[package].worlds["test"];
    encode(&resolve, world)
}

fn encode(resolve: &Resolve, world: WorldId) -> Vec<u8> {
    let mut module = dummy_module(resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    let encoder = ComponentEncoder::default().module(&module).unwrap();
    encoder.validate(true).encode().unwrap()
}

pub fn plugin() -> Vec<u8> {
    component(WORLD, str::to_owned)
}

/// The message for a plugin whose author replaced a text in one place of the contract.
#[track_caller]
fn refusal(from: &str, to: &str) -> String {
    assert_eq!(WIT.iter().map(|(_, text)| text.matches(from).count()).sum::<usize>(), 1);
    let component = component(WORLD, |text| text.replace(from, to));
    check(&component).unwrap_err().to_string()
}

fn at_version(version: &str, world: &str, edit: impl Fn(&str) -> String) -> Vec<u8> {
    let package = format!("package emhost:plugin@{version};");
    let edit = |text: &str| edit(&text.replace("@since(version = 0.1.0)", ""));
    component(world, |text| edit(&text.replace("package emhost:plugin@0.1.0;", &package)))
}

fn wit_folder() -> (Resolve, PackageId) {
    let mut resolve = Resolve::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let (package, _) = resolve.push_dir(folder).unwrap();
    (resolve, package)
}

#[test]
fn what_is_compiled_in_is_the_contract() {
    let (resolve, package) = wit_folder();
    let package = &resolve.packages[package];
    assert_eq!(package.name.to_string(), format!("{PACKAGE}@{CONTRACT}"));

    let ours = &OURS.resolve.packages[OURS.package];
    assert_eq!(ours.name, package.name);
    let sorted = |names: Vec<&String>| names.into_iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(sorted(ours.interfaces.keys().collect()), sorted(package.interfaces.keys().collect()),);

    let host = &resolve.worlds[package.worlds["host"]];
    let names = |keys: Vec<_>| -> BTreeSet<String> { keys.into_iter().map(|key| resolve.name_world_key(key)).collect() };
    let exported = names(host.exports.keys().collect());
    let expected = Role::ALL.map(Role::as_str).into_iter().chain([LIFECYCLE]);
    let full = |name: &str| format!("{PACKAGE}/{name}@{CONTRACT}");
    assert_eq!(exported, expected.map(full).collect());
    assert!(names(host.imports.keys().collect()).is_disjoint(&exported));
}

#[test]
fn every_world_for_authors_makes_a_plugin() {
    let (resolve, package) = wit_folder();
    let worlds = &resolve.packages[package].worlds;
    for role in Role::ALL {
        let shape = check(&encode(&resolve, worlds[&format!("{role}-plugin")])).unwrap();
        assert!(shape.roles.contains(&role), "{role}: {:?}", shape.roles);
        assert_eq!(shape.contract, OURS.version);
    }
}

#[test]
fn a_plugin_of_this_contract() {
    let world = WORLD.replace("export provisioner", "export gpu; export boot-source");
    let shape = check(&component(&world, str::to_owned)).unwrap();
    assert_eq!(shape.roles, [Role::BootSource, Role::Gpu]);
    assert_eq!(shape.contract, Version::new(0, 1, 0));
    assert_eq!(shape.exports, ["boot-source", "gpu", "lifecycle"].map(|i| format!("emhost:plugin/{i}@0.1.0")));
    assert!(shape.imports.contains(&"emhost:plugin/secrets@0.1.0".to_owned()));
    assert!(shape.imports.is_sorted());
}

#[test]
fn versions() {
    for fine in ["0.1.0", "0.1.1", "0.1.99"] {
        let shape = check(&at_version(fine, WORLD, str::to_owned)).unwrap();
        assert_eq!(shape.contract.to_string(), fine);
    }
    assert_eq!(
        check(&at_version("0.2.0", WORLD, str::to_owned)).unwrap_err().to_string(),
        "built for contract 0.2.0, this emhost speaks 0.1.0: rebuild the plugin against \
         contract 0.1, or use an emhost that speaks 0.2"
    );
    for other in ["0.0.9", "1.0.0", "1.1.0", "0.1.0-rc.1"] {
        let error = check(&at_version(other, WORLD, str::to_owned)).unwrap_err();
        assert!(matches!(error, ContractError::Version { .. }), "{error}");
    }
    let unversioned = |text: &str| text.replace("@0.1.0;", ";").replace("@since(version = 0.1.0)", "");
    assert_eq!(
        check(&component(WORLD, unversioned)).unwrap_err().to_string(),
        "uses `emhost:plugin/types` without a version: build it against the WIT of \
         emhost:plugin@0.1.0"
    );
}

/// Both directions of time: the plugin has less than we do, or more.
#[test]
fn functions_come_and_go() {
    // Older than `settings`: it never calls what it does not know.
    let older = component(WORLD, |text| text.replace("settings: func() -> json;", ""));
    check(&older).unwrap();

    let newer = |text: &str| {
        let text = text.replace("enabled: func", "flush: func(); enabled: func");
        text.replace("id: func() -> string;\n    /// The plugin's", "foo: func();\n    /// ")
    };
    assert_eq!(
        check(&at_version("0.1.5", WORLD, newer)).unwrap_err().to_string(),
        "does not fit contract 0.1.0:\n\
         \x20 log.flush: not a function of contract 0.1.0\n\
         \x20 operations.operation.foo: not a function of contract 0.1.0"
    );

    let exports_more = |text: &str| text.replace("  /// Every machine that carries", "  extra: func();\n  /// ");
    check(&at_version("0.1.5", WORLD, exports_more)).unwrap();
    assert_eq!(refusal("  owned: func(\n", "  owning: func(\n"), "does not fit contract 0.1.0:\n  provisioner: does not export `owned`");
}

#[test]
fn interfaces_come_and_go() {
    let world = |items: &str| {
        let world = WORLD.replace("world test {", &format!("world test {{ {items}"));
        format!("interface storage {{ grow: func(); }} {world}")
    };
    let unknown = "does not fit contract 0.1.0:\n  \
         storage: not an interface of contract 0.1.0";
    let imports = at_version("0.1.5", &world("import storage;"), str::to_owned);
    assert_eq!(check(&imports).unwrap_err().to_string(), unknown);
    let exports = component(&world("export storage;"), str::to_owned);
    assert_eq!(check(&exports).unwrap_err().to_string(), unknown);
    // A newer plugin may be able to do more than this host will ever ask for.
    let exports = at_version("0.1.5", &world("export storage;"), str::to_owned);
    check(&exports).unwrap();

    let imports = component(&WORLD.replace("import log", "import gpu"), str::to_owned);
    assert_eq!(check(&imports).unwrap_err().to_string(), "does not fit contract 0.1.0:\n  gpu: is for plugins to export, not to import");
    let exports = component(&WORLD.replace("import log", "export log"), str::to_owned);
    assert_eq!(check(&exports).unwrap_err().to_string(), "does not fit contract 0.1.0:\n  log: is the host's, a plugin cannot export it");
}

#[test]
fn types_that_differ() {
    let action = "    reason: string,\n    fields: list<field-change>,";
    assert_eq!(
        refusal(action, "    risk: u8,\n    fields: list<field-change>,"),
        "does not fit contract 0.1.0:\n\
         \x20 types.action: has a field `risk` that contract 0.1.0 does not know\n\
         \x20 types.action: lacks the field `reason`"
    );
    assert_eq!(
        refusal(action, "    fields: list<field-change>,\n    reason: string,"),
        "does not fit contract 0.1.0:\n  types.action: has its fields in another order"
    );
    assert_eq!(
        refusal("retry-after-ms: option<u32>", "retry-after-ms: option<u64>"),
        "does not fit contract 0.1.0:\n  types.failure: field `retry-after-ms` is \
         `option<u64>`, contract 0.1.0 says `option<u32>`"
    );
    assert_eq!(
        refusal("    data-loss,\n", "    data-loss,\n    outage,\n"),
        "does not fit contract 0.1.0:\n  types.disruption: has a case `outage` that contract \
         0.1.0 does not know"
    );
    assert_eq!(
        refusal("    done(option<state>),", "    done,"),
        "does not fit contract 0.1.0:\n  types.step: case `done` is nothing, contract 0.1.0 \
         says `option<state>`"
    );
    assert_eq!(
        refusal("  enum change {", "  flags change {"),
        "does not fit contract 0.1.0:\n  types.action: field `change` is `flags change`, \
         contract 0.1.0 says `enum change`"
    );
}

#[test]
fn functions_that_differ() {
    assert_eq!(
        refusal("upgrade-state: func(old: state)", "upgrade-state: func(old: list<u8>)"),
        "does not fit contract 0.1.0:\n  lifecycle.upgrade-state: parameter `old` is \
         `list<u8>`, contract 0.1.0 says `state`"
    );
    assert_eq!(
        refusal("validate: func(settings: json)", "validate: func(config: json, strict: bool)"),
        "does not fit contract 0.1.0:\n\
         \x20 lifecycle.validate: has a parameter `config` that contract 0.1.0 does not know\n\
         \x20 lifecycle.validate: has a parameter `strict` that contract 0.1.0 does not know\n\
         \x20 lifecycle.validate: lacks the parameter `settings`"
    );
    assert_eq!(
        refusal("ephemeral: func(value: list<u8>) -> secret", "ephemeral: func(value: list<u8>)"),
        "does not fit contract 0.1.0:\n  secrets.ephemeral: returns nothing, contract 0.1.0 \
         says `own<secrets.secret>`"
    );
    assert_eq!(
        refusal("reveal: func(secret: borrow<secret>)", "reveal: func(secret: secret)"),
        "does not fit contract 0.1.0:\n  reveal.reveal: parameter `secret` is \
         `own<secrets.secret>`, contract 0.1.0 says `borrow<secrets.secret>`"
    );
    assert_eq!(
        refusal("validate: func(", "validate: async func("),
        "does not fit contract 0.1.0:\n  lifecycle.validate: is async, contract 0.1.0 says not \
         async"
    );
    assert_eq!(
        refusal("enabled: func", "resource file; enabled: func"),
        "does not fit contract 0.1.0:\n  log.file: not a resource of contract 0.1.0"
    );
    let resource = WORLD.replace("import log", "import mine");
    let resource = component(&format!("interface mine {{ resource secret; }} {resource}"), |text| {
        text.replace("interface reveal {\n  use secrets", "interface reveal {\n  use mine")
    });
    assert_eq!(
        check(&resource).unwrap_err().to_string(),
        "does not fit contract 0.1.0:\n\
         \x20 mine: not an interface of contract 0.1.0\n\
         \x20 reveal.reveal: parameter `secret` is `borrow<mine.secret>`, contract 0.1.0 says \
         `borrow<secrets.secret>`"
    );
}

/// Names of types are for people; only what is in them matters.
#[test]
fn a_type_by_another_name() {
    let renamed = |text: &str| text.replace("field-change", "field-edit").replace("json", "doc");
    check(&component(WORLD, renamed)).unwrap();
    // Also when something else is wrong.
    let and_more = |text: &str| renamed(text).replace("    note,\n", "    note,\n    hint,\n");
    assert_eq!(
        check(&component(WORLD, and_more)).unwrap_err().to_string(),
        "does not fit contract 0.1.0:\n  types.severity: has a case `hint` that contract 0.1.0 \
         does not know"
    );
    let changed = |text: &str| renamed(text).replace("sensitive: bool,\n  }\n\n  record", "}\n\n  record");
    assert_eq!(
        check(&component(WORLD, changed)).unwrap_err().to_string(),
        "does not fit contract 0.1.0:\n  types.action: field `fields` is `list<field-edit>`, \
         contract 0.1.0 says `list<field-change>`"
    );
}

#[test]
fn long_lists_are_cut() {
    let cases: Vec<_> = (0..300).map(|n| format!("case{n}")).collect();
    let message = refusal("    data-loss,\n", &cases.join(","));
    assert_eq!(message.lines().count(), 2 + SHOWN);
    assert!(message.ends_with("  and 95 more"), "{message}");
}

#[test]
fn imports_from_elsewhere() {
    let with = |package: &str, import: &str| {
        let world = WORLD.replace("world test {", &format!("world test {{ import {import};"));
        let component = component(&format!("{world}\n{package}"), str::to_owned);
        check(&component)
    };
    let foreign = with("package acme:foo@1.0.0 { interface bar { f: func(); } }", "acme:foo/bar@1.0.0");
    assert_eq!(foreign.unwrap_err().to_string(), "imports `acme:foo/bar@1.0.0`, which emhost does not provide");
    let function = with("", "ask: func()");
    assert_eq!(function.unwrap_err().to_string(), "imports `ask`, which emhost does not provide");
    for (package, known) in [
        ("wasi:io@0.2.6", true),
        ("wasi:http@0.2.0", true),
        ("wasi:http@0.3.0", false),
        ("wasi:http@0.2.0-rc", false),
        ("wasi:http", false),
        ("wasi:keyvalue@0.2.0", false),
        ("wasi-http:http@0.2.0", false),
    ] {
        let (name, version) = package.split_once('@').unwrap_or((package, ""));
        let at = if version.is_empty() { "" } else { "@" };
        let definition = format!("package {package} {{ interface i {{ f: func(); }} }}");
        let result = with(&definition, &format!("{name}/i{at}{version}"));
        assert_eq!(result.is_ok(), known, "{package}");
    }
}

#[test]
fn components_that_are_no_plugins() {
    let no_role = component("world test { import log; export lifecycle; }", str::to_owned);
    assert_eq!(
        check(&no_role).unwrap_err().to_string(),
        "fills no role: export at least one of configurator, boot-source, gpu, provisioner, \
         distro, distro-backup, addon"
    );
    let newer = "interface storage { grow: func(); } \
         world test { export lifecycle; export storage; }";
    assert!(
        check(&at_version("0.1.5", newer, str::to_owned))
            .unwrap_err()
            .to_string()
            .ends_with("addon (it exports `storage`, unknown to contract 0.1.0)")
    );
    let unrelated = component("world test { export run: func(); }", str::to_owned);
    assert!(matches!(check(&unrelated), Err(ContractError::NoRole { .. })));
    let no_lifecycle = component("world test { export boot-source; }", str::to_owned);
    assert_eq!(
        check(&no_lifecycle).unwrap_err().to_string(),
        "does not export `lifecycle`: build it against one of the worlds of emhost:plugin, \
         for example `boot-source-plugin`"
    );
}

#[test]
fn files_that_are_no_components() {
    let message = |bytes: &[u8]| check(bytes).unwrap_err().to_string();
    assert_eq!(message(b""), "is not a WebAssembly component (it is empty)");
    assert_eq!(message(b"#!/bin/sh"), "is not a WebAssembly component (its first bytes are not those of one)");
    assert!(message(b"\0asm\x01\0\0\0").starts_with("is a core WebAssembly module, not a"));
    assert!(message(b"\x7fELF\x02\x01\x01").starts_with("is precompiled machine code"));
    assert_eq!(message(&vec![0; MAX_SIZE + 1]), "is 268435457 bytes large, more than the 268435456 that are read");
}

#[test]
fn every_truncation_is_refused() {
    let plugin = plugin();
    let whole = needless_ends(&plugin);
    for length in (0..plugin.len()).step_by(23).chain([plugin.len() - 1]).filter(|length| !whole.contains(length)) {
        assert!(check(&plugin[..length]).is_err(), "cut at {length}");
    }
}

/// Where only custom sections follow, which nobody needs: what is cut off there is a whole component.
fn needless_ends(plugin: &[u8]) -> Vec<usize> {
    let mut starts: Vec<(usize, u8)> = Vec::new();
    let mut at = 8;
    while let Some(kind) = plugin.get(at) {
        starts.push((at, *kind));
        let (mut size, mut shift) = (0, 0);
        at += 1;
        loop {
            let byte = plugin[at];
            at += 1;
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        at += size;
    }
    starts.into_iter().rev().take_while(|(_, kind)| *kind == 0).map(|(at, _)| at).collect()
}

#[test]
fn no_flipped_bit_makes_the_parser_panic() {
    let plugin = plugin();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..500 {
        let mut damaged = plugin.clone();
        for _ in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let bit = usize::try_from(random % (damaged.len() as u64 * 8)).unwrap();
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        if let Err(error) = check(&damaged) {
            assert!(!error.to_string().contains("the parser failed"), "{random:x}");
        }
    }
}

/// Types in types, without end: the parser would overflow the stack, which is not an error that
/// anybody can catch.
#[test]
fn types_nested_too_deeply() {
    let nested = |levels: usize| {
        let types = [&[1], [0x42, 1, 1].repeat(levels).as_slice(), &[0x73]].concat();
        let component = [COMPONENT, &section(7, &types)].concat();
        check(&component).unwrap_err().to_string()
    };
    assert!(nested(MAX_TYPE_NESTING).starts_with("fills no role"));
    for levels in [MAX_TYPE_NESTING + 2, 1_000_000] {
        assert_eq!(nested(levels), "is not a WebAssembly component (its types nest too deeply)");
    }
}

/// `wasi:io` and `wasi:http` use each other's types. `wit_component::decode` recurses on it
/// until the stack overflows.
#[test]
fn packages_that_use_each_other() {
    let component = b"\0asm\x0d\0\x01\0\x07\x09\x01B\x01\x04\0\x01t\x03\x01\x0a\x14\x01\0\
        \x0fwasi:io/a@0.2.0\x05\0\x06\x06\x01\x03\0\0\x01t\x07\x1f\x01B\x05\x02\x03\x02\x01\x01\
        \x04\0\x01t\x03\0\0\x01i\x01\x01r\x01\x01x\x02\x04\0\x01r\x03\0\x03\x0a\x16\x01\0\
        \x11wasi:http/a@0.2.0\x05\x02\x06\x06\x01\x03\0\x01\x01r\x07\x0f\x01B\x02\x02\x03\x02\
        \x01\x03\x04\0\x01r\x03\0\0\x0a\x14\x01\0\x0fwasi:io/b@0.2.0\x05\x04";
    assert!(matches!(check(component), Err(ContractError::NoRole { .. })));
}

#[test]
fn components_nested_too_deeply() {
    let mut component = COMPONENT.to_vec();
    for _ in 0..=MAX_NESTING {
        component = [COMPONENT, &section(4, &component)].concat();
    }
    assert_eq!(check(&component).unwrap_err().to_string(), "is not a WebAssembly component (its components nest too deeply)");
}

#[test]
fn roles_as_words() {
    for role in Role::ALL {
        assert_eq!(role.as_str().parse(), Ok(role));
        assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
    }
    assert!(Role::ALL.is_sorted());
    assert_eq!(
        "boot\u{1b}".parse::<Role>().unwrap_err().to_string(),
        "`boot\\u{1b}` is not a role: use configurator, boot-source, gpu, provisioner, \
         distro, distro-backup, addon"
    );
}
