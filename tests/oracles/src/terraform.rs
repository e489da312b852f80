//! terraform with bpg's provider, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `terraform` or `tofu`, working on the `main.tf` of a folder.
#[derive(Debug)]
pub struct Terraform {
    program: PathBuf,
    folder: PathBuf,
}

impl Terraform {
    /// Writes the plan and the settings with which the provider is found without a registry. None, and a loud word, where it is not
    /// there.
    ///
    /// # Errors
    /// Why the folder cannot be written.
    pub fn new(folder: &Path, plan: &str) -> std::io::Result<Option<Self>> {
        let Some((program, provider)) = programs() else { return Ok(None) };
        let settings =
            format!("provider_installation {{\n  dev_overrides {{ \"bpg/proxmox\" = \"{}\" }}\n  direct {{}}\n}}\n", provider.display());
        std::fs::write(folder.join("main.tf"), plan)?;
        std::fs::write(folder.join("cli.tfrc"), settings)?;
        Ok(Some(Self { program, folder: folder.to_owned() }))
    }

    /// The program, ready to be run for so many seconds at most.
    pub fn command(&self, seconds: u32, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new("timeout");
        command.arg(seconds.to_string()).arg(&self.program).args(arguments).arg("-no-color").current_dir(&self.folder).stdin(Stdio::null());
        command.env("TF_CLI_CONFIG_FILE", self.folder.join("cli.tfrc")).env("TF_IN_AUTOMATION", "1").env("CHECKPOINT_DISABLE", "1");
        // The provider keeps the VMIDs it gave out there, for all of its processes.
        command.env("TMPDIR", &self.folder).env("HOME", &self.folder);
        command.envs(variables.iter().map(|(name, value)| (format!("TF_VAR_{name}"), value)));
        command
    }
}

/// The program, and the folder of the provider.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let provider = super::program("tf-v0.80.0/terraform-provider-proxmox", "terraform")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("terraform")).find(|file| file.is_file());
    let program = installed.or_else(|| super::program("tofu-v1.9.1", "terraform"))?;
    Some((program, provider.parent()?.to_owned()))
}
