//! Does what its settings say, in order, and tells what it saw.
//!
//! `run` lists the host calls. `%SECRET%` in any of their texts, and in the place that `plant`
//! names, stands for the value that the last `reveal` gave, spelled the way it asked for.

use emhost_sdk::distro::{Member, NodeStatus, Stage};
use emhost_sdk::grpc::Channel;
use emhost_sdk::http::{Body, Trouble, request};
use emhost_sdk::keys::{ClientRequest, KeyKind};
use emhost_sdk::log::{Level, write};
use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::secrets::{self, Secret};
use emhost_sdk::{
    Attribute, Boot, Configurator, Diagnostic, Distro, Document, Failure, FieldChange, Intent, Lifecycle, Operation, Proposal, Provisioner,
    Site, State, Step, Unit, keys,
};
use serde::Deserialize;
use serde_json::{Value, json};
use wasip2::http::types::Method;

struct Probe;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    run: Vec<Value>,
    /// Where in the answer the secret goes.
    plant: String,
    /// What is planted.
    text: String,
    /// Goes on after a failure, and tells of it.
    lenient: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { run: Vec::new(), plant: String::new(), text: "see %SECRET% here".to_owned(), lenient: false }
    }
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Act {
    Http {
        method: String,
        path: String,
        #[serde(default)]
        headers: Vec<(String, String)>,
        body: Option<String>,
        /// A body of this many bytes.
        zeros: Option<usize>,
    },
    Open {
        slot: String,
        node: Option<String>,
        #[serde(default)]
        identity: bool,
    },
    Call {
        method: String,
        #[serde(default)]
        headers: Vec<(String, String)>,
        message: String,
    },
    /// The same with a message that is no text.
    CallBinary {
        method: String,
        message: String,
    },
    Stream {
        method: String,
        message: String,
    },
    Get {
        name: String,
    },
    Put {
        name: String,
        value: String,
    },
    Ephemeral {
        value: String,
    },
    Generate {
        name: String,
    },
    Issue {
        organization: String,
    },
    Reveal {
        spelling: Option<String>,
    },
    Log {
        message: String,
        #[serde(default)]
        fields: Vec<(String, String)>,
    },
    Progress {
        activity: String,
    },
    Report {
        text: String,
    },
    Stderr {
        text: String,
    },
    Stdout {
        text: String,
    },
    Panic {
        text: String,
    },
    Clock,
    Random,
}

/// What the probe has at hand while it runs.
#[derive(Default)]
struct Hand {
    secret: Option<Secret>,
    channel: Option<Channel>,
    slot: String,
    revealed: String,
}

impl Hand {
    fn fill(&self, text: &str) -> String {
        text.replace("%SECRET%", &self.revealed)
    }

    fn fill_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.fill(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill_all(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.fill_all(field)),
            _ => {}
        }
    }

    fn secret(&self) -> Result<&Secret, Failure> {
        self.secret.as_ref().ok_or_else(|| Failure::internal("probe/secret", "no secret at hand"))
    }

    fn channel(&self) -> Result<&Channel, Failure> {
        self.channel.as_ref().ok_or_else(|| Failure::internal("probe/channel", "no channel at hand"))
    }

    fn act(&mut self, act: Act, operation: &Operation) -> Result<Value, Failure> {
        match act {
            Act::Http { method, path, headers, body, zeros } => self.http(&method, &path, &headers, body, zeros),
            Act::Open { slot, node, identity } => {
                let identity = if identity { Some(self.secret()?) } else { None };
                self.channel = Some(Channel::open(&slot, node.as_deref(), identity)?);
                self.slot = slot;
                Ok(json!("open"))
            }
            Act::Call { method, headers, message } => {
                let mut channel = self.channel.take().ok_or_else(|| Failure::internal("probe/channel", "no channel at hand"))?;
                for (key, value) in &headers {
                    channel = channel.with_header(key, value);
                }
                let answer = channel.call::<String>(&method, &message);
                self.channel = Some(channel);
                Ok(json!(answer?))
            }
            Act::CallBinary { method, message } => {
                let message = [&[0xff, 0xfe], message.as_bytes(), &[0x80]].concat();
                let answer: Vec<u8> = self.channel()?.call(&method, &message)?;
                Ok(json!(String::from_utf8_lossy(&answer)))
            }
            Act::Stream { method, message } => {
                let answers: Vec<String> = self.channel()?.stream(&method, &message)?.collect::<Result<_, _>>()?;
                Ok(json!(answers))
            }
            Act::Get { name } => {
                self.secret = secrets::get(&name)?;
                Ok(json!(if self.secret.is_some() { "found" } else { "absent" }))
            }
            Act::Put { name, value } => self.hold(secrets::put_if_absent(&name, value.as_bytes())?),
            Act::Ephemeral { value } => self.hold(secrets::ephemeral(value.as_bytes())),
            Act::Generate { name } => self.hold(keys::generate_if_absent(&name, KeyKind::Ed25519)?),
            Act::Issue { organization } => {
                let request = ClientRequest { organizations: vec![organization], common_name: None, valid_seconds: 600 };
                let issued = keys::issue_client(self.secret()?, &request)?;
                self.hold(issued)
            }
            Act::Reveal { spelling } => {
                let value = emhost_sdk::reveal::reveal(self.secret()?);
                self.revealed = spell(&String::from_utf8_lossy(&value), spelling.as_deref().unwrap_or("raw"));
                Ok(json!(fingerprint(&value)))
            }
            act => self.speak(act, operation),
        }
    }

    fn hold(&mut self, secret: Secret) -> Result<Value, Failure> {
        let name = secret.name();
        self.secret = Some(secret);
        Ok(json!(name))
    }

    fn http(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: Option<String>,
        zeros: Option<usize>,
    ) -> Result<Value, Failure> {
        let method = match method {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            other => Method::Other(other.to_owned()),
        };
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let body = body.map(String::into_bytes).or_else(|| zeros.map(|count| vec![b'0'; count]));
        let body = body.map(|bytes| Body::bytes("application/octet-stream", bytes));
        let answer =
            request(&method, "pve.emhost.internal", path, &headers, body.as_ref()).map_err(|trouble: Trouble| trouble.failure("pve"))?;
        let names: Vec<String> =
            answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).filter(|line| !line.starts_with("date:")).collect();
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        Ok(json!({"status": answer.status, "reason": answer.reason, "headers": names, "body": text}))
    }

    fn speak(&self, act: Act, operation: &Operation) -> Result<Value, Failure> {
        match act {
            Act::Log { message, fields } => {
                let fields: Vec<Attribute> = fields.into_iter().map(|(key, value)| Attribute { key, value }).collect();
                write(Level::Info, &message, &fields);
            }
            Act::Progress { activity } => operation.progress(&activity, Some(50)),
            Act::Report { text } => operation.report(&everywhere(&text)),
            Act::Stderr { text } => eprintln!("{text}"),
            Act::Stdout { text } => println!("{text}"),
            Act::Panic { text } => panic!("{text}"),
            Act::Clock => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                return Ok(json!(since.as_secs()));
            }
            Act::Random => return Ok(json!(hex(&wasip2::random::random::get_random_bytes(8)))),
            _ => return Err(Failure::internal("probe/act", "not known")),
        }
        Ok(json!("said"))
    }
}

/// A diagnostic with the same text in every field.
fn everywhere(text: &str) -> Diagnostic {
    Diagnostic::warning(text, text).detail(text).pointer(text).help(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tells values apart without showing them.
fn fingerprint(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("#{sum:x}")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

fn spell(value: &str, spelling: &str) -> String {
    match spelling {
        "json" => json!(value).to_string().trim_matches('"').to_owned(),
        "base64" => base64(value.as_bytes()),
        "base64-inside" => base64(format!("user:{value} and more").as_bytes()),
        "url" => emhost_sdk::http::encode(value),
        "hex" => hex(value.as_bytes()),
        _ => value.to_owned(),
    }
}

/// What was seen, and what to plant where.
struct Told {
    seen: String,
    place: String,
    planted: String,
}

impl Told {
    fn or(&self, place: &str, otherwise: &str) -> String {
        if self.place == place { self.planted.clone() } else { otherwise.to_owned() }
    }

    fn attribute(&self, place: &str) -> Attribute {
        Attribute { key: self.or(&format!("{place}.key"), "key"), value: self.or(&format!("{place}.value"), "value") }
    }

    fn state(&self, place: &str) -> State {
        State { schema: 1, data: json!({"kept": self.or(place, "nothing")}).to_string() }
    }

    fn machine(&self) -> Machine {
        let mut machine = guests::machine(self.or("machine.host", &self.seen));
        machine.id = self.or("machine.id", "1");
        machine.identity = self.or("machine.identity", "one");
        machine.node = Some(self.or("machine.node", "cp-1"));
        machine.addresses = vec![self.or("machine.address", "127.0.0.1")];
        machine.attributes = vec![self.attribute("machine.attribute")];
        machine
    }

    fn proposal(&self) -> Proposal {
        let mut proposal = guests::proposal(self.or("action.subject", &self.seen));
        let action = &mut proposal.actions[0];
        action.reason = self.or("action.reason", "a test");
        let value = |place: &str| Some(json!(self.or(place, "1")).to_string());
        action.fields.push(FieldChange {
            pointer: self.or("field.pointer", "/memory"),
            before: value("field.before"),
            after: value("field.after"),
            sensitive: false,
        });
        action.attributes.push(self.attribute("action.attribute"));
        proposal.holds.push(self.or("proposal.holds", "storage:local"));
        proposal
    }

    fn step(&self) -> Step {
        if self.place == "done.state" {
            return Step::done(self.state("done.state"));
        }
        let mut step = Step::again(0, self.or("again.reason", &self.seen), self.state("again.state"));
        if let Step::Again(again) = &mut step {
            again.holds.push(self.or("again.holds", "storage:local"));
        }
        step
    }
}

fn run(operation: &Operation) -> Result<Told, Failure> {
    let settings: Settings = operation.read_settings()?;
    let mut hand = Hand::default();
    let mut seen = Vec::new();
    for mut act in settings.run {
        hand.fill_all(&mut act);
        let act: Act = serde_json::from_value(act).map_err(|error| Failure::internal("probe/settings", error.to_string()))?;
        match hand.act(act, operation) {
            Ok(value) => seen.push(value),
            Err(failure) if settings.lenient => {
                let summary = failure.diagnostics.first().map(|first| first.summary.clone());
                seen.push(json!({"failed": summary}));
            }
            Err(failure) => return Err(failure),
        }
    }
    let planted = hand.fill(&settings.text);
    match settings.plant.as_str() {
        "failure" => {
            Err(Failure::internal(&planted, planted.as_str()).detail(&planted).pointer(&planted).help(&planted).and(everywhere(&planted)))
        }
        "failure.state" => {
            let state = State { schema: 1, data: json!({"kept": planted}).to_string() };
            Err(Failure::unavailable("probe/state", "failed with state").state(state))
        }
        _ => Ok(Told { seen: Value::from(seen).to_string(), place: settings.plant, planted }),
    }
}

impl Lifecycle for Probe {}

impl Provisioner for Probe {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        Ok(Some(run(unit.operation)?.machine()))
    }

    fn plan(unit: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(run(unit.operation)?.proposal())
    }

    fn apply(unit: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(run(unit.operation)?.step())
    }
}

impl Distro for Probe {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<NodeStatus, Failure> {
        let told = run(unit.operation)?;
        let saw = Attribute { key: "saw".to_owned(), value: told.seen.clone() };
        let attributes = vec![saw, told.attribute("status.attribute")];
        let version = Some(told.or("status.os-version", "v1"));
        Ok(NodeStatus { stage: Stage::Running, os_version: version, kubernetes_version: None, config_digest: None, attributes })
    }

    fn plan(unit: Unit<'_>, _: Vec<Document>, _: Option<Boot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(run(unit.operation)?.proposal())
    }

    fn apply(unit: Unit<'_>, _: Vec<Document>, _: Option<Boot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(run(unit.operation)?.step())
    }

    fn plan_cluster(site: Site<'_>, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(run(site.operation)?.proposal())
    }

    fn apply_cluster(site: Site<'_>, _: Option<State>) -> Result<Step, Failure> {
        Ok(run(site.operation)?.step())
    }

    fn members(site: Site<'_>) -> Result<Vec<Member>, Failure> {
        let told = run(site.operation)?;
        Ok(vec![Member {
            node: Some(told.or("member.node", "cp-1")),
            voting: true,
            healthy: true,
            attributes: vec![told.attribute("member.attribute")],
        }])
    }

    fn health(site: Site<'_>, _: bool) -> Result<Step, Failure> {
        Ok(run(site.operation)?.step())
    }

    fn access(site: Site<'_>, _: String, _: Vec<String>, _: u32) -> Result<Secret, Failure> {
        run(site.operation)?;
        Ok(secrets::ephemeral(b"kubeconfig"))
    }
}

impl Configurator for Probe {
    fn prepare(site: Site<'_>) -> Result<(), Failure> {
        let told = run(site.operation)?;
        site.operation.report(&Diagnostic::note("probe/saw", told.seen));
        Ok(())
    }

    fn render(unit: Unit<'_>, _: Boot) -> Result<Vec<Document>, Failure> {
        let told = run(unit.operation)?;
        Ok(vec![Document { name: "saw".to_owned(), media_type: "application/json".to_owned(), body: told.seen, sensitive: true }])
    }
}

emhost_sdk::plugin!(
    Probe: provisioner, distro, configurator;
    text = concat!(
        "{\"name\":\"probe\",\"asks\":[",
        guests::asks!(
            "http:pve",
            "grpc:talos",
            "grpc:web",
            "grpc-read:talos:/emhost.test.Echo/Read*",
            "secret:planted",
            "reveal:planted",
            "secret:ca",
            "sign:ca",
            "store:kept",
            "reveal:kept",
            "generate:key",
            "reveal:key"
        ),
        "]}"
    )
);
