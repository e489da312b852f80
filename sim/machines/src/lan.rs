//! The networks of a site: which bridge and VLAN carries which addresses, who
//! gets which by DHCP, and who can be reached.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emhost_sim_kit::{Nic, Store};
use serde::{Deserialize, Serialize};

/// Where leases are kept.
const LEASES: &str = "lan/lease/";

/// One network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lan {
    /// The bridge it is on.
    pub bridge: String,
    /// Its VLAN; none for what the bridge carries untagged.
    pub vlan: Option<u16>,
    /// Any address of it.
    pub network: Ipv4Addr,
    /// The length of its prefix.
    pub prefix: u8,
    /// Its router.
    pub gateway: Option<Ipv4Addr>,
    /// First and last address that DHCP hands out to anybody.
    pub pool: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Name servers that DHCP names.
    #[serde(default)]
    pub nameservers: Vec<Ipv4Addr>,
}

impl Lan {
    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0)
    }

    /// Whether an address is of this network.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.network)) & self.mask() == 0
    }

    /// Whether an address of this network can be a machine's.
    fn is_host(&self, address: Ipv4Addr) -> bool {
        let rest = u32::from(address) & !self.mask();
        self.contains(address) && (self.prefix >= 31 || rest != 0 && rest != !self.mask())
    }

    fn is(&self, bridge: &str, vlan: Option<u16>) -> bool {
        self.bridge == bridge && self.vlan == vlan
    }
}

/// What DHCP gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// The length of its prefix.
    pub prefix: u8,
    /// The router.
    pub gateway: Option<Ipv4Addr>,
    /// Name servers.
    pub nameservers: Vec<Ipv4Addr>,
}

/// All networks of a site.
#[derive(Debug)]
pub struct Lans {
    store: Arc<Store>,
    networks: Vec<Lan>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By MAC address: whoever is expected at a certain address.
    reservations: BTreeMap<String, Ipv4Addr>,
    /// Which card uses an address right now.
    held: BTreeMap<Ipv4Addr, String>,
}

impl Lans {
    /// The networks of a site whose leases are in this store.
    pub fn new(store: Arc<Store>, lans: Vec<Lan>) -> Self {
        Self { store, networks: lans, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The networks.
    pub fn lans(&self) -> &[Lan] {
        &self.networks
    }

    /// Reserves an address for a card, as somebody did on the router.
    pub fn reserve(&self, mac: &str, address: Ipv4Addr) {
        self.state().reservations.insert(mac.to_uppercase(), address);
    }

    /// What DHCP gives this card: the same each time, also after a restart. None where nobody answers.
    ///
    /// # Errors
    /// The lease cannot be kept.
    pub fn lease(&self, bridge: &str, vlan: Option<u16>, mac: &str) -> io::Result<Option<Lease>> {
        let mac = mac.to_uppercase();
        let state = self.state();
        let lans = self.networks.iter().filter(|lan| lan.is(bridge, vlan));
        for lan in lans {
            let reserved = state.reservations.get(&mac).copied().filter(|address| lan.is_host(*address));
            let address = match reserved {
                Some(address) => Some(address),
                None => self.pooled(lan, &mac, &state)?,
            };
            if let Some(address) = address {
                return Ok(Some(Lease { address, prefix: lan.prefix, gateway: lan.gateway, nameservers: lan.nameservers.clone() }));
            }
        }
        Ok(None)
    }

    /// The address this card has of the pool, or takes now.
    fn pooled(&self, lan: &Lan, mac: &str, state: &State) -> io::Result<Option<Ipv4Addr>> {
        let Some((first, last)) = lan.pool else { return Ok(None) };
        let prefix = format!("{LEASES}{}/{}/", lan.bridge, lan.vlan.unwrap_or_default());
        let pool = u32::from(first)..=u32::from(last);
        let leases: BTreeMap<String, Ipv4Addr> = self.store.all(&prefix)?.into_iter().collect();
        let others = |address: Ipv4Addr| leases.iter().any(|(owner, taken)| *taken == address && owner != mac);
        let free = |address: Ipv4Addr| {
            let reserved = state.reservations.values().any(|taken| *taken == address);
            let held = state.held.get(&address).is_some_and(|holder| holder != mac);
            lan.is_host(address) && lan.gateway != Some(address) && !reserved && !held && !others(address)
        };
        let kept = leases.get(mac).copied().filter(|address| pool.contains(&u32::from(*address)) && lan.is_host(*address));
        if kept.is_some() {
            return Ok(kept);
        }
        // Begins where the card's address says, so that who comes first does not matter much.
        let size = u64::from(*pool.end()).saturating_sub(u64::from(*pool.start())) + 1;
        let start = u64::from(crc32fast::hash(mac.as_bytes())) % size;
        let nth =
            |step: u64| u32::try_from((start + step) % size).ok().and_then(|offset| pool.start().checked_add(offset)).map(Ipv4Addr::from);
        let address = (0..size).filter_map(nth).find(|address| free(*address));
        if let Some(address) = address {
            self.store.put(&format!("{prefix}{mac}"), &address)?;
        }
        Ok(address)
    }

    /// Whether a card with this address can be talked to.
    ///
    /// # Errors
    /// Says why nobody hears it.
    pub fn reachable(&self, nic: &Nic, address: Ipv4Addr) -> Result<(), String> {
        let slot = &nic.slot;
        if nic.link_down {
            return Err(format!("the link of {slot} is down"));
        }
        let bridge = nic.bridge.as_deref().ok_or_else(|| format!("{slot} is not plugged into a bridge"))?;
        let on_bridge: Vec<&Lan> = self.networks.iter().filter(|lan| lan.bridge == bridge).collect();
        if on_bridge.is_empty() {
            return Err(format!("the bridge {bridge} of {slot} leads to no network"));
        }
        let lans: Vec<&Lan> = on_bridge.iter().copied().filter(|lan| lan.vlan == nic.vlan).collect();
        let tagged = |vlan: Option<u16>| vlan.map_or_else(|| "untagged".to_owned(), |vlan| format!("VLAN {vlan}"));
        if lans.is_empty() {
            let there: Vec<String> = on_bridge.iter().map(|lan| tagged(lan.vlan)).collect();
            return Err(format!("{slot} is {} on {bridge}, which carries {}", tagged(nic.vlan), there.join(", ")));
        }
        if !lans.iter().any(|lan| lan.is_host(address)) {
            let there: Vec<String> =
                lans.iter().map(|lan| format!("{}/{}", Ipv4Addr::from(u32::from(lan.network) & lan.mask()), lan.prefix)).collect();
            return Err(format!("{address} is no address of {} on {bridge}", there.join(", ")));
        }
        if lans.iter().any(|lan| lan.gateway == Some(address)) {
            return Err(format!("{address} is the gateway's"));
        }
        match self.state().held.get(&address) {
            Some(holder) if !holder.eq_ignore_ascii_case(&nic.mac) => Err(format!("{address} is in use by another machine ({holder})")),
            _ => Ok(()),
        }
    }

    /// Takes an address for a running machine's card; the card may hold several.
    ///
    /// # Errors
    /// It could not be talked to there; then nothing is taken.
    pub fn hold(&self, nic: &Nic, address: Ipv4Addr) -> Result<(), String> {
        self.reachable(nic, address)?;
        let mac = nic.mac.to_uppercase();
        // Two that come at once: the first keeps it.
        let holder = self.state().held.entry(address).or_insert_with(|| mac.clone()).clone();
        if holder == mac { Ok(()) } else { Err(format!("{address} is in use by another machine ({holder})")) }
    }

    /// Gives up one address of a card, as when a virtual address moves to another machine.
    pub fn let_go(&self, mac: &str, address: Ipv4Addr) {
        self.state().held.retain(|held, holder| *held != address || !holder.eq_ignore_ascii_case(mac));
    }

    /// Gives up every address of a card: the machine is off, or configured anew.
    pub fn release(&self, mac: &str) {
        self.state().held.retain(|_, holder| !holder.eq_ignore_ascii_case(mac));
    }
}

#[cfg(test)]
mod tests;
