//! The binary as a person uses it: what it prints, and how it exits.

use std::path::{Path, PathBuf};
use std::process::Command;

use emhost_tests::{guest, plugin};

/// A cluster's folder with the demo plugin in it, and the binary that works on it.
struct Place {
    folder: tempfile::TempDir,
}

struct Ran {
    exit: i32,
    out: String,
    err: String,
}

fn binary() -> PathBuf {
    let mut path = std::env::current_exe().expect("this test has a path");
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.join("emhost")
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::copy(guest("demo"), folder.path().join("demo.wasm")).expect("the demo plugin");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn emhost(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(binary())
            .args(arguments)
            .current_dir(self.path())
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("NO_COLOR", "1")
            .env("EMHOST_SECRET_PLANTED", "hunter2hunter2")
            .output()
            .expect("the binary runs; `cargo xtask test` builds it");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("text");
            let digest = text.split("sha256:").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>());
            digest.map_or(text.clone(), |digest| text.replace(&digest, "DIGEST"))
        };
        Ran { exit: output.status.code().expect("an exit code"), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

#[test]
fn inspect_says_what_it_is_without_running_it() {
    let ran = Place::new().emhost(&["plugin", "inspect", "./demo.wasm"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let out: Vec<&str> = ran.out.lines().filter(|line| !line.contains("size")).collect();
    insta::assert_snapshot!(out.join("\n"), @r"
    demo 0.1.0
      creates a machine in one request
      source       ./demo.wasm
      digest       sha256:DIGEST
      contract     0.1.0 (this emhost speaks 0.1.0)
      fills        provisioner
    imports
      operations   reports progress and reads its own settings
      inventory    reads the cluster and its nodes
      http         sends HTTP requests to granted slots
      stdio        writes to standard error, which goes to the log
      environment  asks for environment variables; gets none
    asks for
      http:pve
        sends HTTP requests to slot `pve`, with the site's credential for it
        because: creates virtual machines
      http:image-factory
        sends HTTP requests to slot `image-factory`, with the site's credential for it
        because: would like to know the newest version
    ");
}

#[test]
fn nobody_decides_for_a_person_who_is_not_there() {
    let place = Place::new();
    let ran = place.emhost(&["-q", "plugin", "add", "./demo.wasm"]);
    assert_eq!(ran.exit, 4);
    insta::assert_snapshot!(ran.err, @r"
    error: `demo` asks for rights, and nobody is there to decide
      help: grant all with `emhost plugin add ./demo.wasm --yes`, or some of these:
            emhost plugin add ./demo.wasm --grant http:pve --grant http:image-factory
    ");
    assert!(!place.path().join("emhost.lock").exists());
}

#[test]
fn added_listed_changed_and_updated() {
    let place = Place::new();
    std::fs::write(place.path().join("site.yaml"), "plugins:\n  provisioner: ./demo.wasm\n").expect("a site");
    let ran = place.emhost(&["plugin", "list"]);
    assert_eq!(ran.exit, 4);
    insta::assert_snapshot!(ran.err, @r"
    error: plugin `demo` (./demo.wasm) is not in emhost.lock
      | look at it with `emhost plugin inspect ./demo.wasm`, then allow it with `emhost plugin add ./demo.wasm`
    ");

    let ran = place.emhost(&["plugin", "add", "./demo.wasm", "--grant", "http:pve"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.ends_with("decided\n  granted      http:pve\n  not granted  http:image-factory\n✓ `demo` is in emhost.lock\n"),
        "{}",
        ran.out
    );
    assert_eq!(place.emhost(&["plugin", "list"]).exit, 0);
    let twice = place.emhost(&["plugin", "add", "./demo.wasm", "--yes"]);
    assert_eq!(twice.exit, 4);

    let ran = place.emhost(&["plugin", "update", "demo", "--grant", "http:image-factory", "--revoke", "http:pve"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let lock = std::fs::read_to_string(place.path().join("emhost.lock")).expect("the lock file");
    assert!(lock.contains("- http:image-factory") && !lock.contains("- http:pve"), "{lock}");

    // Another component under the same name.
    let mut bytes = std::fs::read(place.path().join("demo.wasm")).expect("the component");
    bytes.extend_from_slice(&[0, 5, 4, b'm', b'o', b'r', b'e']);
    std::fs::write(place.path().join("demo.wasm"), bytes).expect("written");
    let ran = place.emhost(&["-q", "plugin", "list"]);
    assert_eq!(ran.exit, 4);
    assert!(ran.err.contains("error: plugin `demo` is not what emhost.lock says:\n  |   - digest: sha256:"), "{}", ran.err);
    assert!(ran.err.contains("if the change is meant, run `emhost plugin update demo`"), "{}", ran.err);
    assert_eq!(place.emhost(&["plugin", "update", "demo"]).exit, 4);
    assert_eq!(place.emhost(&["plugin", "update", "demo", "--yes"]).exit, 0);
    assert_eq!(place.emhost(&["plugin", "list"]).exit, 0);
}

#[test]
fn every_bad_input_says_what_to_do() {
    let place = Place::new();
    std::fs::write(place.path().join("text.wasm"), "hello").expect("a file");
    let cases: [(&[&str], i32, &str); 9] = [
        (&["plugin", "inspect", "nop"], 3, "config-iso, gpu, image-factory, noop, proxmox, talos, template"),
        (&["plugin", "inspect", "demo.wasm"], 3, "write ./demo.wasm"),
        (&["plugin", "inspect", "./none.wasm"], 3, "cannot read plugin ./none.wasm: No such file"),
        (&["plugin", "inspect", "./text.wasm"], 3, "./text.wasm: is not a WebAssembly component"),
        (&["plugin", "inspect", "oci://x/y"], 3, "download the component and name its path"),
        (&["plugin", "add", "./demo.wasm", "--grant", "sudo:all"], 3, "there is no such kind of grant"),
        (&["plugin", "add", "./demo.wasm", "--grant", "http:talos"], 4, "does not ask for `http:talos`"),
        (&["plugin", "add", "./demo.wasm", "--yes", "--role", "distro"], 3, "does not fill the role distro"),
        (&["plugin", "update", "demo"], 3, "add one with `emhost plugin add`"),
    ];
    for (arguments, exit, part) in cases {
        let ran = place.emhost(arguments);
        assert_eq!(ran.exit, exit, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{arguments:?}: {}", ran.err);
    }
    assert!(!place.path().join("emhost.lock").exists());
    std::fs::write(place.path().join("emhost.lock"), "version: 9\n").expect("a lock file");
    assert!(place.emhost(&["plugin", "list"]).err.contains("use the emhost that wrote it"));
    std::fs::write(place.path().join("emhost.lock"), "version: 1\nplugins: {demo: {}}\n").expect("a lock file");
    assert_eq!(place.emhost(&["plugin", "list"]).exit, 3);
}

#[test]
fn json_is_one_object_per_line() {
    let place = Place::new();
    for arguments in [&["--json", "plugin", "inspect", "noop"][..], &["--json", "plugin", "inspect", "nope"], &["plugin", "list", "--json"]]
    {
        let ran = place.emhost(arguments);
        let lines: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(lines.iter().all(|line| line["event"].is_string()));
        let last = lines.last().expect("a line");
        assert_eq!((last["event"].as_str(), last["exit"].as_i64()), (Some("summary"), Some(ran.exit.into())));
        assert_eq!(ran.err, "");
    }
}

#[test]
fn a_secret_of_the_environment_is_never_printed() {
    let place = Place::new();
    for arguments in [
        &["plugin", "inspect", "hunter2hunter2"][..],
        &["--json", "plugin", "inspect", "./hunter2hunter2"],
        &["plugin", "update", "hunter2hunter2"],
    ] {
        let ran = place.emhost(arguments);
        assert_eq!(ran.exit, 3);
        assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("(secret planted)") || ran.err.contains("(secret planted)"));
    }
}

#[test]
fn a_changed_plugin_of_another_kind_is_not_taken_for_the_first() {
    let place = Place::new();
    assert_eq!(place.emhost(&["plugin", "add", "./demo.wasm", "--yes"]).exit, 0);
    std::fs::copy(plugin("noop"), place.path().join("demo.wasm")).expect("copied");
    assert_eq!(place.emhost(&["plugin", "list"]).exit, 4);
    let ran = place.emhost(&["plugin", "update", "demo", "--yes"]);
    assert_eq!(ran.exit, 4);
    assert!(ran.err.contains("is plugin `noop`, not `demo`"), "{}", ran.err);
}

#[test]
fn the_commands_of_the_readme_work() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("the README");
    let place = Place::new();
    std::fs::rename(place.path().join("demo.wasm"), place.path().join("plugin.wasm")).expect("renamed");
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("$ emhost ")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let ran = place.emhost(&command.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ran.exit, 0, "emhost {command}: {}", ran.err);
    }
}

#[test]
fn settings_are_checked_against_the_plugins_own_schema() {
    let place = Place::new();
    assert_eq!(place.emhost(&["plugin", "add", "./demo.wasm", "--yes"]).exit, 0);
    let site = |settings: &str| {
        std::fs::write(place.path().join("site.yaml"), format!("plugins: {{provisioner: ./demo.wasm}}\nsettings: {{demo: {settings}}}\n"))
            .expect("a site");
        place.emhost(&["-q", "plugin", "list"])
    };
    assert_eq!(site("{curious: true}").exit, 0);
    let ran = site("{curios: true, curious: maybe}");
    assert_eq!(ran.exit, 4);
    assert!(ran.err.contains("curios") && ran.err.contains("at site.yaml settings.demo/curious"), "{}", ran.err);
}
