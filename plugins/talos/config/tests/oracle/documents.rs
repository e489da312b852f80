//! What a machine does with a configuration, by the reader that the simulated nodes use: every version understands the same.

use emhost_talos_schema::{Link, LinkFacts, LinkKind, load};

use crate::generated::inputs;
use crate::programs::{RELEASES, ours};

/// Whether a link is the first card of the inputs.
fn is_first_card(link: &Link) -> bool {
    let card = |mac: &str| LinkFacts { name: "ens18".to_owned(), mac: mac.to_owned(), physical: true, ..LinkFacts::default() };
    link.selector.matches(&card("02:00:00:00:00:01")) && !link.selector.matches(&card("02:00:00:00:00:02"))
}

#[test]
fn every_version_makes_the_same_network_of_the_same_input() {
    let Some(bundle) = ours() else { return };
    for release in RELEASES {
        for (name, input) in inputs(release).into_iter().filter(|(name, _)| !name.starts_with("plain")) {
            let at = format!("{release} {name}");
            let text = emhost_talos_config::generate(&bundle, &input).unwrap();
            let config = load(text.as_bytes(), release.parse().unwrap()).unwrap();
            let links = config.links();
            let card = links.iter().find(|link| link.kind == LinkKind::Existing && is_first_card(link)).expect(&at);
            let wanted = &input.links[0];
            let carrier = match wanted.vlan {
                None => card,
                Some(tag) => {
                    assert!(card.addresses.is_empty() && !card.dhcp4, "{at}");
                    links.iter().find(|link| matches!(&link.kind, LinkKind::Vlan { id, .. } if *id == tag)).expect(&at)
                }
            };
            let addresses: Vec<_> = carrier.addresses.iter().map(|(address, bits)| format!("{address}/{bits}")).collect();
            assert_eq!(addresses, wanted.addresses, "{at}");
            assert_eq!(carrier.dhcp4, wanted.addresses.is_empty(), "{at}");
            let routers: Vec<_> = carrier.routes.iter().filter_map(|route| route.gateway).map(|gateway| gateway.to_string()).collect();
            assert_eq!(routers, wanted.gateway.iter().cloned().collect::<Vec<_>>(), "{at}");
            let shared: Vec<_> = carrier.vips.iter().map(ToString::to_string).collect();
            assert_eq!(shared, if name.contains("ControlPlane") { vec!["10.0.0.20".to_owned()] } else { Vec::new() }, "{at}");
            assert_eq!(card.mtu, wanted.mtu, "{at}");
            assert_eq!(config.hostname(), input.hostname.as_deref(), "{at}");
            assert_eq!(config.nameservers().iter().map(ToString::to_string).collect::<Vec<_>>(), input.resolvers, "{at}");
            assert_eq!(config.time_servers(), input.time_servers, "{at}");
            let (planes, workers) = (config.node_taints(), config.registered_taints());
            let (taints, none) = if name.contains("ControlPlane") { (planes, workers) } else { (workers, planes) };
            let taints: Vec<_> = taints.iter().map(|(key, value, effect)| [key.as_str(), value, effect]).collect();
            assert_eq!((taints, none.len()), (vec![["alone", "", "NoExecute"], ["dedicated", "gpu", "NoSchedule"]], 0), "{at}");
        }
    }
}
