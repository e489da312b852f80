//! A cluster's folder, and the real binary working on it.
#![expect(clippy::expect_used, clippy::panic, clippy::return_self_not_must_use, reason = "what tests share fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The emhost binary, as `cargo xtask test` built it.
///
/// # Panics
/// When this program has no path.
pub fn binary() -> PathBuf {
    let mut path = std::env::current_exe().expect("this program has a path");
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.join("emhost")
}

/// A cluster's folder, and a home for its keys.
pub struct Place {
    home: Arc<tempfile::TempDir>,
    cluster: PathBuf,
    variables: Vec<(String, String)>,
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; none when it was killed.
    pub exit: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

impl Ran {
    /// Everything it wrote.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Fails the test unless it ended with this code.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn ended(self, exit: i32) -> Self {
        assert_eq!(self.exit, Some(exit), "{}\n{}", self.out, self.err);
        self
    }

    /// Fails the test unless it wrote this.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.all().contains(text), "`{text}` is not in:\n{}\n{}", self.out, self.err);
        self
    }
}

/// The longest that one run of the binary may take in a test.
const LONGEST: Duration = Duration::from_mins(2);

impl Place {
    /// A home in which the cluster's folder has this name.
    ///
    /// # Panics
    /// When there is no room for it.
    pub fn new(cluster: &str) -> Self {
        // In memory where that is possible: what matters is the order of operations, and a disk only makes them slow.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a folder");
        let cluster = home.path().join(cluster);
        std::fs::create_dir_all(&cluster).expect("a folder");
        Self { home: Arc::new(home), cluster, variables: Vec::new() }
    }

    /// Every run of the binary sees this variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another cluster's folder beside this one, with the same home.
    #[must_use]
    pub fn beside(&self, cluster: &str) -> Self {
        Self { home: Arc::clone(&self.home), cluster: self.cluster.with_file_name(cluster), variables: self.variables.clone() }
    }

    /// The cluster's folder.
    pub fn path(&self) -> PathBuf {
        self.cluster.clone()
    }

    /// The home in which keys are kept.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Reads a file of the cluster's folder.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read(&self, file: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path().join(file)).expect("a file that can be read")
    }

    /// Replaces text in a file of the cluster's folder.
    ///
    /// # Panics
    /// When the text is not there.
    #[track_caller]
    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "`{from}` is not in {file}:\n{text}");
        std::fs::write(self.path().join(file), text.replacen(from, to, 1)).expect("a file that can be written");
    }

    /// Adds text to a file of the cluster's folder.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn add(&self, file: &str, text: &str) {
        let old = std::fs::read_to_string(self.path().join(file)).unwrap_or_default();
        std::fs::write(self.path().join(file), format!("{old}{text}")).expect("a file that can be written");
    }

    /// The binary, ready to be run on the folder.
    pub fn command(&self, arguments: &[&str], faults: &str) -> Command {
        let cache = std::env::var_os("EMHOST_TEST_CACHE").map_or_else(|| self.home.path().join("cache"), PathBuf::from);
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("XDG_CACHE_HOME", cache.join("binary"))
            .env("HOME", self.home.path())
            .env("NO_COLOR", "1")
            .env("EMHOST_FAULTS", faults)
            .env_remove("XDG_CONFIG_HOME")
            // Simulated sites of all tests know of each other, so that they never share addresses.
            .env("XDG_STATE_HOME", emhost_sim_kit::addresses::state_of_tests())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub fn emhost(&self, arguments: &[&str]) -> Ran {
        self.broken(arguments, "")
    }

    /// Runs the binary with faults (`emhost::state::faults` has the language).
    ///
    /// # Panics
    /// When it cannot be run, or does not end.
    pub fn broken(&self, arguments: &[&str], faults: &str) -> Ran {
        static CHECKED: std::sync::OnceLock<()> = std::sync::OnceLock::new();
        CHECKED.get_or_init(|| {
            let ran = wait(self.command(&["state", "list"], "nonsense").spawn().expect("the binary runs; `cargo xtask test` builds it"));
            assert!(ran.all().contains("nonsense"), "this emhost has no faults to switch on: build it with `cargo xtask test`");
        });
        wait(self.command(arguments, faults).spawn().expect("the binary runs; `cargo xtask test` builds it"))
    }
}

/// Waits for the binary to end; one that does not is killed, and the test fails.
///
/// # Panics
/// When it does not end.
pub fn wait(mut child: Child) -> Ran {
    let read = |from: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut from) = from {
                // What it wrote until it was killed is what counts.
                let _ = from.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            break status;
        }
        if begun.elapsed() > LONGEST {
            let _ = child.kill();
            let _ = child.wait();
            panic!("emhost did not end within {LONGEST:?}\n{}\n{}", out.join().expect("text"), err.join().expect("text"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ran { exit: status.code(), out: out.join().expect("text"), err: err.join().expect("text") }
}
