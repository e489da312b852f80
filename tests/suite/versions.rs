//! Old plugins on a newer host, newer plugins on this one, and those that do not fit.
//!
//! Components are made from the texts in `wit/`, changed as an author's copy of another release
//! would be, and go through the real loader. Their functions are empty, so they start and are not
//! called; a real plugin runs on a host that has more than it was built for.

use std::fs;
use std::path::Path;

use emhost::plugins::LoadError;
use emhost_testkit::{Kit, runtime};
use emhost_tests::plugin;
use insta::assert_snapshot;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceType, Val};
use wasmtime::{Config, Engine, Store};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve, SourceMap};

const WORLD: &str = "world test { import log; import operations; import inventory; import secrets; import reveal; \
     import keys; import grpc; import archives; export lifecycle; export provisioner; }";

/// A plugin built against the contract as `edit` leaves it.
fn built_against(edit: impl Fn(&str) -> String) -> Vec<u8> {
    let mut sources = SourceMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let mut changed = false;
    for file in fs::read_dir(folder).expect("the contract") {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        // The worlds name WASI, which no text here changes.
        if name == "worlds.wit" || path.extension().is_none_or(|extension| extension != "wit") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let edited = edit(&text);
        changed |= edited != text;
        sources.push_str(&name, edited);
    }
    sources.push_str("test.wit", edit(&format!("package emhost:plugin@0.1.0;\n{WORLD}")));
    assert!(changed || edit("same") == "same", "the edit fits nothing in wit/");
    let mut resolve = Resolve::new();
    let package = resolve.push_group(sources.parse().expect("WIT")).expect("a package");
    let world = resolve.packages[package].worlds["test"];
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    let component = ComponentEncoder::default().module(&module).expect("a module").validate(true).encode().expect("a component");
    with_manifest(component)
}

fn with_manifest(mut component: Vec<u8>) -> Vec<u8> {
    let (name, text) = ("emhost:manifest", r#"{"name":"older","version":"1.0.0"}"#);
    let body = [&[u8::try_from(name.len()).expect("short")], name.as_bytes(), text.as_bytes()].concat();
    component.extend_from_slice(&[0, u8::try_from(body.len()).expect("short")]);
    component.extend(body);
    component
}

fn replacing(from: &'static str, to: &'static str) -> impl Fn(&str) -> String {
    move |text| text.replace(from, to)
}

fn at_version(version: &'static str) -> impl Fn(&str) -> String {
    move |text| text.replace("emhost:plugin@0.1.0", &format!("emhost:plugin@{version}")).replace("@since(version = 0.1.0)", "")
}

/// Loads it for real and starts it, without calling it.
async fn starts(bytes: &[u8]) -> Result<String, LoadError> {
    let plugin = runtime().load(bytes)?;
    let kit = Kit::bytes(fs::read(self::plugin("noop")).expect("the plugin")).load();
    plugin.try_start(&kit.context).await?;
    Ok(plugin.inspection().shape.contract.to_string())
}

// ---- the host has more --------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_from_before_a_function_was_added_starts() {
    assert_eq!(starts(&built_against(str::to_owned)).await.expect("the same contract"), "0.1.0");
    // To a contract without these functions, this host is the one that added them.
    for (interface, function) in [
        ("operations", "    remaining-ms: func() -> u64;\n"),
        ("log", "  enabled: func(level: level) -> bool;\n"),
        ("inventory", "    machine-number: func() -> option<u32>;\n"),
        ("secrets", "  ephemeral: func(value: list<u8>) -> secret;\n"),
    ] {
        let older = built_against(|text| text.replace(function, ""));
        assert_eq!(starts(&older).await.unwrap_or_else(|error| panic!("{interface}: {error}")), "0.1.0");
    }
}

/// The other order of the same thing, with the engine alone: a plugin of this release, and a host
/// of the next one, whose interfaces have another version and one function more.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_this_release_runs_on_the_next_host() {
    let mut config = Config::new();
    config.wasm_component_model(true);
    let engine = Engine::new(&config).expect("an engine");
    let component = Component::new(&engine, fs::read(plugin("noop")).expect("the plugin")).expect("a component");
    let validate = async |version: &str| -> wasmtime::Result<Vec<Val>> {
        let linker = host(&engine, &component, version)?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate_async(&mut store, &component).await?;
        let lifecycle = instance.get_export_index(&mut store, None, "emhost:plugin/lifecycle@0.1.0").expect("lifecycle");
        let function = instance.get_export_index(&mut store, Some(&lifecycle), "validate").expect("validate");
        let function = instance.get_func(&mut store, function).expect("a function");
        let mut answer = [Val::Bool(false)];
        function.call_async(&mut store, &[Val::String("{}".to_owned())], &mut answer).await?;
        Ok(answer.to_vec())
    };
    for compatible in ["0.1.0", "0.1.1", "0.1.99"] {
        let answer = validate(compatible).await.unwrap_or_else(|error| panic!("{compatible}: {error:#}"));
        assert_eq!(answer, [Val::List(Vec::new())], "nothing to complain about");
    }
    for other in ["0.2.0", "1.0.0"] {
        assert!(validate(other).await.is_err(), "{other}");
    }
}

/// A host with every interface that the component imports; ours at this version and with a
/// function that nobody knows.
fn host(engine: &Engine, component: &Component, version: &str) -> wasmtime::Result<Linker<()>> {
    let mut linker: Linker<()> = Linker::new(engine);
    let mut ours = 0;
    for (name, item) in component.component_type().imports(engine) {
        let name = match name.strip_prefix("emhost:plugin/").and_then(|rest| rest.split_once('@')) {
            Some((interface, _)) => {
                ours += 1;
                format!("emhost:plugin/{interface}@{version}")
            }
            None => name.to_owned(),
        };
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        let mut offered = linker.instance(&name)?;
        for (export, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => offered.func_new(export, |_, _, _, _| Err(wasmtime::Error::msg("not called")))?,
                ComponentItem::Resource(_) => offered.resource(export, ResourceType::host::<u8>(), |_, _| Ok(()))?,
                _ => {}
            }
        }
        if name.starts_with("emhost:plugin/") {
            offered.func_wrap("added-later", |_, (): ()| Ok(()))?;
        }
    }
    assert!(ours > 0, "the plugin imports something of ours");
    Ok(linker)
}

// ---- the plugin has more ------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_for_a_later_release_starts_if_it_needs_nothing_new() {
    assert_eq!(starts(&built_against(at_version("0.1.7"))).await.expect("compatible"), "0.1.7");
    let needs = built_against(|text| at_version("0.1.7")(&text.replace("  enabled: func", "  flush: func();\n  enabled: func")));
    assert_snapshot!(starts(&needs).await.expect_err("needs what is not there"), @"
    does not fit contract 0.1.0:
      log.flush: not a function of contract 0.1.0
    ");
    assert_snapshot!(starts(&built_against(at_version("0.2.0"))).await.expect_err("another contract"), @"built for contract 0.2.0, this emhost speaks 0.1.0: rebuild the plugin against contract 0.1, or use an emhost that speaks 0.2");
}

// ---- neither ------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_another_record_is_refused() {
    let mut stories = Vec::new();
    for (from, to) in [
        // A field more, a field less, another type, another order of cases.
        ("    holds: list<string>,\n  }\n\n  record again", "    holds: list<string>,\n    risk: u8,\n  }\n\n  record again"),
        ("    /// What was learnt on the way and must not be lost, for example a task id.\n    state: option<state>,\n", ""),
        ("    after-ms: u32,", "    after-ms: u64,"),
        ("    present,\n    absent,", "    absent,\n    present,"),
        ("    data-loss,\n", "    data-loss,\n    outage,\n"),
    ] {
        stories.push(starts(&built_against(replacing(from, to))).await.expect_err("refused").to_string());
    }
    assert_snapshot!(stories.join("\n"), @"
    does not fit contract 0.1.0:
      types.proposal: has a field `risk` that contract 0.1.0 does not know
    does not fit contract 0.1.0:
      types.failure: lacks the field `state`
    does not fit contract 0.1.0:
      types.again: field `after-ms` is `u64`, contract 0.1.0 says `u32`
    does not fit contract 0.1.0:
      types.intent: has its cases in another order
    does not fit contract 0.1.0:
      types.disruption: has a case `outage` that contract 0.1.0 does not know
    ");
}
