#![allow(clippy::unwrap_used)]
#[path = "../../../../../plugins/image-factory/schematic/src/tests/hard.rs"]
mod hard;

use self::hard::hard;
use super::*;

fn id(text: &str) -> String {
    parse(text).unwrap().id()
}

fn extensions(names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("siderolabs/{name}")).collect();
    format!("customization:\n  systemExtensions:\n    officialExtensions: [{}]\n", list.join(", "))
}

/// The vectors of facts/talos.md §5.2.
#[test]
fn ids_are_those_of_the_real_factory() {
    let empty = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
    for text in
        ["{}", "customization: {}", "customization:\n  systemExtensions:\n    officialExtensions: []\n", "null", r#"{"customization":{}}"#]
    {
        assert_eq!(id(text), empty, "{text}");
    }
    let agent = id(&extensions(&["qemu-guest-agent"]));
    assert_eq!(agent, "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515");
    let longhorn = id(&extensions(&["iscsi-tools", "util-linux-tools"]));
    assert_eq!(longhorn, "613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245");
    let three = id(&extensions(&["qemu-guest-agent", "iscsi-tools", "util-linux-tools"]));
    assert_eq!(three, "53513e54bb39202f35694412577a6bc53d484744d35a126e5d42ef34785c0d83");
    let reordered = id(&extensions(&["iscsi-tools", "qemu-guest-agent", "util-linux-tools"]));
    assert_eq!(reordered, "88d1f7a5c4f1d3aba7df787c448c1d3d008ed29cfb34af53fa0df4336a56040b");
    let known = [
        ("{customization: {extraKernelArgs: [noapic, nolapic]}}", "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c"),
        ("{customization: {meta: [{key: 10, value: foo}]}}", "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f"),
        (
            "{customization: {secureboot: {includeWellKnownCertificates: true}}}",
            "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
        ),
        (
            "{overlay: {name: rpi_generic, image: siderolabs/sbc-raspberrypi}}",
            "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9",
        ),
        ("{customization: {diskImage: {sectorSize: 4096}}}", "92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea"),
    ];
    for (text, expected) in known {
        assert_eq!(id(text), expected, "{text}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let schematic = hard();
    // Its library cannot read back what it writes for text that begins with spaces below a list.
    let readable = Schematic { meta: schematic.meta.iter().filter(|(key, _)| *key != 13).cloned().collect(), ..schematic.clone() };
    assert_eq!(parse(&readable.canonical()).as_ref(), Ok(&readable));
}

#[test]
fn what_nobody_knows_is_refused_with_its_line() {
    let refused = |text: &str| parse(text).unwrap_err();
    let list = |lines: &[&str]| format!("yaml: construct errors:\n  {}", lines.join("\n  "));
    assert_eq!(
        refused("customization:\n  foo: 1\nbar: 2\n"),
        list(&["line 2: field foo not found in type schematic.Customization", "line 3: field bar not found in type schematic.Schematic"])
    );
    let long = refused("customization:\n  extraKernelArgs: a-long-scalar-value\n");
    assert_eq!(long, list(&["line 2: cannot construct !!str `a-long-...` into []string"]));
    assert_eq!(refused("customization: {meta: [{key: 256, value: x}]}"), list(&["line 1: cannot construct !!int `256` into uint8"]));
    assert_eq!(refused("customization: {extraKernelArgs: [[a]]}"), list(&["line 1: cannot construct !!seq into string"]));
    assert_eq!(refused("customization:\n  meta: []\n  meta: []\n"), list(&["line 3: mapping key \"meta\" already defined at line 2"]));
    assert_eq!(refused("owner: me\n"), "owner field is only supported in Enterprise edition");
    assert_eq!(refused(""), "EOF");
    assert!(refused("customization: [").starts_with("yaml: "));
    let nested = refused(&format!("customization: {}", "[".repeat(10_000)));
    assert!(nested.starts_with("yaml: "), "{nested}");
}
