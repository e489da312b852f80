//! A simulated Proxmox for a while, for clients of all kinds: `pve ADDRESS:PORT 8.4|9 [FOLDER [DIAL...]]`.
//!
//! A dial is `profile=home`, `speed=20`, `seed=7`, or a fault with how often it happens in thousandths, such as
//! `reply-lost=50`. Prints one line of JSON with the address, a token, the password of `root@pam`, the certificate of
//! the authority and the fingerprint of the host's, and runs until its standard input ends. Machines do not
//! really boot: their agent answers with an address, and they go off when they are asked to.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use emhost_sim_kit::{Audit, Dials, Drive, Fault, Guests, Hypervisor, Interface, Machine, Network, Profile, Store};
use emhost_sim_proxmox::{HostSpec, Parts, PciSpec, Pve, Release, Spec, StorageSpec};

const TOKEN: (&str, &str) = ("emhost@pve!ci", "00000000-0000-4000-8000-000000000000");
const PASSWORD: &str = "root-password";

/// Machines that only seem to run.
struct Seeming {
    pve: Weak<Pve>,
    on: Mutex<BTreeMap<u32, Machine>>,
}

impl Seeming {
    fn on(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Machine>> {
        self.on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests for Seeming {
    fn power_on(&self, machine: Machine) {
        self.on().insert(machine.id, machine);
    }

    fn power_off(&self, id: u32) {
        self.on().remove(&id);
    }

    fn reset(&self, _: u32) {}

    fn shutdown(&self, id: u32) -> bool {
        if self.on().remove(&id).is_none() {
            return false;
        }
        if let Some(pve) = self.pve.upgrade() {
            pve.powered_off(id);
        }
        true
    }

    fn moved(&self, _: u32, _: &str) {}

    fn media_changed(&self, _: u32, _: Drive) {}

    fn agent(&self, id: u32) -> Option<Vec<Interface>> {
        let on = self.on();
        let machine = on.get(&id).filter(|machine| machine.agent)?;
        let [.., c, d] = id.to_be_bytes();
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, c, d));
        let cards = machine.nics.iter().enumerate().map(|(number, nic)| Interface {
            name: format!("eth{number}"),
            mac: nic.mac.to_lowercase(),
            addresses: vec![(address, 24)],
        });
        Some(cards.collect())
    }
}

fn spec(listen: SocketAddr, release: Release) -> Spec {
    let storage = |id: &str, kind: &str, content: &[&str]| StorageSpec { size: 500 << 30, ..StorageSpec::new(id, kind, content) };
    Spec {
        release,
        cluster: None,
        hosts: vec![HostSpec {
            name: "pve1".to_owned(),
            listen,
            cores: 16,
            memory: 64 << 30,
            bridges: vec!["vmbr0".to_owned()],
            pci: vec![PciSpec::graphics("0000:01:00.0", 14), PciSpec::graphics("0000:02:00.0", 15)],
            iommu: true,
        }],
        storages: vec![
            storage("local", "dir", &["iso", "vztmpl", "backup", "snippets", "import", "images"]),
            storage("local-lvm", "lvmthin", &["images", "rootdir"]),
        ],
        root_password: PASSWORD.to_owned(),
        tokens: BTreeMap::from([(TOKEN.0.to_owned(), TOKEN.1.to_owned())]),
        resolve: BTreeMap::new(),
        trust: Vec::new(),
    }
}

fn dials(arguments: impl Iterator<Item = String>) -> Result<Dials, Box<dyn std::error::Error>> {
    let (mut profile, mut times, mut seed, mut faults) = (Profile::Fast, 1, 1, Vec::new());
    for argument in arguments {
        let (dial, value) = argument.split_once('=').ok_or_else(|| format!("{argument} is not of the form DIAL=VALUE"))?;
        match dial {
            "profile" => profile = serde_json::from_value(value.into())?,
            "speed" => times = value.parse()?,
            "seed" => seed = value.parse()?,
            fault => faults.push((serde_json::from_value::<Fault>(fault.into())?, value.parse()?)),
        }
    }
    Ok(Dials::new(profile, seed, faults).at_speed(times))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    emhost_sim_kit::tls::provider();
    let mut arguments = std::env::args().skip(1);
    let listen: SocketAddr = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned()).parse()?;
    let release = match arguments.next().as_deref() {
        Some("8.4") => Release::V8,
        _ => Release::V9,
    };
    let temporary = std::env::temp_dir().join(format!("pve-example-{}", std::process::id()));
    let folder = arguments.next().map_or(temporary, Into::into);
    let dials = dials(arguments)?;
    std::fs::create_dir_all(&folder)?;
    let parts = Parts {
        store: Arc::new(Store::open(&folder.join("store"))?),
        dials: Arc::new(dials),
        audit: Arc::new(Audit::open(&folder.join("audit"))?),
        network: Network::new(1),
    };
    let pve = Pve::open(spec(listen, release), parts)?;
    pve.attach(Arc::new(Seeming { pve: Arc::downgrade(&pve), on: Mutex::default() }));
    let serving = pve.serve().await?;
    let address = serving.address("pve1").ok_or("the host does not listen")?;
    let line = serde_json::json!({
        "url": format!("https://{address}"),
        "token": format!("{}={}", TOKEN.0, TOKEN.1),
        "password": PASSWORD,
        "authority": pve.authority(),
        "fingerprint": pve.fingerprint("pve1"),
        "folder": folder,
    });
    println!("{line}");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    serving.stop().await;
    Ok(())
}
