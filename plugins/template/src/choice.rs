//! Which template a node is cloned from. Pure.

use emhost_factory_client::{Image, Medium, Platform, Settings, Wanted};
use emhost_sdk::Boot;
use emhost_sdk::types::{Addressing, BootBase, Delivery};

/// What a node starts from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    /// Name or number of the template.
    pub(crate) template: String,
    /// The image that it should have been made from.
    pub(crate) image: Image,
    pub(crate) boot: Boot,
}

/// Chooses.
pub(crate) fn choose(wanted: &Wanted, named: Option<String>, settings: &Settings) -> Choice {
    let template = named.unwrap_or_else(|| format!("talos-{}-base", wanted.version));
    let image = Image::new(wanted, settings.platform, Medium::Disk);
    let fixed = wanted.card.as_ref().is_some_and(|card| card.fixed.is_some());
    // Bare metal does not look at a cloud-init drive, so there somebody else has to give the address.
    let addressing = if fixed && settings.platform == Platform::Nocloud { Addressing::Provisioner } else { Addressing::Reservation };
    let boot = Boot {
        id: format!("template-{template}"),
        os_version: wanted.version.to_string(),
        base: BootBase::Template(template.clone()),
        addressing,
        delivery: Delivery::Network,
        installer: image.installer(&settings.registry),
        attributes: image.attributes(),
    };
    Choice { template, image, boot }
}

#[cfg(test)]
mod tests {
    use emhost_factory_client::samples::wanted;

    use super::*;

    #[test]
    fn a_template_is_named_by_the_inventory_or_after_its_version() {
        let boot = |named: Option<&str>| choose(&wanted(), named.map(str::to_owned), &Settings::default()).boot;
        assert_eq!(boot(None).base, BootBase::Template("talos-v1.11.5-base".into()));
        assert_eq!(boot(Some("9000")).base, BootBase::Template("9000".into()));
        assert_eq!((boot(None).addressing, boot(None).delivery), (Addressing::Provisioner, Delivery::Network));
        let plain = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
        assert_eq!(boot(None).installer, format!("factory.talos.dev/nocloud-installer/{plain}:v1.11.5"));
    }

    #[test]
    fn bare_metal_gets_its_address_by_dhcp() {
        let boot = choose(&wanted(), None, &Settings { platform: Platform::Metal, ..Settings::default() }).boot;
        assert_eq!(boot.addressing, Addressing::Reservation);
        assert!(boot.installer.contains("/metal-installer/"), "{}", boot.installer);
    }
}
