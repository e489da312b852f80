//! The hosts: their certificates, and whether they are up.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sim_kit::certificates::{Algorithm, Authority, Identity, Subject};
use emhost_sim_kit::{Hypervisor as _, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::access::Caller;
use crate::call::Fail;
use crate::dispatch::Asked;
use crate::pve::Pve;
use crate::schema;
use crate::{HostSpec, Spec};

/// Lifetime of the authority, as Proxmox makes it.
const AUTHORITY_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);
/// A host's certificate is good for at most two years.
const LIFETIME: Duration = Duration::from_hours(2 * 365 * 24);

/// Every host.
pub(crate) struct Hosts {
    authority: Authority,
    all: BTreeMap<String, Host>,
    clustered: bool,
}

/// One host.
pub(crate) struct Host {
    pub identity: Identity,
    pub up: watch::Sender<bool>,
    /// Whether its API is there to be dialled.
    pub listening: watch::Sender<bool>,
}

/// A certificate with its key; of a host, where it listens too.
#[derive(Serialize, Deserialize)]
struct Kept {
    certificate: String,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

impl Hosts {
    /// Reads the certificates, and makes those that are not there.
    pub fn open(store: &Store, spec: &Spec) -> io::Result<Self> {
        let authority = authority(store)?;
        let mut hosts = BTreeMap::new();
        for host in &spec.hosts {
            let identity = identity(store, &authority, host)?;
            hosts.insert(host.name.clone(), Host { identity, up: watch::Sender::new(true), listening: watch::Sender::new(false) });
        }
        Ok(Self { authority, all: hosts, clustered: spec.cluster.is_some() })
    }

    /// The authority that signed every host's certificate.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    pub fn get(&self, name: &str) -> Option<&Host> {
        self.all.get(name)
    }

    /// Whether a host is there and up.
    pub fn is_up(&self, name: &str) -> bool {
        self.all.get(name).is_some_and(|host| *host.up.borrow())
    }

    /// Whether more than half of the hosts are up. A host that is in no cluster needs nobody.
    pub fn is_quorate(&self) -> bool {
        let up = self.all.values().filter(|host| *host.up.borrow()).count();
        !self.clustered || up * 2 > self.all.len()
    }

    /// What a request for this host meets before any of its code runs.
    pub fn reach(&self, name: &str) -> Result<(), Fail> {
        match self.all.get(name) {
            None => Err(Fail::die(format!(
                "hostname lookup '{name}' failed - failed to get address info for: {name}: Name or service not known\n"
            ))),
            Some(host) if *host.up.borrow() => Ok(()),
            Some(_) => Err(Fail::new(595, "No route to host")),
        }
    }
}

impl Pve {
    /// Switches a host off or on again, as its power would: connections break, tasks are cut off, machines go off, and
    /// those that start with their host come back with it. Returns when its API refuses or answers.
    pub async fn switch_host(self: &Arc<Self>, name: &str, on: bool) {
        let Some(host) = self.hosts.get(name) else { return };
        if *host.up.borrow() == on {
            return;
        }
        host.up.send_replace(on);
        let served = host.up.receiver_count() > 0;
        if served && host.listening.subscribe().wait_for(|listening| *listening == on).await.is_err() {
            // The sender is in `host`, which is still there.
        }
        if on {
            self.start_machines(name).await;
        } else {
            self.lose_power(name).await;
        }
    }

    async fn lose_power(&self, host: &str) {
        for job in self.tasks.cut_off(host) {
            while !job.is_finished() {
                tokio::task::yield_now().await;
            }
        }
        let running: Vec<u32> = self.state().vms.values().filter(|vm| vm.host == host && vm.is_running()).map(|vm| vm.id).collect();
        for id in running {
            self.guests().power_off(id);
            self.powered_off(id);
        }
    }

    /// What a host does when it has booted.
    async fn start_machines(self: &Arc<Self>, host: &str) {
        let wanted = |config: &BTreeMap<String, String>| config.get("onboot").is_some_and(|value| value == "1");
        let machines: Vec<u32> = self.state().vms.values().filter(|vm| vm.host == host && wanted(&vm.config)).map(|vm| vm.id).collect();
        for id in machines {
            let path = format!("/nodes/{host}/qemu/{id}/status/start");
            let Ok(found) = schema::find(self.release(), "POST", &path) else { continue };
            let who = Some(Caller::root());
            let asked = Asked { host: host.to_owned(), path, who, by_token: false, given: BTreeMap::new(), upload: None };
            if self.dispatch(found, asked).await.is_err() {
                // As on a real host, one machine that does not start does not keep the others from it.
            }
        }
    }
}

fn authority(store: &Store) -> io::Result<Authority> {
    if let Some(kept) = store.get::<Kept>("pve/ca")? {
        return Authority::from_pem(kept.certificate.as_bytes(), kept.key.as_bytes()).map_err(io::Error::other);
    }
    let organization = "PVE Cluster Manager CA";
    let made =
        Authority::generate(Algorithm::P256, "Proxmox Virtual Environment", organization, AUTHORITY_LIFETIME).map_err(io::Error::other)?;
    store.put("pve/ca", &Kept { certificate: made.pem(), key: made.key_pem(), address: None })?;
    Ok(made)
}

/// The certificate of a host. One that moved to another address needs a new one.
fn identity(store: &Store, authority: &Authority, host: &HostSpec) -> io::Result<Identity> {
    let key = format!("pve/certificate/{}", host.name);
    let address = Some(host.listen.ip());
    if let Some(kept) = store.get::<Kept>(&key)?.filter(|kept| kept.address == address) {
        let decoded = |text: &str| STANDARD.decode(text).map_err(io::Error::other);
        return Ok(Identity { certificate: decoded(&kept.certificate)?.into(), key: decoded(&kept.key)?, algorithm: Algorithm::P256 });
    }
    let subject = Subject {
        common_name: format!("{}.sim", host.name),
        organizations: vec!["Proxmox Virtual Environment".to_owned()],
        names: vec!["localhost".to_owned(), host.name.clone(), format!("{}.sim", host.name)],
        addresses: vec![[127, 0, 0, 1].into(), host.listen.ip()],
        server: true,
        client: false,
    };
    let made = authority.issue(Algorithm::P256, &subject, LIFETIME).map_err(io::Error::other)?;
    store.put(&key, &Kept { certificate: STANDARD.encode(&made.certificate), key: STANDARD.encode(&made.key), address })?;
    Ok(made)
}
