//! Strings that are hard to write down. The simulated factory reads them in its tests, too.

use super::Schematic;

pub(super) fn hard() -> Schematic {
    let args = [
        "yes",
        "123",
        "null",
        "~",
        "1.5",
        "0x10",
        "off",
        "2001-01-01",
        "",
        "a: b",
        "x #y",
        "- item",
        "trailing space ",
        "-console",
        "ip=10.0.0.5::10.0.0.1:255.255.255.0::eth0:off",
        "12:30",
        "tab\there",
        "it's",
        "grüße",
        "😀",
        "a: 'b'",
    ];
    let meta = ["one\ntwo", "one\ntwo\n", "one\n\n", "  indented\nline", "\nfirst", "space \nbreak"];
    Schematic {
        kernel_args: args.map(str::to_owned).to_vec(),
        meta: (10..).zip(meta.map(str::to_owned)).collect(),
        embedded: "machine:\n  type: worker\n".into(),
        ..Schematic::default()
    }
}
