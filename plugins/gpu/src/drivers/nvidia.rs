//! NVIDIA: which driver comes with which Talos, and which kernel modules run which device.
//!
//! The wrong modules do not fail: the driver says that there is no device, and nobody says why. So they are chosen by the device.

use emhost_factory_client::Version;
use emhost_sdk::Failure;
use emhost_sdk::gpu::Device;

use super::{Driver, official};
use crate::settings::{Branch, Modules, Nvidia};

/// The driver's release series in each branch, from this minor version of Talos 1 on (`nvidia-gpu/vars.yaml` of siderolabs/extensions).
const SERIES: [(u64, u32, u32); 4] = [(8, 535, 550), (10, 535, 570), (12, 580, 570), (13, 580, 595)];

/// From this series on NVIDIA takes the open modules where a device can have both; before it they were complete on data-centre cards only.
const OPEN_BY_DEFAULT: u32 = 560;

/// Generations, as far as drivers part them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// Kepler and before.
    Ancient,
    /// Maxwell, Pascal and Volta: closed modules, up to 580.
    Old,
    /// Turing to Ada: both kinds.
    Both,
    /// Blackwell and whatever comes: open modules, from 570 on.
    New,
}

impl Generation {
    /// PCI ids grow with the generations.
    fn of(device: u16) -> Self {
        match device {
            0..=0x133f => Self::Ancient,
            0x1340..=0x1dff => Self::Old,
            0x1e00..=0x28ff => Self::Both,
            0x2900.. => Self::New,
        }
    }

    fn runs(self, series: u32) -> bool {
        match self {
            Self::Ancient => false,
            Self::Old => series <= 580,
            Self::Both => true,
            Self::New => series >= 570,
        }
    }
}

fn series(version: &Version, branch: Branch) -> u32 {
    let row = SERIES.iter().rev().find(|(minor, ..)| version.at_least(*minor)).unwrap_or(&SERIES[0]);
    if branch == Branch::Lts { row.1 } else { row.2 }
}

/// What drives a device of NVIDIA.
pub(super) fn driver(device: &Device, version: &Version, settings: Nvidia) -> Result<Driver, Failure> {
    let generation = Generation::of(device.device_id);
    let series_now = series(version, settings.branch);
    let unfit = |why: String, help: String| Err(Failure::invalid("gpu/driver", why).pointer("/gpu").help(help));
    let called = format!("{} ({})", device.id, device.model);
    if generation == Generation::Ancient {
        return unfit(format!("{called} is older than every driver of NVIDIA that Talos has"), "use a card from Maxwell on".to_owned());
    }
    if !generation.runs(series_now) {
        let other = if settings.branch == Branch::Lts { Branch::Production } else { Branch::Lts };
        let needs = if generation == Generation::New { "570 or later" } else { "580 or earlier" };
        let why = format!("{called} needs driver {needs}, and branch {} of Talos {version} has {series_now}", settings.branch.word());
        let help = if generation.runs(series(version, other)) {
            format!("write `settings: {{gpu: {{nvidia: {{branch: {}}}}}}}` into site.yaml", other.word())
        } else {
            "set `talos_version` in cluster.yaml to v1.12 or later, or use another card".to_owned()
        };
        return unfit(why, help);
    }
    let open = match (settings.modules, generation) {
        (Modules::Open, Generation::Old) | (Modules::Proprietary, Generation::New) => {
            let (asked, runs) = if settings.modules == Modules::Open { ("open", "proprietary") } else { ("proprietary", "open") };
            let why = format!("{called} does not run with the {asked} kernel modules: the driver would find no device");
            return unfit(why, format!("write `modules: auto` or `{runs}` under settings.gpu.nvidia in site.yaml"));
        }
        (Modules::Open, _) | (Modules::Auto, Generation::New) => true,
        (Modules::Auto, Generation::Both) => series_now >= OPEN_BY_DEFAULT,
        (Modules::Proprietary | Modules::Auto, _) => false,
    };
    let branch = settings.branch.word();
    let modules = if open { "nvidia-open-gpu-kernel-modules" } else { "nonfree-kmod-nvidia" };
    // Modules and toolkit have to be of one driver version, so of one branch.
    let names = [format!("nvidia-container-toolkit-{branch}"), format!("{modules}-{branch}")];
    let cdi = version.at_least(13);
    Ok(Driver {
        extensions: official(&names.each_ref().map(String::as_str)),
        patch: Some(patch(!cdi, settings.default_runtime && !cdi)),
        runtime: Some(if cdi { "cdi" } else { "runtime-class" }),
        name: format!("nvidia {series_now} {}", if open { "open" } else { "proprietary" }),
    })
}

/// The modules, and up to 1.12 what containers of NVIDIA's runtime need (facts/talos.md §6).
fn patch(hardening: bool, default_runtime: bool) -> String {
    let modules = ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"].map(|module| format!("      - name: {module}\n"));
    let mut text = format!("machine:\n  kernel:\n    modules:\n{}", modules.concat());
    if hardening {
        text += "  sysctls:\n    net.core.bpf_jit_harden: \"1\"\n";
    }
    if default_runtime {
        text += "  files:\n    - path: /etc/cri/conf.d/20-customization.part\n      op: create\n      content: |\n";
        text += "        [plugins.\"io.containerd.cri.v1.runtime\".containerd]\n          default_runtime_name = \"nvidia\"\n";
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::device;
    use super::*;

    const PASCAL: u16 = 0x1b06;
    const AMPERE: u16 = 0x2204;
    const BLACKWELL: u16 = 0x2b85;

    fn set(branch: Branch, modules: Modules) -> Nvidia {
        Nvidia { branch, modules, default_runtime: false }
    }

    fn driven(id: u16, version: &str, settings: Nvidia) -> Result<String, String> {
        let made = driver(&device(0x10de, id), &Version::parse(version).unwrap(), settings);
        made.map(|driver| driver.name)
            .map_err(|failure| format!("{} -> {}", failure.diagnostics[0].summary, failure.diagnostics[0].help.clone().unwrap()))
    }

    #[test]
    fn modules_fit_the_device_and_the_driver() {
        let (lts, production) = (set(Branch::Lts, Modules::Auto), set(Branch::Production, Modules::Auto));
        for (id, version, settings, name) in [
            (AMPERE, "v1.8.2", lts, "nvidia 535 proprietary"),
            (AMPERE, "v1.11.5", lts, "nvidia 535 proprietary"),
            (AMPERE, "v1.9.5", production, "nvidia 550 proprietary"),
            (AMPERE, "v1.11.5", production, "nvidia 570 open"),
            (AMPERE, "v1.12.1", lts, "nvidia 580 open"),
            (AMPERE, "v1.13.0", production, "nvidia 595 open"),
            (PASCAL, "v1.11.5", lts, "nvidia 535 proprietary"),
            (PASCAL, "v1.13.0", lts, "nvidia 580 proprietary"),
            (BLACKWELL, "v1.11.5", production, "nvidia 570 open"),
            (BLACKWELL, "v1.12.1", lts, "nvidia 580 open"),
            (0x1e04, "v1.13.0", lts, "nvidia 580 open"),
            (0x1db1, "v1.13.0", lts, "nvidia 580 proprietary"),
        ] {
            assert_eq!(driven(id, version, settings).as_deref(), Ok(name), "{id:04x} {version}");
        }
        assert_eq!(driven(AMPERE, "v1.11.5", set(Branch::Lts, Modules::Open)).as_deref(), Ok("nvidia 535 open"));
    }

    #[test]
    fn what_no_driver_runs_is_refused_with_what_does() {
        let lts = set(Branch::Lts, Modules::Auto);
        let told = driven(BLACKWELL, "v1.11.5", lts).unwrap_err();
        assert!(told.contains("needs driver 570 or later, and branch lts of Talos v1.11.5 has 535 -> write `settings: {gpu: {nvidia: {branch: production}}}`"), "{told}");
        let told = driven(BLACKWELL, "v1.9.5", lts).unwrap_err();
        assert!(told.ends_with("set `talos_version` in cluster.yaml to v1.12 or later, or use another card"), "{told}");
        let told = driven(PASCAL, "v1.13.0", set(Branch::Production, Modules::Auto)).unwrap_err();
        assert!(told.contains("580 or earlier") && told.contains("branch: lts"), "{told}");
        assert!(driven(0x1180, "v1.11.5", lts).unwrap_err().contains("older than every driver"));
        assert!(driven(PASCAL, "v1.11.5", set(Branch::Lts, Modules::Open)).unwrap_err().contains("`proprietary`"));
    }

    #[test]
    fn extensions_are_of_one_branch_and_the_patch_follows_the_version() {
        let of = |version: &str, settings: Nvidia| driver(&device(0x10de, AMPERE), &Version::parse(version).unwrap(), settings).unwrap();
        let new = of("v1.13.0", set(Branch::Production, Modules::Auto));
        assert_eq!(
            new.extensions,
            ["siderolabs/nvidia-container-toolkit-production", "siderolabs/nvidia-open-gpu-kernel-modules-production"]
        );
        assert_eq!(new.runtime, Some("cdi"));
        assert!(!new.patch.unwrap().contains("bpf_jit_harden"));
        let old = of("v1.12.1", Nvidia { default_runtime: true, ..Nvidia::default() });
        assert_eq!(old.runtime, Some("runtime-class"));
        let patch = old.patch.unwrap();
        assert!(
            patch.contains("- name: nvidia_uvm") && patch.contains("bpf_jit_harden: \"1\"") && patch.contains("default_runtime_name"),
            "{patch}"
        );
    }
}
