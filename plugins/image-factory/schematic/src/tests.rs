mod hard;

use self::hard::hard;
use super::*;

fn extensions(names: &[&str]) -> Schematic {
    Schematic { extensions: names.iter().map(|name| format!("siderolabs/{name}")).collect(), ..Schematic::default() }
}

fn kernel_args(args: &[&str]) -> Schematic {
    Schematic { kernel_args: args.iter().copied().map(str::to_owned).collect(), ..Schematic::default() }
}

/// The vectors of facts/talos.md §5.2.
#[test]
fn ids_are_those_of_the_real_factory() {
    let overlay = Overlay { image: "siderolabs/sbc-raspberrypi".into(), name: "rpi_generic".into(), options: Vec::new() };
    let known = [
        (Schematic::default(), "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
        (extensions(&["qemu-guest-agent"]), "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"),
        (extensions(&["iscsi-tools", "util-linux-tools"]), "613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245"),
        (
            extensions(&["qemu-guest-agent", "iscsi-tools", "util-linux-tools"]),
            "53513e54bb39202f35694412577a6bc53d484744d35a126e5d42ef34785c0d83",
        ),
        (
            extensions(&["iscsi-tools", "qemu-guest-agent", "util-linux-tools"]),
            "88d1f7a5c4f1d3aba7df787c448c1d3d008ed29cfb34af53fa0df4336a56040b",
        ),
        (kernel_args(&["noapic", "nolapic"]), "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c"),
        (
            Schematic { meta: vec![(10, "foo".into())], ..Schematic::default() },
            "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f",
        ),
        (
            Schematic { well_known_certificates: true, ..Schematic::default() },
            "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
        ),
        (Schematic { overlay: Some(overlay), ..Schematic::default() }, "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9"),
        (Schematic { sector_size: 4096, ..Schematic::default() }, "92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea"),
    ];
    for (schematic, id) in known {
        assert_eq!(schematic.id(), id, "{}", schematic.canonical());
    }
}

#[test]
fn empty_is_written_as_the_factory_writes_it() {
    assert_eq!(Schematic::default().canonical(), "customization: {}\n");
}

/// What the factory's YAML library makes of strings that are hard to write down; the hash is its own.
#[test]
fn strings_are_quoted_as_the_factory_quotes_them() {
    let schematic = hard();
    let text = schematic.canonical();
    assert_eq!(schematic.id(), "c4b51f7713c539dd1cd55604b3392ea4655d6d21a19553d40e7f10d25540e263", "{text}");
}
