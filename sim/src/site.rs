//! A site that runs in this process.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::certificates::{Algorithm, Authority, CertificateError, Subject};
use emhost_sim_kit::store::StoreError;
use emhost_sim_kit::tls::{self, Clients};
use emhost_sim_kit::{Audit, Dials, Network, Store, addresses};
use emhost_sim_machines::factory::{self, Factory};
use emhost_sim_machines::lan::Lans;
use emhost_sim_proxmox::{HostSpec, Pve, Spec};
use emhost_sim_talos::{Fleet, NodeView};

use crate::administrator::{Administrator, ApiError};
use crate::furnish;
use crate::ground::Grounds;
use crate::{Access, Plan, Wanted};

/// The last number of the Image Factory's address.
const FACTORY: u8 = 250;
/// The name under which everybody else knows the Image Factory.
const FACTORY_NAME: &str = "factory.talos.dev";
const FACTORY_PORT: u16 = 8443;
const PVE_PORT: u16 = 8006;
/// The token that the site gives out.
const TOKEN: &str = "simulator@pve!emhost";
const CERTIFICATE: Duration = Duration::from_hours(2 * 8760);

/// Why a site cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk or the network said no.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What was said.
        source: io::Error,
    },
    /// A certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// What the plan names cannot be put there.
    #[error("what the inventory names cannot be put there: {0}")]
    Furnish(#[from] ApiError),
}

fn at(what: impl Into<String>) -> impl FnOnce(io::Error) -> SiteError {
    let what = what.into();
    move |source| SiteError::Io { what, source }
}

/// A site that runs in this process, until it is dropped.
pub struct Site {
    folder: PathBuf,
    plan: Plan,
    administrator: Administrator,
    dials: Arc<Dials>,
    grounds: Arc<Grounds>,
    pve: Arc<Pve>,
    _serving: (emhost_sim_proxmox::Serving, factory::Serving),
}

impl Site {
    /// Starts the site that is kept in this folder, with at least what the plan names. `claims` is shared by all sites of this user.
    ///
    /// # Errors
    /// Another process runs it, or it cannot be read, or its addresses cannot be had.
    pub async fn start(folder: &Path, claims: &Path, plan: Plan) -> Result<Self, SiteError> {
        let store = Arc::new(Store::open(folder)?);
        let kept = at(folder.display().to_string());
        let plan = match store.get::<Plan>("site/plan").map_err(kept)? {
            Some(older) => older.and(plan),
            None => plan,
        };
        store.put("site/plan", &plan).map_err(at(folder.display().to_string()))?;
        let had = store.get::<u8>("site/network").map_err(at(folder.display().to_string()))?;
        let network = addresses::claim(claims, folder, had).map_err(at(claims.display().to_string()))?;
        store.put("site/network", &network.number()).map_err(at(folder.display().to_string()))?;
        // Nothing goes wrong until the site is furnished.
        let dials = Arc::new(Dials::new(plan.profile, plan.seed, Vec::new()).at_speed(plan.speed));
        let audit = Arc::new(Audit::open(&folder.join("audit.jsonl")).map_err(at("audit.jsonl"))?);
        let secrets = Secrets::open(&store)?;
        let authority = Authority::from_pem(secrets.authority.as_bytes(), secrets.authority_key.as_bytes())?;
        let factory_at = SocketAddr::from((network.service(FACTORY), FACTORY_PORT));
        let factory =
            Factory::new(Arc::clone(&store), Arc::clone(&audit), Arc::clone(&dials)).map_err(at("the simulated Image Factory"))?;
        let subject = Subject {
            common_name: FACTORY_NAME.to_owned(),
            names: vec![FACTORY_NAME.to_owned(), "localhost".to_owned()],
            addresses: vec![factory_at.ip()],
            server: true,
            ..Subject::default()
        };
        let identity = authority.issue(Algorithm::P256, &subject, CERTIFICATE)?;
        let config = tls::server(&identity, Clients::Anybody, &["h2", "http/1.1"]).map_err(|error| at("TLS")(io::Error::other(error)))?;
        let factory_serving = factory.serve(factory_at, config).await.map_err(at(format!("cannot listen at {factory_at}")))?;

        let spec = spec(&plan, network, factory_at, &secrets, &authority);
        let hosts: Vec<String> = spec.hosts.iter().map(|host| host.name.clone()).collect();
        let parts = emhost_sim_proxmox::Parts { store: Arc::clone(&store), dials: Arc::clone(&dials), audit: Arc::clone(&audit), network };
        let listen = spec.hosts.first().map_or(SocketAddr::from((network.service(1), PVE_PORT)), |host| host.listen);
        let pve = Pve::open(spec, parts).map_err(at("the simulated Proxmox"))?;
        let lans = Lans::new(Arc::clone(&store), lans(&plan));
        plan.reservations.iter().for_each(|(mac, address)| lans.reserve(mac, *address));
        let grounds = Grounds::new(Arc::clone(&factory), lans, Arc::clone(&dials));
        let parts = emhost_sim_talos::Parts { store, dials: Arc::clone(&dials), audit, network, ground: Arc::clone(&grounds) as _ };
        let fleet = Fleet::open(parts).map_err(at("the simulated nodes"))?;
        grounds.settle(Arc::clone(&pve), fleet);
        pve.attach(Arc::clone(&grounds) as _);
        let serving = pve.serve().await.map_err(at(format!("cannot listen at {listen}")))?;

        // Two authorities, as anywhere: that of the Proxmox cluster, and that of the rest of the world.
        let authority = format!("{}{}", pve.authority(), secrets.authority);
        std::fs::write(folder.join("ca.pem"), &authority).map_err(at("ca.pem"))?;
        let first = hosts.first().and_then(|host| pve.fingerprint(host)).unwrap_or_default();
        let access = Access {
            pid: std::process::id(),
            network: network.number(),
            pve: format!("https://{listen}"),
            fingerprint: first.replace(':', "").to_ascii_lowercase(),
            token: format!("{TOKEN}={}", secrets.token),
            root_password: secrets.root_password,
            factory: format!("https://{factory_at}"),
            authority,
            hosts,
        };
        let administrator = Administrator::new(access)?;
        furnish::furnish(&plan, &administrator).await?;
        dials.set_faults(plan.faults.clone());
        administrator.access().announce(folder).map_err(at("running.json"))?;
        Ok(Self { folder: folder.to_owned(), plan, administrator, dials, grounds, pve, _serving: (serving, factory_serving) })
    }

    /// How it is reached.
    pub fn access(&self) -> &Access {
        self.administrator.access()
    }

    /// Somebody with every right at its API.
    pub fn administrator(&self) -> &Administrator {
        &self.administrator
    }

    /// Makes the machines that are not there yet and starts those that do not run. Says how many it made.
    ///
    /// # Errors
    /// Proxmox said no.
    pub async fn make(&self, wanted: &[Wanted]) -> Result<usize, SiteError> {
        self.dials.set_faults(Vec::new());
        let made = furnish::machines(&self.plan, &self.administrator, wanted).await;
        self.dials.set_faults(self.plan.faults.clone());
        Ok(made?)
    }

    /// Every Talos node that runs.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.grounds.nodes()
    }

    /// Why a machine shows no node: what its firmware said.
    pub fn silent(&self) -> BTreeMap<u32, String> {
        self.grounds.silent()
    }

    /// The simulated Proxmox, to break it in tests.
    pub fn pve(&self) -> &Arc<Pve> {
        &self.pve
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        Access::withdraw(&self.folder);
        self.grounds.leave();
    }
}

/// What is made once and kept.
#[derive(serde::Serialize, serde::Deserialize)]
struct Secrets {
    root_password: String,
    token: String,
    authority: String,
    authority_key: String,
}

impl Secrets {
    fn open(store: &Store) -> Result<Self, SiteError> {
        let kept = "site/secrets";
        if let Some(secrets) = store.get(kept).map_err(at(kept))? {
            return Ok(secrets);
        }
        let authority = Authority::generate(Algorithm::P256, "emhost simulated site", "emhost", Duration::from_hours(87600))?;
        let secrets = Self {
            // A site on loopback that only its user can reach needs no secret here; a password that is easy to type is worth more.
            root_password: "emhost".to_owned(),
            token: uuid(),
            authority: authority.pem(),
            authority_key: authority.key_pem(),
        };
        store.put(kept, &secrets).map_err(at(kept))?;
        Ok(secrets)
    }
}

/// A random UUID, as tokens of Proxmox are.
fn uuid() -> String {
    let random = rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let text = format!("{random:032x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

fn spec(plan: &Plan, network: Network, factory: SocketAddr, secrets: &Secrets, authority: &Authority) -> Spec {
    let hosts = plan.hosts.iter().zip(1..FACTORY).map(|(name, number)| HostSpec {
        name: name.clone(),
        listen: SocketAddr::from((network.service(number), PVE_PORT)),
        cores: 32,
        memory: 256 << 30,
        bridges: plan.bridges.clone(),
        pci: plan.gpus.iter().filter(|gpu| gpu.host == *name).map(|gpu| gpu.pci.clone()).collect(),
        iommu: !plan.without_iommu,
    });
    Spec {
        release: plan.release,
        cluster: (plan.hosts.len() > 1).then(|| "emhost".to_owned()),
        hosts: hosts.collect(),
        storages: plan.storages.clone(),
        root_password: secrets.root_password.clone(),
        tokens: [(TOKEN.to_owned(), secrets.token.clone())].into(),
        resolve: [(FACTORY_NAME.to_owned(), factory)].into(),
        trust: vec![authority.certificate().to_vec()],
    }
}

fn lans(plan: &Plan) -> Vec<emhost_sim_machines::lan::Lan> {
    let lan = |lan: &crate::Lan| emhost_sim_machines::lan::Lan {
        bridge: lan.bridge.clone(),
        vlan: lan.vlan,
        network: lan.network.0,
        prefix: lan.network.1,
        gateway: lan.gateway,
        pool: pool(lan),
        nameservers: Vec::new(),
    };
    plan.networks.iter().map(lan).collect()
}

/// The addresses that DHCP hands out to machines without a reservation: the end of the network, where people rarely put theirs.
fn pool(lan: &crate::Lan) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (address, prefix) = lan.network;
    let hosts = u32::MAX.checked_shr(prefix.into()).unwrap_or_default();
    let last = (u32::from(address) | hosts).checked_sub(1)?;
    // x.y.255.z belongs to the site itself.
    let last = if prefix <= 16 { last - 256 } else { last };
    (hosts > 64).then(|| (Ipv4Addr::from(last - 49), Ipv4Addr::from(last)))
}
