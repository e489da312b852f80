//! Compiled code on disk: made once, never trusted further than it goes, never in the way.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use emhost::plugins::{Cache, Plugin, Runtime};
use emhost_testkit::Kit;
use emhost_tests::plugin;

fn noop() -> Vec<u8> {
    fs::read(plugin("noop")).expect("the plugin")
}

/// A plugin with other bytes and so another entry, of the same shape.
fn other() -> Vec<u8> {
    let mut bytes = noop();
    // A custom section called `x`, empty.
    bytes.extend_from_slice(&[0, 2, 1, b'x']);
    bytes
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().expect("a folder");
    let inner = outer.path().join("cache");
    (outer, inner)
}

fn load(folder: &Path, bytes: &[u8]) -> Plugin {
    let cache = Cache::open(folder).expect("a cache");
    Runtime::new(Some(cache)).expect("a sandbox").load(bytes).expect("a plugin")
}

/// The one entry, after making sure that there is nothing beside it.
fn entry(folder: &Path) -> PathBuf {
    let mut all: Vec<PathBuf> = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    let ends: Vec<_> = all.iter().filter_map(|file| file.extension()).collect();
    assert_eq!(ends, ["cwasm", "json"], "{all:?}");
    all.remove(0)
}

/// What tells a file from one that was written again.
fn identity(file: &Path) -> (u64, i64, i64) {
    let found = fs::metadata(file).expect("a file");
    (found.ino(), found.mtime(), found.mtime_nsec())
}

/// That the plugin is the one it should be, by running it.
async fn runs(plugin: Plugin) {
    let kit = Kit::bytes(noop()).load();
    let machine = plugin.observe_machine(&kit.context, &kit.node(), None).await.expect("a call").expect("a machine");
    assert_eq!((machine.id.as_str(), machine.host.as_str()), ("cp-1", "unmanaged"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_load_writes_nothing() {
    let (_outer, folder) = folder();
    runs(load(&folder, &noop())).await;
    let file = entry(&folder);
    let written = identity(&file);
    runs(load(&folder, &noop())).await;
    assert_eq!(identity(&entry(&folder)), written);
    // Other bytes are another entry.
    load(&folder, &other());
    assert_eq!(fs::read_dir(&folder).expect("readable").count(), 4);
}

#[test]
fn the_cache_is_the_users_own() {
    let (_outer, folder) = folder();
    load(&folder, &noop());
    let mode = |path: &Path| fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&entry(&folder))), (0o700, 0o600));
}

#[test]
fn a_folder_that_is_not_ours_is_refused() {
    let (outer, folder) = folder();
    Cache::open(&folder).expect("a new one");
    let refused = |folder: &Path| {
        let error = Cache::open(folder).expect_err("refused").to_string();
        error.replace(&outer.path().display().to_string(), "[folder]")
    };
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("mine");
    insta::assert_snapshot!(refused(&folder), @"[folder]/cache is open to other users; remove it, and emhost makes it anew");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("mine");
    let link = outer.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).expect("a link");
    insta::assert_snapshot!(refused(&link), @"[folder]/link is not a folder; remove it, and emhost makes it anew");
    let file = outer.path().join("file");
    fs::write(&file, "").expect("a file");
    assert!(Cache::open(&file).is_err());
}

/// Damages the one entry, loads again, and sees whether it was made anew.
async fn made_anew(damage: impl Fn(&Path)) -> bool {
    let (_outer, folder) = folder();
    load(&folder, &noop());
    let file = entry(&folder);
    let good = fs::read(&file).expect("readable");
    damage(&file);
    runs(load(&folder, &noop())).await;
    let found = fs::symlink_metadata(entry(&folder)).expect("there");
    found.is_file() && found.permissions().mode() & 0o777 == 0o600 && fs::read(&file).expect("readable").len() == good.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_entries_are_made_anew() {
    let edit = |change: fn(&mut Vec<u8>)| {
        move |file: &Path| {
            let mut bytes = fs::read(file).expect("readable");
            change(&mut bytes);
            fs::write(file, bytes).expect("writable");
        }
    };
    assert!(made_anew(edit(|bytes| *bytes.last_mut().expect("bytes") ^= 1)).await, "a flipped bit at the end");
    assert!(made_anew(edit(|bytes| bytes[5000] ^= 1)).await, "in the middle");
    assert!(made_anew(edit(|bytes| bytes[20] ^= 1)).await, "in the checksum");
    assert!(made_anew(edit(|bytes| bytes.truncate(bytes.len() / 2))).await, "cut");
    assert!(made_anew(edit(|bytes| bytes.truncate(10))).await, "cut in the header");
    assert!(made_anew(edit(Vec::clear)).await, "empty");
    assert!(made_anew(edit(|bytes| *bytes = b"\x7fELF not ours at all".to_vec())).await, "something else");
    assert!(made_anew(|file| fs::set_permissions(file, fs::Permissions::from_mode(0o666)).expect("mine")).await, "open to others");
    let link = |file: &Path| {
        let elsewhere = file.with_file_name("..").join("elsewhere");
        fs::rename(file, &elsewhere).expect("moved");
        std::os::unix::fs::symlink(&elsewhere, file).expect("a link");
    };
    assert!(made_anew(link).await, "a link");
}

/// A whole entry of another plugin under this one's name.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_another_plugin_is_made_anew() {
    let (_outer, elsewhere) = folder();
    load(&elsewhere, &fs::read(emhost_tests::guest("demo")).expect("a component"));
    let foreign = entry(&elsewhere);
    let (_outer, folder) = folder();
    load(&folder, &noop());
    let file = entry(&folder);
    // The other's code alone, and the other's code with what is known about it.
    for ends in [&["cwasm"][..], &["cwasm", "json"]] {
        for end in ends {
            fs::copy(foreign.with_extension(end), file.with_extension(end)).expect("writable");
        }
        let swapped = identity(&file);
        runs(load(&folder, &noop())).await;
        assert_ne!(identity(&file), swapped, "{ends:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_written_is_no_obstacle() {
    // Somebody who may write everything is not kept out by a mode; a folder in the entry's place keeps everybody out.
    let (_outer, folder) = folder();
    load(&folder, &noop());
    let file = entry(&folder);
    fs::remove_file(&file).expect("mine");
    fs::create_dir(&file).expect("a folder in its place");
    runs(load(&folder, &noop())).await;
    assert!(entry(&folder).is_dir(), "and nothing is left beside it");

    let (_outer, read_only) = self::folder();
    let cache = Cache::open(&read_only).expect("a cache");
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o500)).expect("mine");
    runs(Runtime::new(Some(cache.clone())).expect("a sandbox").load(&noop()).expect("a plugin")).await;
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o700)).expect("mine");

    fs::remove_dir_all(&read_only).expect("mine");
    runs(Runtime::new(Some(cache)).expect("a sandbox").load(&noop()).expect("a plugin")).await;
}

#[test]
fn threads_at_once() {
    let (_outer, folder) = folder();
    std::thread::scope(|scope| {
        let loads: Vec<_> = (0..4).map(|_| scope.spawn(|| load(&folder, &noop()))).collect();
        for load in loads {
            assert_eq!(load.join().expect("no panic").name(), "noop");
        }
    });
    let file = entry(&folder);
    let written = identity(&file);
    load(&folder, &noop());
    assert_eq!(identity(&file), written, "what the race left is whole");
}

const SHARED: &str = "EMHOST_TEST_SHARED_CACHE";

/// One of the processes of [`processes_at_once`].
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by processes_at_once"]
async fn one_process() {
    let folder = std::env::var_os(SHARED).expect("the folder to share");
    for _ in 0..3 {
        runs(load(Path::new(&folder), &noop())).await;
    }
}

#[test]
fn processes_at_once() {
    let (_outer, folder) = folder();
    let start = || {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command
            .args(["--exact", "cache::one_process", "--ignored"])
            .env(SHARED, &folder)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command.spawn().expect("a process")
    };
    let running: Vec<_> = (0..3).map(|_| start()).collect();
    for process in running {
        let output = process.wait_with_output().expect("its output");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
    let file = entry(&folder);
    let written = identity(&file);
    load(&folder, &noop());
    assert_eq!(identity(&file), written);
}
