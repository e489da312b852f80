//! Names of official extensions.

use emhost_sdk::Failure;

/// Where official extensions come from.
const OFFICIAL: &str = "siderolabs/";

/// Names that the factory still takes for extensions it lists under another one (facts/talos.md §6).
const OTHER_NAMES: [(&str, &str); 11] = [
    ("amdgpu-firmware", "amdgpu"),
    ("gasket", "gasket-driver"),
    ("i915-ucode", "i915"),
    ("nonfree-kmod-nvidia", "nonfree-kmod-nvidia-lts"),
    ("nvidia-container-toolkit", "nvidia-container-toolkit-lts"),
    ("nvidia-fabricmanager", "nvidia-fabricmanager-lts"),
    ("nvidia-open-gpu-kernel-modules", "nvidia-open-gpu-kernel-modules-lts"),
    ("talos-vmtoolsd", "vmtoolsd-guest-agent"),
    ("usb-modem", "usb-modem-drivers"),
    ("v4l-uvc", "v4l-uvc-drivers"),
    ("xe-guest-utilities", "xen-guest-agent"),
];

/// Checks how a name is written.
pub(crate) fn check(name: &str) -> Result<(), Failure> {
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let refused = |help: String| {
        Failure::invalid("boot/extension", format!("`{name}` is not the name of an official extension of Talos"))
            .pointer("/extensions")
            .help(help)
    };
    match name.strip_prefix(OFFICIAL) {
        Some(rest) if letters(rest) => Ok(()),
        None if letters(name) => Err(refused(format!("write `{OFFICIAL}{name}` in `extensions`"))),
        _ => Err(refused(format!("write it as `{OFFICIAL}NAME`, such as `{OFFICIAL}qemu-guest-agent`"))),
    }
}

/// Checks that the factory has every extension for a version.
pub(crate) fn all_known(wanted: &[String], known: &[String], version: &str) -> Result<(), Failure> {
    let has = |name: &str| known.iter().any(|known| known == name);
    let other = |name: &str| {
        let short = name.strip_prefix(OFFICIAL)?;
        OTHER_NAMES.iter().find(|(old, _)| *old == short).map(|(_, new)| format!("{OFFICIAL}{new}"))
    };
    let mut problems = wanted.iter().filter(|name| !has(name) && !other(name).is_some_and(|name| has(&name))).map(|name| {
        let summary = format!("the Image Factory has no extension `{name}` for Talos {version}");
        let help = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? Correct `extensions`, or remove it there"),
            None => format!("remove it from `extensions`, or choose one of the {} that there are for {version}", known.len()),
        };
        emhost_sdk::Diagnostic::error("boot/extension", summary).pointer("/extensions").help(help)
    });
    let Some(first) = problems.next() else { return Ok(()) };
    let mut failure = Failure::invalid("boot/extension", "");
    failure.diagnostics = std::iter::once(first).chain(problems).collect();
    Err(failure)
}

/// The name that somebody meant who wrote this, if one is near enough.
pub fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase());
    let enough = (written.chars().count() / 3).clamp(1, 4);
    names.map(|name| (distance(name), name)).filter(|(distance, _)| *distance <= enough).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| format!("siderolabs/{name}")).collect()
    }

    #[test]
    fn a_name_without_its_owner_is_told_how_to_be_written() {
        assert_eq!(check("siderolabs/qemu-guest-agent"), Ok(()));
        let help = |name: &str| check(name).unwrap_err().diagnostics[0].help.clone().unwrap();
        assert_eq!(help("qemu-guest-agent"), "write `siderolabs/qemu-guest-agent` in `extensions`");
        for wrong in ["", "siderolabs/", "someone/thing", "siderolabs/a b", "ghcr.io/siderolabs/zfs:2"] {
            assert!(help(wrong).contains("siderolabs/NAME"), "{wrong}");
        }
    }

    #[test]
    fn what_the_factory_does_not_have_is_told_with_what_it_has() {
        let known = names(&["qemu-guest-agent", "iscsi-tools", "nonfree-kmod-nvidia-lts"]);
        assert_eq!(all_known(&names(&["iscsi-tools", "nonfree-kmod-nvidia"]), &known, "v1.11.5"), Ok(()));
        let failure = all_known(&names(&["qemu-gest-agent", "iscsi-tools", "zfs"]), &known, "v1.11.5").unwrap_err();
        let told: Vec<_> = failure.diagnostics.iter().map(|told| (told.summary.as_str(), told.help.as_deref().unwrap())).collect();
        assert_eq!(
            told,
            [
                (
                    "the Image Factory has no extension `siderolabs/qemu-gest-agent` for Talos v1.11.5",
                    "did you mean `siderolabs/qemu-guest-agent`? Correct `extensions`, or remove it there"
                ),
                (
                    "the Image Factory has no extension `siderolabs/zfs` for Talos v1.11.5",
                    "remove it from `extensions`, or choose one of the 3 that there are for v1.11.5"
                ),
            ]
        );
        // The alias is one only where what it stands for is there.
        assert!(all_known(&names(&["i915-ucode"]), &known, "v1.11.5").is_err());
    }
}
