//! Which image a node starts from, and how its address reaches it. Pure.

use emhost_factory_client::{Choice, Image, Medium, Platform, Settings, Wanted};
use emhost_sdk::Failure;
use emhost_sdk::types::{Addressing, Delivery};

use crate::meta;

/// Chooses.
pub(crate) fn choose(wanted: &Wanted, settings: &Settings) -> Result<Choice, Failure> {
    let mut image = Image::new(wanted, settings.platform, Medium::Disk);
    let fixed = wanted.card.as_ref().and_then(|card| card.fixed);
    let addressing = match (fixed, settings.platform) {
        (None, _) => Addressing::Reservation,
        (Some(_), Platform::Nocloud) => Addressing::Provisioner,
        (Some(fixed), Platform::Metal) => {
            meta::put(&mut image.schematic, &wanted.node, fixed, &wanted.resolvers)?;
            Addressing::Image
        }
    };
    let boot = image.boot(&settings.registry, addressing, Delivery::Network);
    Ok(Choice { image, boot })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use emhost_factory_client::samples;
    use emhost_sdk::types::{BootBase, ImageFormat};

    use emhost_sdk::Boot;

    use super::*;

    fn wanted() -> Wanted {
        Wanted { extensions: vec!["siderolabs/qemu-guest-agent".into()], ..samples::wanted() }
    }

    fn leased() -> Wanted {
        Wanted { extensions: wanted().extensions, ..samples::leased() }
    }

    fn boot(wanted: &Wanted, platform: Platform) -> Boot {
        choose(wanted, &Settings { platform, ..Settings::default() }).unwrap().boot
    }

    #[test]
    fn the_provisioner_hands_the_address_over_where_there_is_no_dhcp() {
        let boot = boot(&wanted(), Platform::Nocloud);
        let BootBase::DiskImage(image) = &boot.base else { panic!("{boot:?}") };
        assert_eq!((image.name.as_str(), image.format), ("talos-v1.11.5-ce4c980550dd-nocloud-amd64.qcow2", ImageFormat::Qcow2));
        assert_eq!((boot.addressing, boot.delivery), (Addressing::Provisioner, Delivery::Network));
        let schematic = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";
        assert_eq!(boot.installer, format!("factory.talos.dev/nocloud-installer/{schematic}:v1.11.5"));
        let attributes: Vec<_> = boot.attributes.iter().map(|it| (it.key.as_str(), it.value.as_str())).collect();
        assert_eq!(attributes, [("platform", "nocloud"), ("schematic", schematic)]);
    }

    #[test]
    fn an_address_that_is_leased_is_in_no_image() {
        assert_eq!(boot(&leased(), Platform::Nocloud).addressing, Addressing::Reservation);
        let metal = boot(&leased(), Platform::Metal);
        assert_eq!(metal.addressing, Addressing::Reservation);
        // Nodes on such a site share one image.
        assert_eq!(metal, boot(&Wanted { node: "dev-cp-2".into(), ..leased() }, Platform::Metal));
    }

    #[test]
    fn bare_metal_has_an_image_for_each_node() {
        let (one, other) = (boot(&wanted(), Platform::Metal), boot(&Wanted { node: "dev-cp-2".into(), ..wanted() }, Platform::Metal));
        assert_eq!((one.addressing, one.delivery), (Addressing::Image, Delivery::Network));
        assert_ne!((&one.id, &one.installer), (&other.id, &other.installer));
        assert!(one.installer.starts_with("factory.talos.dev/metal-installer/"), "{}", one.installer);
    }
}
