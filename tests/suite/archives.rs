//! Archives: large bytes that the host keeps, piece by piece.

use emhost_testkit::Kit;
use emhost_testkit::emhost::bindings::emhost::plugin::types::Step;
use emhost_testkit::emhost::capabilities::MemoryArchive;
use emhost_tests::guest;
use serde_json::json;

fn kit() -> emhost_testkit::Builder {
    Kit::file(guest("keeps-archives")).settings(json!(["one ", "two ", "three"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_saved_comes_back() {
    let kit = kit().load();
    let archive = MemoryArchive::default();
    kit.plugin.backup(&kit.context, Box::new(archive.clone())).await.expect("saved");
    assert_eq!(archive.bytes(), b"one two three");
    let step = kit.plugin.restore(&kit.context, Box::new(archive.clone()), None).await.expect("brought back");
    assert!(matches!(step, Step::Again(again) if again.reason == "one two three"));
    assert!(archive.bytes().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_takes_a_grant_and_has_a_limit() {
    let refused = kit().grants(&[]).load();
    let archive = MemoryArchive::default();
    let error = refused.plugin.backup(&refused.context, Box::new(archive.clone())).await.expect_err("refused");
    insta::assert_snapshot!(error, @"plugin `guest`, distro-backup.backup: `archive` is not granted to plugin `guest` at this site");
    assert!(archive.bytes().is_empty());

    let small = kit().limits(|limits| limits.archive = 8).load();
    let error = small.plugin.backup(&small.context, Box::new(archive.clone())).await.expect_err("too large");
    insta::assert_snapshot!(error, @"plugin `guest`, distro-backup.backup: an archive may have 8 bytes at most");
    assert_eq!(archive.bytes(), b"one two ");
}
