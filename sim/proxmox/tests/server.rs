//! The server as a client sees it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod site;

use emhost_sim_kit::{Dials, Fault, Profile};
use emhost_sim_proxmox::Release;
use reqwest::Method;
use serde_json::json;
use site::{Api, PASSWORD, Site, TOKEN, receive, spec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn open() -> (tempfile::TempDir, Site, Api) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), spec(Release::V8), Dials::default()).await;
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    (folder, site, api)
}

#[tokio::test]
async fn an_answer_is_an_envelope_with_the_headers_of_pveproxy() {
    let (_folder, _site, api) = open().await;
    let reply = api.get("/version").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.data()["release"], "8.4");
    assert!(reply.body.get("message").is_none());
    let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("server"), "pve-api-daemon/3.0");
    assert_eq!(header("content-type"), "application/json;charset=UTF-8");
    assert_eq!(header("cache-control"), "max-age=0");
    assert_eq!(header("pragma"), "no-cache");
    assert_eq!(header("date"), header("expires"));
    assert_eq!(header("connection"), "Keep-Alive");
}

#[tokio::test]
async fn nobody_and_strangers_get_401_without_a_body() {
    let (_folder, site, api) = open().await;
    let nobody = site.client("pve1");
    for api in [nobody.clone(), nobody.with_token("adm@pve!ad", "wrong"), nobody.with_token("adm@pve!xx", TOKEN.1)] {
        let reply = api.get("/version").await;
        assert_eq!((reply.status, reply.text.as_str()), (401, ""));
        assert!(!reply.headers.contains_key("content-type"));
        assert_eq!(reply.headers["connection"], "close");
    }
    assert_eq!(nobody.get("/access/domains").await.status, 200);
    assert_eq!(api.get("/version").await.status, 200);
}

#[tokio::test]
async fn a_ticket_needs_its_token_against_forgery_and_can_be_renewed() {
    let (_folder, site, _) = open().await;
    let nobody = site.client("pve1");
    let wrong = nobody.call(Method::POST, "/access/ticket", &[("username", "root@pam"), ("password", "no")]).await;
    assert_eq!((wrong.status, wrong.message()), (401, "authentication failure\n"));
    let root = nobody.log_in("root@pam", PASSWORD).await;
    root.ok(Method::POST, "/pools", &[("poolid", "one")]).await;
    let site::Who::Ticket { ticket, .. } = &root.who else { panic!("a ticket") };
    let forged = Api { who: site::Who::Ticket { ticket: ticket.clone(), csrf: "0:x".to_owned() }, ..root.clone() };
    let reply = forged.call(Method::POST, "/pools", &[("poolid", "two")]).await;
    assert_eq!((reply.status, reply.text.as_str()), (401, ""));
    assert_eq!(forged.get("/pools").await.data(), &json!([{ "poolid": "one" }]));
    let renewed = nobody.call(Method::POST, "/access/ticket", &[("username", "root"), ("realm", "pam"), ("password", ticket)]).await;
    assert_eq!(renewed.data()["username"], "root@pam");
    assert_eq!(renewed.data()["cap"]["dc"]["Sys.Modify"], 1);
    assert_eq!(renewed.data()["clustername"], "lab");
}

/// Sends bytes as they are, and gives what comes back until the connection closes.
async fn raw(site: &Site, text: &str) -> String {
    emhost_sim_kit::tls::provider();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(emhost_sim_kit::certificates::first_certificate(site.pve.authority().as_bytes()).unwrap()).unwrap();
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(site.serving.address("pve1").unwrap()).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("pve1").unwrap();
    let mut stream = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes without a farewell is an end too.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn the_reason_phrase_carries_the_error() {
    let (_folder, site, _) = open().await;
    let head = format!("Host: x\r\nAuthorization: PVEAPIToken={}={}\r\n", TOKEN.0, TOKEN.1);
    let first = |answer: String| answer.lines().next().unwrap_or_default().to_owned();
    let cases = [
        (format!("GET /api2/json/foo HTTP/1.1\r\n{head}\r\n"), "HTTP/1.1 501 Method 'GET /foo' not implemented"),
        (format!("PATCH /api2/json/version HTTP/1.1\r\n{head}\r\n"), "HTTP/1.1 501 method 'PATCH' not available"),
        (
            format!("POST /api2/json/pools HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "HTTP/1.1 501 chunked transfer encoding not supported",
        ),
        (
            format!("DELETE /api2/json/pools/x HTTP/1.1\r\n{head}Content-Length: 1\r\n\r\nx"),
            "HTTP/1.1 501 Unexpected content for method 'DELETE'",
        ),
        (format!("POST /api2/json/pools HTTP/1.1\r\n{head}Content-Length: 524289\r\n\r\n"), "HTTP/1.1 501 for data too large"),
        (
            format!("POST /api2/json/pools HTTP/1.1\r\n{head}Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx"),
            "HTTP/1.1 506 upload 'Content-Type 'text/plain' not implemented",
        ),
        (format!("GET /api2/json/cluster/nextid?vmid=x HTTP/1.1\r\n{head}\r\n"), "HTTP/1.1 400 Parameter verification failed."),
        (format!("GET /api2/json/pools/none HTTP/1.1\r\n{head}\r\n"), "HTTP/1.1 500 pool 'none' does not exist"),
        (format!("GET /api2/xml/version HTTP/1.1\r\n{head}\r\n"), "HTTP/1.1 501 no formatter for uri /version, xml"),
        (format!("GET /api2/json/version HTTP/1.1\r\n{}\r\n", "Host: x\r\n"), "HTTP/1.1 401 No ticket"),
        (format!("GET /api2/json//version/ HTTP/1.1\r\n{head}Connection: close\r\n\r\n"), "HTTP/1.1 200 OK"),
        (
            format!("GET /api2/json/nodes/pve9/status HTTP/1.1\r\n{head}\r\n"),
            "HTTP/1.1 500 hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(first(raw(&site, &request).await), expected, "{request}");
    }
    let many = "X-Header: x\r\n".repeat(64);
    assert_eq!(raw(&site, &format!("GET /api2/json/version HTTP/1.1\r\n{head}{many}\r\n")).await, "");
}

#[tokio::test]
async fn a_connection_lasts_for_a_hundred_requests() {
    let (_folder, site, _) = open().await;
    let request = format!("GET /api2/json/version HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken={}={}\r\n\r\n", TOKEN.0, TOKEN.1);
    let answers = raw(&site, &request.repeat(120)).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 100);
    assert_eq!(answers.matches("connection: close").count(), 1);
}

#[tokio::test]
async fn who_may_not_upload_hears_it_before_the_body() {
    let (_folder, site, api) = open().await;
    api.ok(Method::POST, "/access/users", &[("userid", "u@pve")]).await;
    let token = api.ok(Method::POST, "/access/users/u@pve/token/ci", &[("privsep", "0")]).await;
    let head = format!(
        "POST /api2/json/nodes/pve1/storage/local/upload HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken=u@pve!ci={}\r\n\
         Content-Type: multipart/form-data; boundary=B\r\nContent-Length: 1000000000\r\n\r\n",
        token["value"].as_str().unwrap()
    );
    let answer = raw(&site, &head).await;
    assert!(answer.starts_with("HTTP/1.1 403 Permission check failed (/storage/local, Datastore.AllocateTemplate)\r\n"), "{answer}");
}

#[tokio::test]
async fn a_refused_upload_is_answered_however_much_is_being_sent() {
    let (_folder, site, api) = open().await;
    api.ok(Method::POST, "/access/users", &[("userid", "u@pve")]).await;
    let token = api.ok(Method::POST, "/access/users/u@pve/token/ci", &[("privsep", "0")]).await;
    let user = site.client("pve1").with_token("u@pve!ci", token["value"].as_str().unwrap());
    for _ in 0..3 {
        let request =
            user.request(Method::POST, "/nodes/pve1/storage/local/upload").header("Content-Type", "multipart/form-data; boundary=B");
        let response = request.body(vec![b'x'; 30_000_000]).send().await;
        assert_eq!(response.unwrap().status(), 403);
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), spec(Release::V8), Dials::default().at_speed(100)).await;
    let request = format!("GET /api2/json/version HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken={}={}\r\n\r\n", TOKEN.0, TOKEN.1);
    let started = std::time::Instant::now();
    let answer = tokio::time::timeout(std::time::Duration::from_secs(20), raw(&site, &request)).await;
    assert!(answer.expect("the server closes first").starts_with("HTTP/1.1 200 OK"));
    // Clients have their own clock, however fast the site is.
    assert!(started.elapsed() > std::time::Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_upload_arrives_whole_and_leaves_nothing_when_it_is_refused() {
    let (folder, site, api) = open().await;
    let part = |head: &str, body: &str| format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n");
    let bytes = "x".repeat(700_000);
    let send = async |body: String| {
        let request =
            api.request(Method::POST, "/nodes/pve1/storage/local/upload").header("Content-Type", "multipart/form-data; boundary=B");
        receive(request.body(format!("{body}--B--\r\n"))).await
    };
    let file = |name: &str| part(&format!("name=\"filename\"; filename=\"{name}\""), &bytes);
    let content = part("name=\"content\"", "iso");
    assert_eq!(send(format!("{content}{}", file("a b.iso"))).await.status, 200);
    let refused = send(format!("{content}{}", file("a.exe"))).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let wrong = send(format!("{content}{}", part("name=\"file\"; filename=\"a.iso\"", "x"))).await;
    assert_eq!((wrong.status, wrong.text.as_str()), (500, "wrong field name 'file' for file upload, expected 'filename'"));
    // Ends the task of the first upload one way or the other.
    site.close().await;
    let left = std::fs::read_dir(folder.path().join("store/files/pve/upload")).unwrap().count();
    assert!(left <= 1, "{left} files are left");
}

#[tokio::test]
async fn plain_http_is_sent_to_https() {
    let (_folder, site, _) = open().await;
    for (method, status) in [("GET", "301 Moved Permanently"), ("POST", "308 Permanent Redirect")] {
        let mut stream = tokio::net::TcpStream::connect(site.serving.address("pve1").unwrap()).await.unwrap();
        let request = format!("{method} /api2/json/version?a=b HTTP/1.1\r\nHost: pve1:8006\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        assert!(answer.to_lowercase().contains("location: https://pve1:8006/api2/json/version?a=b\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn extjs_always_says_200() {
    let (_folder, _site, api) = open().await;
    let extjs = Api { base: api.base.replace("/json", "/extjs"), ..api };
    let reply = extjs.get("/pools/none").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body, json!({ "data": null, "success": 0, "status": 500, "message": "pool 'none' does not exist\n" }));
    assert_eq!(extjs.get("/version").await.body["success"], 1);
}

#[tokio::test]
async fn parameters_come_as_forms_and_as_json_and_the_query_wins() {
    let (_folder, _site, api) = open().await;
    let post = |path: &str, kind: &str, body: &str| {
        receive(api.request(Method::POST, path).header("Content-Type", kind.to_owned()).body(body.to_owned()))
    };
    assert_eq!(post("/pools", "application/json", r#"{"poolid":"a","comment":"x"}"#).await.status, 200);
    assert_eq!(post("/pools?poolid=b&_dc=17", "application/x-www-form-urlencoded", "poolid=c;comment=a%3Bb+c").await.status, 200);
    assert_eq!(api.get("/pools").await.data(), &json!([{ "poolid": "a", "comment": "x" }, { "poolid": "b", "comment": "a;b c" }]));
    let twice =
        receive(api.request(Method::PUT, "/pools/a").body("poolid=b").header("Content-Type", "application/x-www-form-urlencoded")).await;
    assert_eq!(twice.body["errors"], json!({ "poolid": "duplicate parameter (already defined in URI) with conflicting values!" }));
    let nonsense = post("/pools", "application/x-www-form-urlencoded", "poolid=d&nonsense=1").await;
    assert_eq!(nonsense.status, 400);
    assert_eq!(nonsense.message(), "Parameter verification failed.\n");
    assert!(nonsense.body["errors"]["nonsense"].as_str().unwrap().contains("not defined in schema"));
}

#[tokio::test]
async fn everything_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), spec(Release::V9), Dials::default()).await;
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    api.ok(Method::POST, "/access/users", &[("userid", "a@pve"), ("password", "12345678")]).await;
    let token = api.ok(Method::POST, "/access/users/a@pve/token/ci", &[("privsep", "0")]).await;
    api.ok(Method::POST, "/access/roles", &[("roleid", "Looks"), ("privs", "Sys.Audit,Pool.Audit")]).await;
    api.ok(Method::PUT, "/access/acl", &[("path", "/"), ("roles", "Looks"), ("users", "a@pve")]).await;
    let fingerprint = site.pve.fingerprint("pve1");
    drop(api);
    site.close().await;
    let site = Site::open(folder.path(), spec(Release::V9), Dials::default()).await;
    assert_eq!(site.pve.fingerprint("pve1"), fingerprint);
    let api = site.client("pve1").with_token("a@pve!ci", token["value"].as_str().unwrap());
    assert_eq!(api.get("/access/permissions?path=/").await.data(), &json!({ "/": { "Sys.Audit": 1, "Pool.Audit": 1 } }));
    assert_eq!(api.get("/nodes").await.data()[0]["ssl_fingerprint"].as_str().map(str::to_owned), fingerprint);
    let denied = api.call(Method::POST, "/pools", &[("poolid", "x")]).await;
    assert_eq!((denied.status, denied.message()), (403, "Permission check failed (/pool/x, Pool.Allocate)\n"));
}

#[tokio::test]
async fn a_host_that_is_off_refuses_and_cannot_be_reached_through_others() {
    let (_folder, site, api) = open().await;
    assert_eq!(api.get("/nodes/pve2/status").await.status, 200);
    site.pve.switch_host("pve2", false).await;
    let address = site.serving.address("pve2").unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    let reply = api.get("/nodes/pve2/status").await;
    assert_eq!((reply.status, reply.text.as_str()), (595, ""));
    assert_eq!(api.get("/nodes").await.data()[1]["status"], "offline");
    site.pve.switch_host("pve2", true).await;
    let other = site.client("pve2").with_token(TOKEN.0, TOKEN.1);
    assert_eq!(other.get("/version").await.status, 200);
    assert_eq!(other.get("/cluster/status").await.data()[2]["local"], 1);
}

#[tokio::test]
async fn faults_of_the_dials_lose_requests_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), spec(Release::V8), Dials::new(Profile::Fast, 1, vec![(Fault::ReplyLost, 1000)])).await;
    let api = site.client("pve1").with_token(TOKEN.0, TOKEN.1);
    let create = |name: &'static str| {
        api.request(Method::POST, "/pools").body(format!("poolid={name}")).header("Content-Type", "application/x-www-form-urlencoded")
    };
    assert!(create("done").send().await.is_err());
    site.dials.set_faults(vec![(Fault::RequestLost, 1000)]);
    assert!(create("lost").send().await.is_err());
    site.dials.set_faults(vec![(Fault::ServerError, 1000)]);
    assert!(create("failed").send().await.unwrap().status().is_server_error());
    site.dials.set_faults(Vec::new());
    assert_eq!(api.get("/pools").await.data(), &json!([{ "poolid": "done" }]));
    let log = std::fs::read_to_string(folder.path().join("audit")).unwrap();
    let faults: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["fault"].clone()).collect();
    assert_eq!(faults, [json!("reply-lost"), json!("request-lost"), json!("server-error"), json!(null)]);
    assert!(log.lines().next().unwrap().contains("pool done created"));
}

#[tokio::test]
async fn long_answers_are_packed_when_asked() {
    let (_folder, _site, api) = open().await;
    let plain = api.get("/access/roles").await;
    assert!(!plain.headers.contains_key("content-encoding"));
    let packed = api.request(Method::GET, "/access/roles").header("Accept-Encoding", "gzip, deflate").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let bytes = packed.bytes().await.unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text).unwrap();
    assert_eq!(text, plain.text);
    let short = api.request(Method::GET, "/version").header("Accept-Encoding", "gzip").send().await.unwrap();
    assert!(!short.headers().contains_key("content-encoding"));
}
