//! Record once, replay anywhere: the servers are gone, and nothing is different.

use std::sync::Arc;

use emhost::capabilities::events::Event;
use emhost::capabilities::record::{Cassette, Tape};
use emhost::inventory::site::SlotConfig;
use emhost::plugins::CallError;
use emhost_testkit::servers::{Authority, GrpcServer, HttpServer, answer};
use emhost_testkit::{Builder, Kit};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::probe::{get, probe, told};

const TOKEN: &str = "root@pam!emhost=8a5f3c1e-1111-2222-3333-444455556666";

/// One call of `distro.observe` with all there is.
fn everything() -> Value {
    json!({"run": [
        get("/api2/json/version?a=b"),
        {"do": "log", "message": "looking", "fields": [["where", "pve"]]},
        {"do": "progress", "activity": "halfway"},
        {"do": "report", "text": "worth a look"},
        {"do": "clock"},
        {"do": "random"},
        {"do": "get", "name": "planted"},
        {"do": "reveal"},
        {"do": "get", "name": "ca"},
        {"do": "issue", "organization": "os:reader"},
        {"do": "open", "slot": "talos", "node": "cp-1", "identity": true},
        {"do": "call", "method": "/emhost.test.Echo/Read", "message": "hello", "headers": [["nodes", "cp-1"]]},
        {"do": "call-binary", "method": "/emhost.test.Echo/Read", "message": "bytes"},
        {"do": "stream", "method": "/emhost.test.Echo/ReadStream", "message": "all"},
        {"do": "random"},
    ]})
}

async fn observe(kit: &Kit) -> Result<String, CallError> {
    let status = kit.plugin.observe_node(&kit.context, &kit.node(), None).await?;
    Ok(status.attributes[0].value.clone())
}

struct World {
    authority: Authority,
    http: HttpServer,
    grpc: GrpcServer,
}

impl World {
    async fn new() -> Self {
        let authority = Authority::new("home");
        let count = std::sync::atomic::AtomicUsize::new(0);
        let http = HttpServer::start(Some(&authority.sign("pve")), move |_| {
            // Never the same twice.
            answer(200, format!("answer {}", count.fetch_add(1, std::sync::atomic::Ordering::SeqCst)))
        })
        .await;
        let grpc = GrpcServer::start(
            &authority.sign("cp-1"),
            Some(&authority),
            Arc::new(|method, _, message| Ok(if method.ends_with("Stream") { vec![message; 3] } else { vec![message] })),
        )
        .await;
        Self { authority, http, grpc }
    }

    fn kit(&self) -> Builder {
        let pve = SlotConfig {
            url: Some(self.http.url()),
            ca: Some("ca.pem".to_owned()),
            credential: Some("pve".to_owned()),
            ..SlotConfig::default()
        };
        probe()
            .secret("pve", TOKEN.as_bytes())
            .secret("planted", b"the planted value")
            .secret("ca", format!("{}{}", self.authority.pem, self.authority.key).as_bytes())
            .with_file("ca.pem", self.authority.pem.as_bytes())
            .slot("pve", pve)
            .slot("talos", SlotConfig { port: Some(self.grpc.address.port()), ..SlotConfig::default() })
    }
}

/// A recorded call: what it saw, what it said, and the cassette as text.
async fn recorded(settings: Value) -> (String, Vec<Event>, String) {
    let world = World::new().await;
    let kit = world.kit().settings(settings).recording().load();
    let saw = observe(&kit).await.expect("an answer");
    let text = kit.context.tape.recorded().expect("a cassette").to_text().expect("YAML");
    (saw, kit.events.all(), text)
}

/// A kit at a site with nothing but the slots' names, and the secrets if they are given.
fn replaying(text: &str, builder: Builder) -> Kit {
    let cassette = Cassette::parse(text).expect("a cassette");
    let nowhere = SlotConfig { url: Some("https://127.0.0.1:1".to_owned()), ..SlotConfig::default() };
    let mut kit = builder
        .settings(cassette.settings.clone())
        .slot("pve", nowhere)
        .slot("talos", SlotConfig { port: Some(1), ..SlotConfig::default() })
        .load();
    kit.context.cluster = Arc::new(cassette.cluster.clone().expect("the inventory"));
    kit.context.tape = Tape::playing(cassette, &kit.context.redactor);
    kit
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_the_same_without_the_servers() {
    let (saw, said, text) = recorded(everything()).await;
    let kit = replaying(&text, probe().secret("planted", b"the planted value"));
    let again = observe(&kit).await.unwrap_or_else(|error| panic!("{}", told(&error, &[])));
    assert_eq!(again, saw);
    assert_eq!(kit.events.all(), said);
    assert_eq!(kit.context.tape.unplayed(), []);
    // The clock and the dice are those of the recording, and the dice were rolled twice.
    let seen: Vec<Value> = serde_json::from_str(&saw).expect("JSON");
    let cassette = Cassette::parse(&text).expect("a cassette");
    assert_eq!(seen[4], cassette.started);
    assert_ne!(seen[5], seen[14]);
    // Another recording is another.
    let (other, ..) = recorded(everything()).await;
    assert_ne!(serde_json::from_str::<Vec<Value>>(&other).expect("JSON")[5], seen[5]);
}

/// Whoever replays need not have the secrets.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_without_the_secrets() {
    let (saw, _, text) = recorded(everything()).await;
    let kit = replaying(&text, probe());
    let again = observe(&kit).await.unwrap_or_else(|error| panic!("{}", told(&error, &[])));
    assert_eq!(kit.context.tape.unplayed(), []);
    let (saw, again): (Vec<Value>, Vec<Value>) = (serde_json::from_str(&saw).expect("JSON"), serde_json::from_str(&again).expect("JSON"));
    let differing: Vec<usize> = (0..saw.len()).filter(|index| saw[*index] != again[*index]).collect();
    assert_eq!(differing, [7], "all but the value that was revealed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_replayed_too() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let kit = probe().url("pve", &format!("https://{closed}")).settings(json!({"run": [get("/")]})).recording().load();
    let error = observe(&kit).await.expect_err("nobody there");
    let text = kit.context.tape.recorded().expect("a cassette").to_text().expect("YAML");
    let world = World::new().await;
    let mut kit = world.kit().settings(json!({"run": [get("/")]})).load();
    kit.context.tape = Tape::playing(Cassette::parse(&text).expect("a cassette"), &kit.context.redactor);
    assert_eq!(observe(&kit).await.expect_err("as recorded"), error);
    assert_eq!(world.http.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_does_something_else_is_stopped() {
    let (_, _, text) = recorded(json!({"run": [get("/a"), {"do": "log", "message": "one"}, {"do": "get", "name": "planted"}]})).await;
    let mut stories = Vec::new();
    for run in [
        json!([get("/b")]),
        json!([{"do": "log", "message": "one"}]),
        json!([get("/a"), {"do": "log", "message": "two"}]),
        json!([get("/a"), {"do": "log", "message": "one"}, {"do": "get", "name": "ca"}]),
        json!([get("/a"), {"do": "log", "message": "one"}, {"do": "get", "name": "planted"}, {"do": "reveal"}]),
    ] {
        let mut kit = replaying(&text, probe());
        kit.context.settings = json!({"run": run});
        let error = observe(&kit).await.expect_err("another plugin");
        stories.push(told(&error, &[]));
    }
    assert_snapshot!(stories.join("\n"), @r#"
    error[plugin/broke-rule] plugin `probe`, distro.observe of `cp-1`: replay: host call 1: recorded `http` {"method":"GET","url":"https://pve.emhost.internal/a"}, replayed `http` {"method":"GET","url":"https://pve.emhost.internal/b"}

    error[plugin/replay] plugin `probe`, distro.observe of `cp-1`: replay: host call 1: recorded `http` {"method":"GET","url":"https://pve.emhost.internal/a"}, replayed `log.write` ["info","one"]

    error[plugin/replay] plugin `probe`, distro.observe of `cp-1`: replay: host call 2: recorded `log.write` ["info","one"], replayed `log.write` ["info","two"]

    error[plugin/replay] plugin `probe`, distro.observe of `cp-1`: replay: host call 3: recorded `secrets.get` "planted", replayed `secrets.get` "ca"

    error[plugin/replay] plugin `probe`, distro.observe of `cp-1`: replay: host call 4: the plugin made `reveal.reveal` after the end of the tape
    "#);

    let mut kit = replaying(&text, probe());
    kit.context.settings = json!({"run": [get("/a")]});
    observe(&kit).await.expect("less is not wrong by itself");
    let unplayed: Vec<String> = kit.context.tape.unplayed().iter().map(|entry| format!("{} {}", entry.call, entry.request)).collect();
    assert_snapshot!(unplayed.join("\n"), @r#"
    log.write ["info","one"]
    secrets.get "planted"
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cassette_is_for_people() {
    let (_, _, text) = recorded(json!({"run": [
        get("/api2/json/version"),
        {"do": "log", "message": "looking"},
        {"do": "get", "name": "planted"},
        {"do": "reveal"},
        {"do": "log", "message": "it is %SECRET%"},
    ]}))
    .await;
    let mut cassette = Cassette::parse(&text).expect("a cassette");
    assert_eq!(cassette.to_text().expect("YAML"), text, "what is read is what was written");
    (cassette.started, cassette.seed, cassette.cluster) = (0, 0, None);
    if let Some(date) = cassette.calls[0].answer.as_mut().and_then(|answer| answer.pointer_mut("/response/headers/1/1")) {
        *date = json!("[date]");
    }
    assert_snapshot!(cassette.to_text().expect("YAML"), @r#"
    version: 1
    plugin: probe
    started: 0
    seed: 0
    settings:
      run:
      - do: http
        method: GET
        path: /api2/json/version
      - do: log
        message: looking
      - do: get
        name: planted
      - do: reveal
      - do: log
        message: it is %SECRET%
    cluster: null
    calls:
    - call: http
      request:
        method: GET
        url: https://pve.emhost.internal/api2/json/version
      answer:
        response:
          body:
            text: answer 0
          headers:
          - - content-length
            - "8"
          - - date
            - "[date]"
          status: 200
    - call: log.write
      request:
      - info
      - looking
    - call: secrets.get
      request: planted
      answer: found
    - call: reveal.reveal
      request: planted
    - call: log.write
      request:
      - info
      - it is (secret planted)
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cassette_holds_no_secret() {
    let world = World::new().await;
    let kit = world.kit().settings(everything()).recording().load();
    observe(&kit).await.expect("an answer");
    let text = kit.context.tape.recorded().expect("a cassette").to_text().expect("YAML");
    let key: Vec<&str> = world.authority.key.lines().filter(|line| !line.starts_with("-----")).collect();
    for secret in [TOKEN, "8a5f3c1e", "the planted value", "PRIVATE KEY", "authorization", key[0]] {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
}

/// A message of bytes is written as base64, where what is masked is no base64 any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_message_of_bytes_can_be_replayed() {
    let run = json!([
        {"do": "get", "name": "planted"},
        {"do": "reveal"},
        {"do": "get", "name": "ca"},
        {"do": "issue", "organization": "os:reader"},
        {"do": "open", "slot": "talos", "node": "cp-1", "identity": true},
        {"do": "call-binary", "method": "/emhost.test.Echo/Read", "message": "see %SECRET% here"},
    ]);
    let (_, _, text) = recorded(json!({"run": run})).await;
    assert!(!text.contains("the planted value"));
    let kit = replaying(&text, probe().secret("planted", b"the planted value"));
    observe(&kit).await.unwrap_or_else(|error| panic!("{}", told(&error, &[])));
}

#[test]
fn cassettes_that_cannot_be_used() {
    let stories: Vec<String> = [
        "version: 2\nplugin: a\nstarted: 0\nseed: 0\nsettings: {}\ncluster: null\ncalls: []\n",
        "version: 1\nplugin: a\nstarted: 0\nseed: 0\nsettings: {}\ncluster: null\ncalls: []\nextra: 1\n",
        "- not\n- a cassette\n",
        "",
    ]
    .into_iter()
    .map(|text| Cassette::parse(text).expect_err("refused").to_string())
    .collect();
    assert_snapshot!(stories.join("\n"), @"
    the cassette has layout 2, this emhost reads layout 1: record it again
    the cassette cannot be read: error: line 8 column 1: unknown field `extra`, expected one of version, plugin, started, seed, settings, cluster, calls
     --> <input>:8:1
      |
    6 | cluster: null
    7 | calls: []
    8 | extra: 1
      | ^ unknown field `extra`, expected one of version, plugin, started, seed, settings, cluster, calls
    the cassette cannot be read: error: line 1 column 1: expected mapping start
     --> <input>:1:1
      |
    1 | - not
      | ^ expected mapping start
    2 | - a cassette
      |
    the cassette cannot be read: unexpected end of input at line 1, column 1
    ");
}
