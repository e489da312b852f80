//! What a task writes while it works, and how it says that it is done.

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The log of a running task.
#[derive(Debug, Clone)]
pub(crate) struct TaskLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Mutex<File>,
    warnings: AtomicUsize,
    fault: Option<TaskFault>,
    killed: Notify,
}

/// What the dials want to go wrong with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskFault {
    /// It fails before it begins.
    Failed,
    /// It fails half way, and cleans up as far as it can.
    HalfDone,
    /// Its worker is killed half way.
    Killed,
}

impl TaskLog {
    pub(super) fn new(file: File, fault: Option<TaskFault>) -> Self {
        Self { inner: Arc::new(Inner { file: Mutex::new(file), warnings: AtomicUsize::new(0), fault, killed: Notify::new() }) }
    }

    /// Writes a line.
    pub fn line(&self, text: impl AsRef<str>) {
        let mut file = self.inner.file.lock().unwrap_or_else(PoisonError::into_inner);
        if writeln!(file, "{}", text.as_ref()).is_err() {
            // The task goes on, as a real one does on a full disk.
        }
    }

    /// Writes a warning; a task with warnings ends as `WARNINGS: n`.
    pub fn warn(&self, text: impl AsRef<str>) {
        self.inner.warnings.fetch_add(1, Ordering::Relaxed);
        self.line(format!("WARN: {}", text.as_ref()));
    }

    /// Whether the dials want this task to fail after half of its work. A task that can asks once it has changed something.
    pub fn breaks_half_way(&self) -> bool {
        self.inner.fault == Some(TaskFault::HalfDone)
    }

    /// What a task says before anything else.
    ///
    /// # Errors
    /// The dials want it to fail before it begins.
    pub fn begin(&self) -> Result<(), String> {
        match self.inner.fault {
            Some(TaskFault::Failed) => Err("worker failed before it began - input/output error".to_owned()),
            _ => Ok(()),
        }
    }

    /// Where the dials want it, the worker is killed here: nothing after it runs, cleaning up neither.
    pub async fn may_be_killed(&self) {
        if self.inner.fault == Some(TaskFault::Killed) {
            self.inner.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the worker is killed.
    pub(super) async fn killed(&self) {
        self.inner.killed.notified().await;
    }

    /// Writes the last line, and gives the exit status.
    pub(super) fn finish(&self, outcome: Result<(), String>) -> String {
        let warnings = self.inner.warnings.load(Ordering::Relaxed);
        let (line, status) = match outcome {
            Err(text) => {
                let text = text.trim_end_matches('\n').replace('\n', " ");
                (format!("TASK ERROR: {text}"), text)
            }
            Ok(()) if warnings > 0 => (format!("TASK WARNINGS: {warnings}"), format!("WARNINGS: {warnings}")),
            Ok(()) => ("TASK OK".to_owned(), "OK".to_owned()),
        };
        self.line(line);
        status
    }
}
