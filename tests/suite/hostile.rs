//! Guests that mean harm, or are broken. Each is contained with a message that names plugin, call
//! and cause, and the same process then completes a normal call.

use std::time::Duration;

use emhost_tests::{guest, plugin};
use emhost_testkit::Kit;

/// A normal call in this very process.
async fn still_alive() {
    let kit = Kit::file(plugin("noop")).load();
    let machine = kit.plugin.observe_machine(&kit.context, &kit.node(), None).await.expect("a normal call").expect("a machine");
    assert_eq!(machine.id, "cp-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends() {
    let kit = Kit::file(guest("endless-loop")).limits(|limits| limits.cpu = Duration::from_millis(200)).load();
    let error = kit.plugin.observe_machine(&kit.context, &kit.node(), None).await.expect_err("contained");
    insta::assert_snapshot!(error, @"plugin `guest`, provisioner.observe of `cp-1`: computed for more than the 200ms it may");
    still_alive().await;
}
