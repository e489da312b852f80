//! Machines as the host wants to see them.

use std::collections::BTreeSet;

use emhost_sdk::provisioner::{Machine, Power};
use emhost_sdk::{Attribute, Failure};

use crate::api::{Api, Meaning};
use crate::find::Found;
use crate::identity::{cluster_tag, tags};
use crate::images;
use crate::machine::Config;
use crate::machine::wanted::Card;

/// One machine of ours.
///
/// # Errors
/// No answer.
pub fn machine(api: &Api, found: &Found, cards: &[Card], agent: bool) -> Result<Machine, Failure> {
    let what = format!("see whether VM {} on {} runs", found.vmid, found.host);
    let running = match api.runs(&found.host, found.vmid) {
        Ok(running) => running,
        // It went between two looks; the next one shows it.
        Err(trouble) if trouble.meaning() == Some(Meaning::Gone) => false,
        Err(trouble) => return Err(trouble.failure(&what)),
    };
    let expected = cards.iter().filter_map(|card| card.address.as_deref());
    let mut addresses: Vec<String> = expected.map(|address| address.split('/').next().unwrap_or(address).to_owned()).collect();
    if !running {
        addresses.clear();
    } else if addresses.is_empty() && agent {
        addresses = seen_by_agent(api, found, cards);
    }
    Ok(Machine {
        id: found.vmid.to_string(),
        identity: found.claim.identity.clone(),
        node: Some(found.claim.node.clone()),
        host: found.host.clone(),
        power: if running { Power::On } else { Power::Off },
        addresses,
        attributes: vec![Attribute { key: "proved".to_owned(), value: found.proved.to_string() }],
    })
}

/// Addresses that the guest agent reports for our cards. None: it does not answer yet.
fn seen_by_agent(api: &Api, found: &Found, cards: &[Card]) -> Vec<String> {
    let Ok(interfaces) = api.interfaces(&found.host, found.vmid) else { return Vec::new() };
    let ours = |mac: Option<&str>| mac.is_some_and(|mac| cards.iter().any(|card| card.mac.eq_ignore_ascii_case(mac)));
    let of_cards = interfaces.result.into_iter().filter(|interface| ours(interface.hardware_address.as_deref()));
    let addresses = of_cards.flat_map(|interface| interface.ip_addresses);
    let usable = |address: &str| !address.starts_with("127.") && !address.starts_with("169.254.");
    addresses.filter(|address| address.ip_address_type == "ipv4" && usable(&address.ip_address)).map(|address| address.ip_address).collect()
}

/// Every machine that proves to be the cluster's, and what only looks so. Where they are asked for, the images too that they were made
/// from.
///
/// # Errors
/// No answer.
pub fn owned(api: &Api, cluster: &str, with_images: bool) -> Result<(Vec<Machine>, Vec<String>), Failure> {
    let all = api.machines().map_err(|trouble| trouble.failure("list the machines of Proxmox"))?;
    let ours = cluster_tag(cluster);
    let (mut machines, mut strangers) = (Vec::new(), Vec::new());
    let mut sources: BTreeSet<(String, String)> = BTreeSet::new();
    for listed in all.iter().filter(|listed| listed.kind == "qemu" && listed.tags.as_deref().is_some_and(|text| tags(text).contains(&ours)))
    {
        let config = match api.options(&listed.node, listed.vmid) {
            Ok(options) => Config::read(options),
            Err(trouble) if trouble.meaning() == Some(Meaning::Gone) => continue,
            Err(trouble) => return Err(trouble.failure(&format!("look at VM {} on {}", listed.vmid, listed.node))),
        };
        let claim = config.claim().filter(|claim| claim.cluster == cluster && config.uuid().as_deref() == Some(claim.identity.as_str()));
        let Some(claim) = claim else {
            strangers.push(crate::find::described(listed));
            continue;
        };
        sources.extend(images::source(&config).filter(|_| with_images).map(|volume| (listed.node.clone(), volume.to_owned())));
        let found = Found { vmid: listed.vmid, host: listed.node.clone(), config, claim, proved: true };
        machines.push(machine(api, &found, &[], false)?);
    }
    machines.extend(sources.iter().map(|(host, volume)| images::listed(volume, host)));
    Ok((machines, strangers))
}
