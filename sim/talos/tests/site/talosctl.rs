//! The real talosctl.

#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// talosctl with the configuration of one cluster.
pub struct Talosctl {
    program: PathBuf,
    pub folder: tempfile::TempDir,
}

/// What a command said, and whether it was content.
#[derive(Debug)]
pub struct Said {
    pub ok: bool,
    pub text: String,
}

pub fn said(output: &Output) -> Said {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Said { ok: output.status.success(), text }
}

impl Talosctl {
    pub fn new(version: &str) -> Option<Self> {
        Some(Self { program: emhost_oracles::program(&format!("talosctl-{version}"), "talosctl")?, folder: tempfile::tempdir().unwrap() })
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub fn raw(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("timeout");
        command.arg("120").arg(&self.program).args(arguments);
        command.env("HOME", self.folder.path()).env("TALOSCONFIG", self.path("talosconfig")).current_dir(self.folder.path());
        said(&command.output().unwrap())
    }

    /// Runs against one node and expects it to work.
    pub fn on(&self, node: &str, arguments: &[&str]) -> String {
        let said = self.try_on(node, arguments);
        assert!(said.ok, "talosctl {arguments:?} on {node}: {}", said.text);
        said.text
    }

    pub fn try_on(&self, node: &str, arguments: &[&str]) -> Said {
        self.raw(&[&["-n", node], arguments].concat())
    }

    /// Runs until it works: nodes take a while to boot.
    pub fn until(&self, node: &str, arguments: &[&str], wanted: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let said = self.try_on(node, arguments);
            if said.ok && wanted(&said.text) {
                return said.text;
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "talosctl {arguments:?} on {node} never came good: {}", said.text);
        }
    }

    /// Runs until it does not work any more.
    pub fn until_not(&self, node: &str, arguments: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let said = self.try_on(node, arguments);
            if !said.ok {
                return said.text;
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "talosctl {arguments:?} on {node} never failed: {}", said.text);
        }
    }

    /// Runs a command that does not end by itself until it has said all of this.
    pub fn watch(&self, node: &str, arguments: &[&str], wanted: &[&str]) {
        let mut command = Command::new("timeout");
        command.arg("30").arg(&self.program).args(["-n", node]).args(arguments);
        command.env("HOME", self.folder.path()).env("TALOSCONFIG", self.path("talosconfig")).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !wanted.iter().all(|part| text.contains(part)) {
            match lines.next() {
                Some(line) => text.push_str(&line.unwrap()),
                None => panic!("talosctl {arguments:?} on {node} ended without {wanted:?}: {text}"),
            }
        }
        // `timeout` hands the signal on.
        let id = child.id().to_string();
        Command::new("kill").arg(&id).status().unwrap();
        child.wait().unwrap();
    }

    /// Configurations of a cluster with this endpoint.
    pub fn generate(&self, endpoint: &str, version: &str, more: &[&str]) {
        let out = self.path("");
        let base = ["gen", "config", "demo", endpoint, "--with-docs=false", "--with-examples=false", "--install-disk=/dev/sda", "--force"];
        let said = self.raw(&[&base[..], &["--talos-version", version, "--output", &out], more].concat());
        assert!(said.ok, "{}", said.text);
    }
}
