//! Files that are no plugins, are not those that were pinned, or were put into the cache by somebody else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use emhost::plugins::locate::Reference;
use emhost::plugins::lock::{Lock, LockError, Pinned};
use emhost::plugins::{Cache, Plugin, Role, Runtime, inspect};
use emhost_testkit::Kit;
use emhost_tests::guest;
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve, SourceMap, WorldId};

use crate::hostile::{Calls, still_alive, told};

const WORLD: &str = "world test { import log; import operations; import inventory; export lifecycle; export provisioner; }";

/// The contract as `edit` leaves it, with the world `test`.
fn contract(edit: impl Fn(&str) -> String) -> (Resolve, WorldId) {
    let mut sources = SourceMap::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")).expect("the contract") {
        let path = entry.expect("a file").path();
        // The worlds would need all of WASI to parse.
        if path.extension().is_some_and(|extension| extension == "wit") {
            let text = fs::read_to_string(&path).expect("a text");
            if !text.contains("world common") {
                sources.push_str(&path.to_string_lossy(), edit(&text));
            }
        }
    }
    sources.push_str("test.wit", format!("{}\n{WORLD}", edit("package emhost:plugin@0.1.0;")));
    let mut resolve = Resolve::new();
    let package = resolve.push_group(sources.parse().expect("a package")).expect("a package");
    let world = resolve.packages[package].worlds["test"];
    (resolve, world)
}

/// A component of it whose functions all do what `change` makes of a module that does nothing.
fn component(edit: impl Fn(&str) -> String, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let (resolve, world) = contract(edit);
    let mut module = change(dummy_module(&resolve, world, ManglingAndAbi::Standard32));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    let encoder = ComponentEncoder::default().module(&module).expect("a module");
    let mut component = encoder.validate(true).encode().expect("a component");
    let manifest = b"\x0femhost:manifest{\"name\":\"guest\",\"version\":\"1.0.0\"}";
    component.extend(section(0, manifest));
    component
}

fn section(id: u8, bytes: &[u8]) -> Vec<u8> {
    [&[id], leb(bytes.len()).as_slice(), bytes].concat()
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f).to_le_bytes()[0];
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn read_leb(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return number;
        }
    }
}

/// The module with a table of `elements`, and the body of every function replaced.
fn with_table(module: &[u8], elements: usize, body: &[u8]) -> Vec<u8> {
    let table = section(4, &[&[1, 0x70, 0], leb(elements).as_slice()].concat());
    let (mut changed, mut at, mut placed) = (module[..8].to_vec(), 8, false);
    while at < module.len() {
        let id = module[at];
        at += 1;
        let length = read_leb(module, &mut at);
        let content = &module[at..at + length];
        at += length;
        if !placed && id > 4 {
            changed.extend(&table);
            placed = true;
        }
        if id == 10 {
            let count = read_leb(content, &mut 0);
            let bodies = [leb(body.len()).as_slice(), body].concat().repeat(count);
            changed.extend(section(10, &[leb(count), bodies].concat()));
        } else {
            changed.extend(section(id, content));
        }
    }
    changed
}

/// A function without locals: `table.grow` of table 0 by 2^27 times nothing, then `unreachable`.
const GROW: [u8; 15] = [0, 0xd0, 0x70, 0x41, 0x80, 0x80, 0x80, 0xc0, 0x00, 0xfc, 0x0f, 0, 0x1a, 0x00, 0x0b];

#[tokio::test(flavor = "multi_thread")]
async fn tables_have_a_limit() {
    let guest = component(str::to_owned, |module| with_table(&module, 1, &GROW));
    let error = Kit::bytes(guest).load().observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: needs a table of more than the 100000 elements it may have
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
    // The same from the start.
    let guest = component(str::to_owned, |module| with_table(&module, 9_000_000, &[0, 0, 0x0b]));
    let error = Kit::bytes(guest).load().observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: needs a table of more than the 100000 elements it may have
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
    still_alive().await;
}

fn refusal(bytes: Vec<u8>) -> String {
    Kit::bytes(bytes).build().err().expect("refused").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_contract_is_refused() {
    let at = |version: &str| {
        let package = format!("package emhost:plugin@{version};");
        component(|text| text.replace("@since(version = 0.1.0)", "").replace("package emhost:plugin@0.1.0;", &package), |module| module)
    };
    insta::assert_snapshot!(refusal(at("0.2.0")), @"built for contract 0.2.0, this emhost speaks 0.1.0: rebuild the plugin against contract 0.1, or use an emhost that speaks 0.2");
    assert!(Kit::bytes(at("0.1.7")).build().is_ok(), "a later one that is compatible");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_types_are_refused() {
    let other = component(
        |text| text.replace("    identity: string,", "    identity: u64,").replace("    data-loss,\n", "    outage,\n"),
        |module| module,
    );
    insta::assert_snapshot!(refusal(other), @r"
    does not fit contract 0.1.0:
      provisioner.machine: field `identity` is `u64`, contract 0.1.0 says `string`
      types.disruption: has a case `outage` that contract 0.1.0 does not know
      types.disruption: lacks the case `data-loss`
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_component_is_refused() {
    let (resolve, world) = contract(str::to_owned);
    insta::assert_snapshot!(refusal(dummy_module(&resolve, world, ManglingAndAbi::Standard32)), @"is a core WebAssembly module, not a component: build it for wasm32-wasip2, or wrap it with `wasm-tools component new`");
    let whole = fs::read(guest("panics")).expect("a guest");
    insta::assert_snapshot!(refusal(Vec::new()), @"is not a WebAssembly component (it is empty)");
    insta::assert_snapshot!(refusal(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec()), @"is precompiled machine code, which emhost only loads from its own cache: give it the .wasm component");
    insta::assert_snapshot!(refusal(whole[..whole.len() / 2].to_vec()), @"is not a WebAssembly component (unexpected end-of-file)");
    for length in (0..whole.len()).step_by(whole.len() / 40) {
        refusal(whole[..length].to_vec());
    }
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_digest_than_the_pinned_one_is_refused() {
    let read = |name: &str| inspect(&fs::read(guest(name)).expect("a guest")).expect("a plugin");
    let source = Reference::Path("./guest.wasm".into());
    let (pinned, other) = (read("panics"), read("reads-slot"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut lock = Lock::load(folder.path()).expect("no lock yet");
    insta::assert_snapshot!(lock.policy(&source, &pinned).expect_err("not pinned"), @r"
    plugin `guest` (./guest.wasm) is not in emhost.lock
    look at it with `emhost plugin inspect ./guest.wasm`, then allow it with `emhost plugin add ./guest.wasm`
    ");
    lock.plugins.insert("guest".to_owned(), Pinned::new(source.clone(), &pinned, vec![Role::Provisioner], Vec::new()).expect("a pin"));
    lock.save(folder.path()).expect("saved");
    let lock = Lock::load(folder.path()).expect("a lock");
    lock.policy(&source, &pinned).expect("the one that was pinned");
    let error = lock.policy(&source, &other).expect_err("changed");
    assert!(matches!(error, LockError::Changed { .. }));
    let message = error.to_string().replace(&pinned.digest, "sha256:(pinned)").replace(&other.digest, "sha256:(other)");
    insta::assert_snapshot!(message, @r"
    plugin `guest` is not what emhost.lock says:
      - digest: sha256:(pinned)
      + digest: sha256:(other)
      + imports wasi:http/outgoing-handler@0.2.12
      + imports wasi:http/types@0.2.12
      + asks for http:pve (not granted)
    if the change is meant, run `emhost plugin update guest`
    ");
    still_alive().await;
}

/// A runtime with a cache of its own, in which a small guest was compiled. The guest gives up.
struct Cached {
    folder: tempfile::TempDir,
    guest: Vec<u8>,
    entry: PathBuf,
}

impl Cached {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let guest = component(str::to_owned, |module| module);
        let cached = Self { entry: folder.path().join("cache"), folder, guest };
        cached.load();
        let entry = cached.entries().pop().expect("an entry");
        Self { entry, ..cached }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn entries(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.cache()).expect("the cache").map(|entry| entry.expect("an entry").path());
        all.filter(|file| file.extension().is_some_and(|extension| extension == "cwasm")).collect()
    }

    fn load(&self) -> Plugin {
        self.load_other(&self.guest)
    }

    fn load_other(&self, guest: &[u8]) -> Plugin {
        let runtime = Runtime::new(Some(Cache::open(&self.cache()).expect("the cache"))).expect("a runtime");
        runtime.load(guest).expect("loads all the same")
    }

    /// Loads it with whatever is in the cache now, and makes sure that it is itself.
    async fn is_itself(&self) {
        let kit = Kit::bytes(self.guest.clone()).load();
        let error = self.load().observe_machine(&kit.context, &kit.node(), None).await.expect_err("it gives up");
        assert_eq!(error.to_string(), "plugin `guest`, provisioner.observe of `cp-1`: crashed: it gave up (unreachable)");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_cache_is_compiled_anew() {
    let cached = Cached::new();
    let good = fs::read(&cached.entry).expect("an entry");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    let poisons: [(&str, &[u8]); 6] = [
        ("empty", b""),
        ("garbage", b"not machine code at all, however long it may be, and no header either"),
        ("machine code without its checksum", &good[48..]),
        ("cut off", &good[..good.len() - 1]),
        ("one bit", &flipped),
        ("the checksum alone", &good[..48]),
    ];
    for (name, poison) in poisons {
        fs::write(&cached.entry, poison).expect("poisoned");
        cached.is_itself().await;
        let now = fs::read(&cached.entry).expect("an entry");
        assert!(now != poison && now.len() == good.len(), "{name} is still there");
    }
    assert_eq!(cached.entries().len(), 1);

    // What is known about the code is as easily poisoned as the code.
    let about = cached.entry.with_extension("json");
    let good = fs::read(&about).expect("about the entry");
    let renamed = String::from_utf8(good.clone()).expect("text").replace("guest", "guess");
    for poison in [&b""[..], b"{}", &good[..good.len() / 2], renamed.as_bytes()] {
        fs::write(&about, poison).expect("poisoned");
        cached.is_itself().await;
        assert_eq!(fs::read(&about).expect("about the entry"), good);
    }
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_cache_is_not_followed() {
    let cached = Cached::new();
    let elsewhere = cached.folder.path().join("elsewhere");
    fs::rename(&cached.entry, &elsewhere).expect("moved");
    let before = fs::read(&elsewhere).expect("there");
    std::os::unix::fs::symlink(&elsewhere, &cached.entry).expect("a link");
    cached.is_itself().await;
    assert!(fs::symlink_metadata(&cached.entry).expect("an entry").is_file(), "the link is gone");
    assert_eq!(fs::read(&elsewhere).expect("there"), before, "and nothing was written through it");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_others_can_write_is_not_used() {
    let cached = Cached::new();
    fs::set_permissions(&cached.entry, fs::Permissions::from_mode(0o666)).expect("opened");
    cached.is_itself().await;
    assert_eq!(fs::metadata(&cached.entry).expect("an entry").permissions().mode() & 0o777, 0o600);
    still_alive().await;
}

/// Whole by its checksum, and still not the plugin that it is named after.
#[tokio::test(flavor = "multi_thread")]
async fn the_code_of_another_plugin_is_not_used() {
    let cached = Cached::new();
    cached.load_other(&component(str::to_owned, |module| with_table(&module, 1, &GROW)));
    let other = cached.entries().into_iter().find(|entry| *entry != cached.entry).expect("another entry");
    fs::copy(other, &cached.entry).expect("swapped");
    cached.is_itself().await;
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_is_open_to_others_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cache");
    Cache::open(&path).expect("made");
    assert_eq!(fs::metadata(&path).expect("a folder").permissions().mode() & 0o777, 0o700);
    let refusal = |path: &Path| Cache::open(path).expect_err("refused").to_string().replace(&*folder.path().to_string_lossy(), "/home");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("opened");
    insta::assert_snapshot!(refusal(&path), @"/home/cache is open to other users; remove it, and emhost makes it anew");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("closed");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    insta::assert_snapshot!(refusal(&link), @"/home/link is not a folder; remove it, and emhost makes it anew");
    still_alive().await;
}
