//! What only the machine itself can check.

use super::super::values::quoted;
use super::super::view::{Component, DiskFacts, DiskSelector, kubernetes_range};
use super::super::{Config, Version};
use super::machine::extensions_are_gone;
use super::{Findings, Invalid, Mode, many};

/// What the machine knows about itself.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    /// Its disks.
    pub disks: &'a [DiskFacts],
    /// Whether systemd-boot started it, which takes no kernel arguments of the configuration.
    pub systemd_boot: bool,
}

/// Checks a configuration against the machine it is for, and answers with warnings.
///
/// # Errors
/// With everything that is wrong.
pub fn runtime_validate(config: &Config, mode: Mode, running: Running<'_>) -> Result<Vec<String>, Invalid> {
    let mut findings = Findings::default();
    if config.at(&["machine"]).is_some() {
        if config.version.since(1, 9) {
            check(config, mode, running, &mut findings);
        } else if mode == Mode::Metal {
            disk(config, running, &mut findings);
        }
    }
    if findings.problems.is_empty() {
        return Ok(findings.warnings);
    }
    if !config.version.since(1, 12) {
        return Err(Invalid { problems: findings.problems });
    }
    Err(Invalid { problems: vec![format!("v1alpha1.Config: {}", many(&findings.problems))] })
}

/// Up to 1.8 the disk to install on had to be there.
fn disk(config: &Config, running: Running<'_>, findings: &mut Findings) {
    let Some(install) = config.install().filter(|_| config.install_disk(running.disks).is_none()) else { return };
    if install.selector.is_some_and(|selector| selector != DiskSelector::default()) {
        findings.problem("no disk found matching provided parameters");
    } else if let Some(path) = install.disk {
        findings.problem(format!("specified install disk does not exist: {}", quoted(&path)));
    }
}

fn check(config: &Config, mode: Mode, running: Running<'_>, findings: &mut Findings) {
    let install = config.install().unwrap_or_default();
    if let Some(selector) = install.selector.as_ref().filter(|_| mode == Mode::Metal)
        && !running.disks.iter().any(|disk| selector.matches(disk))
    {
        findings.problem(format!("no disks matched the expression: {}", selector.expression()));
    }
    if config.version.since(1, 10) {
        if running.systemd_boot && !install.extra_kernel_args.is_empty() {
            findings.warn("extra kernel arguments are not supported when booting using SDBoot");
        }
        if !install.extensions.is_empty() {
            findings.warn(extensions_are_gone(config.version));
        }
    }
    if !config.version.since(1, 11) {
        return;
    }
    let mut image = |component: Component, name: &str| {
        if let Err(why) = supported(&config.image(component), config.version) {
            findings.problem(format!("{name} image is not valid: {why}"));
        }
    };
    image(Component::Kubelet, "kubelet");
    if config.at(&["cluster"]).is_some() && config.machine_type().is_control_plane() {
        image(Component::ApiServer, "kube-apiserver");
        image(Component::ControllerManager, "kube-controller-manager");
        image(Component::Scheduler, "kube-scheduler");
    }
}

/// Whether a version of Talos runs the Kubernetes of an image.
fn supported(image: &str, version: Version) -> Result<(), String> {
    let wrong = |why: String| format!("failed to parse Kubernetes version from image reference {}: {why}", quoted(image));
    let at = image.rfind(":v").ok_or_else(|| wrong(format!("invalid image reference: {}", quoted(image))))?;
    let tag = image[at + 2..].split('@').next().unwrap_or_default();
    let numbers: Vec<_> = tag.split(['-', '+']).next().unwrap_or_default().split('.').map(str::parse::<u16>).collect();
    let [Ok(major), Ok(minor), Ok(_)] = numbers.as_slice() else { return Err(wrong("Invalid character(s) found in version".to_owned())) };
    let (oldest, newest) = kubernetes_range(version);
    if *major != 1 || *minor < oldest {
        Err(format!("version of Kubernetes {tag} is too old to be used with Talos {}", version.to_string().trim_start_matches('v')))
    } else if *minor > newest {
        Err(format!("version of Kubernetes {tag} is too new to be used with Talos {}", version.to_string().trim_start_matches('v')))
    } else {
        Ok(())
    }
}
