//! The address of a node within its image: key 10 of META, which Talos reads on bare metal before
//! anything else (facts/talos.md §5.3).

use emhost_factory_client::{Node, Schematic, Static, document};
use emhost_sdk::Failure;

/// The key of META that holds the network of bare metal.
const NETWORK: u8 = 10;
/// The argument that has cards named in their order, and what the first is called then. Names by
/// place would depend on the hypervisor's chipset.
const IN_ORDER: &str = "net.ifnames=0";
const FIRST: &str = "eth0";

/// Puts an address into an image.
pub(crate) fn put(schematic: &mut Schematic, node: &str, fixed: Static, resolvers: &[String]) -> Result<(), Failure> {
    let about = |argument: &&String| argument.trim_start_matches('-').starts_with("net.ifnames");
    match schematic.kernel_args.iter().find(about) {
        None => schematic.kernel_args.push(IN_ORDER.to_owned()),
        Some(argument) if argument == IN_ORDER => {}
        Some(argument) => {
            let summary = format!("the kernel argument `{argument}` leaves the name of the card open that node {node} has its address on");
            let help = format!("remove it from `kernel_args`: images for `platform: metal` are made with `{IN_ORDER}`");
            return Err(Failure::invalid("image-factory/card-name", summary).pointer("/kernel_args").help(help));
        }
    }
    schematic.meta.push((NETWORK, network(node, fixed, resolvers)));
    Ok(())
}

/// The network as Talos's own resources.
fn network(node: &str, fixed: Static, resolvers: &[String]) -> String {
    let text = |text: &str| Node::Text(text.to_owned());
    let item = |entries: Vec<(&str, Node)>| {
        let entries = entries.into_iter().chain([("layer", text("platform"))]);
        Node::List(vec![Node::Table(entries.map(|(key, node)| (key.to_owned(), node)).collect())])
    };
    let mut parts = vec![
        (
            "addresses",
            item(vec![
                ("address", text(&format!("{}/{}", fixed.address, fixed.prefix))),
                ("linkName", text(FIRST)),
                ("family", text("inet4")),
                ("scope", text("global")),
                ("flags", text("permanent")),
            ]),
        ),
        // A link that is named here is not asked for an address.
        ("links", item(vec![("name", text(FIRST)), ("up", Node::Plain("true".into()))])),
        (
            "routes",
            item(vec![
                ("family", text("inet4")),
                ("dst", text("")),
                ("gateway", text(&fixed.gateway.to_string())),
                ("outLinkName", text(FIRST)),
                ("table", text("main")),
                ("priority", Node::Plain("1024".into())),
                ("scope", text("global")),
                ("type", text("unicast")),
                ("protocol", text("static")),
            ]),
        ),
        ("hostnames", item(vec![("hostname", text(node))])),
    ];
    if !resolvers.is_empty() {
        let servers = resolvers.iter().map(|server| text(server)).collect();
        parts.push(("resolvers", item(vec![("dnsServers", Node::List(servers))])));
    }
    document(&Node::Table(parts.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn fixed() -> Static {
        Static { address: "10.0.0.11".parse().unwrap(), prefix: 16, gateway: "10.0.0.1".parse().unwrap() }
    }

    #[test]
    fn the_network_is_what_talos_reads() {
        let text = network("talos-cp-1", fixed(), &["1.1.1.1".into(), "8.8.8.8".into()]);
        let expected = "\
addresses:
    - address: 10.0.0.11/16
      linkName: eth0
      family: inet4
      scope: global
      flags: permanent
      layer: platform
links:
    - name: eth0
      up: true
      layer: platform
routes:
    - family: inet4
      dst: \"\"
      gateway: 10.0.0.1
      outLinkName: eth0
      table: main
      priority: 1024
      scope: global
      type: unicast
      protocol: static
      layer: platform
hostnames:
    - hostname: talos-cp-1
      layer: platform
resolvers:
    - dnsServers:
        - 1.1.1.1
        - 8.8.8.8
      layer: platform
";
        assert_eq!(text, expected);
        assert!(!network("x", fixed(), &[]).contains("resolvers"));
    }

    #[test]
    fn the_card_has_the_name_that_the_address_is_on() {
        let arguments = |args: &[&str]| {
            let kernel_args = args.iter().map(|argument| (*argument).to_owned()).collect();
            let mut schematic = Schematic { kernel_args, ..Schematic::default() };
            put(&mut schematic, "talos-cp-1", fixed(), &[]).map(|()| schematic.kernel_args)
        };
        assert_eq!(arguments(&["quiet"]).unwrap(), ["quiet", "net.ifnames=0"]);
        assert_eq!(arguments(&["net.ifnames=0", "quiet"]).unwrap(), ["net.ifnames=0", "quiet"]);
        assert_eq!(arguments(&["net.ifnames=1"]).unwrap_err().diagnostics[0].pointer.as_deref(), Some("/kernel_args"));
    }
}
