//! `cargo xtask demo`: two YAML files become a cluster on the fixture world, survive a `kill -9`, grow, and go again.
#![expect(clippy::print_stdout, reason = "a program for people to watch")]

use std::process::{ExitCode, Stdio};

use emhost_tests::site::Site;
use emhost_world::Fate;

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("the demo failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn title(text: &str) {
    println!("\n── {text} {}", "─".repeat(90usize.saturating_sub(text.chars().count())));
}

/// Runs the real binary as a person would, and says so.
fn shell(site: &Site, arguments: &[&str], expected: Option<i32>) -> Result<(), String> {
    println!("$ emhost {}", arguments.join(" "));
    let mut command = site.command(arguments, "");
    let status = command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).status().map_err(|error| error.to_string())?;
    if status.code() == expected { Ok(()) } else { Err(format!("`emhost {}` ended with {status}", arguments.join(" "))) }
}

fn demo() -> Result<(), String> {
    let site = Site::new(3, 1);
    title("1. the inventory: two files, and a site that names its plugins");
    for file in ["cluster.yaml", "nodes.yaml", "site.yaml"] {
        println!("# {file}\n{}", site.read(file));
    }
    shell(&site, &["validate"], Some(0))?;

    title("2. the plan: what would happen, and why");
    shell(&site, &["plan"], Some(0))?;

    title("3. the apply is killed in the middle, between a change and its answer");
    let pid = std::sync::Arc::new(std::sync::OnceLock::<u32>::new());
    let known = std::sync::Arc::clone(&pid);
    site.world.after_change(move |number, seen| {
        if number == 6 {
            println!("  (the world did `{} {}`, and emhost is killed before it hears of it)", seen.what, seen.key);
            let pid = known.wait().to_string();
            // A demo without `kill` would only be less dramatic.
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
            return Fate::LoseReply;
        }
        Fate::Answer
    });
    println!("$ emhost apply --yes");
    let mut child = site
        .command(&["apply", "--yes"], "")
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| error.to_string())?;
    let _ = pid.set(child.id());
    let status = child.wait().map_err(|error| error.to_string())?;
    println!("  ({status})");
    site.world.calm();

    title("4. the next apply looks what happened, and goes on");
    shell(&site, &["apply", "--yes"], Some(0))?;
    report(&site)?;

    title("5. how it is");
    shell(&site, &["status"], Some(0))?;
    shell(&site, &["output"], Some(0))?;
    shell(&site, &["plan", "--exit-code"], Some(0))?;

    title("6. more memory for the control planes: one at a time, never without a majority");
    let nodes = site.read("nodes.yaml");
    for line in nodes.lines().filter(|line| line.contains("dev-cp-")) {
        site.edit("nodes.yaml", line, &line.replace("ram: 4096", "ram: 8192"));
    }
    shell(&site, &["apply", "--yes"], Some(0))?;
    report(&site)?;

    title("7. and back to nothing");
    site.world.teardown(true);
    shell(&site, &["destroy", "--yes"], Some(0))?;
    report(&site)?;
    let left = site.world.machines().len();
    println!("  {left} machines are left");
    if left == 0 { Ok(()) } else { Err("machines are left".to_owned()) }
}

/// What the world says to it.
fn report(site: &Site) -> Result<(), String> {
    let (twice, violations) = (site.world.twice(), site.world.violations());
    println!("  the world counted {} changes, {} twice, {} against a rule", site.world.changes().len(), twice.len(), violations.len());
    if twice.is_empty() && violations.is_empty() { Ok(()) } else { Err(format!("{twice:?} {violations:?}")) }
}
