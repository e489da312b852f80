//! The faults themselves.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cap_std::fs::Dir;

use super::Kind;
use super::shadow::Shadow;
use super::spec::{Action, Loss, Place, Spec, SpecError};

/// How a process that is cut off ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// With SIGKILL, as in the field.
    Kill,
    /// By every later operation failing, so that a test can go on in the same process.
    Fail,
}

/// What is to go wrong with one disk.
#[derive(Debug)]
pub struct Faults {
    stop: Stop,
    inner: Mutex<Inner>,
}

/// Faults that are shared by whoever uses the disk.
pub type Handle = Arc<Faults>;

#[derive(Debug, Default)]
struct Inner {
    spec: Spec,
    operations: u64,
    writes: u64,
    points: BTreeMap<String, u64>,
    stopped: bool,
    full: bool,
    shadow: Shadow,
    root: Option<Dir>,
    trace: Option<File>,
}

static CONFIGURED: OnceLock<Handle> = OnceLock::new();

/// Says what is to go wrong in this process, before anything else is done with it. In words
/// separated by commas, N counting from 1:
///
/// - `kill@N`, `kill-after@N`: SIGKILL before or after the N-th disk operation
/// - `power@N`: all bytes and names that are not durable are lost before the N-th operation, then SIGKILL;
///   `power-bytes@N` loses the bytes but not the names, `power-half@N` only half of the bytes,
///   `power-zeros@N` makes them zeros, and `power-cuts@N` brings back what was cut off
/// - `full@N`, `full-once@N`: half of the N-th write lands, and then the disk is full, for good or for once
/// - `fail@N`: the N-th operation fails without being done
/// - each with `POINT` or `POINT:N` for N: when the named point is passed for the N-th time
/// - `broken@RULE`: the rule does not hold
/// - `trace@FILE`: operations and points are written to this file, numbered
///
/// # Errors
/// A word that is none of these, a trace that cannot be written, or a second call.
pub fn configure(spec: &str) -> Result<(), String> {
    let faults = Faults::new(spec, Stop::Kill).map_err(|error| error.to_string())?;
    CONFIGURED.set(faults).map_err(|_| "faults are configured once".to_owned())
}

/// The faults of this process.
pub fn current() -> Handle {
    Arc::clone(CONFIGURED.get_or_init(|| Arc::new(Faults { stop: Stop::Kill, inner: Mutex::default() })))
}

/// A named point: a place where a test may cut the process off.
///
/// # Errors
/// What a test asked for.
pub fn point(name: &str) -> io::Result<()> {
    CONFIGURED.get().map_or(Ok(()), |faults| faults.point(name))
}

/// Whether the rule is broken on purpose.
pub fn broken(rule: &str) -> bool {
    CONFIGURED.get().is_some_and(|faults| faults.broken(rule))
}

impl Faults {
    /// Faults of one disk.
    ///
    /// # Errors
    /// A word that asks for no fault.
    pub fn new(spec: &str, stop: Stop) -> Result<Handle, SpecError> {
        let faults = Self { stop, inner: Mutex::default() };
        faults.restart(spec)?;
        Ok(Arc::new(faults))
    }

    /// Another process on the same disk: counts begin anew, and what is not durable still is not.
    ///
    /// # Errors
    /// A word that asks for no fault.
    pub fn restart(&self, spec: &str) -> Result<(), SpecError> {
        let spec = Spec::parse(spec)?;
        let mut inner = self.lock();
        // A trace that cannot be written shows as an empty one in the test that wanted it.
        let trace = spec.trace.as_ref().and_then(|path| File::create(path).ok());
        let (shadow, root) = (std::mem::take(&mut inner.shadow), inner.root.take());
        *inner = Inner { spec, shadow, root, trace, ..Inner::default() };
        Ok(())
    }

    /// How many disk operations and writes there were.
    pub fn counts(&self) -> (u64, u64) {
        let inner = self.lock();
        (inner.operations, inner.writes)
    }

    /// Whether the process was cut off.
    pub fn stopped(&self) -> bool {
        self.lock().stopped
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the disk is one: a test that stops without dying also knows without asking the disk
    /// what would be durable.
    pub(crate) fn real(&self) -> bool {
        self.stop == Stop::Kill
    }

    /// Whether the rule is broken on purpose.
    pub fn broken(&self, rule: &str) -> bool {
        self.lock().spec.broken.iter().any(|broken| broken == rule)
    }

    /// A named point.
    ///
    /// # Errors
    /// What a test asked for.
    pub fn point(&self, name: &str) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.stopped {
            return Err(stopped());
        }
        let passed = inner.points.entry(name.to_owned()).or_default();
        *passed += 1;
        let passed = *passed;
        if let Some(trace) = &mut inner.trace {
            let _ = writeln!(trace, "point {name}:{passed}");
        }
        let here = |place: &Place| matches!(place, Place::Point(at, times) if at == name && *times == passed);
        let actions: Vec<Action> = inner.spec.rules.iter().filter(|(_, place)| here(place)).map(|(action, _)| *action).collect();
        for action in actions {
            match action {
                Action::Kill | Action::KillAfter => return Err(self.cut(&mut inner, None)),
                Action::Power(loss) => return Err(self.cut(&mut inner, Some(loss))),
                Action::Full => inner.full = true,
                Action::FullOnce | Action::Fail => return Err(io::Error::other(format!("failed on purpose at {name}"))),
            }
        }
        Ok(())
    }

    /// Does one disk operation, or what a test wants in its place. `run` is told how many bytes may land.
    pub(crate) fn operate<T>(&self, root: &Dir, kind: Kind<'_>, path: &str, run: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
        // Held over the operation, so that nothing reaches the disk while the power goes.
        let mut inner = self.lock();
        if inner.stopped {
            return Err(stopped());
        }
        inner.operations += 1;
        inner.writes += u64::from(matches!(kind, Kind::Append(_)));
        let (number, write) = (inner.operations, inner.writes);
        if let Some(trace) = &mut inner.trace {
            let _ = match kind {
                Kind::Append(bytes) => writeln!(trace, "{number} write {path} {} bytes, write {write}", bytes.len()),
                Kind::Cut(length) => writeln!(trace, "{number} cut {path} to {length}"),
                Kind::Rename(to) => writeln!(trace, "{number} rename {path} to {to}"),
                _ => writeln!(trace, "{number} {} {path}", format!("{kind:?}").to_lowercase()),
            };
        }
        if inner.spec.rules.is_empty() && self.stop == Stop::Kill {
            return run(if let Kind::Append(bytes) = kind { bytes.len() } else { 0 });
        }
        if inner.root.is_none() {
            inner.root = Some(root.try_clone()?);
        }
        inner.shadow.touch(root, path)?;
        if let Kind::Rename(to) = kind {
            inner.shadow.touch(root, to)?;
        }
        let asked = |inner: &Inner, wanted: Action| {
            let count = if matches!(wanted, Action::Full | Action::FullOnce) { write } else { number };
            inner.spec.rules.iter().any(|(action, place)| *action == wanted && *place == Place::Operation(count))
        };
        if asked(&inner, Action::Kill) {
            return Err(self.cut(&mut inner, None));
        }
        for loss in [Loss::Everything, Loss::Bytes, Loss::Half, Loss::Zeros, Loss::Cuts] {
            if asked(&inner, Action::Power(loss)) {
                return Err(self.cut(&mut inner, Some(loss)));
            }
        }
        if asked(&inner, Action::Fail) {
            return Err(io::Error::other("failed on purpose"));
        }
        if let Kind::Append(bytes) = kind {
            inner.full |= asked(&inner, Action::Full);
            if inner.full || asked(&inner, Action::FullOnce) {
                // Of a disk that was full before, nothing lands.
                let half = if asked(&inner, Action::Full) || !inner.full { bytes.len() / 2 } else { 0 };
                run(half)?;
                inner.shadow.done(Kind::Append(&bytes[..half]), path);
                return Err(rustix::io::Errno::NOSPC.into());
            }
        }
        let done = run(if let Kind::Append(bytes) = kind { bytes.len() } else { 0 })?;
        inner.shadow.done(kind, path);
        if asked(&inner, Action::KillAfter) {
            return Err(self.cut(&mut inner, None));
        }
        Ok(done)
    }

    fn cut(&self, inner: &mut Inner, loss: Option<Loss>) -> io::Error {
        inner.stopped = true;
        if let (Some(loss), Some(root)) = (loss, inner.root.take()) {
            if let Err(error) = inner.shadow.lose(&root, loss) {
                // A test that believes the power went must not pass by chance.
                if let Some(trace) = &mut inner.trace {
                    let _ = writeln!(trace, "the power could not be cut: {error}");
                }
                return error;
            }
            inner.root = Some(root);
        }
        if self.stop == Stop::Kill {
            // Nothing after this runs, unless the kernel refuses to let a process kill itself.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
        stopped()
    }
}

fn stopped() -> io::Error {
    io::Error::other("the process was cut off on purpose")
}
