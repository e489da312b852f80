//! Which ISO a node starts from. Pure.

use emhost_factory_client::{Choice, Image, Medium, Platform, Settings, Wanted};
use emhost_sdk::Failure;
use emhost_sdk::types::{Addressing, Delivery};

use crate::volume::METAL_ISO;

/// Chooses.
pub(crate) fn choose(wanted: &Wanted, settings: &Settings) -> Result<Choice, Failure> {
    let mut image = Image::new(wanted, settings.platform, Medium::Iso);
    // Either of these would be read before the volume, or in its place.
    let elsewhere = |argument: &&String| argument.trim_start_matches('-').starts_with("talos.config");
    if let Some(argument) = image.schematic.kernel_args.iter().find(elsewhere) {
        let summary =
            format!("the kernel argument `{argument}` says where node {} finds its configuration, and that is on an ISO", wanted.node);
        let help = "remove it from `kernel_args`, or choose another boot source with `boot:`";
        return Err(Failure::invalid("config-iso/argument", summary).pointer("/kernel_args").help(help));
    }
    if settings.platform == Platform::Metal {
        image.schematic.kernel_args.push(format!("talos.config={METAL_ISO}"));
    }
    let fixed = wanted.card.as_ref().is_some_and(|card| card.fixed.is_some());
    let addressing = if fixed { Addressing::Medium } else { Addressing::Reservation };
    let boot = image.boot(&settings.registry, addressing, Delivery::Medium);
    Ok(Choice { image, boot })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use emhost_factory_client::samples::{leased, wanted};
    use emhost_sdk::types::BootBase;

    use emhost_sdk::Boot;

    use super::*;

    fn boot(wanted: &Wanted, platform: Platform) -> Boot {
        choose(wanted, &Settings { platform, ..Settings::default() }).unwrap().boot
    }

    #[test]
    fn machines_start_from_an_iso_and_install() {
        let boot = boot(&wanted(), Platform::Nocloud);
        let BootBase::Installer(iso) = &boot.base else { panic!("{boot:?}") };
        assert!(iso.name.ends_with("-nocloud-amd64.iso"), "{}", iso.name);
        assert_eq!((boot.addressing, boot.delivery), (Addressing::Medium, Delivery::Medium));
        assert!(boot.installer.contains("/nocloud-installer/"), "{}", boot.installer);
    }

    #[test]
    fn bare_metal_is_told_where_to_look() {
        let chosen = choose(&leased(), &Settings { platform: Platform::Metal, ..Settings::default() }).unwrap();
        assert_eq!(chosen.image.schematic.kernel_args, ["talos.config=metal-iso"]);
        assert_eq!(chosen.boot.addressing, Addressing::Reservation);
        assert_eq!(boot(&wanted(), Platform::Metal).addressing, Addressing::Medium);
    }

    #[test]
    fn two_places_for_one_configuration_are_refused() {
        for argument in ["talos.config=https://example.com/x", "talos.config.inline=abc", "-talos.config"] {
            let wanted = Wanted { kernel_args: vec![argument.into()], ..wanted() };
            let failure = choose(&wanted, &Settings::default()).unwrap_err();
            assert_eq!(failure.diagnostics[0].pointer.as_deref(), Some("/kernel_args"), "{argument}");
        }
    }
}
