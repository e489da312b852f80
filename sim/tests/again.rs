//! A site that ended starts again in the same process, with everything it had.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

mod common;

use std::time::{Duration, Instant};

use common::{Lab, plan};
use emhost_sim::{Site, SiteError, StoreError};
use emhost_sim_kit::addresses::claims_of_tests;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_site_lets_go_of_everything_when_it_ends() {
    let lab = Lab::new(plan(2)).await;
    lab.machines(2, common::VERSION).await;
    lab.stage(2, "maintenance").await;
    let Lab { site, folder } = lab;
    drop(site);
    let started = Instant::now();
    let again = loop {
        // What was under way ends in its own time.
        match Site::start(&folder.path().join("site"), &claims_of_tests(), plan(2)).await {
            Ok(site) => break site,
            Err(SiteError::Store(StoreError::Busy(_)) | SiteError::Io { .. }) if started.elapsed() < Duration::from_secs(20) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    };
    while again.nodes().iter().filter(|node| node.stage == "maintenance").count() < 2 {
        assert!(started.elapsed() < Duration::from_secs(40), "the machines that ran do not run again: {:?}", again.nodes());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
