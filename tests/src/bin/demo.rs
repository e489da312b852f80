//! `cargo xtask demo`: a plugin is inspected, granted, called and denied, against a stand-in for
//! Proxmox on loopback.
#![expect(clippy::print_stdout, reason = "a program for people to watch")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emhost::bindings::emhost::plugin::types::{Intent, Step};
use emhost::capabilities::journal::{Change, Journal, Outcome};
use emhost::capabilities::{Context, MemorySecrets, Slots, events::MemoryEvents, record::Tape};
use emhost::diagnostic::Diagnostic;
use emhost::inventory::site::Site;
use emhost::plugins::lock::Lock;
use emhost::plugins::{CallError, Limits, Runtime};
use emhost::redact::Redactor;
use emhost_testkit::servers::{Certificate, HttpServer, answer};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const TOKEN: &str = "root@pam!emhost=6f1d7c3a-demo-token-0000-b00b1e5c0ffe";

fn main() -> ExitCode {
    let Some(emhost) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("usage: demo EMHOST (run it with `cargo xtask demo`)");
        return ExitCode::FAILURE;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(demo(&emhost))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("the demo failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn title(text: &str) {
    println!("\n── {text} {}", "─".repeat(80usize.saturating_sub(text.len())));
}

/// Runs the real binary, and says so.
fn shell(emhost: &Path, folder: &Path, arguments: &[&str]) -> Result<i32> {
    println!("$ emhost {}", arguments.join(" "));
    let status = Command::new(emhost).args(arguments).arg("-C").arg(folder).env("EMHOST_SECRET_PVE_TOKEN", TOKEN).status()?;
    Ok(status.code().unwrap_or(-1))
}

/// A journal that tells what it is told.
#[derive(Default)]
struct Telling;

impl Journal for Telling {
    fn before(&self, change: &Change) -> std::io::Result<u64> {
        println!("  journal  before  {}", change.request);
        Ok(0)
    }

    fn after(&self, _: u64, outcome: &Outcome) -> std::io::Result<()> {
        println!("  journal  after   {outcome:?}");
        Ok(())
    }
}

fn show(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        println!("  {:?}: {}", diagnostic.severity, diagnostic.summary);
        if let Some(help) = &diagnostic.help {
            println!("    help: {}", help.replace('\n', "\n          "));
        }
    }
}

async fn demo(emhost: &Path) -> Result {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    std::fs::copy(emhost_tests::guest("demo"), folder.join("demo.wasm"))?;

    // A stand-in for Proxmox: it knows one machine once somebody made it, and shows back what it was sent.
    let exists = Arc::new(AtomicBool::new(false));
    let known = Arc::clone(&exists);
    let certificate = Certificate::self_signed("pve.example");
    let server = HttpServer::start(Some(&certificate), move |request| {
        if request.method == "POST" {
            known.store(true, Ordering::SeqCst);
        }
        let data = if known.load(Ordering::SeqCst) { "\"100\"" } else { "null" };
        answer(200, format!("{{\"data\":{data}}}"))
    })
    .await;
    let site = format!(
        "slots:\n  pve: {{url: \"{}\", fingerprint: \"{}\", credential: pve_token}}\nplugins:\n  provisioner: ./demo.wasm\n",
        server.url(),
        certificate.fingerprint
    );
    std::fs::write(folder.join("site.yaml"), &site)?;

    title("1. a plugin nobody knows: what is it, what does it ask for?");
    shell(emhost, folder, &["plugin", "inspect", "./demo.wasm"])?;

    title("2. nobody allowed it yet, so it does not run");
    shell(emhost, folder, &["plugin", "list"])?;

    title("3. it gets one of the two rights it asks for");
    shell(emhost, folder, &["plugin", "add", "./demo.wasm", "--grant", "http:pve"])?;

    title("4. called: one change per step, written down before it goes out");
    let site = Site::load(folder)?;
    let lock = Lock::load(folder)?;
    let reference = site.plugins.provisioner.as_deref().ok_or("no provisioner")?.parse()?;
    let bytes = emhost::plugins::locate::Reference::read(&reference, folder)?;
    let plugin = Runtime::new(None)?.load(&bytes)?;
    let redactor = Redactor::new();
    let secrets = Arc::new(MemorySecrets::default().with("pve_token", TOKEN.as_bytes()));
    let slots = Slots::bind(&site.slots, secrets.clone(), redactor.clone(), &|_| Err(std::io::ErrorKind::NotFound.into()))?;
    let mut context = Context {
        cluster: emhost_testkit::cluster().into(),
        settings: serde_json::json!({}),
        policy: lock.policy(&reference, plugin.inspection())?,
        limits: Limits::default(),
        slots: slots.into(),
        secrets,
        redactor,
        events: Arc::new(MemoryEvents::default()),
        journal: Arc::new(Telling),
        tape: Tape::off(),
    };
    let node = context.cluster.nodes.first().map(|node| emhost::inventory::Node::clone(node)).ok_or("no node")?;
    let plan = plugin.plan_machine(&context, &node, None, Intent::Present, None).await?;
    for action in &plan.actions {
        println!("  plan     {:?} {} ({})", action.change, action.subject, action.reason);
    }
    let mut state = None;
    loop {
        match plugin.apply_machine(&context, &node, None, Intent::Present, state.as_ref()).await? {
            Step::Done(_) => break println!("  done"),
            Step::Again(again) => {
                println!("  again    {}", again.reason);
                state = again.state;
            }
        }
    }
    let authorized = server
        .received()
        .iter()
        .filter(|request| request.header("authorization").is_some_and(|value| value.contains("PVEAPIToken")))
        .count();
    println!("  {authorized} of {} requests arrived with the token, which the plugin never saw", server.received().len());

    title("5. denied: the other right was not granted");
    context.settings = serde_json::json!({"curious": true});
    let denied: CallError = match plugin.observe_machine(&context, &node, None).await {
        Err(error) => error,
        Ok(_) => return Err("the plugin was not denied".into()),
    };
    show(&denied.diagnostics());

    title("6. somebody swaps the file: emhost.lock notices");
    std::fs::copy(emhost_tests::plugin("noop"), folder.join("demo.wasm"))?;
    let exit = shell(emhost, folder, &["plugin", "list"])?;
    println!("(exit code {exit})");
    Ok(())
}
