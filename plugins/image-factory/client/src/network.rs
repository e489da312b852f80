//! The network card by which a node is reached.

use std::net::Ipv4Addr;

use emhost_sdk::Failure;
use emhost_sdk::inventory::InterfaceCard;

/// The card that the node's address is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its MAC, lower case.
    pub mac: String,
    /// Its address, where the site gives out none.
    pub fixed: Option<Static>,
}

/// An address that the machine has to be told, because nobody on its network gives it one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Static {
    /// The address.
    pub address: Ipv4Addr,
    /// Length of its network's prefix.
    pub prefix: u8,
    /// The router.
    pub gateway: Ipv4Addr,
}

impl Card {
    /// The first card with an address, else the first card. On a site without a router, addresses come by DHCP.
    pub(crate) fn of(cards: &[InterfaceCard]) -> Result<Option<Self>, Failure> {
        let Some(index) = cards.iter().position(|card| card.address.is_some()).or_else(|| (!cards.is_empty()).then_some(0)) else {
            return Ok(None);
        };
        let card = &cards[index];
        let fixed = match (&card.address, &card.gateway) {
            (Some(address), Some(gateway)) => Some(Static::read(address, gateway, index)?),
            _ => None,
        };
        Ok(Some(Self { mac: card.mac.to_lowercase(), fixed }))
    }
}

impl Static {
    fn read(address: &str, gateway: &str, index: usize) -> Result<Self, Failure> {
        let refused = |key: &str, summary: String, help: &str| {
            Failure::invalid("boot/address", summary).pointer(format!("/cards/{index}/{key}")).help(help)
        };
        let (host, prefix) = address.split_once('/').unwrap_or((address, ""));
        let (Ok(host), Some(prefix)) = (host.parse(), prefix.parse().ok().filter(|prefix| *prefix <= 32)) else {
            let summary = format!("`{address}` is not an IPv4 address with the length of its network's prefix");
            return Err(refused("address", summary, "set `ip` of the node and `network.prefix` of the cluster"));
        };
        let Ok(gateway) = gateway.parse() else {
            return Err(refused("gateway", format!("`{gateway}` is not an IPv4 address"), "set `network.gateway` in cluster.yaml"));
        };
        Ok(Self { address: host, prefix, gateway })
    }

    /// The length of the prefix as a mask.
    pub fn mask(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn card(address: Option<&str>, gateway: Option<&str>) -> InterfaceCard {
        InterfaceCard {
            name: "eth0".into(),
            bridge: "vmbr0".into(),
            vlan: None,
            mac: "BC:24:11:00:00:01".into(),
            address: address.map(str::to_owned),
            gateway: gateway.map(str::to_owned),
            attributes: Vec::new(),
        }
    }

    #[test]
    fn an_address_is_fixed_where_there_is_a_router() {
        let fixed = Card::of(&[card(None, None), card(Some("10.0.10.11/16"), Some("10.0.0.1"))]).unwrap().unwrap().fixed.unwrap();
        assert_eq!((fixed.address.to_string(), fixed.prefix, fixed.mask().to_string()), ("10.0.10.11".into(), 16, "255.255.0.0".into()));
        let leased = Card::of(&[card(Some("10.0.10.11"), None)]).unwrap().unwrap();
        assert_eq!(leased, Card { mac: "bc:24:11:00:00:01".into(), fixed: None });
        assert_eq!(Card::of(&[]), Ok(None));
    }

    #[test]
    fn an_address_that_is_none_is_refused_where_it_is_written() {
        let pointer = |card| Card::of(&[card]).unwrap_err().diagnostics[0].pointer.clone().unwrap();
        assert_eq!(pointer(card(Some("10.0.10.11"), Some("10.0.0.1"))), "/cards/0/address");
        assert_eq!(pointer(card(Some("10.0.10.11/33"), Some("10.0.0.1"))), "/cards/0/address");
        assert_eq!(pointer(card(Some("10.0.10.11/16"), Some("router"))), "/cards/0/gateway");
    }
}
