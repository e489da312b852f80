//! Guests that reach for servers they were not given, and servers that mean harm.

use std::time::Duration;

use emhost::bindings::emhost::plugin::types::Step;
use emhost::capabilities::journal::Outcome;
use emhost::inventory::site::SlotConfig;
use emhost::plugins::{CallError, Cause, Role};
use emhost_testkit::Builder;
use emhost_testkit::servers::{Certificate, HttpServer, Received, answer, body};
use http::Response;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::hostile::{Calls, hostile, still_alive, told};

async fn greeting() -> HttpServer {
    HttpServer::start(None, |_| answer(200, "hello")).await
}

/// The message of a guest's `observe` that is to reach nothing, though `pve` is bound to a server.
async fn unreached(builder: Builder) -> String {
    let server = greeting().await;
    let kit = builder.url("pve", &server.url()).load();
    let error = kit.observe().await.expect_err("contained");
    assert!(server.received().is_empty(), "{error}");
    assert!(kit.journal.entries().is_empty(), "{error}");
    still_alive().await;
    told(&error)
}

/// A server that is handed each connection once a request has come in over it.
async fn raw<F: Future<Output = std::io::Result<()>> + Send + 'static>(
    serve: impl Fn(tokio::net::TcpStream) -> F + Send + 'static,
) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port on loopback");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok() {
                tokio::spawn(serve(stream));
            }
        }
    });
    url
}

/// The error of a guest that reads from such a server.
async fn reading(url: &str) -> CallError {
    let kit = hostile("reads-slot").url("pve", url).limits(|limits| limits.wall = Duration::from_millis(300)).load();
    let error = kit.observe().await.expect_err("contained");
    still_alive().await;
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_no_slots() {
    let dial = async |authority: &str| unreached(hostile("dials-elsewhere").settings(json!(authority))).await;
    insta::assert_snapshot!(dial("169.254.169.254").await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `169.254.169.254`
    note: `https://169.254.169.254/latest/meta-data` is no slot
      help: plugins never dial addresses: they ask for https://SLOT.emhost.internal/…, and the site says where the slot leads
    ");
    let server = greeting().await;
    for authority in [
        &server.address.to_string(),
        "localhost",
        "127.0.0.1",
        "[::1]:443",
        "0x7f.1",
        "example.com",
        "emhost.internal",
        "pve.emhost.internal.",
        "pve.emhost.internal.evil.example",
        "evil.example.emhost.internal@127.0.0.1",
        "pve.emhost.internal:8443",
        "user@pve.emhost.internal",
        "user:password@pve.emhost.internal",
        ".emhost.internal",
        "a..b.emhost.internal",
        "PVE.EMHOST.INTERNAL",
    ] {
        let message = dial(authority).await;
        assert!(message.contains(" is no slot\n  help: plugins never dial addresses"), "{authority}: {message}");
    }
    assert!(server.received().is_empty());
    insta::assert_snapshot!(dial("user:password@pve.emhost.internal:8443").await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `user:password@pve.emhost.internal:8443`
    note: `https://user:password@pve.emhost.internal:8443/latest/meta-data` is no slot
      help: plugins never dial addresses: they ask for https://SLOT.emhost.internal/…, and the site says where the slot leads
    ");
    // What is no authority at all does not even become a request.
    insta::assert_snapshot!(dial("pve.emhost.internal/../").await, @"error: plugin `guest`, provisioner.observe of `cp-1`: the request to slot `pve.emhost.internal/../` cannot be made: the slot's name is malformed");
}

#[tokio::test(flavor = "multi_thread")]
async fn unbound_and_unasked_slots_lead_nowhere() {
    let dial = async |slot: &str| unreached(hostile("dials-elsewhere").settings(json!(format!("{slot}.emhost.internal")))).await;
    insta::assert_snapshot!(dial("unbound").await, @r#"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `unbound.emhost.internal`
    note: slot `unbound` is not bound at this site
      help: add to site.yaml:
    slots:
      unbound: {url: "https://…"}
    "#);
    insta::assert_snapshot!(dial("unasked").await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `unasked.emhost.internal`
    note: `http:unasked` is not among what the manifest of plugin `guest` asks for
      help: report it to the author of `guest`: its manifest must ask for `http:unasked`
    ");
    let ungranted = hostile("dials-elsewhere").settings(json!("pve.emhost.internal")).grants(&["http:unbound"]);
    insta::assert_snapshot!(unreached(ungranted).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `pve.emhost.internal`
    note: `http:pve` is not granted to plugin `guest` at this site
      help: to allow it, run `emhost plugin update guest --grant http:pve`, or add this line to `plugins.guest.grants` in emhost.lock:
      - http:pve
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_stay_inside_the_slot() {
    let climb = async |path: &str| unreached(hostile("climbs-paths").settings(json!(path))).await;
    insta::assert_snapshot!(climb("/api2/../admin").await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `pve`
    note: `https://pve.emhost.internal/api2/../admin` has `.` or `..` in its path
      help: this is a fault of plugin `guest`: report it to its author
    ");
    for path in ["/..", "/../x", "/a/%2e%2e/b", "/a/.%2E/b", "/a/./b", "/a/%2e", "/..?x=1"] {
        let message = climb(path).await;
        assert!(message.contains("has `.` or `..` in its path"), "{path}: {message}");
    }
    // A backslash or a line break is not even a path, or is refused like a dot.
    insta::assert_snapshot!(climb("/a\r\nhost: evil").await, @"error: plugin `guest`, provisioner.observe of `cp-1`: the request to slot `pve` cannot be made: the path is malformed");
    for path in ["/a\\..\\b", "/a b", "/a\nb", "\u{0}", "/a HTTP/1.1\r\nx: y\r\n\r\nGET /b"] {
        climb(path).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_under_the_slots_own_path_stays_there() {
    let server = greeting().await;
    for (path, arrives) in
        [("//evil.example/x", "/base//evil.example/x"), ("/@evil.example", "/base/@evil.example"), ("/x?next=/../y", "/base/x?next=/../y")]
    {
        let kit = hostile("climbs-paths").settings(json!(path)).url("pve", &format!("{}/base", server.url())).load();
        kit.observe().await.expect("a harmless request");
        assert_eq!(server.received().last().expect("a request").path, arrives);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tunnels_are_never_opened() {
    insta::assert_snapshot!(unreached(hostile("odd-methods").settings(json!("CONNECT"))).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `pve`
    note: method CONNECT is never sent
      help: this is a fault of plugin `guest`: report it to its author
    ");
    insta::assert_snapshot!(unreached(hostile("odd-methods").settings(json!("TRACE"))).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: the host refused the request to slot `pve`
    note: method TRACE is never sent
      help: this is a fault of plugin `guest`: report it to its author
    ");
    // An unknown method may be a change, so it is one.
    insta::assert_snapshot!(unreached(hostile("odd-methods").settings(json!("PURGE"))).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: provisioner.observe may only look, and tried to change something through `http:pve`
      help: this is a fault of plugin `guest`: report it to its author
    ");
    insta::assert_snapshot!(unreached(hostile("odd-methods").settings(json!("GET / HTTP/1.1\r\nx:"))).await, @"error: plugin `guest`, provisioner.observe of `cp-1`: the request to slot `pve` cannot be made: the method is malformed");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_the_host_are_not_the_guests_to_set() {
    let forge = async |name: &str, value: &str| unreached(hostile("forges-headers").settings(json!([name, value]))).await;
    insta::assert_snapshot!(forge("Authorization", "Bearer mine").await, @"error: plugin `guest`, provisioner.observe of `cp-1`: the request to slot `pve` cannot be made: header `Authorization` is the host's to set");
    for name in [
        "cookie",
        "Host",
        "CSRFPreventionToken",
        "Proxy-Authorization",
        "Transfer-Encoding",
        "Connection",
        "Upgrade",
        "X-Forwarded-For",
        "Expect",
    ] {
        let message = forge(name, "x").await;
        assert!(message.contains(&format!("header `{name}` is the host's to set")), "{name}: {message}");
    }
    insta::assert_snapshot!(forge("x-note", "a\r\nAuthorization: Bearer mine").await, @"error: plugin `guest`, provisioner.observe of `cp-1`: the request to slot `pve` cannot be made: header `x-note` is malformed");
    for (name, value) in [("x-note", "a\nb"), ("x-note", "a\0b"), ("x note", "a"), ("x-note\r\nCookie", "a"), ("", "a")] {
        let message = forge(name, value).await;
        assert!(message.contains("is malformed"), "{name:?}: {message}");
    }
}

/// What the guest saw, with its letters put together again.
fn seen(spelled: &str) -> String {
    spelled.replace('~', "")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_comes_back_is_masked() {
    let secret = "emhost@pve!ci=6c1f2b0a-5d3e-4f7a-9b8c-0d1e2f3a4b5c";
    let echo = |request: Received| {
        let sent = request.header("authorization").unwrap_or_default().to_owned();
        let mut response = Response::new(body(format!("you sent {sent}")));
        response.headers_mut().insert("x-echo", sent.parse().expect("a header"));
        response.headers_mut().insert("set-cookie", sent.parse().expect("a header"));
        response
    };
    let certificate = Certificate::self_signed("127.0.0.1");
    let server = HttpServer::start(Some(&certificate), echo).await;
    let slot = SlotConfig {
        url: Some(server.url()),
        fingerprint: Some(certificate.fingerprint.clone()),
        credential: Some("pve_token".to_owned()),
        ..SlotConfig::default()
    };
    let kit = hostile("reads-slot").secret("pve_token", secret.as_bytes()).slot("pve", slot).load();
    let text = seen(&kit.observe().await.expect("a harmless answer").host);
    assert_eq!(server.received()[0].header("authorization"), Some(format!("PVEAPIToken={secret}").as_str()));
    assert!(text.contains("you sent PVEAPIToken=*****"), "{text}");
    assert!(text.contains("x-echo") && !text.contains("set-cookie"), "{text}");
    assert!(!text.contains("emhost@pve") && !text.contains("6c1f2b0a"), "{text}");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_an_answer_and_not_followed() {
    let elsewhere = greeting().await;
    let location = format!("{}/steal", elsewhere.url());
    let target = location.clone();
    let server = HttpServer::start(None, move |_| {
        let mut response = answer(302, "");
        response.headers_mut().insert("location", location.parse().expect("a header"));
        response
    })
    .await;
    let kit = hostile("reads-slot").url("pve", &server.url()).load();
    let text = seen(&kit.observe().await.expect("a harmless answer").host);
    assert!(text.starts_with("302 ") && text.contains(&target), "{text}");
    assert_eq!((server.received().len(), elsewhere.received().len()), (1, 0));
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_named() {
    let url = raw(|stream| async move {
        let _open = stream;
        std::future::pending().await
    })
    .await;
    insta::assert_snapshot!(reading(&url).await, @"plugin `guest`, provisioner.observe of `cp-1`: did not finish within 300ms; it was waiting for slot `pve` to answer GET /thing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_drips_for_ever_names_the_slot() {
    let error = reading(&dripping().await).await;
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.observe of `cp-1`: did not finish within 300ms; it was waiting for the rest of an answer from slot `pve`");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_drips_for_ever_ends() {
    let error = reading(&dripping().await).await;
    assert!(error.to_string().starts_with("plugin `guest`, provisioner.observe of `cp-1`: did not finish within 300ms"), "{error}");
}

/// A server whose answer has no end.
async fn dripping() -> String {
    raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
        loop {
            stream.write_all(b"1\r\nx\r\n").await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_are_refused() {
    let url = raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
        loop {
            stream.write_all(b"x-more: and more and more and more and more and more and more and more\r\n").await?;
        }
    })
    .await;
    insta::assert_snapshot!(told(&reading(&url).await), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: slot `pve`: message head is too large
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_http_is_refused() {
    let url = raw(|mut stream| async move { stream.write_all(b"SSH-2.0-OpenSSH_10.0\r\n\x1b[2J").await }).await;
    insta::assert_snapshot!(told(&reading(&url).await), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: slot `pve`: invalid HTTP version parsed
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_no_answer() {
    let url = raw(|mut stream| async move { stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await }).await;
    insta::assert_snapshot!(told(&reading(&url).await), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: slot `pve`: the answer broke off: incomplete HTTP response
    note: slot `pve`: end of file before message length reached
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_a_limit() {
    let server = HttpServer::start(None, |_| answer(200, vec![b'x'; 2 << 20])).await;
    let kit = hostile("reads-slot").url("pve", &server.url()).limits(|limits| limits.response_body = 1 << 20).load();
    let error = kit.observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: slot `pve`: the answer broke off: HTTP response body size exceeds limit: 1048576 bytes
    note: slot `pve`: the answer is larger than 1048576 bytes
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_a_limit() {
    let server = greeting().await;
    let kit = hostile("large-request").url("pve", &server.url()).limits(|limits| limits.request_body = 64 << 10).load();
    let error = kit.apply().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.apply of `cp-1`: slot `pve`: the request is larger than the host allows
    note: slot `pve`: the request body is larger than 65536 bytes
    ");
    // It says beforehand how large it is, so nothing of it goes out and nothing has to be remembered.
    assert!(server.received().is_empty() && kit.journal.entries().is_empty());
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_have_a_limit() {
    let server = greeting().await;
    let kit = hostile("many-requests").url("pve", &server.url()).limits(|limits| limits.requests = 10).load();
    let error = kit.observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: made more than 10 requests in one call
      help: one call of plugin `guest` may not use more: report it to its author
    ");
    assert_eq!(server.received().len(), 10);
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_takes_no_ends() {
    let builder = hostile("never-takes-no").limits(|limits| (limits.requests, limits.wall) = (10, Duration::from_millis(300)));
    insta::assert_snapshot!(unreached(builder).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: did not finish within 300ms
      help: try again; if it stays so, report it to the author of plugin `guest`
    note: `http:other` is not among what the manifest of plugin `guest` asks for
      help: report it to the author of `guest`: its manifest must ask for `http:other`
    note: made more than 10 requests in one call
      help: one call of plugin `guest` may not use more: report it to its author
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_change_is_refused() {
    let server = greeting().await;
    let kit = hostile("two-changes").url("pve", &server.url()).load();
    let error = kit.apply().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.apply of `cp-1`: one change per step: provisioner.apply already made one, and `POST https://pve.emhost.internal/second` is another
      help: this is a fault of plugin `guest`: report it to its author
    ");
    assert_eq!(server.received().iter().map(|request| request.path.as_str()).collect::<Vec<_>>(), ["/first"]);
    let entries = kit.journal.entries();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].0.request.as_str(), &entries[0].1), ("POST https://pve.emhost.internal/first", &Some(Outcome::Answered(200))));
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_change_cannot_be_hidden() {
    let server = greeting().await;
    let kit = hostile("hides-a-change").url("pve", &server.url()).load();
    let error = kit.apply().await.expect_err("contained");
    assert!(matches!(error.cause, Cause::Broke { .. }));
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.apply of `cp-1`: one change per step: provisioner.apply already made one, and `POST https://pve.emhost.internal/second` is another
      help: this is a fault of plugin `guest`: report it to its author
    ");
    assert_eq!(server.received().len(), 1);
    assert_eq!(kit.journal.entries().len(), 1);
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_changes_at_once_are_one_too_many() {
    let server = greeting().await;
    let kit = hostile("changes-at-once").url("pve", &server.url()).load();
    let error = kit.apply().await.expect_err("contained");
    assert!(error.to_string().starts_with("plugin `guest`, provisioner.apply of `cp-1`: one change per step"), "{error}");
    assert_eq!(server.received().len(), 1);
    assert_eq!(kit.journal.entries().len(), 1);
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_changes_nothing() {
    insta::assert_snapshot!(unreached(hostile("changes-while-looking")).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: provisioner.observe may only look, and tried to change something through `http:pve`
      help: this is a fault of plugin `guest`: report it to its author
    ");
    let server = greeting().await;
    let kit = hostile("changes-while-looking").url("pve", &server.url()).load();
    let error = kit.plan().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.plan of `cp-1`: provisioner.plan may only look, and tried to change something through `http:pve`
      help: this is a fault of plugin `guest`: report it to its author
    ");
    assert!(server.received().is_empty() && kit.journal.entries().is_empty());
    // The very same in a step is what a step is for.
    let step = kit.apply().await.expect("one change");
    assert!(matches!(step, Step::Again(again) if again.reason == "just looking"));
    assert_eq!((server.received().len(), kit.journal.entries().len()), (1, 1));
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_checked_without_any_right() {
    let server = greeting().await;
    let kit = hostile("validates-by-network").url("pve", &server.url()).load();
    let error = kit.plugin.validate(&kit.context).await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, lifecycle.validate: lifecycle.validate runs without any grant, so `http:pve` is refused
      help: this is a fault of plugin `guest`: report it to its author
    ");
    assert!(server.received().is_empty());
    let old = emhost::bindings::emhost::plugin::types::State { schema: 1, data: "{}".to_owned() };
    let error = kit.plugin.upgrade_state(&kit.context, &old).await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, lifecycle.upgrade-state: its answer cannot be used: its state is not JSON: expected value at line 1 column 1
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_was_not_given_is_not_called() {
    let kit = hostile("two-roles").roles(&[Role::Distro]).load();
    let error = kit.observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: was not given this role at this site
      help: to give it the role, add this line to `plugins.guest.roles` in emhost.lock:
      - provisioner
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_not_filled_is_not_called() {
    let kit = hostile("reveals").roles(&[Role::Provisioner]).load();
    let error = kit.observe().await.expect_err("contained");
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.observe of `cp-1`: could not be called: the component does not fill the role provisioner");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_has_its_own_ceiling() {
    let kit = hostile("two-roles").load();
    let error = kit.observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: talos on cp-1: open: a provisioner can never have `grpc:talos`
    note: a provisioner can never have `grpc:talos`
      help: plugin `guest` asks for more than its role allows; use another plugin
    ");
    // As a distribution it may, and lacks only a slot.
    let error = kit.observe_node().await.expect_err("nothing is bound");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, distro.observe of `cp-1`: talos on cp-1: open: slot `talos` is not bound at this site
    note: slot `talos` is not bound at this site
      help: add to site.yaml:
    slots:
      talos: {port: 50000}
    ");
    still_alive().await;
}
