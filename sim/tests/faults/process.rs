//! A site in a process of its own, which can be killed and started again with other dials.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emhost_sim::{Access, Plan, Site};
use emhost_sim_kit::addresses::claims_of_tests;

/// Names the folder of the site, in that process.
const FOLDER: &str = "EMHOST_TEST_SITE";
/// Holds its plan.
const PLAN: &str = "EMHOST_TEST_PLAN";

#[test]
#[ignore = "not a test: the process that other tests start"]
fn a_site_of_its_own() {
    let (Some(folder), Ok(plan)) = (std::env::var_os(FOLDER), std::env::var(PLAN)) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let plan = serde_json::from_str(&plan).unwrap();
    let _site = runtime.block_on(Site::start(Path::new(&folder), &claims_of_tests(), plan)).unwrap();
    // It does not outlive the test that started it.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// That process, until it is dropped.
pub struct Process {
    child: emhost_oracles::Process,
    pub access: Access,
}

impl Process {
    pub async fn start(folder: &Path, plan: &Plan) -> Self {
        emhost_sim_kit::tls::provider();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "process::a_site_of_its_own"]).stdin(Stdio::piped()).stdout(Stdio::null());
        command.env(FOLDER, folder).env(PLAN, serde_json::to_string(plan).unwrap());
        let mut child = emhost_oracles::Process(command.spawn().unwrap());
        let started = Instant::now();
        loop {
            if let Some(access) = Access::find(folder).unwrap().filter(|access| access.pid == child.id()) {
                return Self { child, access };
            }
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none() && started.elapsed() < Duration::from_mins(1), "the site does not start: {ended:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
