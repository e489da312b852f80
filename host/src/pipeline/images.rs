//! What machines start from, as those are told who fetch it: with its real address, and pinned by its digest.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::crew::Worker;
use super::events::Event;
use super::planning::Problems;
use super::run::{Inputs, Run};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::{Artifact, Boot, BootBase};
use crate::capabilities::artifacts::{Located, Read, Unread};
use crate::capabilities::events::{Event as Said, Source};
use crate::diagnostic::Diagnostic;
use crate::plugins::lock::{Image, Lock, LockError};

/// How much more is read before it is said again.
const TELL: u64 = 8 << 20;

/// The digests of images, as `emhost.lock` has them.
#[derive(Default)]
pub struct Images {
    folder: PathBuf,
    locked: bool,
    known: Mutex<BTreeMap<String, Image>>,
    /// Whoever reads an image has this: what several things boot from is read once.
    reading: tokio::sync::Mutex<()>,
}

/// What is known of the image that something boots from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// There is no image, or its boot source vouches for it.
    Needless,
    /// The lock file has it.
    Known(String),
    /// It is read before a machine starts from it.
    Missing,
}

impl Images {
    /// What the lock file of a cluster's folder says. `locked`: nothing may be added to it.
    pub fn new(folder: PathBuf, known: BTreeMap<String, Image>, locked: bool) -> Self {
        Self { folder, locked, known: Mutex::new(known), reading: tokio::sync::Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Image>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn digest(&self, located: &Located) -> Option<String> {
        self.known().get(&located.key).map(|image| image.digest.clone())
    }

    fn keep(&self, located: &Located, read: &Read) -> Result<(), LockError> {
        let image = Image { digest: read.digest.clone(), size: read.size };
        // One at a time: each reads the file, adds to it, and writes it.
        let mut known = self.known();
        Lock::pin_image(&self.folder, &located.key, &image)?;
        known.insert(located.key.clone(), image);
        Ok(())
    }
}

fn artifact(boot: &Boot) -> Option<&Artifact> {
    match &boot.base {
        BootBase::DiskImage(artifact) | BootBase::Installer(artifact) => Some(artifact),
        BootBase::Template(_) => None,
    }
}

fn artifact_mut(boot: &mut Boot) -> Option<&mut Artifact> {
    match &mut boot.base {
        BootBase::DiskImage(artifact) | BootBase::Installer(artifact) => Some(artifact),
        BootBase::Template(_) => None,
    }
}

/// The same boot with this digest in the place of its own.
pub(super) fn with_digest(mut boot: Boot, digest: Option<String>) -> Boot {
    if let Some(artifact) = artifact_mut(&mut boot) {
        artifact.digest = digest;
    }
    boot
}

/// The digest that a boot has.
pub(super) fn digest_of(boot: &Boot) -> Option<String> {
    artifact(boot).and_then(|artifact| artifact.digest.clone())
}

impl Run {
    /// What a boot source answered, as others are told: with the real address, and the digest that the lock file has.
    ///
    /// # Errors
    /// An image that no slot leads to, that its boot source may not read, or that is not the one that was pinned.
    pub(super) fn told(&self, source: &Worker, boot: &Boot) -> Result<Boot, Problems> {
        let mut boot = boot.clone();
        let Some(artifact) = artifact_mut(&mut boot) else { return Ok(boot) };
        let plugin = source.name();
        let located = self.slots.locate(&artifact.url).map_err(|why| {
            let summary = format!("plugin `{plugin}` boots nodes from an image that cannot be found: {why}");
            vec![Diagnostic::error("boot/image", summary).help(Some("bind the slot in site.yaml, or use another boot source"))]
        })?;
        // It may not have the host read for it what it may not read itself.
        source.may_read(&located.slot).map_err(|refusal| vec![Diagnostic::error("host/refused", refusal.summary).help(refusal.help)])?;
        let pinned = self.images.digest(&located);
        if let (Some(was), Some(is)) = (&pinned, &artifact.digest)
            && was != is
        {
            return Err(vec![refusal(&LockError::Image { image: located.key, was: was.clone(), is: is.clone() })]);
        }
        artifact.digest = artifact.digest.take().or(pinned);
        artifact.url = located.url;
        Ok(boot)
    }

    /// What is known of the image that something boots from.
    ///
    /// # Errors
    /// An image that is not in the lock file, where nothing may be added to it.
    pub(super) fn pin_of(&self, inputs: &Inputs) -> Result<Pin, Problems> {
        let Some(artifact) = artifact(&inputs.boot) else { return Ok(Pin::Needless) };
        if artifact.digest.is_some() {
            return Ok(Pin::Needless);
        }
        match digest_of(&inputs.planned) {
            Some(digest) => Ok(Pin::Known(digest)),
            None if self.images.locked => {
                let summary = format!("image {} is not in emhost.lock, and with --locked nothing is added to it", artifact.name);
                Err(vec![Diagnostic::error("lock/image", summary).help(Some("apply without --locked once, and commit emhost.lock"))])
            }
            None => Ok(Pin::Missing),
        }
    }

    /// Reads the image that something boots from, if nobody knows what it is yet, and keeps its digest.
    ///
    /// # Errors
    /// Why it cannot be read, or is not what it should be.
    pub(super) async fn pin(&self, unit: &UnitId, inputs: &Inputs) -> Result<(), Unread> {
        let Some(artifact) = artifact(&inputs.boot).filter(|_| digest_of(&inputs.to_apply()).is_none()) else { return Ok(()) };
        let broken = |summary: String, help: Option<String>| Unread { summary, help, passing: false };
        let located = self.slots.locate(&artifact.url).map_err(|why| broken(why, None))?;
        let _one = self.images.reading.lock().await;
        let known = self.images.digest(&located);
        let digest = if let Some(digest) = known {
            digest
        } else {
            let told = AtomicU64::new(0);
            let seen = |bytes: u64, of: Option<u64>| {
                if bytes >= told.load(Ordering::Relaxed) {
                    told.store(bytes + TELL, Ordering::Relaxed);
                    self.tell_reading(unit, &artifact.name, bytes, of);
                }
            };
            self.tell_reading(unit, &artifact.name, 0, None);
            let read = self.slots.read(&located, artifact.format, seen).await?;
            self.images.keep(&located, &read).map_err(|error| {
                let refused = refusal(&error);
                broken(refused.summary, refused.help)
            })?;
            read.digest
        };
        let _ = inputs.pinned.set(digest);
        Ok(())
    }

    fn tell_reading(&self, unit: &UnitId, image: &str, bytes: u64, of: Option<u64>) {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let amount = match of {
            Some(of) => format!(", {} of {} MiB", mib(bytes), mib(of)),
            None if bytes == 0 => ", which may have to be built first".to_owned(),
            None => format!(", {} MiB", mib(bytes)),
        };
        let percent = of.filter(|of| *of > 0).and_then(|of| u8::try_from((bytes.saturating_mul(100) / of).min(100)).ok());
        let source = Source { plugin: "emhost".to_owned(), call: "pin", unit: Some(unit.to_string()) };
        let said = Said::Progress { source, activity: format!("reads {image} once, to pin it{amount}"), percent };
        self.watch.event(Event::Plugin { unit: Some(unit.clone()), said });
    }
}

/// What the lock file says, for a person: what, the story, and what to do.
fn refusal(error: &LockError) -> Diagnostic {
    let text = error.to_string();
    let mut lines: Vec<&str> = text.lines().collect();
    let help = (lines.len() > 1).then(|| lines.pop().unwrap_or_default().to_owned());
    let mut diagnostic = Diagnostic::error("lock/image", lines.first().copied().unwrap_or_default()).help(help);
    diagnostic.detail = (lines.len() > 1).then(|| lines[1..].join("\n"));
    diagnostic
}
