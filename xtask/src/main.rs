//! The project's own commands: `cargo xtask` lists them.
//!
//! They install what they need beyond rustup and a C compiler, so a fresh clone needs no other step.

mod fuzz;
mod helm;
mod oracles;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const HELP: &str = "\
cargo xtask COMMAND

  demo      bring examples/home up on the simulated site, and say what to look at next
  test      build everything and run all tests that need nothing else
  build     build the emhost binary with its built-in plugins (--release; --helm: and with Helm in it)
  plugins   build the built-in plugins
  helm      build Helm as a component (needs Go; --write: and expect this one)
  guests    build the guests of the tests
  oracles   build the real programs that tests run against (NAME…: only these, --minutes N: begin none after that)
  lint      formatting, clippy and rustdoc, without a warning
  deny      licences, sources and duplicate dependencies
  docs      write the contract reference into docs/ (--check: only compare)
  bench     measure, and print ratios
  fuzz      feed the inventory with what no person would write (--seconds N)
  ci        lint, deny and docs --check";

fn main() -> ExitCode {
    if fuzz::wraps() {
        return fuzz::wrap();
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str);
    let done = match words.next() {
        Some("demo") => demo(),
        Some("test") => test(&arguments[1..]),
        Some("build") => build(&arguments[1..]),
        Some("plugins") => plugins(),
        Some("guests") => guests(),
        Some("helm") => helm::build(&arguments[1..]),
        Some("oracles") => oracles::build(&arguments[1..]),
        Some("lint") => lint(),
        Some("deny") => deny(),
        Some("docs") => docs(words.next() == Some("--check")),
        Some("bench") => bench(&arguments[1..]),
        Some("fuzz") => fuzz::fuzz(&arguments[1..]),
        Some("ci") => lint().and_then(|()| docs(true)).and_then(|()| deny()),
        _ => {
            println!("{HELP}");
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn cargo(arguments: &[&str]) -> Result {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).args(arguments).env("EMHOST_GUESTS", target().join("wasm32-wasip2/plugin/examples")))
}

fn run(command: &mut Command) -> Result {
    let status = command.current_dir(root()).status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// What a new machine lacks: the target that components are compiled for.
fn setup() -> Result {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).current_dir(root()).output();
    match installed {
        Ok(output) if String::from_utf8_lossy(&output.stdout).lines().any(|line| line == "wasm32-wasip2") => Ok(()),
        Ok(_) => run(Command::new("rustup").args(["target", "add", "wasm32-wasip2"])),
        Err(error) => Err(format!("rustup is needed to add the target wasm32-wasip2: {error}").into()),
    }
}

/// Builds `plugins/*` and puts the components where the host embeds them from.
fn plugins() -> Result {
    setup()?;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(root().join("plugins"))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let mut arguments = vec!["build", "--target", "wasm32-wasip2", "--profile", "plugin"];
    for name in &names {
        arguments.extend(["--package", name]);
    }
    cargo(&arguments)?;
    let folder = target().join("plugins");
    fs::create_dir_all(&folder)?;
    for name in &names {
        let built = target().join(format!("wasm32-wasip2/plugin/{}.wasm", name.replace('-', "_")));
        let kept = folder.join(format!("{name}.wasm"));
        let bytes = fs::read(&built)?;
        // Untouched when unchanged, so that the host is not built again.
        if fs::read(&kept).ok().as_ref() != Some(&bytes) {
            fs::write(&kept, bytes)?;
        }
    }
    Ok(())
}

fn guests() -> Result {
    setup()?;
    // The profile of the plugins, so that macros are built once, but for programs that are many and soon thrown away.
    let quick = [("LTO", "off"), ("OPT_LEVEL", "1"), ("CODEGEN_UNITS", "16")];
    let quick = quick.map(|(key, value)| (format!("CARGO_PROFILE_PLUGIN_{key}"), value));
    let arguments = ["build", "--package", "guests", "--examples", "--target", "wasm32-wasip2", "--profile", "plugin"];
    run(Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())).args(arguments).envs(quick))
}

fn build(more: &[String]) -> Result {
    let mut arguments = vec!["build", "--package", "emhost"];
    let mut embed = false;
    for word in more {
        match word.as_str() {
            "--release" => arguments.push("--release"),
            "--helm" => embed = true,
            _ => return Err("usage: cargo xtask build [--release] [--helm]".into()),
        }
    }
    plugins()?;
    if !embed {
        return cargo(&arguments);
    }
    helm::build(&[])?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).args(arguments).env("EMHOST_BUILTIN_HELM", target().join("helm/helm.wasm.gz")))
}

/// Builds every program for tests and demo. All at once, so that dependencies are built with one set of features.
fn programs() -> Result {
    plugins()?;
    guests()?;
    cargo(&["build", "--workspace", "--exclude", "guests", "--bins"])
}

fn test(more: &[String]) -> Result {
    programs()?;
    let mut arguments = vec!["test", "--workspace", "--exclude", "guests"];
    arguments.extend(more.iter().map(String::as_str));
    cargo(&arguments)
}

fn demo() -> Result {
    programs()?;
    run(Command::new(target().join("debug/demo")).env("EMHOST_GUESTS", target().join("wasm32-wasip2/plugin/examples")))
}

fn lint() -> Result {
    plugins()?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--exclude", "guests", "--all-targets", "--", "-D", "warnings"])?;
    cargo(&["clippy", "--package", "guests", "--examples", "--target", "wasm32-wasip2", "--", "-D", "warnings"])?;
    let cargo_path = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo_path)
        .args(["doc", "--workspace", "--exclude", "guests", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// Where tools are kept that are too dear to build for every clone.
fn tools() -> PathBuf {
    let cache =
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("emhost-tools")
}

const DENY: &str = "0.20.2";

fn deny() -> Result {
    let folder = tools().join(format!("cargo-deny-{DENY}"));
    let deny = folder.join("bin/cargo-deny");
    if !deny.exists() {
        println!("xtask: building cargo-deny {DENY} once, into {}", folder.display());
        let folder = folder.to_string_lossy().into_owned();
        cargo(&[
            "install",
            "cargo-deny",
            "--version",
            DENY,
            "--locked",
            "--no-default-features",
            "--root",
            &folder,
            "--target-dir",
            &target().join("tools").to_string_lossy(),
        ])?;
    }
    run(Command::new(&deny).args(["check", "bans", "licenses", "sources"]))?;
    // The advisory database is elsewhere on the network, which not every machine reaches.
    let advisories = Command::new(&deny).args(["check", "advisories"]).current_dir(root()).output()?;
    if advisories.status.success() {
        println!("advisories ok");
    } else if String::from_utf8_lossy(&advisories.stderr).contains("failed to fetch advisory database") {
        println!("SKIPPED: advisories, their database cannot be reached from here");
    } else {
        return Err(String::from_utf8_lossy(&advisories.stderr).into_owned().into());
    }
    Ok(())
}

fn docs(check: bool) -> Result {
    plugins()?;
    // With everything else, so that what it needs is not built a second time.
    cargo(&["build", "--workspace", "--exclude", "guests", "--bins"])?;
    run(Command::new(target().join("debug/reference")).args(check.then_some("--check")))
}

fn bench(more: &[String]) -> Result {
    plugins()?;
    guests()?;
    // The binary that people run, so without the faults that the package of `bench` switches on. The others are only named because
    // they give dependencies the features which those have there: most are then compiled once.
    cargo(&["build", "--release", "--bin", "emhost", "-p", "emhost", "-p", "emhost-testkit", "-p", "emhost-world", "-p", "guests"])?;
    let mut arguments = vec!["run", "--release", "--package", "emhost-tests", "--bin", "bench", "--"];
    arguments.extend(more.iter().map(String::as_str));
    cargo(&arguments)
}
