//! A secret that a guest plants wherever it can reach is in nothing that people or files see.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost::bindings::emhost::plugin::types::{Addressing, Artifact, Boot, BootBase, Delivery, ImageFormat, Intent};
use emhost::capabilities::events::Event;
use emhost::capabilities::{Context, MemorySecrets, SecretStore};
use emhost::inventory::site::SlotConfig;
use emhost::plugins::CallError;
use emhost_testkit::servers::{Certificate, GrpcServer, HttpServer, answer};
use emhost_testkit::{Builder, Kit};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::probe::{Call, probe, told};

// ---- what is planted ----------------------------------------------------------------------

const SHORT: &str = "k9#Z";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v8VpguoRK9JLsLMREScVpezkpGXGSwMEfxrdq\n\
    nWGxne+xWmC6hEr0kuwsxERJxWl7OSkYcZLAwR/Gt2qdYbGd7+xWmC6hEr0kuwsx\n\
    ERJxWl7OSkYcZLAwR0==\n\
    -----END PRIVATE KEY-----\n";
const QUOTED: &str = "pa\"ss\\wo'rd {curly}\n<second> \"line\" of it\ttab";
const URL: &str = "p@ss w/rd?&=+%41;#end";
const UNICODE: &str = "пароль-密码-ключ";
const VALUES: [(&str, &str); 5] = [("short", SHORT), ("key", KEY), ("quoted", QUOTED), ("url", URL), ("unicode", UNICODE)];
const SPELLINGS: [&str; 6] = ["raw", "json", "base64", "base64-inside", "url", "hex"];

fn json_escaped(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn debug_escaped(text: &str) -> String {
    let quoted = format!("{text:?}");
    quoted[1..quoted.len() - 1].to_owned()
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// `%3A` as `%3a`.
fn lower_digits(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| format!("{before}%{}{}", part[..2].to_lowercase(), &part[2..]))
}

fn hex(text: &str) -> String {
    text.bytes().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The part of a base64 text that only the value decides, with `before` bytes in front of it.
fn base64_core(value: &str, before: usize) -> String {
    let bytes = [vec![b'x'; before], value.as_bytes().to_vec()].concat();
    let text = STANDARD.encode(&bytes);
    let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    text[start..end].to_owned()
}

/// Every spelling of the value, and every spelling as it looks once more escaped.
fn needles(value: &str) -> BTreeSet<String> {
    let plain = [
        value.to_owned(),
        value.trim().to_owned(),
        value.replace('\n', " "),
        json_escaped(value),
        percent_encoded(value),
        lower_digits(&percent_encoded(value)),
        hex(value),
        hex(value).to_uppercase(),
        base64_core(value, 0),
        base64_core(value, 1),
        base64_core(value, 2),
    ];
    let lines = value.lines().filter(|line| line.len() >= 8 && !line.starts_with("-----")).map(str::to_owned);
    plain
        .into_iter()
        .chain(lines)
        .flat_map(|text| [json_escaped(&text), debug_escaped(&text), debug_escaped(&json_escaped(&text)), text])
        .filter(|text| text.len() >= 4)
        .collect()
}

/// Long enough parts of a long value, for what was cut somewhere in the middle.
fn fragments(value: &str) -> BTreeSet<String> {
    const LONG: usize = 16;
    let lines = value.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned);
    let coded = [hex(value), base64_core(value, 0), base64_core(value, 1), base64_core(value, 2)];
    lines
        .chain(coded)
        .flat_map(|text| text.as_bytes().windows(LONG).filter_map(|part| String::from_utf8(part.to_vec()).ok()).collect::<Vec<_>>())
        .collect()
}

// ---- where it is looked for ---------------------------------------------------------------

/// Everything that left one call.
struct Trace {
    place: String,
    texts: Vec<String>,
}

impl Trace {
    fn see<T: Debug>(&mut self, answer: &Result<T, CallError>) {
        self.texts.push(format!("{answer:?}"));
        if let Err(error) = answer {
            self.texts.push(error.to_string());
            self.texts.push(serde_json::to_string(&error.diagnostics()).expect("JSON"));
            self.texts.push(told(error, &[]));
        }
    }

    fn leaks(&self, needles: &BTreeSet<String>) -> Option<String> {
        let found = |text: &String| {
            let (needle, at) = needles.iter().find_map(|needle| Some((needle, text.find(needle.as_str())?)))?;
            let start = text.floor_char_boundary(at.saturating_sub(60));
            let end = text.ceil_char_boundary((at + needle.len() + 20).min(text.len()));
            Some(format!("{}: …{}…", self.place, &text[start..end]))
        };
        self.texts.iter().find_map(found)
    }
}

/// What the host calls are, what the answer carries, and which verb they are made in.
struct Place {
    name: &'static str,
    verb: &'static str,
    act: Value,
    plant: &'static str,
}

fn acts(verb: &'static str, acts: Vec<(&'static str, Value)>) -> Vec<Place> {
    acts.into_iter().map(|(name, act)| Place { name, verb, act, plant: "" }).collect()
}

fn plants(verb: &'static str, places: &[&'static str]) -> Vec<Place> {
    places.iter().map(|plant| Place { name: plant, verb, act: Value::Null, plant }).collect()
}

/// What plugins say.
fn said() -> Vec<Place> {
    let text = "see %SECRET% here";
    acts(
        "observe",
        vec![
            ("log message", json!({"do": "log", "message": text})),
            ("log field", json!({"do": "log", "message": "m", "fields": [["key", text], [text, "value"]]})),
            ("progress", json!({"do": "progress", "activity": text})),
            ("report", json!({"do": "report", "text": text})),
            ("stderr", json!({"do": "stderr", "text": text})),
            ("stdout", json!({"do": "stdout", "text": text})),
            ("panic", json!({"do": "panic", "text": text})),
        ],
    )
}

/// What plugins send.
fn sent() -> Vec<Place> {
    let http = |method: &str, path: &str, headers: Value, body: Value| json!({"do": "http", "method": method, "path": path, "headers": headers, "body": body});
    let call = |method: &str, headers: Value, message: &str| json!([{"do": "open", "slot": "talos", "node": "cp-1"}, {"do": "call", "method": method, "headers": headers, "message": message}]);
    let mut all = acts(
        "observe",
        vec![
            ("http path", http("GET", "/a/%SECRET%", json!([]), json!(null))),
            ("http query", http("GET", "/a?b=%SECRET%", json!([]), json!(null))),
            ("http header", http("GET", "/a", json!([["x-mine", "%SECRET%"]]), json!(null))),
            ("http header name", http("GET", "/a", json!([["x-%SECRET%", "v"]]), json!(null))),
            ("http change while looking", http("POST", "/a/%SECRET%", json!([]), json!("%SECRET%"))),
            ("grpc metadata", call("/emhost.test.Echo/Read", json!([["mine", "%SECRET%"]]), "m")),
            ("grpc metadata name", call("/emhost.test.Echo/Read", json!([["x-%SECRET%", "v"]]), "m")),
            ("grpc message", call("/emhost.test.Echo/Read", json!([]), "see %SECRET% here")),
            ("grpc failure", call("/emhost.test.Echo/ReadFailure", json!([]), "see %SECRET% here")),
            ("grpc method that reads", call("/emhost.test.Echo/Read%SECRET%", json!([]), "m")),
            ("grpc node", json!({"do": "open", "slot": "talos", "node": "%SECRET%"})),
        ],
    );
    all.extend(acts(
        "apply",
        vec![
            ("http change", http("POST", "/a/%SECRET%?b=%SECRET%", json!([["x-mine", "%SECRET%"]]), json!("see %SECRET% here"))),
            ("two http changes", json!([http("POST", "/a", json!([]), json!("x")), http("POST", "/a/%SECRET%", json!([]), json!("x"))])),
            ("grpc change", call("/emhost.test.Echo/Write%SECRET%", json!([]), "see %SECRET% here")),
        ],
    ));
    all
}

/// What plugins ask for and are refused.
fn refused() -> Vec<Place> {
    let open = json!({"do": "open", "slot": "talos", "node": "cp-1"});
    acts(
        "observe",
        vec![
            ("name of a secret", json!({"do": "get", "name": "%SECRET%"})),
            ("name of a key", json!({"do": "generate", "name": "%SECRET%"})),
            ("name of a secret to keep", json!({"do": "put", "name": "%SECRET%", "value": "%SECRET%"})),
            ("grpc slot", json!({"do": "open", "slot": "%SECRET%", "node": "cp-1"})),
            (
                "grpc metadata of the host",
                json!([open, {"do": "call", "method": "/emhost.test.Echo/Read", "headers": [["grpc-%SECRET%", "v"]], "message": "m"}]),
            ),
            ("grpc method that changes", json!([open, {"do": "call", "method": "/emhost.test.Echo/%SECRET%", "message": "m"}])),
        ],
    )
}

/// What plugins answer.
fn answered() -> Vec<Place> {
    let mut all = plants("observe", &["failure", "failure.state"]);
    all.extend(plants(
        "plan",
        &[
            "action.subject",
            "action.reason",
            "field.pointer",
            "field.before",
            "field.after",
            "action.attribute.key",
            "action.attribute.value",
            "proposal.holds",
        ],
    ));
    all.extend(plants("apply", &["again.reason", "again.state", "again.holds", "done.state", "failure"]));
    all
}

/// Servers that show whatever they are shown.
struct World {
    http: HttpServer,
    grpc: GrpcServer,
}

impl World {
    async fn new() -> Self {
        let http = HttpServer::start(None, |request| {
            let shown = format!("{} {} {:?} {}", request.method, request.path, request.headers, String::from_utf8_lossy(&request.body));
            answer(200, shown)
        })
        .await;
        let grpc = GrpcServer::start(
            &Certificate::self_signed("talos"),
            None,
            Arc::new(|method, _, message| {
                let text = String::from_utf8_lossy(message.get(2..).unwrap_or_default()).into_owned();
                if method.ends_with("Failure") { Err(tonic::Status::internal(text)) } else { Ok(vec![message]) }
            }),
        )
        .await;
        Self { http, grpc }
    }

    fn kit(&self, value: &str) -> Builder {
        let talos = SlotConfig { port: Some(self.grpc.address.port()), maintenance: true, ..SlotConfig::default() };
        probe().secret("planted", value.as_bytes()).url("pve", &self.http.url()).slot("talos", talos).recording()
    }
}

fn settings(place: &Place, spelling: &str) -> Value {
    let mut run = vec![json!({"do": "get", "name": "planted"}), json!({"do": "reveal", "spelling": spelling})];
    match &place.act {
        Value::Null => {}
        Value::Array(acts) => run.extend(acts.iter().cloned()),
        act => run.push(act.clone()),
    }
    json!({"run": run, "plant": place.plant})
}

async fn trace(kit: &Kit, place: &Place, context: &Context, name: String) -> Trace {
    let (plugin, node) = (&kit.plugin, kit.node());
    let before = (kit.events.all().len(), kit.journal.entries().len());
    let mut trace = Trace { place: name, texts: Vec::new() };
    match place.verb {
        "plan" => trace.see(&plugin.plan_node(context, &node, &[], None, Intent::Present, None).await),
        "apply" => trace.see(&plugin.apply_node(context, &node, &[], None, Intent::Present, None).await),
        // What it saw is for whoever consumes it; what is shown of it is tested with plans.
        _ => trace.see(&plugin.observe_node(context, &node, None).await.map(|_| ())),
    }
    let events: Vec<Event> = kit.events.all().split_off(before.0);
    trace.texts.push(format!("{events:?}"));
    trace.texts.push(serde_json::to_string(&events).expect("JSON"));
    let entries = kit.journal.entries().split_off(before.1);
    trace.texts.push(format!("{entries:?}"));
    trace.texts.push(serde_json::to_string(&entries).expect("JSON"));
    trace
}

/// Plants every value in every spelling in all these places, and tells where it can be seen.
async fn leaks(places: &[Place], needles: fn(&str) -> BTreeSet<String>) -> Vec<String> {
    let world = World::new().await;
    let mut found = Vec::new();
    for (value_name, value) in VALUES {
        let needles = needles(value);
        let kit = world.kit(value).load();
        for place in places {
            for spelling in SPELLINGS {
                let mut context = kit.context.clone();
                context.settings = settings(place, spelling);
                let trace = trace(&kit, place, &context, format!("{} ({value_name}, {spelling})", place.name)).await;
                found.extend(trace.leaks(&needles));
            }
        }
        let cassette = kit.context.tape.recorded().expect("a cassette").to_text().expect("YAML");
        assert!(cassette.contains("reveal.reveal"), "the guest did read the secret");
        found.extend(Trace { place: format!("cassette ({value_name})"), texts: vec![cassette] }.leaks(&needles));
    }
    found
}

// ---- tests --------------------------------------------------------------------------------

/// The search itself: it finds every spelling that the guest uses.
#[test]
fn what_is_planted_would_be_found() {
    for (name, value) in VALUES {
        let spelled = [
            value.to_owned(),
            json_escaped(value),
            STANDARD.encode(value),
            STANDARD.encode(format!("user:{value} and more")),
            percent_encoded(value),
            hex(value),
            format!("{value:?}"),
        ];
        for text in spelled {
            let trace = Trace { place: name.to_owned(), texts: vec![format!("see {text} here")] };
            assert!(trace.leaks(&needles(value)).is_some(), "{name}: {text}");
        }
        let trace = Trace { place: name.to_owned(), texts: vec!["see (secret planted) here: /emhost.test.Echo/Read".to_owned()] };
        assert_eq!(trace.leaks(&needles(value)), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plugins_say() {
    assert_eq!(leaks(&said(), needles).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plugins_send() {
    assert_eq!(leaks(&sent(), needles).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plugins_are_refused() {
    assert_eq!(leaks(&refused(), needles).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plugins_answer() {
    assert_eq!(leaks(&answered(), needles).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_secret_in_an_answer() {
    assert_eq!(leaks(&answered(), fragments).await, Vec::<String>::new());
}

/// Nor is half of it, where a text was cut.
#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_secret() {
    let filler = |length: usize| format!("{}%SECRET%", "x".repeat(length));
    let mut places = acts(
        "observe",
        vec![
            ("log message", json!({"do": "log", "message": filler(3980)})),
            ("progress", json!({"do": "progress", "activity": filler(180)})),
            ("report", json!({"do": "report", "text": filler(480)})),
            ("stderr", json!({"do": "stderr", "text": filler(3980)})),
            ("stdout", json!({"do": "stdout", "text": filler(3980)})),
            ("panic", json!({"do": "panic", "text": filler(400)})),
            ("the end of standard error", json!([{"do": "stderr", "text": "%SECRET%"}, {"do": "panic", "text": "y".repeat(3800)}])),
        ],
    );
    places.extend(refused());
    places.extend(sent());
    assert_eq!(leaks(&places, fragments).await, Vec::<String>::new());
}

/// A machine is told by a provisioner, which cannot hold the secret: it has it from elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_machine_is_said_to_be() {
    let mut found = Vec::new();
    for (name, value) in VALUES {
        for spelled in [
            value.to_owned(),
            json_escaped(value),
            STANDARD.encode(value),
            STANDARD.encode(format!("user:{value} and more")),
            percent_encoded(value),
            hex(value),
        ] {
            for plant in [
                "machine.id",
                "machine.identity",
                "machine.node",
                "machine.host",
                "machine.address",
                "machine.attribute.key",
                "machine.attribute.value",
            ] {
                let kit = probe().settings(json!({"plant": plant, "text": format!("see {spelled} here")})).recording().load();
                kit.context.redactor.learn("planted", value.as_bytes());
                let answer = kit.plugin.observe_machine(&kit.context, &kit.node(), None).await;
                let mut trace = Trace { place: format!("{plant} ({name})"), texts: Vec::new() };
                trace.see(&answer);
                assert!(answer.is_err(), "{plant}: {answer:?}");
                trace.texts.push(kit.context.tape.recorded().expect("a cassette").to_text().expect("YAML"));
                found.extend(trace.leaks(&needles(value)));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// The call that is waited for, and the server that is not there, are named without it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_a_server_that_does_not_answer() {
    let silent = HttpServer::start_async(None, Arc::new(|_| Box::pin(std::future::pending()))).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let get = Place { name: "silent http", verb: "observe", act: json!({"do": "http", "method": "GET", "path": "/a/%SECRET%"}), plant: "" };
    let mut found = Vec::new();
    for (name, value) in VALUES {
        for spelling in ["json", "url", "hex"] {
            for url in [silent.url(), format!("https://{closed}")] {
                let kit = probe()
                    .secret("planted", value.as_bytes())
                    .url("pve", &url)
                    .limits(|limits| limits.wall = Duration::from_millis(200))
                    .load();
                let mut context = kit.context.clone();
                context.settings = settings(&get, spelling);
                found.extend(trace(&kit, &get, &context, format!("{url} ({name}, {spelling})")).await.leaks(&needles(value)));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// The same for gRPC, whose methods are names.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_said_of_a_method_that_does_not_answer() {
    let grpc = GrpcServer::start(
        &Certificate::self_signed("talos"),
        None,
        Arc::new(|_, _, message| {
            std::thread::sleep(Duration::from_millis(400));
            Ok(vec![message])
        }),
    )
    .await;
    let slot = SlotConfig { port: Some(grpc.address.port()), maintenance: true, ..SlotConfig::default() };
    let call = json!([{"do": "open", "slot": "talos", "node": "cp-1"}, {"do": "call", "method": "/emhost.test.Echo/Read%SECRET%", "message": "m"}]);
    let place = Place { name: "silent grpc", verb: "observe", act: call, plant: "" };
    // More than one clock runs down at that moment, and the message depends on which one wins.
    for _ in 0..8 {
        let kit = probe()
            .secret("planted", SHORT.as_bytes())
            .slot("talos", slot.clone())
            .limits(|limits| limits.wall = Duration::from_millis(200))
            .load();
        let mut context = kit.context.clone();
        context.settings = settings(&place, "hex");
        let trace = trace(&kit, &place, &context, "silent grpc".to_owned()).await;
        assert_eq!(trace.leaks(&needles(SHORT)), None);
    }
}

// ---- the store ----------------------------------------------------------------------------

#[test]
fn secrets_of_the_environment() {
    let variables = [
        ("EMHOST_SECRET_PVE_TOKEN", "abcd"),
        ("EMHOST_SECRET_", "none"),
        ("EMHOST_SECRET_A/B", "none"),
        ("EMHOST_SECRET_../X", "none"),
        ("PATH", "/bin"),
    ];
    let store = MemorySecrets::from_environment(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    let get = |name: &str| store.get(name).expect("readable").map(|value| value.to_vec());
    assert_eq!(get("pve_token"), Some(b"abcd".to_vec()));
    for name in ["PVE_TOKEN", "", "a/b", "../x", "path", "PATH"] {
        assert_eq!(get(name), None, "{name}");
    }
}

/// What `configurator.prepare` saw.
async fn prepare(kit: &Kit, run: Value) -> Result<Value, CallError> {
    let mut context = kit.context.clone();
    context.settings = json!({"run": run});
    kit.plugin.prepare(&context).await?;
    let events = kit.events.all();
    let Some(Event::Report { diagnostic, .. }) = events.last() else { panic!("no report: {events:?}") };
    Ok(serde_json::from_str(&diagnostic.summary).expect("JSON"))
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_rotated() {
    let kit = probe().load();
    let put = |value: &str| json!([{"do": "put", "name": "kept", "value": value}, {"do": "reveal"}]);
    let first = prepare(&kit, put("the first value")).await.expect("kept");
    let second = prepare(&kit, put("the second value")).await.expect("the first");
    assert_eq!(first, second);
    assert_eq!(kit.context.secrets.get("kept").expect("readable").map(|value| value.to_vec()), Some(b"the first value".to_vec()));

    let generate = json!([{"do": "generate", "name": "key"}, {"do": "reveal"}]);
    let first = prepare(&kit, generate.clone()).await.expect("a key");
    assert_eq!(first, prepare(&kit, generate.clone()).await.expect("the same key"));
    let elsewhere = probe().load();
    assert_ne!(first, prepare(&elsewhere, generate).await.expect("another key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_cannot_be_kept_out_of_outputs() {
    let kit = probe().load();
    let mut stories = BTreeSet::new();
    for value in ["", "abc", "   abc\n\n", "      "] {
        let error = prepare(&kit, json!([{"do": "put", "name": "kept", "value": value}])).await.expect_err("refused");
        stories.insert(told(&error, &[]));
    }
    assert_snapshot!(stories.into_iter().collect::<String>(), @"error[secrets/short] plugin `probe`, configurator.prepare: a secret of under 4 bytes cannot be kept out of outputs");
    assert_eq!(kit.context.secrets.get("kept").expect("readable"), None);
    prepare(&kit, json!([{"do": "put", "name": "kept", "value": "abcd"}])).await.expect("long enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_prepare_creates() {
    let kit = probe().load();
    let error = Call(&kit).look_node(json!([{"do": "generate", "name": "key"}])).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[secrets/denied] plugin `probe`, distro.observe of `cp-1`: a distro can never have `generate:key`
      help: plugin `probe` asks for more than its role allows; use another plugin
    ");
    let mut context = kit.context.clone();
    context.settings = json!({"run": [{"do": "put", "name": "kept", "value": "abcd"}]});
    let error = kit.plugin.render_config(&context, &kit.node(), &boot()).await.expect_err("refused");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, configurator.render of `cp-1`: configurator.render may not create anything, and tried to use `store:kept`
      help: this is a fault of plugin `probe`: report it to its author
    ");
    assert_eq!(kit.context.secrets.get("key").expect("readable"), None);
}

fn boot() -> Boot {
    let image = Artifact {
        name: "talos.iso".to_owned(),
        url: "https://factory.emhost.internal/talos.iso".to_owned(),
        format: ImageFormat::Iso,
        digest: None,
    };
    Boot {
        id: "1".to_owned(),
        os_version: "v1".to_owned(),
        base: BootBase::Installer(image),
        addressing: Addressing::Reservation,
        delivery: Delivery::Network,
        installer: "ghcr.io/installer".to_owned(),
        attributes: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_read_a_value() {
    // What it brought itself it may see again.
    let kit = probe().secret("planted", b"planted value").secret("ca", b"ca value").load();
    let own = json!([{"do": "ephemeral", "value": "brought along"}, {"do": "reveal"}]);
    Call(&kit).look_node(own).await.expect("its own");
    Call(&kit).look_node(json!([{"do": "get", "name": "planted"}, {"do": "reveal"}])).await.expect("granted");
    // A handle is not the value.
    let error = Call(&kit).look_node(json!([{"do": "get", "name": "ca"}, {"do": "reveal"}])).await.expect_err("only to sign with");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, distro.observe of `cp-1`: `reveal:ca` is not among what the manifest of plugin `probe` asks for
      help: report it to the author of `probe`: its manifest must ask for `reveal:ca`
    ");
    let kit = probe().secret("planted", b"planted value").grants(&["secret:planted"]).load();
    let error = Call(&kit).look_node(json!([{"do": "get", "name": "planted"}, {"do": "reveal"}])).await.expect_err("not granted");
    assert_snapshot!(told(&error, &[]), @"
    error[plugin/broke-rule] plugin `probe`, distro.observe of `cp-1`: `reveal:planted` is not granted to plugin `probe` at this site
      help: to allow it, run `emhost plugin update probe --grant reveal:planted`, or add this line to `plugins.probe.grants` in emhost.lock:
          - reveal:planted
    ");
    let error = Call(&kit).look(json!([{"do": "get", "name": "planted"}])).await.expect_err("no role for it");
    assert_snapshot!(told(&error, &[]), @"
    error[secrets/denied] plugin `probe`, provisioner.observe of `cp-1`: a provisioner can never have `secret:planted`
      help: plugin `probe` asks for more than its role allows; use another plugin
    ");
}
