//! The judge of these tests: a small program around Talos's own code, one per version, that generates and validates.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::Version;

/// The releases a judge may exist for.
pub(super) const RELEASES: [&str; 6] = ["v1.8.2", "v1.9.5", "v1.10.6", "v1.11.5", "v1.12.1", "v1.13.0"];

/// One version's judge.
pub(super) struct Oracle {
    program: PathBuf,
    pub version: Version,
}

/// What a judge says about one file.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub accepted: bool,
    /// The text of a refusal, line breaks as `; `.
    pub text: String,
    pub warnings: Vec<String>,
}

impl Oracle {
    /// The judge of a release, where it is built.
    pub(super) fn find(release: &str) -> Option<Self> {
        let program = emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle")?;
        Some(Self { program, version: release.parse().unwrap() })
    }

    /// Every judge that is built.
    pub(super) fn all() -> Vec<Self> {
        RELEASES.iter().filter_map(|release| Self::find(release)).collect()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.program).args(arguments).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A configuration as `talosctl gen config` makes it, for the contract of a minor version.
    pub(super) fn generate(&self, contract: &str, machine_type: &str) -> String {
        // Keys take long to make, and those of any version will do.
        static SECRETS: OnceLock<TempDir> = OnceLock::new();
        let folder = SECRETS.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("secrets.yaml"), self.run(&["secrets", "--talos-version", "v1.8"])).unwrap();
            folder
        });
        let secrets = folder.path().join("secrets.yaml");
        let secrets = secrets.to_str().unwrap();
        let endpoint = ["--endpoint", "https://10.0.0.10:6443", "--kubernetes", "1.31.1"];
        let arguments = [&["gen", "--talos-version", contract, "--secrets", secrets, "--type", machine_type], endpoint.as_slice()].concat();
        self.run(&arguments)
    }

    /// A configuration as Talos writes it after a patch.
    pub(super) fn rewritten(&self, text: &str, patch: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let files = ["config.yaml", "patch.yaml"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], text).unwrap();
        std::fs::write(&files[1], patch).unwrap();
        self.run(&["patch", files[0].to_str().unwrap(), files[1].to_str().unwrap()])
    }

    /// Verdicts on texts, in their order.
    pub(super) fn judge(&self, folder: &Path, mode: &str, texts: &[String]) -> Vec<Verdict> {
        let files: Vec<_> = (0..texts.len()).map(|number| folder.join(format!("{number}.yaml"))).collect();
        for (file, text) in files.iter().zip(texts) {
            std::fs::write(file, text).unwrap();
        }
        let mut verdicts = Vec::new();
        while verdicts.len() < files.len() {
            let rest = &files[verdicts.len()..];
            let before = verdicts.len();
            self.judge_some(mode, &rest[..rest.len().min(500)], &mut verdicts);
            if verdicts.len() < files.len() && verdicts.len() - before < rest.len().min(500) {
                // The judge itself broke down on the next one.
                verdicts.push(Verdict { accepted: false, text: "CRASH".to_owned(), warnings: Vec::new() });
            }
        }
        verdicts
    }

    fn judge_some(&self, mode: &str, files: &[PathBuf], verdicts: &mut Vec<Verdict>) {
        let output = Command::new(&self.program).args(["validate", "--mode", mode]).args(files).stderr(Stdio::null()).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let mut warnings = Vec::new();
        let mut names = files.iter().map(|file| format!("{}: ", file.display()));
        let mut name = names.next().unwrap_or_default();
        for line in output.lines() {
            let Some(said) = line.strip_prefix(&name) else { continue };
            if let Some(warning) = said.strip_prefix("WARN ") {
                warnings.push(warning.to_owned());
                continue;
            }
            let text = said.strip_prefix("LOAD ").or(said.strip_prefix("INVALID ")).unwrap_or_default().to_owned();
            verdicts.push(Verdict { accepted: said.starts_with("OK"), text, warnings: std::mem::take(&mut warnings) });
            name = names.next().unwrap_or_default();
        }
    }
}
