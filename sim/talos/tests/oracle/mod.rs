//! Talos's own server code as a process, and secrets for a cluster of it.

pub mod calls;
pub mod messages;
pub mod seen;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_oracles::Process;
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};

use super::client::{Client, Identity, network};

const YEAR: Duration = Duration::from_hours(8760);

/// Whom the calls go to.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
}

/// A node of Talos's own code; it ends with this.
pub struct Oracle {
    _process: Process,
    address: Ipv4Addr,
    _folder: tempfile::TempDir,
}

/// The host name of every node here that is not a worker.
pub const HOSTNAME: &str = "node-11";
/// The host name of a worker.
pub const WORKER: &str = "node-21";

impl Oracle {
    /// Starts one, with a configuration or without. None where the program is not there.
    pub async fn start(version: &str, secrets: Option<&Secrets>) -> Option<Self> {
        let config = secrets.map(|secrets| secrets.config.as_str());
        let oracle = Self::spawn(version, HOSTNAME, config, None)?;
        ready(&oracle.target(), secrets).await;
        Some(oracle)
    }

    /// Starts a worker beside a control plane.
    pub async fn worker(&self, version: &str, secrets: &Secrets) -> Option<Self> {
        let oracle = Self::spawn(version, WORKER, Some(&secrets.worker), Some(self.address))?;
        ready(&oracle.target(), Some(secrets)).await;
        Some(oracle)
    }

    fn spawn(version: &str, hostname: &str, config: Option<&str>, control_plane: Option<Ipv4Addr>) -> Option<Self> {
        let program = emhost_oracles::program(&format!("oraclenode-{version}"), "oraclenode")?;
        let (folder, network) = network();
        let address = network.dial(Ipv4Addr::new(10, 0, 10, 11));
        let mut command = Command::new(program);
        command.env("ORACLE_OFFLINE", "1").args(["-hostname", hostname, "-listen", &format!("{address}:50000")]);
        command.args(["-control-planes", &control_plane.unwrap_or(address).to_string()]).arg("-dir").arg(folder.path());
        if let Some(config) = config {
            let file = folder.path().join("config.yaml");
            std::fs::write(&file, config).unwrap();
            command.arg("-user-data").arg(file);
        }
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Some(Self { _process: Process(command.spawn().unwrap()), address, _folder: folder })
    }

    pub fn address(&self) -> IpAddr {
        self.address.into()
    }

    pub fn target(&self) -> Target {
        Target { address: SocketAddr::from((self.address, 50_000)) }
    }
}

/// Waits until a node answers as it should, with a configuration or without.
pub async fn ready(target: &Target, secrets: Option<&Secrets>) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let identity = secrets.map(|secrets| secrets.client(&["os:admin"]));
        if let Ok(client) = Client::connect(target.address, identity).await {
            let disks = client.call(emhost_talos_api::methods::storage::DISKS, &[], &[Vec::new()]).await;
            if disks.is_ok_and(|outcome| outcome.http == 200) {
                return;
            }
        }
        assert!(Instant::now() < end, "{} does not answer", target.address);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a cluster of one control plane is made of.
pub struct Secrets {
    /// The configuration of its control plane.
    pub config: String,
    /// The configuration of a worker.
    pub worker: String,
    authority: Authority,
}

impl Secrets {
    /// Makes them with talosctl. None where the program is not there.
    pub fn generate(version: &str, endpoint: IpAddr) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(emhost_oracles::program(&format!("talosctl-{version}"), "talosctl")?);
        command.args(["gen", "config", "c1", &format!("https://{endpoint}:6443"), "--with-docs=false", "--with-examples=false"]);
        command.args(["--output-types", "controlplane,worker", "--install-disk", "/dev/sda"]).arg("-o").arg(folder.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = std::fs::read_to_string(folder.path().join("controlplane.yaml")).unwrap();
        let worker = std::fs::read_to_string(folder.path().join("worker.yaml")).unwrap();
        let value = |key: &str| {
            let line = config.lines().map(str::trim).skip_while(|line| *line != "ca:").find(|line| line.starts_with(key)).unwrap();
            STANDARD.decode(line.rsplit(' ').next().unwrap()).unwrap()
        };
        let authority = Authority::from_pem(&value("crt:"), &value("key:")).unwrap();
        Some(Self { config, worker, authority })
    }

    /// A client with these roles.
    pub fn client(&self, roles: &[&str]) -> Identity {
        let organizations = roles.iter().map(|role| (*role).to_owned()).collect();
        issue(&self.authority, &Subject { organizations, client: true, ..Subject::default() })
    }

    /// An admin whose certificate may be a server's, too.
    pub fn server(&self) -> Identity {
        let organizations = vec!["os:admin".to_owned()];
        issue(&self.authority, &Subject { organizations, client: true, server: true, ..Subject::default() })
    }

    /// An admin of another cluster.
    pub fn foreign() -> Identity {
        let authority = Authority::generate(Algorithm::Ed25519, "", "talos", YEAR).unwrap();
        issue(&authority, &Subject { organizations: vec!["os:admin".to_owned()], client: true, ..Subject::default() })
    }
}

fn issue(authority: &Authority, subject: &Subject) -> Identity {
    let identity = authority.issue(Algorithm::Ed25519, subject, YEAR).unwrap();
    (identity.certificate.clone(), identity.private_key())
}
