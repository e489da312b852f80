#![allow(clippy::unwrap_used)]
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use emhost_sim_kit::certificates::{Identity, Subject};
use emhost_sim_kit::tls::{self, Clients};
use emhost_sim_kit::{Fault, Image, Medium, Platform, Profile};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use super::*;
use crate::image::{Packing, decode, unpack, virtual_size};

const EMPTY: &str = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
const AGENT: &str = "customization:\n    systemExtensions:\n        officialExtensions:\n            - siderolabs/qemu-guest-agent\n";

struct Site {
    folder: tempfile::TempDir,
    factory: Arc<Factory>,
    authority: Authority,
    serving: Serving,
}

struct Reply {
    status: u16,
    headers: http::HeaderMap,
    body: Bytes,
}

impl Reply {
    fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

impl Site {
    async fn open(faults: Vec<(Fault, u16)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("store")).unwrap());
        let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
        let factory = Factory::new(store, audit, Arc::new(Dials::new(Profile::Fast, 1, faults))).unwrap();
        let authority = Authority::generate(Algorithm::P256, "test", "", Duration::from_hours(1)).unwrap();
        let subject = Subject { addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], server: true, ..Subject::default() };
        let identity: Identity = authority.issue(Algorithm::P256, &subject, Duration::from_hours(1)).unwrap();
        let config = tls::server(&identity, Clients::Anybody, &["h2", "http/1.1"]).unwrap();
        let serving = factory.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), config).await.unwrap();
        Self { folder, factory, authority, serving }
    }

    async fn try_ask(&self, method: &str, path: &str, body: &str) -> Result<Reply, hyper::Error> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.authority.certificate().clone()).unwrap();
        let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = tokio::net::TcpStream::connect(self.serving.address()).await.unwrap();
        let name = rustls::pki_types::ServerName::IpAddress(self.serving.address().ip().into());
        let stream = connector.connect(name, stream).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("host", self.serving.address().to_string());
        let response = sender.send_request(request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()).await?;
        let (head, body) = response.into_parts();
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, body: body.collect().await?.to_bytes() })
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        self.try_ask(method, path, body).await.unwrap()
    }

    async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "").await
    }

    async fn post(&self, body: &str) -> String {
        let reply = self.ask("POST", "/schematics", body).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn schematics_go_in_and_come_back() {
    let site = Site::open(Vec::new()).await;
    let reply = site
        .ask("POST", "/schematics", r#"{"customization":{"systemExtensions":{"officialExtensions":["siderolabs/qemu-guest-agent"]}}}"#)
        .await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.json()["schematic"], AGENT);
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(id, "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515");
    assert_eq!(site.get(&format!("/schematics/{id}")).await.text(), AGENT);
    assert_eq!(site.get(&format!("/schematics/{}", "0".repeat(64))).await.status, 404);
    let refused = site.ask("POST", "/schematics", "customisation: {}\n").await;
    assert_eq!((refused.status, refused.text().contains("line 1: field customisation not found in type schematic.Schematic")), (400, true));
    assert_eq!(site.ask("DELETE", "/schematics", "").await.status, 405);
    assert_eq!(site.get("/nothing").await.text(), "404 page not found\n");

    site.post(AGENT).await;
    let audit = std::fs::read_to_string(site.folder.path().join("audit")).unwrap();
    assert_eq!(audit.matches("created").count(), 1, "only the first time changes something: {audit}");
}

#[tokio::test]
async fn images_are_what_was_asked_for() {
    let site = Site::open(Vec::new()).await;
    let id = site.post("customization: {extraKernelArgs: [a=b], meta: [{key: 10, value: x}], systemExtensions: {officialExtensions: [siderolabs/i915-ucode]}}").await;
    let qcow2 = site.get(&format!("/image/{id}/v1.11.5/nocloud-amd64.qcow2")).await;
    assert_eq!(qcow2.status, 200);
    assert_eq!(virtual_size(&qcow2.body), Some(10 << 30));
    assert_eq!(qcow2.header("content-disposition"), "attachment; filename=\"nocloud-amd64.qcow2\"");
    let image = decode(&qcow2.body).unwrap();
    assert_eq!((image.version.as_str(), image.platform, image.medium), ("v1.11.5", Platform::Nocloud, Medium::Disk));
    assert_eq!((image.kernel_args, image.extensions), (vec!["a=b".to_owned()], vec!["siderolabs/i915".to_owned()]));
    assert_eq!(image.meta.get(&10).map(String::as_str), Some("x"));
    assert_eq!(image.schematic, id);

    let head = site.ask("HEAD", &format!("/image/{id}/1.11.5/nocloud-amd64.qcow2"), "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), qcow2.body.len().to_string());

    let iso = site.get(&format!("/image/{id}/v1.12.1/metal-arm64-secureboot.iso")).await;
    let iso = decode(&iso.body).unwrap();
    assert_eq!((iso.medium, iso.secure_boot, iso.arch.as_str()), (Medium::Iso, true, "arm64"));

    let zst = site.get(&format!("/image/{id}/v1.11.5/metal-amd64.raw.zst")).await;
    assert_eq!(decode(&unpack(&zst.body, Packing::Zst).unwrap()).unwrap().platform, Platform::Metal);
    assert_eq!(Packing::of(&site.get(&format!("/image/{id}/v1.11.5/metal-amd64.raw.xz")).await.body), Some(Packing::Xz));
    let cmdline = site.get(&format!("/image/{id}/v1.11.5/cmdline-nocloud-amd64")).await.text();
    assert!(cmdline.starts_with("talos.platform=nocloud") && cmdline.contains("net.ifnames=0") && cmdline.ends_with(" a=b"), "{cmdline}");
    let script = site.get(&format!("/pxe/{id}/v1.11.5/metal-amd64")).await.text();
    assert!(
        script.starts_with("#!ipxe") && script.contains(&format!("https://{}/image/{id}/v1.11.5/kernel-amd64", site.serving.address())),
        "{script}"
    );
}

#[tokio::test]
async fn what_cannot_be_built_says_why() {
    let site = Site::open(Vec::new()).await;
    let xe = site.post("customization: {systemExtensions: {officialExtensions: [siderolabs/xe]}}").await;
    let embedded = site.post("customization: {embeddedMachineConfiguration: \"machine: {}\"}").await;
    let unknown = "0".repeat(64);
    let cases = [
        (format!("/image/{unknown}/v1.11.5/metal-amd64.iso"), 404, format!("schematic ID \"{unknown}\" not found")),
        (
            format!("/image/{xe}/v1.11.5/metal-amd64.iso"),
            400,
            "error enhancing profile from schematic: official extension \"siderolabs/xe\" is not available for Talos version v1.11.5"
                .into(),
        ),
        (
            format!("/image/{embedded}/v1.11.5/metal-amd64.iso"),
            400,
            "error enhancing profile from schematic: embedding configuration is not supported for Talos version v1.11.5".into(),
        ),
        (format!("/image/{EMPTY}/v1.11.5/metal-riscv.iso"), 400, "error parsing profile from path: invalid architecture: \"riscv\"".into()),
        (format!("/image/{EMPTY}/v1.11.5/vapour-amd64.iso"), 400, "unknown platform \"vapour\"".into()),
        (
            format!("/image/{EMPTY}/v1.11.5/metal-amd64.exe"),
            400,
            "error parsing profile from path: invalid profile path: \"metal-amd64.exe\"".into(),
        ),
        (format!("/image/{EMPTY}/v1.99.0/metal-amd64.iso"), 404, "version 1.99.0 is not available".into()),
        (format!("/image/{EMPTY}/latest/metal-amd64.iso"), 500, "internal server error".into()),
        (
            format!("/image/{EMPTY}/v1.11.5/metal-amd64.iso.sha256"),
            402,
            "enterprise not enabled: checksum endpoint is not available".into(),
        ),
    ];
    for (path, status, text) in cases {
        let reply = site.get(&path).await;
        assert_eq!((reply.status, reply.text()), (status, format!("{text}\n")), "{path}");
    }
    assert_eq!(site.get(&format!("/image/{xe}/v1.12.1/metal-amd64.iso")).await.status, 200);
    assert_eq!(site.get(&format!("/image/{embedded}/v1.12.0/metal-amd64.iso")).await.status, 200);
}

#[tokio::test]
async fn lists_by_version() {
    let site = Site::open(Vec::new()).await;
    let versions = site.get("/versions").await.json();
    assert_eq!(versions[0], "v1.8.0");
    for version in ["v1.11.5", "v1.12.1", "v1.13.0"] {
        assert!(versions.as_array().unwrap().contains(&version.into()), "{version}");
    }
    let names = async |version: &str| -> Vec<String> {
        let list = site.get(&format!("/version/{version}/extensions/official")).await.json();
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let has = |list: &[String], name: &str| list.contains(&format!("siderolabs/{name}"));
    let (old, middle, new) = (names("v1.8.0").await, names("1.11.5").await, names("v1.13.0").await);
    assert!(has(&old, "i915-ucode") && has(&old, "amdgpu-firmware") && !has(&old, "amdgpu"));
    assert!(has(&middle, "i915") && has(&middle, "nvidia-container-toolkit-lts") && !has(&middle, "xe"));
    assert!(has(&new, "xe") && has(&new, "nvidia-gdrdrv-device") && has(&new, "intel-npu") && has(&new, "qemu-guest-agent"));
    let first = &site.get("/version/v1.11.5/extensions/official").await.json()[0];
    for field in ["name", "ref", "digest", "author", "description"] {
        assert!(first[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    assert_eq!(site.get("/version/v1.11.5/overlays/official").await.json()[0]["name"], "rpi_generic");
    assert!(site.get("/secureboot/signing-cert.pem").await.text().starts_with("-----BEGIN CERTIFICATE-----"));
}

#[tokio::test]
async fn an_installer_is_resolved_to_what_it_writes() {
    let site = Site::open(Vec::new()).await;
    let id = site.post("customization: {extraKernelArgs: [a=b], meta: [{key: 10, value: x}]}").await;
    let factory = &site.factory;
    let image = factory.installer(&format!("factory.talos.dev/nocloud-installer/{id}:v1.11.5")).unwrap();
    assert_eq!((image.platform, image.schematic.as_str(), image.meta.len()), (Platform::Nocloud, id.as_str(), 0));
    assert_eq!(image.kernel_args, ["a=b"]);
    let own = format!("{}/metal-installer-secureboot/{id}:v1.12.1", site.serving.address());
    assert_eq!(factory.installer(&own).map(|image| (image.platform, image.secure_boot)), Ok((Platform::Metal, true)));
    let official = factory.installer("ghcr.io/siderolabs/installer:v1.11.5").unwrap();
    assert_eq!((official.version.as_str(), official.schematic.as_str()), ("v1.11.5", ""));

    let running = Image { platform: Platform::Nocloud, arch: "arm64".into(), ..official.clone() };
    let old = factory.upgrade(&format!("factory.talos.dev/installer/{id}:v1.9.6"), &running).unwrap();
    assert_eq!((old.platform, old.arch.as_str(), old.kernel_args.len()), (Platform::Nocloud, "arm64", 0));
    let flipped = factory.upgrade("ghcr.io/siderolabs/installer:v1.10.0", &running).unwrap();
    assert_eq!(flipped.platform, Platform::Metal, "from 1.10 the installer decides");

    let refused = |reference: &str| factory.installer(reference).unwrap_err().to_string();
    let unknown = "0".repeat(64);
    assert!(refused(&format!("factory.talos.dev/metal-installer/{unknown}:v1.11.5")).contains("not found"));
    assert!(refused("ghcr.io/siderolabs/installer:v9.9.9").ends_with("ghcr.io/siderolabs/installer:v9.9.9: not found"));
    assert!(refused("registry.example/installer:v1.11.5").ends_with("lookup registry.example: no such host"));
    for strange in ["", "installer", "ghcr.io/siderolabs/installer", ":", "/", "factory.talos.dev/x:v1.11.5"] {
        assert!(factory.installer(strange).is_err(), "{strange}");
    }

    let manifest = site.get(&format!("/v2/nocloud-installer/{id}/manifests/v1.11.5")).await;
    assert_eq!(manifest.status, 200);
    let digest = manifest.header("docker-content-digest").to_owned();
    assert_eq!(digest, catalogue::digest(&manifest.body));
    assert_eq!(site.get(&format!("/v2/nocloud-installer/{id}/manifests/{digest}")).await.body, manifest.body);
    let config = manifest.json()["config"]["digest"].as_str().unwrap().to_owned();
    let config = site.get(&format!("/v2/nocloud-installer/{id}/blobs/{config}")).await.json();
    assert_eq!(config["config"]["Labels"]["dev.talos.platform"], "nocloud");
    assert_eq!(site.get(&format!("/v2/nocloud-installer/{unknown}/manifests/v1.11.5")).await.status, 404);
    assert_eq!(site.get("/v2/").await.status, 200);
}

#[tokio::test]
async fn schematics_outlive_the_factory() {
    let site = Site::open(Vec::new()).await;
    let id = site.post(AGENT).await;
    let Site { folder, factory, serving, .. } = site;
    let address = serving.address();
    drop(serving);
    drop(factory);
    // The store opens as soon as the last connection has let go of the old factory.
    let store = loop {
        match Store::open(&folder.path().join("store")) {
            Ok(store) => break store,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "a dropped server does not listen");
    let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
    let factory = Factory::new(Arc::new(store), audit, Arc::default()).unwrap();
    assert_eq!(factory.schematic(&id).map(|schematic| schematic.canonical()).as_deref(), Some(AGENT));
}

#[tokio::test]
async fn dials_break_what_they_are_told_to() {
    let site = Site::open(vec![(Fault::ReplyLost, 1000)]).await;
    assert!(site.try_ask("POST", "/schematics", AGENT).await.is_err());
    let id = schematic::parse(AGENT).unwrap().id();
    assert!(site.factory.schematic(&id).is_some(), "the work was done");
    site.factory.dials().set_faults(vec![(Fault::RequestLost, 1000)]);
    assert!(site.try_ask("POST", "/schematics", "customization: {bootloader: grub}").await.is_err());
    assert!(site.factory.schematic(&Schematic { bootloader: "grub".into(), ..Schematic::default() }.id()).is_none());
    site.factory.dials().set_faults(vec![(Fault::ServerError, 1000)]);
    assert_eq!(site.get("/versions").await.status, 500);
}

/// What a program of the system answers; loud where it is not there.
async fn run(program: &'static str, arguments: Vec<String>) -> Option<(bool, String)> {
    let output = tokio::task::spawn_blocking(move || std::process::Command::new(program).args(arguments).output()).await.unwrap();
    let Ok(output) = output else {
        use std::io::Write as _;
        writeln!(io::stderr(), "SKIPPED: no {program} here").unwrap();
        return None;
    };
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_and_skopeo_get_along_with_it() {
    let site = Site::open(Vec::new()).await;
    let (certificates, file) = (site.folder.path().join("ca"), site.folder.path().join("image"));
    std::fs::create_dir(&certificates).unwrap();
    let authority = certificates.join("ca.crt");
    std::fs::write(&authority, site.authority.pem()).unwrap();
    let (authority, path) = (authority.display().to_string(), file.display().to_string());
    let base = format!("https://{}", site.serving.address());
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();

    let post = words(&[
        "-sS",
        "--cacert",
        &authority,
        "--data-binary",
        AGENT,
        "-w",
        " %{http_code} %{http_version}",
        &format!("{base}/schematics"),
    ]);
    if let Some((good, text)) = run("curl", post).await {
        assert!(good && text.contains("ce4c980550dd2ab1") && text.ends_with(" 201 2"), "{text}");
    }
    let image = format!("{base}/image/{EMPTY}/v1.11.5/nocloud-amd64.qcow2");
    if let Some((good, text)) = run("curl", words(&["-sSf", "--http1.1", "--cacert", &authority, "-o", &path, &image])).await {
        assert!(good, "{text}");
        assert_eq!(decode(&std::fs::read(&file).unwrap()).unwrap().version, "v1.11.5");
    }
    if let Some((good, text)) = run("curl", words(&["-sSI", "--cacert", &authority, &image])).await {
        let length = std::fs::metadata(&file).unwrap().len();
        assert!(good && text.contains(&format!("content-length: {length}")), "{text}");
    }
    let reference = format!("docker://{}/nocloud-installer/{EMPTY}:v1.11.5", site.serving.address());
    let inspect = words(&["inspect", "--config", "--cert-dir", &certificates.display().to_string(), &reference]);
    if let Some((good, text)) = run("skopeo", inspect).await {
        assert!(good && text.contains("\"dev.talos.platform\": \"nocloud\""), "{text}");
    }
}
