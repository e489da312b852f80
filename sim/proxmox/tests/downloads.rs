//! What a host fetches itself: from names the site knows, with certificates it trusts, unpacked where Proxmox unpacks.
#![allow(clippy::unwrap_used, clippy::panic)]

mod site;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::Dials;
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};
use emhost_sim_kit::tls::{Clients, server};
use emhost_sim_proxmox::{Release, Spec};
use reqwest::Method;
use sha2::{Digest as _, Sha256};
use site::{Api, Site, TOKEN, spec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const NAME: &str = "factory.example";

/// A web server with files; gives its address and its authority.
async fn web(files: BTreeMap<&'static str, Vec<u8>>) -> (SocketAddr, Vec<u8>) {
    let day = Duration::from_hours(24);
    let authority = Authority::generate(Algorithm::P256, "web", "", day).unwrap();
    let subject =
        Subject { names: vec![NAME.to_owned()], addresses: vec!["127.0.0.1".parse().unwrap()], server: true, ..Subject::default() };
    let identity = authority.issue(Algorithm::P256, &subject, day).unwrap();
    let acceptor = TlsAcceptor::from(server(&identity, Clients::Anybody, &[]).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let files = Arc::new(files);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, files) = (acceptor.clone(), Arc::clone(&files));
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let mut words = head.split(' ');
                let (method, path) = (words.next().unwrap(), words.next().unwrap());
                let (status, body) = files.get(path).map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body.clone()));
                let length = body.len();
                let mut answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: application/x-iso; q=1\r\nConnection: close\r\n\r\n"
                )
                .into_bytes();
                if method == "GET" {
                    answer.extend(body);
                }
                stream.write_all(&answer).await.unwrap();
                stream.shutdown().await.ok();
            });
        }
    });
    (address, authority.certificate().to_vec())
}

fn knowing(address: SocketAddr, authority: Vec<u8>) -> Spec {
    Spec { resolve: BTreeMap::from([(NAME.to_owned(), address)]), trust: vec![authority], ..spec(Release::V8) }
}

async fn download(api: &Api, params: &[(&str, &str)]) -> String {
    let upid = api.ok(Method::POST, "/nodes/pve1/storage/local/download-url", params).await;
    let path = format!("/nodes/pve1/tasks/{}/status", upid.as_str().unwrap());
    loop {
        let status = api.get(&path).await;
        if let Some(end) = status.data()["exitstatus"].as_str() {
            return end.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn files_come_from_where_the_site_says_and_are_checked() {
    let iso = vec![3; 3000];
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&iso).unwrap();
    let packed = gz.finish().unwrap();
    let zst = ruzstd::encoding::compress_to_vec(&iso[..], ruzstd::encoding::CompressionLevel::Fastest);
    let sum = |bytes: &[u8]| format!("{:x}", Sha256::digest(bytes));
    let packed_sum = sum(&packed);
    let (address, authority) = web(BTreeMap::from([("/a.iso", iso.clone()), ("/a.iso.gz", packed), ("/a.iso.zst", zst)])).await;
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), knowing(address, authority), Dials::default()).await;
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    let base = format!("https://{NAME}");
    let url = |path: &str| format!("{base}{path}");
    let (plain, gz, zst) = (url("/a.iso"), url("/a.iso.gz"), url("/a.iso.zst"));

    let meta = api.ok(Method::GET, "/nodes/pve1/query-url-metadata", &[("url", &plain)]).await;
    assert_eq!(meta, serde_json::json!({ "filename": "a.iso", "size": 3000, "mimetype": "application/x-iso" }));
    assert_eq!(download(&api, &[("content", "iso"), ("filename", "a.iso"), ("url", &plain)]).await, "OK");
    let read = || std::fs::read(folder.path().join("store/files/pve/pve1/local/iso/a.iso")).unwrap();
    assert_eq!(read(), iso);
    let again = [("content", "iso"), ("filename", "a.iso"), ("url", plain.as_str())];
    assert_eq!(download(&api, &again).await, "refusing to override existing file '/var/lib/vz/template/iso/a.iso'");
    let (right, wrong) = (sum(&iso), "00".repeat(32));
    let checked = |sum: &str| {
        [&again[..], &[("checksum-algorithm", "sha256")]]
            .concat()
            .into_iter()
            .chain([("checksum", sum)])
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect::<Vec<_>>()
    };
    let ask = |params: Vec<(String, String)>| {
        let api = api.clone();
        async move { download(&api, &params.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Vec<_>>()).await }
    };
    assert_eq!(ask(checked(&right)).await, "OK", "it is there already");
    assert_eq!(ask(checked("aa")).await, format!("checksum mismatch: got '{right}' != expect 'aa', aborting"));

    let unpacked =
        [("content", "iso"), ("filename", "b.iso"), ("url", gz.as_str()), ("compression", "gz"), ("checksum-algorithm", "sha256")];
    let end = download(&api, &[&unpacked[..], &[("checksum", wrong.as_str())]].concat()).await;
    assert_eq!(end, format!("checksum mismatch: got '{packed_sum}' != expect '{wrong}'"), "the sum is that of the packed file");
    assert_eq!(download(&api, &[&unpacked[..], &[("checksum", packed_sum.as_str())]].concat()).await, "OK");
    assert_eq!(download(&api, &[("content", "iso"), ("filename", "c.img"), ("url", &zst), ("compression", "zst")]).await, "OK");
    let sizes = api.ok(Method::GET, "/nodes/pve1/storage/local/content", &[("content", "iso")]).await;
    let sizes: Vec<u64> = sizes.as_array().unwrap().iter().map(|item| item["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [3072, 3072, 3072]);

    let xz = [("content", "iso"), ("filename", "d.img"), ("url", plain.as_str()), ("compression", "xz")];
    assert_eq!(download(&api, &xz).await, "no decompression method found");
    let import = [("content", "import"), ("filename", "d.raw"), ("url", plain.as_str()), ("compression", "gz")];
    assert_eq!(download(&api, &import).await, "decompression not supported for import");
    let end = download(&api, &[("content", "import"), ("filename", "d.qcow2"), ("url", &plain)]).await;
    assert!(end.starts_with("failed to verify file: qemu-img: Could not open"), "{end}");
    let end = download(&api, &[("content", "iso"), ("filename", "e.iso"), ("url", &url("/none.iso"))]).await;
    assert!(end.starts_with("download failed: ") && end.ends_with("ERROR 404: Not Found."), "{end}");
    let end = download(&api, &[("content", "iso"), ("filename", "e.iso"), ("url", "https://example.com/e.iso")]).await;
    assert_eq!(end, "download failed: wget: unable to resolve host address 'example.com'");
    let refused = api.call(Method::GET, "/nodes/pve1/query-url-metadata", &[("url", "https://example.com/e.iso")]).await;
    assert_eq!(refused.message(), "invalid server response: '500 Can't connect to example.com:443 (Name or service not known)'\n");
}

#[tokio::test]
async fn a_certificate_nobody_trusts_is_refused_unless_it_is_not_looked_at() {
    let (address, _) = web(BTreeMap::from([("/a.iso", vec![1; 512])])).await;
    let folder = tempfile::tempdir().unwrap();
    let mut spec = knowing(address, Vec::new());
    spec.trust.clear();
    let site = Site::open(folder.path(), spec, Dials::default()).await;
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    let url = format!("https://{NAME}/a.iso");
    let params = [("content", "iso"), ("filename", "a.iso"), ("url", url.as_str())];
    assert_eq!(download(&api, &params).await, format!("download failed: To connect to {NAME} insecurely, use `--no-check-certificate'."));
    assert_eq!(download(&api, &[&params[..], &[("verify-certificates", "0")]].concat()).await, "OK");
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/a.iso");
    let end = download(&api, &[("content", "iso"), ("filename", "b.iso"), ("url", &url)]).await;
    assert_eq!(end, format!("download failed: Connecting to {gone}... failed: Connection refused."));
}
