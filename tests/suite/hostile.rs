//! Guests that compute, talk or break without end, or reach for the machine they run on. Each is
//! contained with a message that names plugin, call and cause, and the same process then completes
//! a normal call.

use std::time::Duration;

use emhost::bindings::emhost::plugin::types::{Intent, Proposal, Step};
use emhost::bindings::exports::emhost::plugin::distro::NodeStatus;
use emhost::bindings::exports::emhost::plugin::provisioner::Machine;
use emhost::capabilities::events::Event;
use emhost::plugins::CallError;
use emhost_testkit::servers::{HttpServer, answer};
use emhost_testkit::{Builder, Kit};
use emhost_tests::{guest, plugin};
use serde_json::json;

/// A normal call in this very process.
pub(crate) async fn still_alive() {
    let kit = Kit::file(plugin("noop")).load();
    let machine = kit.plugin.observe_machine(&kit.context, &kit.node(), None).await.expect("a normal call").expect("a machine");
    assert_eq!(machine.id, "cp-1");
}

/// A hostile guest, in the making.
pub(crate) fn hostile(name: &str) -> Builder {
    Kit::file(guest(name))
}

/// Everything a person is told about an error: the error itself, remarks, and what to do.
pub(crate) fn told(error: &CallError) -> String {
    let diagnostics = error.diagnostics();
    assert_eq!(diagnostics[0].summary, error.to_string());
    let mut lines = Vec::new();
    for diagnostic in diagnostics {
        lines.push(format!("{:?}: {}", diagnostic.severity, diagnostic.summary).to_lowercase_first());
        lines.extend(diagnostic.detail.map(|detail| format!("  detail: {detail}")));
        lines.extend(diagnostic.help.map(|help| format!("  help: {help}")));
    }
    lines.join("\n")
}

trait LowercaseFirst {
    fn to_lowercase_first(&self) -> String;
}

impl LowercaseFirst for String {
    fn to_lowercase_first(&self) -> String {
        let mut letters = self.chars();
        letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
    }
}

/// Calls that the tests make again and again.
pub(crate) trait Calls {
    async fn observe(&self) -> Result<Machine, CallError>;
    async fn plan(&self) -> Result<Proposal, CallError>;
    async fn apply(&self) -> Result<Step, CallError>;
    async fn observe_node(&self) -> Result<NodeStatus, CallError>;
    async fn apply_node(&self) -> Result<Step, CallError>;
}

impl Calls for Kit {
    async fn observe(&self) -> Result<Machine, CallError> {
        self.plugin.observe_machine(&self.context, &self.node(), None).await.map(|machine| machine.expect("a machine"))
    }

    async fn plan(&self) -> Result<Proposal, CallError> {
        self.plugin.plan_machine(&self.context, &self.node(), None, Intent::Present, None).await
    }

    async fn apply(&self) -> Result<Step, CallError> {
        self.plugin.apply_machine(&self.context, &self.node(), None, Intent::Present, None).await
    }

    async fn observe_node(&self) -> Result<NodeStatus, CallError> {
        self.plugin.observe_node(&self.context, &self.node(), None).await
    }

    async fn apply_node(&self) -> Result<Step, CallError> {
        self.plugin.apply_node(&self.context, &self.node(), &[], None, Intent::Present, None).await
    }
}

/// The message of a guest's `observe` that fails.
async fn observing(builder: Builder) -> String {
    let kit = builder.load();
    let error = kit.observe().await.expect_err("contained");
    still_alive().await;
    told(&error)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends() {
    let message = observing(hostile("endless-loop").limits(|limits| limits.cpu = Duration::from_millis(200))).await;
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: computed for more than the 200ms it may
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_by_the_wall_clock_too() {
    let message = observing(hostile("endless-loop").limits(|limits| limits.wall = Duration::from_millis(200))).await;
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: did not finish within 200ms
      help: try again; if it stays so, report it to the author of plugin `guest`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_recursion_ends() {
    insta::assert_snapshot!(observing(hostile("deep-recursion")).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: recursed too deep: its stack is full
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_has_a_limit() {
    let message = observing(hostile("memory-growth").limits(|limits| limits.memory = 32 << 20)).await;
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: needs more than the 32 MiB of memory it may have
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_a_limit() {
    let message = observing(hostile("huge-answer").limits(|limits| limits.crossing = 4 << 20)).await;
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: passed more than 4 MiB at once
      help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
    ");
    // Within the limit it is one line, cut to a length that can be shown.
    let machine = hostile("huge-answer").load().observe().await.expect("an answer");
    assert_eq!(machine.host.chars().count(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_has_a_limit() {
    let error = hostile("endless-plan").load().plan().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.plan of `cp-1`: its answer cannot be used: it lists 20000 things, and 10000 are the most
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sleep_ends_with_the_wall_clock() {
    let message = observing(hostile("sleeps").limits(|limits| limits.wall = Duration::from_millis(300))).await;
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: did not finish within 300ms
      detail: good night
      help: try again; if it stays so, report it to the author of plugin `guest`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_have_a_limit() {
    for kind in ["nodes", "fields", "clocks"] {
        let message = observing(hostile("hoards-handles").settings(json!(kind)).limits(|limits| limits.handles = 512)).await;
        insta::allow_duplicates! { insta::assert_snapshot!(message, @r"
        error: plugin `guest`, provisioner.observe of `cp-1`: holds more than 512 handles
          help: one call of plugin `guest` may not use more: report it to its author; nothing else was affected
        "); }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn randomness_has_a_limit() {
    insta::assert_snapshot!(observing(hostile("hoards-randomness")).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: crashed: requested len 1099511627776 exceeds limit 65536
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
}

/// What a flood leaves: the guest's answer, and no more events than the limit and the word that the rest is dropped.
async fn flood(name: &str) {
    let kit = hostile(name).limits(|limits| (limits.messages, limits.log_bytes) = (100, 100 << 10)).load();
    assert_eq!(kit.observe().await.expect("a harmless answer").host, "flooded", "{name}");
    let events = kit.events.all();
    assert!((10..=101).contains(&events.len()), "{name}: {} events", events.len());
    let bytes: usize = events.iter().map(|event| serde_json::to_string(event).expect("JSON").len()).sum();
    assert!(bytes < 140 << 10, "{name}: {bytes} bytes");
    let dropped =
        |event: &Event| matches!(event, Event::Log { message, .. } if message == "said more than one call may say; the rest is dropped");
    assert_eq!(events.iter().filter(|event| dropped(event)).count(), 1, "{name}");
    assert!(events.iter().all(|event| !matches!(event, Event::Progress { percent: Some(101..), .. })), "{name}");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_are_cut() {
    for name in ["log-flood", "stderr-flood", "progress-flood", "report-flood"] {
        flood(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_shows_its_last_words() {
    insta::assert_snapshot!(observing(hostile("panics")).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: panicked: tests/guests/examples/panics.rs:8:46: every node has a system disk
      detail: about to look at the disk of cp-1

    thread '<unnamed>' (1) panicked at tests/guests/examples/panics.rs:8:46:
    every node has a system disk
    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_is_explained() {
    insta::assert_snapshot!(observing(hostile("traps")).await, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: crashed: it gave up (unreachable)
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_does_not_end() {
    for status in [0, 3] {
        let message = observing(hostile("exits").settings(json!(status))).await;
        insta::allow_duplicates! { insta::assert_snapshot!(message, @r"
        error: plugin `guest`, provisioner.observe of `cp-1`: tried to end the process
          detail: goodbye
          help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
        "); }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_threads_and_no_programs() {
    let machine = hostile("spawns").load().observe().await.expect("a harmless answer");
    assert_eq!(machine.host, "thread: false, program: false");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_files() {
    let machine = hostile("reads-files").load().observe().await.expect("a harmless answer");
    assert_eq!(machine.host, "nothing");
    for folder in ["/", ".", "..", "/tmp", "/dev/shm"] {
        assert!(!std::path::Path::new(folder).join("emhost-hostile-guest").exists(), "{folder}");
    }
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_environment() {
    assert!(std::env::vars_os().count() > 0, "there is something to see");
    let machine = hostile("reads-environment").load().observe().await.expect("a harmless answer");
    assert_eq!(machine.host, "variables: 0, PATH: false, arguments: 0, input: 0");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_sockets() {
    let server = HttpServer::start(None, |_| answer(200, "hello")).await;
    let machine = hostile("opens-sockets").settings(json!(server.address.to_string())).load().observe().await.expect("a harmless answer");
    assert_eq!(machine.host, "nothing");
    assert!(server.received().is_empty());
    still_alive().await;
}
