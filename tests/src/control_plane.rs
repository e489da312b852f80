//! A real etcd and kube-apiserver on a loopback address, with the authorities of a cluster of Talos.
#![expect(clippy::expect_used, clippy::panic, reason = "what tests share fails by panicking")]

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_oracles::Process;
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};
use serde_json::Value;

const ETCD: &str = "etcd-v3.6.5";
const API_SERVER: &str = "kube-apiserver-v1.34.2";
const DAY: Duration = Duration::from_hours(24);

/// A control plane that ends with this.
pub struct ControlPlane {
    children: Vec<Process>,
    folder: tempfile::TempDir,
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The server before what it talks to.
        while self.children.pop().is_some() {}
    }
}

impl ControlPlane {
    /// Starts one for the machine configuration of a control plane. None without the programs.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn start(config: &str, address: Ipv4Addr) -> Option<Self> {
        let (etcd, server) = (emhost_oracles::program(ETCD, "kubernetes")?, emhost_oracles::program(API_SERVER, "kubernetes")?);
        let folder = tempfile::tempdir().expect("a folder");
        let cluster = cluster(config);
        let files = Files { folder: folder.path(), address, cluster: &cluster };
        files.write();
        let mut this = Self { children: Vec::new(), folder };
        let at = |port: u16| format!("http://{address}:{port}");
        this.run(
            &etcd,
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                &format!("--listen-client-urls={}", at(2379)),
                &format!("--advertise-client-urls={}", at(2379)),
                &format!("--listen-peer-urls={}", at(2380)),
                &format!("--initial-advertise-peer-urls={}", at(2380)),
                &format!("--initial-cluster=default={}", at(2380)),
            ],
        );
        this.run(
            &server,
            &[
                &format!("--etcd-servers={}", at(2379)),
                &format!("--bind-address={address}"),
                &format!("--advertise-address={address}"),
                "--secure-port=6443",
                "--tls-cert-file=server.crt",
                "--tls-private-key-file=server.key",
                "--client-ca-file=ca.crt",
                "--authorization-mode=Node,RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-account-key-file=accounts.key",
                "--service-account-signing-key-file=accounts.key",
                "--service-cluster-ip-range=10.96.0.0/12",
                "--endpoint-reconciler-type=none",
            ],
        );
        this.listens((address, 6443));
        Some(this)
    }

    fn run(&mut self, program: &Path, arguments: &[&str]) {
        let log = std::fs::File::create(self.log(program)).expect("a file");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        self.children.push(Process(child));
    }

    fn log(&self, program: &Path) -> PathBuf {
        self.folder.path().join(program.file_name().unwrap_or_default()).with_extension("log")
    }

    /// Waits until the server listens. Some of what it does first goes on after that.
    fn listens(&mut self, at: (Ipv4Addr, u16)) {
        let begun = Instant::now();
        while std::net::TcpStream::connect(at).is_err() {
            let ended = self.children.iter_mut().any(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || begun.elapsed() > Duration::from_mins(2) {
                let logs = [ETCD, API_SERVER].map(|name| std::fs::read_to_string(self.log(Path::new(name))).unwrap_or_default());
                panic!("the control plane does not come up:\n{}", logs.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The part of a machine configuration that is about Kubernetes.
fn cluster(config: &str) -> Value {
    let first = config.split("\n---\n").find(|document| document.contains("\ncluster:")).expect("a machine configuration");
    let document: Value = serde_saphyr::from_str(first).expect("YAML");
    document["cluster"].clone()
}

struct Files<'f> {
    folder: &'f Path,
    address: Ipv4Addr,
    cluster: &'f Value,
}

impl Files<'_> {
    fn secret(&self, pointer: &str) -> Vec<u8> {
        let text = self.cluster.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}"));
        STANDARD.decode(text).expect("base64")
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(name), bytes).expect("a file that can be written");
    }

    fn write(&self) {
        self.put("accounts.key", self.secret("/serviceAccount/key"));
        let (certificate, key) = (self.secret("/ca/crt"), self.secret("/ca/key"));
        let authority = Authority::from_pem(&certificate, &key).expect("an authority");
        self.put("ca.crt", certificate);
        let subject = Subject {
            common_name: "kube-apiserver".to_owned(),
            names: vec!["kubernetes.default.svc".to_owned()],
            addresses: vec![self.address.into(), Ipv4Addr::new(10, 96, 0, 1).into()],
            server: true,
            ..Subject::default()
        };
        let server = authority.issue(Algorithm::P256, &subject, DAY).expect("a certificate");
        self.put("server.crt", server.pem());
        self.put("server.key", server.key_pem());
    }
}
