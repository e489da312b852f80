//! A site on which requests and answers get lost, servers stumble and tasks fail, by a seed: each run converges when it is
//! repeated, or stops with a finding that says what to do.

use emhost_tests::example::Example;

use crate::apply::listed;
use crate::apply_killed::each;

/// Bad days; `EMHOST_SEEDS` asks for more.
const SEEDS: usize = 50;
/// How often a person would try again.
const TRIES: usize = 8;

/// In thousandths. What no client can mend (a task that leaves its machine locked) has its own tests.
const FAULTS: &str = "{request-lost: 15, reply-lost: 15, server-error: 15, lock-timeout: 10, task-failed: 10}";

#[test]
fn a_run_on_a_bad_day_converges_or_says_what_to_do() {
    let asked = std::env::var("EMHOST_SEEDS").ok().and_then(|text| text.parse().ok());
    let seeds: Vec<usize> = (1..=asked.unwrap_or(SEEDS)).collect();
    each(&seeds, |seed| {
        let example = Example::new("demo");
        example.add("site.yaml", &format!("sim: {{seed: {seed}, faults: {FAULTS}}}\n"));
        let example = example.started();
        let mut tries = 0;
        loop {
            tries += 1;
            let ran = example.emhost(&["apply", "--yes"]);
            if ran.exit == Some(0) {
                break;
            }
            let told = ran.all();
            assert!(
                matches!(ran.exit, Some(1 | 4)) && told.contains("error") && told.contains("help:"),
                "seed {seed}: {:?} {told}",
                ran.exit
            );
            assert!(tries < TRIES, "seed {seed} does not converge: {told}");
        }
        let changes = example.changes();
        let bootstraps = changes.iter().filter(|asked| asked.request.contains("MachineService/Bootstrap")).count();
        // A bad day for everybody who asks.
        let machines = std::iter::repeat_with(|| listed(&example)).take(50).find_map(Result::ok).unwrap();
        assert_eq!((bootstraps, machines), (1, vec!["demo-cp-1".to_owned(), "demo-wk-1".to_owned()]), "seed {seed}");
    });
}
