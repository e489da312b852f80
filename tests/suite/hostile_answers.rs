//! Guests that reach for secrets, tell them, or answer with what nobody can use.

use emhost::bindings::emhost::plugin::types::{FailureKind, Step};
use emhost::plugins::{CallError, Cause};
use emhost_testkit::servers::Authority;
use emhost_testkit::{Builder, Kit};
use serde_json::json;

use crate::hostile::{Calls, hostile, still_alive, told};

const TOKEN: &str = "hunter2-hunter2";

/// The error of a distribution's `observe`.
async fn observing(builder: Builder) -> CallError {
    let error = builder.secret("site-token", TOKEN.as_bytes()).load().observe_node().await.expect_err("contained");
    still_alive().await;
    error
}

/// The message of a distribution's `apply`.
async fn applying(builder: Builder) -> String {
    let error = builder.secret("site-token", TOKEN.as_bytes()).load().apply_node().await.expect_err("contained");
    still_alive().await;
    told(&error)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_not_the_value() {
    insta::assert_snapshot!(told(&observing(hostile("reveals").grants(&["secret:site-token"])).await), @r"
    error: plugin `guest`, distro.observe of `cp-1`: `reveal:site-token` is not granted to plugin `guest` at this site
      help: to allow it, run `emhost plugin update guest --grant reveal:site-token`, or add this line to `plugins.guest.grants` in emhost.lock:
      - reveal:site-token
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_no_authority() {
    let authority = Authority::new("os");
    let pem = format!("{}{}", authority.pem, authority.key);
    let ungranted = hostile("signs").secret("os-ca", pem.as_bytes()).grants(&["secret:os-ca"]);
    insta::assert_snapshot!(told(&observing(ungranted).await), @r"
    error: plugin `guest`, distro.observe of `cp-1`: `sign:os-ca` is not granted to plugin `guest` at this site
      help: to allow it, run `emhost plugin update guest --grant sign:os-ca`, or add this line to `plugins.guest.grants` in emhost.lock:
      - sign:os-ca
    ");
    // Granted, it works: the refusal was about the grant.
    let status = hostile("signs").secret("os-ca", pem.as_bytes()).load().observe_node().await.expect("an identity");
    assert_eq!(status.os_version.as_deref(), Some("client.os-ca"));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_secrets_are_names() {
    insta::assert_snapshot!(told(&observing(hostile("climbs-secrets").settings(json!("../site-token"))).await), @"error: plugin `guest`, distro.observe of `cp-1`: `../site-token` is not a secret's name");
    for name in ["site-/../../etc/shadow", "/etc/shadow", "site-*", "*", "", "site-token\0", "site-\n", "site-..", "SITE TOKEN"] {
        let error = observing(hostile("climbs-secrets").settings(json!(name))).await;
        assert!(error.to_string().ends_with("is not a secret's name"), "{name:?}: {error}");
    }
    // A well-formed name that was not asked for.
    insta::assert_snapshot!(told(&observing(hostile("climbs-secrets").settings(json!("pve_token"))).await), @r"
    error: plugin `guest`, distro.observe of `cp-1`: `secret:pve_token` is not among what the manifest of plugin `guest` asks for
      help: report it to the author of `guest`: its manifest must ask for `secret:pve_token`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_told_is_hidden() {
    for (settings, panics) in [(json!({}), false), (json!("panic"), true)] {
        let kit = hostile("tells-secrets").secret("site-token", TOKEN.as_bytes()).settings(settings).load();
        let error = kit.observe_node().await.expect_err("it tells");
        assert_eq!(matches!(error.cause, Cause::Panicked(_)), panics);
        if !panics {
            insta::assert_snapshot!(told(&error), @r"
            error: plugin `guest`, distro.observe of `cp-1`: 401: token (secret site-token) is wrong
              detail: sent (secret site-token)
              help: change (secret site-token)
            ");
        }
        let everything = format!("{error:?} {} {:?}", told(&error), kit.events.all());
        assert!(!everything.contains("hunter2"), "{everything}");
        assert!(kit.events.all().len() >= 4);
    }
    still_alive().await;
}

/// Whether a text could do more to a terminal than be there.
fn is_plain(text: &str) -> bool {
    !text
        .chars()
        .any(|c| c.is_control() && c != '\n' || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_is_not_driven() {
    let kit = hostile("escapes").load();
    let proposal = kit.plan().await.expect("a harmless plan");
    insta::assert_snapshot!(proposal.actions[0].subject, @r"safe\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}\u{202e}daer\u{2066}\u{200b} + approved\u{9b}31m");
    assert!(is_plain(&kit.observe().await.expect("a machine").host));
    assert!(matches!(kit.apply().await.expect("a step"), Step::Again(again) if is_plain(&again.reason)));
    let events = kit.events.all();
    assert_eq!(events.len(), 15, "{events:?}");
    for event in &events {
        // JSON would escape control characters and so hide them: look at the texts themselves.
        let mut texts = Vec::new();
        collect(&serde_json::to_value(event).expect("JSON"), &mut texts);
        assert!(texts.iter().all(|text| is_plain(text)), "{event:?}");
    }
    let error = hostile("escapes").settings(json!("fail")).load().observe().await.expect_err("fails");
    let message = told(&error);
    assert!(
        is_plain(&message) && error.diagnostics().iter().all(|said| is_plain(&said.code) && said.pointer.as_deref().is_none_or(is_plain)),
        "{message:?}"
    );
    insta::assert_snapshot!(message, @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: safe\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}\u{202e}daer\u{2066}\u{200b} + approved\u{9b}31m
      detail: safe\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}\u{202e}daer\u{2066}\u{200b}
    + approved\u{9b}31m
      help: safe\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}\u{202e}daer\u{2066}\u{200b}
    + approved\u{9b}31m
    ");
    still_alive().await;
}

fn collect(value: &serde_json::Value, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => texts.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        serde_json::Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_has_a_limit() {
    insta::assert_snapshot!(applying(hostile("large-state")).await, @r"
    error: plugin `guest`, distro.apply of `cp-1`: its answer cannot be used: its state has 1048578 bytes, and 262144 are the most
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    insta::assert_snapshot!(applying(hostile("large-state").settings(json!("fail"))).await, @r"
    error: plugin `guest`, distro.apply of `cp-1`: its answer cannot be used: its state has 1048578 bytes, and 262144 are the most
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_json() {
    insta::assert_snapshot!(applying(hostile("broken-state")).await, @r"
    error: plugin `guest`, distro.apply of `cp-1`: its answer cannot be used: its state is not JSON: expected value at line 1 column 10
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_holds_no_secret() {
    insta::assert_snapshot!(applying(hostile("leaks-state")).await, @r"
    error: plugin `guest`, distro.apply of `cp-1`: its answer cannot be used: its state contains the secret `site-token`, and state is stored in clear
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    for way in ["hex", "fail"] {
        let message = applying(hostile("leaks-state").settings(json!(way))).await;
        assert!(message.contains("its state contains the secret `site-token`"), "{way}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_without_a_word_is_named() {
    let error = hostile("silent-failure").load().observe().await.expect_err("fails");
    assert!(matches!(error.cause, Cause::Failed { kind: FailureKind::Internal, .. }));
    insta::assert_snapshot!(told(&error), @"error: plugin `guest`, provisioner.observe of `cp-1`: failed and did not say why");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_with_an_empty_word_is_named() {
    let error = hostile("silent-failure").settings(json!("empty")).load().observe().await.expect_err("fails");
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.observe of `cp-1`: failed and did not say why");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_is_on_something() {
    let error = hostile("no-subject").settings(json!("")).load().plan().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.plan of `cp-1`: its answer cannot be used: an action has no subject
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    // What cannot be seen is spelled out, so it is not nothing.
    let proposal = hostile("no-subject").settings(json!("\u{200b}")).load().plan().await.expect("a harmless plan");
    assert_eq!(proposal.actions[0].subject, r"\u{200b}");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_on_blanks_is_on_nothing() {
    let error = hostile("no-subject").settings(json!(" \n\t ")).load().plan().await.expect_err("contained");
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.plan of `cp-1`: its answer cannot be used: an action has no subject");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_has_an_identity() {
    let error = hostile("no-identity").load().observe().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.observe of `cp-1`: its answer cannot be used: a machine has no id or no identity
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_a_plan_are_json() {
    let error = hostile("garbage-plan").load().plan().await.expect_err("contained");
    insta::assert_snapshot!(told(&error), @r"
    error: plugin `guest`, provisioner.plan of `cp-1`: its answer cannot be used: the change of `/memory` has a value that is not JSON
      help: this is a fault of plugin `guest`: report it to its author; nothing else was affected
    ");
    still_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_is_to_keep_secret_has_a_limit() {
    let error = hostile("hoards-secrets").load().observe().await.expect_err("contained");
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.observe of `cp-1`: wants more than 65536 bytes kept secret in one call");
    still_alive().await;
}

/// Else one plugin decides which words everybody else may say, and whose state is refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_word_cannot_be_made_a_secret() {
    let kit: Kit = hostile("censors").settings(json!("destroy")).load();
    kit.observe().await.expect("a harmless answer");
    assert_eq!(kit.context.redactor.text("destroy virtual machine 100"), "destroy virtual machine 100");
    still_alive().await;
}
