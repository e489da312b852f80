//! Slots against real servers on loopback: who is trusted, who logs in how, and what each failure
//! says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use emhost::capabilities::journal::{Change, Journal, MemoryJournal, Outcome};
use emhost::capabilities::{MemorySecrets, Slots};
use emhost::inventory::site::SlotConfig;
use emhost::redact::Redactor;
use emhost_testkit::servers::{Authority, Body, Certificate, GrpcServer, HttpServer, Received, answer};
use emhost_testkit::{Builder, Kit};
use http::Response;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::probe::{Call, get, post, probe, told};

const TOKEN: &str = "root@pam!emhost=8a5f3c1e-1111-2222-3333-444455556666";
const LOGIN: &str = r#"{"username": "root@pam", "password": "correct horse & battery"}"#;

fn at(server: &HttpServer) -> SlotConfig {
    SlotConfig { url: Some(server.url()), ..SlotConfig::default() }
}

fn by_ca(server: &HttpServer) -> SlotConfig {
    SlotConfig { ca: Some("ca.pem".to_owned()), ..at(server) }
}

fn with_credential(server: &HttpServer) -> SlotConfig {
    SlotConfig { credential: Some("pve".to_owned()), ..by_ca(server) }
}

/// A server that greets, on a certificate of this authority.
async fn greeter(authority: &Authority) -> HttpServer {
    HttpServer::start(Some(&authority.sign("pve")), |_| answer(200, "hello")).await
}

fn trusting(authority: &Authority) -> Builder {
    probe().with_file("ca.pem", authority.pem.as_bytes())
}

/// What the person sees when the slot cannot be read.
async fn refusal(kit: &Kit, server: &HttpServer) -> String {
    let error = Call(kit).look(json!([get("/")])).await.expect_err("refused");
    assert_eq!(server.received().len(), 0, "nothing reached the server");
    told(&error, &[])
}

// ---- who is trusted -----------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_authority() {
    let authority = Authority::new("home");
    let server = greeter(&authority).await;
    let kit = trusting(&authority).slot("pve", by_ca(&server)).load();
    assert_eq!(Call(&kit).look(json!([get("/")])).await.expect("trusted")[0]["body"], "hello");

    let other = greeter(&authority).await;
    let kit = trusting(&Authority::new("elsewhere")).slot("pve", by_ca(&other)).load();
    assert_snapshot!(refusal(&kit, &other).await, @"
    error[http/certificate] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: the server's certificate is not trusted
    note[http/failed] slot `pve`: the server's certificate is not trusted: no trusted authority signed it
      help: check `ca:` or `fingerprint:` of slot `pve` in site.yaml
    ");

    let expired = HttpServer::start(Some(&authority.sign_expired("pve")), |_| answer(200, "")).await;
    let kit = trusting(&authority).slot("pve", by_ca(&expired)).load();
    assert_snapshot!(refusal(&kit, &expired).await, @"
    error[http/certificate] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: the server's certificate is not trusted
    note[http/failed] slot `pve`: the server's certificate is not trusted: it has expired
      help: check `ca:` or `fingerprint:` of slot `pve` in site.yaml
    ");

    let renamed = HttpServer::start(Some(&authority.sign_for("pve", &["pve.example"])), |_| answer(200, "")).await;
    let kit = trusting(&authority).slot("pve", by_ca(&renamed)).load();
    assert_snapshot!(refusal(&kit, &renamed).await, @"
    error[http/certificate] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: the server's certificate is not trusted
    note[http/failed] slot `pve`: the server's certificate is not trusted: it is for another name
      help: check `ca:` or `fingerprint:` of slot `pve` in site.yaml
    ");

    // Nobody named the authority, and this system does not know it.
    let unknown = greeter(&authority).await;
    let kit = probe().slot("pve", at(&unknown)).load();
    assert_snapshot!(refusal(&kit, &unknown).await, @"
    error[http/certificate] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: the server's certificate is not trusted
    note[http/failed] slot `pve`: the server's certificate is not trusted: no trusted authority signed it
      help: check `ca:` or `fingerprint:` of slot `pve` in site.yaml
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_fingerprint() {
    let shown = Certificate::self_signed("pve");
    let server = HttpServer::start(Some(&shown), |_| answer(200, "hello")).await;
    let pinned = |pin: &str| probe().slot("pve", SlotConfig { fingerprint: Some(pin.to_owned()), ..at(&server) }).load();
    let right = pinned(&shown.fingerprint);
    assert_eq!(Call(&right).look(json!([get("/")])).await.expect("trusted")[0]["body"], "hello");

    let other = HttpServer::start(Some(&Certificate::self_signed("pve")), |_| answer(200, "")).await;
    let wrong = probe().slot("pve", SlotConfig { fingerprint: Some(shown.fingerprint.clone()), ..at(&other) }).load();
    let text = refusal(&wrong, &other).await;
    let start = text.find("sha256:").expect("says what the server shows");
    let digits = &text[start + 7..start + 71];
    assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{digits}");
    // What it says is what to write.
    let again = probe().slot("pve", SlotConfig { fingerprint: Some(format!("sha256:{digits}")), ..at(&other) }).load();
    Call(&again).look(json!([get("/")])).await.expect("trusted");
    assert_snapshot!(text.replace(digits, "[digest]"), @"
    error[http/certificate] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: the server's certificate is not trusted
    note[http/failed] slot `pve`: the server's certificate is not trusted: the server shows sha256:[digest]
      help: check `ca:` or `fingerprint:` of slot `pve` in site.yaml
    ");
}

// ---- who cannot be reached ----------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_port() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let kit = probe().url("pve", &format!("https://{closed}")).load();
    let error = Call(&kit).look(json!([get("/")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: connection refused
      help: check that the server runs, and the address of slot `pve` in site.yaml
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there() {
    let kit = probe().url("pve", "https://pve.invalid").load();
    let error = Call(&kit).look(json!([get("/")])).await.expect_err("no such name");
    let text = told(&error, &[]);
    let reason = text.split_once("cannot be resolved: ").and_then(|(_, rest)| rest.lines().next()).expect("a reason").to_owned();
    assert_snapshot!(text.replace(&reason, "[reason of this system]"), @"
    error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: its host name leads nowhere
    note[http/failed] slot `pve`: `pve.invalid` cannot be resolved: [reason of this system]
      help: check the host name of slot `pve` in site.yaml
    ");

    // TLS to a server that speaks none.
    let plain = HttpServer::start(None, |_| answer(200, "")).await;
    let kit = probe().url("pve", &format!("https://{}", plain.address)).load();
    let error = Call(&kit).look(json!([get("/")])).await.expect_err("no TLS");
    assert_snapshot!(told(&error, &[]), @"
    error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: TLS failed
    note[http/failed] slot `pve`: TLS failed: what answers there does not speak TLS
      help: check `url:` of slot `pve` in site.yaml
    ");

    let kit = probe().load();
    let error = Call(&kit).look(json!([get("/")])).await.expect_err("no slot");
    assert_snapshot!(told(&error, &[]), @r#"
    error[http/refused] plugin `probe`, provisioner.observe of `cp-1`: the host refused the request to slot `pve`
    note[host/refused] slot `pve` is not bound at this site
      help: add to site.yaml:
        slots:
          pve: {url: "https://…"}
    "#);
}

/// The same five times: what is told and what is journaled.
async fn replies_that_never_come() -> std::collections::BTreeSet<String> {
    let server = HttpServer::start_async(None, Arc::new(|_| Box::pin(std::future::pending()))).await;
    let mut stories = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let kit = probe().slot("pve", at(&server)).limits(|limits| limits.wall = Duration::from_millis(300)).load();
        let error = Call(&kit).apply(json!([post("/vm", "x")])).await.expect_err("no answer");
        let (change, outcome) = kit.journal.entries().remove(0);
        assert!(!matches!(outcome, Some(Outcome::Answered(_))), "{outcome:?}");
        stories.insert(format!("{}{}: {outcome:?}", told(&error, &[]), change.request));
    }
    assert_eq!(server.received().len(), 5, "each was sent once");
    stories
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_comes() {
    for story in replies_that_never_come().await {
        assert!(
            story.starts_with("error[plugin/too-long] plugin `probe`, provisioner.apply of `cp-1`: did not finish within 300ms"),
            "{story}"
        );
        assert!(story.contains("POST https://pve.emhost.internal/vm: "), "{story}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_comes_is_told_one_way() {
    let stories: Vec<String> = replies_that_never_come().await.into_iter().collect();
    assert_snapshot!(stories.join("\n\n"), @"
    error[plugin/too-long] plugin `probe`, provisioner.apply of `cp-1`: did not finish within 300ms; it was waiting for slot `pve` to answer POST /vm
      help: see whether the other side works, then try again
    POST https://pve.emhost.internal/vm: None
    ");
}

// ---- tokens -------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_token_arrives_as_it_is() {
    let authority = Authority::new("home");
    for (secret, header) in [(TOKEN, format!("PVEAPIToken={TOKEN}")), ("abc.def.ghi\n", "Bearer abc.def.ghi".to_owned())] {
        let server = HttpServer::start(Some(&authority.sign("pve")), |request| {
            // The server gives away what it was shown.
            answer(200, request.header("authorization").unwrap_or_default().to_owned())
        })
        .await;
        let kit = trusting(&authority).secret("pve", secret.as_bytes()).slot("pve", with_credential(&server)).load();
        let saw = Call(&kit).look(json!([get("/version")])).await.expect("an answer");
        assert_eq!(server.received()[0].header("authorization"), Some(header.as_str()));
        assert!(!saw.to_string().contains(secret.trim()), "{saw}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_cannot_be_used() {
    let authority = Authority::new("home");
    let server = greeter(&authority).await;
    let kit = trusting(&authority).slot("pve", with_credential(&server)).load();
    assert_snapshot!(refusal(&kit, &server).await, @"error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve` needs secret `pve`, and there is none: set EMHOST_SECRET_PVE");

    let mut stories = Vec::new();
    for malformed in [r#"{"username": "root@pam"}"#, "two\nlines"] {
        let kit = trusting(&authority).secret("pve", malformed.as_bytes()).slot("pve", with_credential(&server)).load();
        stories.push(refusal(&kit, &server).await);
    }
    assert_eq!(stories[0], stories[1]);
    assert_snapshot!(stories[0], @r#"error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: the credential `pve` of slot `pve` cannot be used: write it as `USER@REALM!ID=SECRET` for a token, or as `{"username": …, "password": …}` for a ticket"#);

    let configs = BTreeMap::from([(
        "pve".to_owned(),
        SlotConfig { url: Some("http://127.0.0.1:1".to_owned()), credential: Some("pve".to_owned()), ..SlotConfig::default() },
    )]);
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let bound = Slots::bind(&configs, Arc::new(MemorySecrets::default()), Redactor::new(), &none);
    assert_snapshot!(bound.err().expect("refused"), @"slots.pve: a credential is never sent over http://; use https:// or leave `credential:` out");
}

// ---- tickets ------------------------------------------------------------------------------

/// A server that gives tickets as Proxmox does.
#[derive(Default)]
struct Tickets {
    logins: AtomicUsize,
    /// Answers 401 to this many requests that show a ticket.
    withdrawn: AtomicUsize,
    /// Answers 401 to logins that show a ticket as password.
    refuses_renewal: AtomicBool,
    /// The passwords shown, in order.
    passwords: Mutex<Vec<String>>,
}

fn field<'a>(form: &'a str, name: &str) -> &'a str {
    form.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

impl Tickets {
    fn answer(&self, request: &Received) -> Response<Body> {
        if request.path == "/api2/json/access/ticket" {
            let form = String::from_utf8_lossy(&request.body).into_owned();
            let password = field(&form, "password").to_owned();
            self.passwords.lock().expect("no panic").push(password.clone());
            let by_ticket = password.starts_with("PVE%3A");
            let known = password == "correct%20horse%20%26%20battery" || (by_ticket && !self.refuses_renewal.load(Ordering::SeqCst));
            if !known || field(&form, "username") != "root%40pam" {
                return answer(401, "authentication failure");
            }
            let number = self.logins.fetch_add(1, Ordering::SeqCst) + 1;
            let data = json!({"ticket": format!("PVE:root@pam:TICKET{number}::/+="), "CSRFPreventionToken": format!("CSRF:{number}"), "username": "root@pam"});
            return answer(200, json!({"data": data}).to_string());
        }
        let withdrawn = self.withdrawn.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if withdrawn { answer(401, "no ticket") } else { answer(200, "hello") }
    }
}

async fn ticket_server(authority: &Authority) -> (Arc<Tickets>, HttpServer) {
    let tickets = Arc::new(Tickets::default());
    let answering = Arc::clone(&tickets);
    let server = HttpServer::start(Some(&authority.sign("pve")), move |request| answering.answer(&request)).await;
    (tickets, server)
}

fn logging_in(authority: &Authority, server: &HttpServer) -> Builder {
    trusting(authority).secret("pve", LOGIN.as_bytes()).slot("pve", with_credential(server))
}

fn work(server: &HttpServer) -> Vec<Received> {
    server.received().into_iter().filter(|request| !request.path.ends_with("/ticket")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_log_in_once() {
    let authority = Authority::new("home");
    let (tickets, server) = ticket_server(&authority).await;
    let kit = logging_in(&authority, &server).load();
    let calls = (0..20).map(|_| Call(&kit).look(json!([get("/api2/json/version")])));
    for saw in futures::future::join_all(calls).await {
        assert_eq!(saw.expect("an answer")[0]["status"], 200);
    }
    Call(&kit).apply(json!([post("/api2/json/nodes", "x")])).await.expect("an answer");
    assert_eq!(tickets.logins.load(Ordering::SeqCst), 1);
    let received = work(&server);
    assert_eq!(received.len(), 21);
    for request in &received {
        assert_eq!(request.header("cookie"), Some("PVEAuthCookie=PVE%3Aroot%40pam%3ATICKET1%3A%3A%2F%2B%3D"));
        assert_eq!(request.header("csrfpreventiontoken"), (request.method == "POST").then_some("CSRF:1"));
        assert_eq!(request.header("authorization"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_renewed_with_itself() {
    let authority = Authority::new("home");
    let (tickets, server) = ticket_server(&authority).await;
    let kit = logging_in(&authority, &server).renewing_after(Duration::ZERO).load();
    for _ in 0..2 {
        Call(&kit).look(json!([get("/")])).await.expect("an answer");
    }
    tickets.refuses_renewal.store(true, Ordering::SeqCst);
    Call(&kit).look(json!([get("/")])).await.expect("the password still works");
    assert_snapshot!(tickets.passwords.lock().expect("no panic").join("\n"), @"
    correct%20horse%20%26%20battery
    PVE%3Aroot%40pam%3ATICKET1%3A%3A%2F%2B%3D
    PVE%3Aroot%40pam%3ATICKET2%3A%3A%2F%2B%3D
    correct%20horse%20%26%20battery
    ");
    let used = work(&server);
    for (request, ticket) in used.iter().zip(["TICKET1", "TICKET2", "TICKET3"]) {
        assert!(request.header("cookie").is_some_and(|cookie| cookie.contains(ticket)), "{request:?}");
    }
    assert_eq!(used.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_ticket_and_a_request_without_body() {
    let authority = Authority::new("home");
    let (tickets, server) = ticket_server(&authority).await;
    let kit = logging_in(&authority, &server).load();
    tickets.withdrawn.store(1, Ordering::SeqCst);
    assert_eq!(Call(&kit).look(json!([get("/")])).await.expect("an answer")[0]["status"], 200);
    assert_eq!((tickets.logins.load(Ordering::SeqCst), work(&server).len()), (2, 2));
    tickets.withdrawn.store(5, Ordering::SeqCst);
    assert_eq!(Call(&kit).look(json!([get("/")])).await.expect("an answer")[0]["status"], 401);
    assert_eq!(work(&server).len(), 4, "not again and again");
}

/// It is not sent again; the next call has a new ticket.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_ticket_and_a_request_with_a_body() {
    let authority = Authority::new("home");
    let (tickets, server) = ticket_server(&authority).await;
    let kit = logging_in(&authority, &server).load();
    tickets.withdrawn.store(1, Ordering::SeqCst);
    assert_eq!(Call(&kit).apply(json!([post("/vm", "x")])).await.expect("an answer")[0]["status"], 401);
    assert_eq!((tickets.logins.load(Ordering::SeqCst), work(&server).len()), (1, 1));
    assert_eq!(Call(&kit).apply(json!([post("/vm", "x")])).await.expect("an answer")[0]["status"], 200);
    assert_eq!((tickets.logins.load(Ordering::SeqCst), work(&server).len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_fails() {
    let authority = Authority::new("home");
    let (_, server) = ticket_server(&authority).await;
    let wrong = trusting(&authority)
        .secret("pve", br#"{"username": "root@pam", "password": "incorrect"}"#)
        .slot("pve", with_credential(&server))
        .load();
    let error = Call(&wrong).look(json!([get("/")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve`: cannot log in: the name or password was refused (401)");

    let mut stories = Vec::new();
    for (status, body) in [
        (200, json!({"data": {"ticket": "PVE:!tfa!:x", "CSRFPreventionToken": "c", "NeedTFA": 1}}).to_string()),
        (200, json!({"data": null}).to_string()),
        (200, "<html>".to_owned()),
        (595, String::new()),
    ] {
        let server = HttpServer::start(Some(&authority.sign("pve")), move |_| answer(status, body.clone())).await;
        let kit = logging_in(&authority, &server).load();
        let error = Call(&kit).look(json!([get("/")])).await.expect_err("no ticket");
        let text = told(&error, &[]);
        assert!(work(&server).is_empty(), "the request is not sent without a ticket");
        stories.push(text.rsplit("cannot log in: ").next().unwrap_or_default().trim().to_owned());
    }
    assert_snapshot!(stories.join("\n"), @"
    the account asks for a second factor; use an API token instead
    the login's answer has no ticket
    the login's answer has no ticket
    the login was answered with status 595
    ");
}

// ---- requests and answers -----------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_sees_of_an_answer() {
    let authority = Authority::new("home");
    let server = HttpServer::start(Some(&authority.sign("pve")), |_| {
        let mut response = answer(403, "no");
        response.headers_mut().insert("set-cookie", http::HeaderValue::from_static("a=b"));
        response.headers_mut().insert("www-authenticate", http::HeaderValue::from_static("Basic"));
        response.headers_mut().insert("x-mine", http::HeaderValue::from_static("yes"));
        response.extensions_mut().insert(hyper::ext::ReasonPhrase::from_static(b"Permission check failed (/vms/100, VM.Allocate)"));
        response
    })
    .await;
    let kit = trusting(&authority).slot("pve", by_ca(&server)).load();
    assert_snapshot!(Call(&kit).look(json!([get("/a?b=c%20d")])).await.expect("an answer"), @r#"[{"body":"no","headers":["content-length: 2","x-mine: yes","x-emhost-reason: Permission check failed (/vms/100, VM.Allocate)"],"reason":"Permission check failed (/vms/100, VM.Allocate)","status":403}]"#);
    assert_eq!(server.received()[0].path, "/a?b=c%20d");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_an_answer() {
    let elsewhere = HttpServer::start(None, |_| answer(200, "")).await;
    let url = elsewhere.url();
    let server = HttpServer::start(None, move |_| {
        let mut response = answer(302, "");
        response.headers_mut().insert("location", http::HeaderValue::try_from(url.clone()).expect("a URL"));
        response
    })
    .await;
    let kit = probe().slot("pve", at(&server)).load();
    assert_eq!(Call(&kit).look(json!([get("/")])).await.expect("an answer")[0]["status"], 302);
    assert_eq!(elsewhere.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_has_a_length_and_no_chunks() {
    let authority = Authority::new("home");
    let server = greeter(&authority).await;
    let kit = trusting(&authority).secret("pve", TOKEN.as_bytes()).slot("pve", with_credential(&server)).load();
    Call(&kit).apply(json!([{"do": "http", "method": "POST", "path": "/upload", "zeros": 5 << 20}])).await.expect("an answer");
    let upload = server.received().remove(0);
    assert_eq!(upload.body.len(), 5 << 20);
    assert_eq!((upload.header("content-length"), upload.header("transfer-encoding")), (Some("5242880"), None));
}

/// Proxmox takes no chunks.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_body_has_no_chunks() {
    let server = HttpServer::start(None, |_| answer(200, "")).await;
    let kit = probe().slot("pve", at(&server)).load();
    for method in ["GET", "DELETE", "POST", "PUT"] {
        Call(&kit).apply(json!([{"do": "http", "method": method, "path": "/vm"}])).await.expect("an answer");
    }
    let chunked: Vec<String> = server
        .received()
        .into_iter()
        .filter(|request| request.header("transfer-encoding").is_some())
        .map(|request| request.method)
        .collect();
    assert_eq!(chunked, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_answer_is_refused_where_there_is_a_credential() {
    let authority = Authority::new("home");
    let server = HttpServer::start(Some(&authority.sign("pve")), |_| {
        let mut response = answer(200, "pretend this is gzip");
        response.headers_mut().insert("content-encoding", http::HeaderValue::from_static("gzip"));
        response
    })
    .await;
    let open = trusting(&authority).slot("pve", by_ca(&server)).load();
    assert_eq!(Call(&open).look(json!([get("/")])).await.expect("an answer")[0]["body"], "pretend this is gzip");
    let kit = trusting(&authority).secret("pve", TOKEN.as_bytes()).slot("pve", with_credential(&server)).load();
    let asking = json!([{"do": "http", "method": "GET", "path": "/", "headers": [["accept-encoding", "gzip"]]}]);
    let error = Call(&kit).look(asking).await.expect_err("refused");
    assert_eq!(server.received()[1].header("accept-encoding"), Some("identity"));
    assert_snapshot!(told(&error, &[]), @"error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve` answered compressed although asked not to");
}

// ---- the journal --------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_journaled_before_it_arrives() {
    let journal = Arc::new(MemoryJournal::default());
    let read = Arc::clone(&journal);
    let server = HttpServer::start(None, move |_| answer(200, serde_json::to_string(&read.entries()).expect("JSON"))).await;
    let kit = probe().slot("pve", at(&server)).journal(Arc::clone(&journal) as Arc<dyn Journal>).load();
    let saw = Call(&kit).apply(json!([post("/vm?name=a", "x")])).await.expect("an answer");
    assert_snapshot!(saw[0]["body"].as_str().expect("text"), @r#"[[{"plugin":"probe","verb":"provisioner.apply","unit":"cp-1","operation":"c0ffee/provisioner/cp-1","request":"POST https://pve.emhost.internal/vm?name=a"},null]]"#);
    assert_eq!(journal.entries()[0].1, Some(Outcome::Answered(200)));
    // Looking leaves no trace, and cannot change anything.
    Call(&kit).look(json!([get("/vm")])).await.expect("an answer");
    assert_eq!(journal.entries().len(), 1);
    let error = Call(&kit).look(json!([post("/vm", "x")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, provisioner.observe of `cp-1`: provisioner.observe may only look, and tried to change something through `http:pve`
      help: this is a fault of plugin `probe`: report it to its author
    ");
    let error = Call(&kit).apply(json!([post("/vm", "x"), post("/vm", "y")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, provisioner.apply of `cp-1`: one change per step: provisioner.apply already made one, and `POST https://pve.emhost.internal/vm` is another
      help: this is a fault of plugin `probe`: report it to its author
    ");
    assert_eq!((journal.entries().len(), server.received().len()), (2, 3));
}

/// A journal on a disk that is full.
struct Full;

impl Journal for Full {
    fn before(&self, _: &Change) -> std::io::Result<u64> {
        Err(std::io::Error::other("no space left on device"))
    }

    fn after(&self, _: u64, _: &Outcome) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_journaled_is_not_sent() {
    let server = HttpServer::start(None, |_| answer(200, "")).await;
    let kit = probe().slot("pve", at(&server)).journal(Arc::new(Full)).load();
    let error = Call(&kit).apply(json!([post("/vm", "x")])).await.expect_err("refused");
    assert_eq!(server.received().len(), 0);
    assert_snapshot!(told(&error, &[]), @"
    error[http/refused] plugin `probe`, provisioner.apply of `cp-1`: the host refused the request to slot `pve`
    note[host/refused] the change was not made because it could not be journaled: no space left on device
      help: make room for the journal, then run the command again
    ");
    Call(&kit).apply(json!([get("/vm")])).await.expect("reading needs no journal");
}

// ---- gRPC ---------------------------------------------------------------------------------

/// A message as the probe sends it: `google.protobuf.StringValue`.
fn wrapped(text: &str) -> Bytes {
    let length = u8::try_from(text.len()).expect("a short text");
    Bytes::from([&[0x0a, length], text.as_bytes()].concat())
}

fn unwrapped(message: &[u8]) -> String {
    String::from_utf8_lossy(message.get(2..).unwrap_or_default()).into_owned()
}

type Seen = Arc<Mutex<Vec<String>>>;

/// Echoes, and tells what it was asked.
async fn echo(certificate: &Certificate, clients: Option<&Authority>) -> (GrpcServer, Seen) {
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let server = GrpcServer::start(
        certificate,
        clients,
        Arc::new(move |method, metadata, message| {
            let nodes: Vec<&str> = metadata.get_all("nodes").iter().filter_map(|value| value.to_str().ok()).collect();
            told.lock().expect("no panic").push(format!("{method} {nodes:?} {}", unwrapped(&message)));
            match method.rsplit('/').next() {
                Some("ReadStream") => Ok(["one", "two", "three"].map(wrapped).to_vec()),
                Some("ReadMissing") => Err(tonic::Status::not_found("no such thing")),
                _ => Ok(vec![message]),
            }
        }),
    )
    .await;
    (server, seen)
}

fn on_nodes(server: &GrpcServer, maintenance: bool) -> SlotConfig {
    SlotConfig { port: Some(server.address.port()), maintenance, ..SlotConfig::default() }
}

fn signing(authority: &Authority) -> Builder {
    probe().secret("ca", format!("{}{}", authority.pem, authority.key).as_bytes())
}

fn open(node: &str) -> Value {
    json!({"do": "open", "slot": "talos", "node": node})
}

fn read(method: &str) -> Value {
    json!({"do": "call", "method": format!("/emhost.test.Echo/{method}"), "message": "hello"})
}

/// Opens the slot with an identity signed by the authority at hand.
fn enrolled(more: &[Value]) -> Value {
    let mut run = vec![
        json!({"do": "get", "name": "ca"}),
        json!({"do": "issue", "organization": "os:reader"}),
        json!({"do": "open", "slot": "talos", "node": "cp-1", "identity": true}),
    ];
    run.extend_from_slice(more);
    json!(run)
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_with_certificates_on_both_sides() {
    let authority = Authority::new("talos");
    let (server, seen) = echo(&authority.sign("cp-1"), Some(&authority)).await;
    let kit = signing(&authority).slot("talos", on_nodes(&server, false)).load();
    let call =
        json!({"do": "call", "method": "/emhost.test.Echo/Read", "message": "hello", "headers": [["nodes", "cp-1"], ["nodes", "cp-2"]]});
    let stream = json!({"do": "stream", "method": "/emhost.test.Echo/ReadStream", "message": "all"});
    let saw = Call(&kit).look_node(enrolled(&[call, stream])).await.expect("answers");
    assert_snapshot!(saw, @r#"["found","client.ca","open","hello",["one","two","three"]]"#);
    assert_snapshot!(seen.lock().expect("no panic").join("\n"), @r#"
    /emhost.test.Echo/Read ["cp-1", "cp-2"] hello
    /emhost.test.Echo/ReadStream ["cp-1", "cp-2"] all
    "#);

    let error = Call(&kit).look_node(enrolled(&[read("ReadMissing")])).await.expect_err("not found");
    assert_snapshot!(told(&error, &[]), @"error[grpc/conflict] plugin `probe`, distro.observe of `cp-1`: talos on cp-1: /emhost.test.Echo/ReadMissing: no such thing");
    assert_eq!(kit.journal.entries(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_of_other_authorities() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    // The server is another's.
    let (server, seen) = echo(&theirs.sign("cp-1"), Some(&ours)).await;
    let kit = signing(&ours).slot("talos", on_nodes(&server, false)).load();
    let error = Call(&kit).look_node(enrolled(&[read("Read")])).await.expect_err("another server");
    assert_snapshot!(told(&error, &[]), @"
    error[grpc/unavailable] plugin `probe`, distro.observe of `cp-1`: talos on cp-1: open: slot `talos`: the server's certificate is not trusted: no trusted authority signed it
    note[grpc/failed] slot `talos`: the server's certificate is not trusted: no trusted authority signed it
      help: check `ca:` or `fingerprint:` of slot `talos` in site.yaml
    ");

    // The server is ours, and takes only the clients of another.
    let (server, unseen) = echo(&ours.sign("cp-1"), Some(&theirs)).await;
    let kit = signing(&ours).slot("talos", on_nodes(&server, false)).load();
    Call(&kit).look_node(enrolled(&[read("Read")])).await.expect_err("another client");
    assert_eq!((seen.lock().expect("no panic").len(), unseen.lock().expect("no panic").len()), (0, 0));

    let kit = probe().secret("ca", b"no authority at all").slot("talos", on_nodes(&server, false)).load();
    let error = Call(&kit).look_node(enrolled(&[])).await.expect_err("no authority");
    assert_snapshot!(told(&error, &[]), @"error[keys/issue] plugin `probe`, distro.observe of `cp-1`: cannot issue a client certificate from `ca`: there is no certificate in the PEM text: add its CERTIFICATE block (decode it first where it is kept in base64)");
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_without_an_identity() {
    let (server, seen) = echo(&Certificate::self_signed("talos"), None).await;
    let kit = probe().slot("talos", on_nodes(&server, true)).load();
    assert_eq!(Call(&kit).look_node(json!([open("cp-1"), read("Read")])).await.expect("an answer")[1], "hello");

    let kit = probe().slot("talos", on_nodes(&server, false)).load();
    let error = Call(&kit).look_node(json!([open("cp-1"), read("Read")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[grpc/denied] plugin `probe`, distro.observe of `cp-1`: talos on cp-1: open: slot `talos` is not open to a client without an identity
    note[host/refused] slot `talos` is not open to a client without an identity
      help: if its machines answer before they have joined (maintenance mode), add to slot `talos` in site.yaml:
          maintenance: true
    ");
    assert_eq!(seen.lock().expect("no panic").len(), 1);

    // A machine that has joined asks for a certificate.
    let authority = Authority::new("talos");
    let (server, seen) = echo(&authority.sign("cp-1"), Some(&authority)).await;
    let kit = probe().slot("talos", on_nodes(&server, true)).load();
    Call(&kit).look_node(json!([open("cp-1"), read("Read")])).await.expect_err("refused");
    assert_eq!(seen.lock().expect("no panic").len(), 0);
}

/// With TLS 1.3 the server says no only after the handshake.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_the_client_says_so() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (server, _) = echo(&ours.sign("cp-1"), Some(&theirs)).await;
    let kit = signing(&ours).slot("talos", on_nodes(&server, true)).load();
    for run in [enrolled(&[read("Read")]), json!([open("cp-1"), read("Read")])] {
        let error = Call(&kit).look_node(run).await.expect_err("refused");
        let text = told(&error, &[]);
        assert!(text.contains("client") && text.contains("certificate"), "{text}");
        assert!(!text.contains("error[grpc/failed]"), "a bug of nobody: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_that_leads_nowhere() {
    let (server, _) = echo(&Certificate::self_signed("talos"), None).await;
    let kit = probe()
        .slot("talos", on_nodes(&server, true))
        .slot("web", SlotConfig { url: Some("https://127.0.0.1:1".to_owned()), maintenance: true, ..SlotConfig::default() })
        .load();
    let error = Call(&kit).look_node(json!([open("cp-9")])).await.expect_err("no such node");
    assert_snapshot!(told(&error, &[]), @"error[grpc/conflict] plugin `probe`, distro.observe of `cp-1`: talos on cp-9: open: the inventory has no node `cp-9`");
    let error = Call(&kit).look_node(json!([{"do": "open", "slot": "talos"}])).await.expect_err("which node");
    assert_snapshot!(told(&error, &[]), @"error[grpc/invalid] plugin `probe`, distro.observe of `cp-1`: talos: open: slot `talos` leads to nodes: name one");
    let error = Call(&kit).look_node(json!([{"do": "open", "slot": "web", "node": "cp-1"}])).await.expect_err("one server");
    assert_snapshot!(told(&error, &[]), @"error[grpc/invalid] plugin `probe`, distro.observe of `cp-1`: web on cp-1: open: slot `web` leads to one server, not to nodes");
    let error = Call(&kit).look_node(json!([{"do": "open", "slot": "web"}])).await.expect_err("closed");
    assert_snapshot!(told(&error, &[]), @"
    error[grpc/unavailable] plugin `probe`, distro.observe of `cp-1`: web: open: slot `web`: connection refused
    note[grpc/failed] slot `web`: connection refused
      help: check that the server runs, and the address of slot `web` in site.yaml
    ");
    let kit = probe().load();
    let error = Call(&kit).look_node(json!([open("cp-1")])).await.expect_err("not bound");
    assert_snapshot!(told(&error, &[]), @"
    error[grpc/denied] plugin `probe`, distro.observe of `cp-1`: talos on cp-1: open: slot `talos` is not bound at this site
    note[host/refused] slot `talos` is not bound at this site
      help: add to site.yaml:
        slots:
          talos: {port: 50000}
    ");
    // HTTP and gRPC slots are not the same.
    let kit = probe().slot("pve", on_nodes(&server, true)).load();
    let error = Call(&kit).look(json!([get("/")])).await.expect_err("no URL");
    assert_snapshot!(told(&error, &[]), @"error[http/failed] plugin `probe`, provisioner.observe of `cp-1`: slot `pve` leads to nodes and speaks gRPC only; bind it to a `url:` for HTTP");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_grpc_reply_that_never_comes() {
    let slow = GrpcServer::start(
        &Certificate::self_signed("talos"),
        None,
        Arc::new(|_, _, message| {
            std::thread::sleep(Duration::from_secs(4));
            Ok(vec![message])
        }),
    )
    .await;
    let kit = probe().slot("talos", on_nodes(&slow, true)).limits(|limits| limits.wall = Duration::from_secs(2)).load();
    let error = Call(&kit).apply_node(json!([open("cp-1"), read("Write")])).await.expect_err("no answer");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/too-long] plugin `probe`, distro.apply of `cp-1`: did not finish within 2s; it was waiting for slot `talos` to answer /emhost.test.Echo/Write
      help: see whether the other side works, then try again
    ");
    let (change, outcome) = kit.journal.entries().remove(0);
    assert_eq!((change.request.as_str(), outcome), ("gRPC talos /emhost.test.Echo/Write", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grpc_method_that_nobody_declared_as_reading_is_a_change() {
    let (server, seen) = echo(&Certificate::self_signed("talos"), None).await;
    let kit = probe().slot("talos", on_nodes(&server, true)).load();
    let error = Call(&kit).look_node(json!([open("cp-1"), read("Write")])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, distro.observe of `cp-1`: distro.observe may only look, and tried to change something through `grpc:talos`
      help: this is a fault of plugin `probe`: report it to its author; if /emhost.test.Echo/Write only reads, its manifest must ask for `grpc-read:talos:/emhost.test.Echo/Write` and the site grant it
    ");
    assert_eq!(seen.lock().expect("no panic").len(), 0);

    Call(&kit).apply_node(json!([open("cp-1"), read("Read"), read("Write"), read("Read")])).await.expect("one change");
    let error = Call(&kit).apply_node(json!([open("cp-1"), read("Write"), read("Write")])).await.expect_err("two changes");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, distro.apply of `cp-1`: one change per step: distro.apply already made one, and `gRPC talos /emhost.test.Echo/Write` is another
      help: this is a fault of plugin `probe`: report it to its author
    ");
    assert_eq!(seen.lock().expect("no panic").len(), 4);
    let entries: Vec<String> =
        kit.journal.entries().iter().map(|(change, outcome)| format!("{} {}: {outcome:?}", change.verb, change.request)).collect();
    assert_snapshot!(entries.join("\n"), @"
    distro.apply gRPC talos /emhost.test.Echo/Write: Some(Answered(0))
    distro.apply gRPC talos /emhost.test.Echo/Write: Some(Answered(0))
    ");
}
