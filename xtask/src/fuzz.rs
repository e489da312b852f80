//! `cargo xtask fuzz`: libFuzzer over the inventory, on the same compiler as everything else.
//!
//! Coverage is what `rustc -C passes` can add by itself; a wrapper around the compiler adds it to the crates of this workspace
//! only, and the wrapper is this program.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};

use super::{Result, root, run, target};

/// Set while this program stands before the compiler.
const WRAPS: &str = "EMHOST_FUZZ_WRAPS";

const COVERAGE: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
    // Many more inputs in the same time, with every check still in.
    "-Copt-level=1",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];

/// Whether cargo called this program in place of the compiler.
pub fn wraps() -> bool {
    env::var_os(WRAPS).is_some()
}

/// Calls the compiler, with coverage for what ends up in the fuzzer.
pub fn wrap() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(compiler) = arguments.next() else { return ExitCode::FAILURE };
    let arguments: Vec<OsString> = arguments.collect();
    let value = |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1)?.to_str());
    // Build scripts and macros run in the compiler's place, where nobody counts.
    let tool = value("--crate-name").is_none_or(|name| name.starts_with("build_script")) || value("--crate-type") == Some("proc-macro");
    let mut command = Command::new(compiler);
    command.args(&arguments);
    if !tool {
        command.args(COVERAGE);
    }
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("xtask: the compiler cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the fuzzer and lets it run: a crash, two seconds for one input, or 512 MiB are failures.
pub fn fuzz(more: &[String]) -> Result {
    let seconds = match more {
        [] => "600",
        [flag, seconds] if flag == "--seconds" && seconds.parse::<u64>().is_ok() => seconds,
        _ => return Err("usage: cargo xtask fuzz [--seconds N]".into()),
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // With the features that everything together has, so that dependencies are not built a second time.
    run(Command::new(cargo)
        .args(["build", "--workspace", "--exclude", "guests", "--bin", "fuzz-inventory", "--features", "fuzz/libfuzzer"])
        .env("RUSTC_WORKSPACE_WRAPPER", env::current_exe()?)
        .env(WRAPS, "1"))?;
    // What is found is kept beside the build; the corpus in the repository is only where it starts.
    let found = target().join("fuzz-corpus");
    fs::create_dir_all(&found)?;
    let artifacts = target().join("fuzz-");
    run(Command::new(target().join("debug/fuzz-inventory"))
        .arg(&found)
        .arg(root().join("tests/fuzz/corpus"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}", artifacts.display()))
        .args(["-timeout=2", "-rss_limit_mb=512", "-max_len=65536", "-print_final_stats=1"]))
}
