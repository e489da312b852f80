//! Boots the machines of the small world: one image per version and set of extensions, kept in slot `images`.

use emhost_sdk::http::{Body, Client};
use emhost_sdk::types::{Addressing, BootBase, Delivery, ImageFormat};
use emhost_sdk::{Artifact, Boot, BootSource, Document, Failure, Lifecycle, Medium, MediumFile, Operation, Unit};
use guests::fixture::{Settings, digest};

struct Fixture;

impl Lifecycle for Fixture {}

/// What an image is, down to the byte: a boot sector that is as good as its name.
fn content(name: &str) -> Vec<u8> {
    let mut sector = format!("image {name}\n").into_bytes();
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    sector
}

impl BootSource for Fixture {
    fn resolve(unit: Unit<'_>) -> Result<Boot, Failure> {
        let contribution = unit.node.contribution();
        let (mut extensions, mut arguments) = (contribution.extensions, contribution.kernel_args);
        for list in [&mut extensions, &mut arguments] {
            list.sort();
            list.dedup();
        }
        let version = unit.cluster.os_version();
        let schematic = digest(format!("{}\n{}", extensions.join(","), arguments.join(" ")).as_bytes());
        let id = format!("{version}-{}", &schematic["sha256:".len()..][..12]);
        let name = format!("os-{id}.raw");
        let artifact = Artifact {
            url: format!("https://images.emhost.internal/images/{name}"),
            format: ImageFormat::Raw,
            digest: (!Settings::of(unit.operation)?.no_digest).then(|| digest(&content(&name))),
            name,
        };
        Ok(Boot {
            installer: format!("images.example/os:{id}"),
            id,
            os_version: version,
            base: BootBase::DiskImage(artifact),
            addressing: Addressing::Medium,
            delivery: Delivery::Network,
            attributes: Vec::new(),
        })
    }

    fn media(unit: Unit<'_>, _: Boot, config: Vec<Document>) -> Result<Vec<Medium>, Failure> {
        let address = unit.node.cards().into_iter().find_map(|card| card.address).unwrap_or_default();
        let network = MediumFile { path: "network-config".to_owned(), body: format!("{} {address}\n", unit.node.name()).into_bytes() };
        let files = config.into_iter().map(|document| MediumFile { path: document.name, body: document.body.into_bytes() });
        Ok(vec![Medium { label: "cidata".to_owned(), files: std::iter::once(network).chain(files).collect(), sensitive: true }])
    }

    fn ensure(_: Unit<'_>, boot: Boot) -> Result<Boot, Failure> {
        let BootBase::DiskImage(image) = &boot.base else {
            return Err(Failure::internal("fixture/boot", "this is not what `resolve` answered"));
        };
        let (images, path) = (Client::new("images", ""), format!("/images/{}", image.name));
        match images.get(&path)? {
            missing if missing.status == 404 => {
                images.put(&path, Body::bytes("application/octet-stream", content(&image.name)))?.ok()?;
            }
            other => {
                let found = digest(&other.ok()?.body);
                if image.digest.as_ref().is_some_and(|wanted| *wanted != found) {
                    return Err(Failure::conflict("fixture/image", format!("image {} is not what it should be", image.name)));
                }
            }
        }
        Ok(boot)
    }

    fn versions(_: &Operation) -> Result<Vec<String>, Failure> {
        Ok(["v1.11.4", "v1.11.5", "v1.11.6"].map(str::to_owned).to_vec())
    }
}

emhost_sdk::plugin!(
    Fixture: boot_source;
    text = concat!(r#"{
        "name": "fixture-boot",
        "description": "boots the machines of the small world",
        "settings": "#, guests::fixture_settings!(), r#",
        "asks": [{"grant": "http:images", "why": "puts images into the store"}]
    }"#)
);
