//! Makes a template of an image: what `emhost template build` does.
//!
//! A template belongs to the site and to no cluster, so nothing of it is remembered: the plugin that makes it looks
//! before each step, and one that was cut off is taken up where it was.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::crew::Worker;
use super::events::{Event, Progress, Watch};
use super::planning::{Problems, problems};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::{Boot, BootBase, Intent, Step};
use crate::bindings::exports::emhost::plugin::provisioner::{FirstBoot, Machine};
use crate::capabilities::Slots;
use crate::capabilities::journal::MemoryJournal;
use crate::diagnostic::Diagnostic;
use crate::inventory::Node;
use crate::plugins::lock::{Image, Lock};
use crate::plugins::{CallError, Cause};

/// How often passing trouble is tried again.
const TRIES: u32 = 10;
/// The pause before the next try where the plugin asks for none.
const PAUSE: Duration = Duration::from_secs(1);

/// What a template is made with.
pub struct Workshop {
    /// Says which image, and makes sure that it can be had.
    pub source: Worker,
    /// Makes the template.
    pub maker: Worker,
    /// Where slots lead.
    pub slots: Arc<Slots>,
    /// The cluster's folder, whose lock file pins images.
    pub folder: PathBuf,
    /// Images that are pinned.
    pub images: BTreeMap<String, Image>,
    /// Who watches.
    pub watch: Arc<dyn Watch>,
}

impl Workshop {
    /// Makes the template that the node stands for, and says where it is.
    ///
    /// # Errors
    /// There is one, or why it cannot be made.
    pub async fn make(&self, node: &Node) -> Result<Machine, Problems> {
        let unit = UnitId::Boot(node.name.clone());
        if let Some(there) = self.there(&unit, node).await? {
            let summary = format!("there is a template {} already: machine {} on {}", node.name, there.id, there.host);
            return Err(vec![
                Diagnostic::error("template/there", summary).help(Some("use it as it is, or remove it at the hypervisor first")),
            ]);
        }
        let begun = Instant::now();
        self.watch.event(Event::Run { units: vec![(unit.clone(), Vec::new())] });
        self.tell(&unit, Progress::Began { activity: format!("make template {}", node.name), estimate: None });
        let first_boot = FirstBoot { boot: self.image(&unit, node).await?, media: Vec::new() };
        self.steps(&unit, node, &first_boot).await?;
        let made = self.there(&unit, node).await?;
        self.tell(&unit, Progress::Done { elapsed: begun.elapsed(), changed: true });
        made.ok_or_else(|| vec![Diagnostic::error("template/unsettled", format!("template {} was made and is not there", node.name))])
    }

    fn tell(&self, unit: &UnitId, progress: Progress) {
        self.watch.event(Event::Unit { unit: unit.clone(), progress });
    }

    /// The template, if it is finished.
    async fn there(&self, unit: &UnitId, node: &Node) -> Result<Option<Machine>, Problems> {
        let context = self.maker.looks(Some(unit));
        let machine = self.maker.plugin.observe_machine(&context, node, None).await.map_err(|error| problems(&error))?;
        let finished = |machine: &Machine| machine.attributes.iter().any(|it| it.key == "template" && it.value == "true");
        Ok(machine.filter(finished))
    }

    /// What it is made from, with its real address and its digest.
    async fn image(&self, unit: &UnitId, node: &Node) -> Result<Boot, Problems> {
        let fail = |code: &str, summary: String, help: Option<String>| vec![Diagnostic::error(code, summary).help(help)];
        let (source, journal) = (&self.source, Arc::new(MemoryJournal::default()));
        let resolved = source.plugin.resolve(&source.looks(Some(unit)), node).await.map_err(|error| problems(&error))?;
        let mut boot = source.plugin.ensure(&source.acts(Some(unit), journal), node, &resolved).await.map_err(|error| problems(&error))?;
        let BootBase::DiskImage(image) = &mut boot.base else {
            let summary = format!("boot source `{}` starts machines from no disk image, and a template is made from one", source.name());
            return Err(fail("template/image", summary, None));
        };
        let located =
            self.slots.locate(&image.url).map_err(|why| fail("boot/image", why, Some("bind the slot in site.yaml".to_owned())))?;
        source.may_read(&located.slot).map_err(|refusal| fail("host/refused", refusal.summary, refusal.help))?;
        if image.digest.is_none() {
            image.digest = if let Some(pinned) = self.images.get(&located.key) {
                Some(pinned.digest.clone())
            } else {
                self.tell(unit, Progress::Again { reason: format!("reads {} once, to pin it", image.name), pause: Duration::ZERO });
                let read = self.slots.read(&located, image.format, |_, _| {}).await;
                let read = read.map_err(|unread| fail("boot/image", unread.summary, unread.help))?;
                let pin = Image { digest: read.digest.clone(), size: read.size };
                Lock::pin_image(&self.folder, &located.key, &pin).map_err(|error| fail("lock/image", error.to_string(), None))?;
                Some(read.digest)
            };
        }
        image.url = located.url;
        Ok(boot)
    }

    /// Step by step, until it is done.
    async fn steps(&self, unit: &UnitId, node: &Node, first_boot: &FirstBoot) -> Result<(), Problems> {
        let (mut state, mut tries) = (None, 0);
        loop {
            let context = self.maker.acts(Some(unit), Arc::new(MemoryJournal::default()));
            match self.maker.plugin.apply_machine(&context, node, Some(first_boot), Intent::Present, state.as_ref()).await {
                Ok(Step::Done(_)) => return Ok(()),
                Ok(Step::Again(again)) => {
                    let pause = Duration::from_millis(again.after_ms.into());
                    self.tell(unit, Progress::Again { reason: again.reason, pause });
                    (state, tries) = (again.state, 0);
                    tokio::time::sleep(pause).await;
                }
                Err(error) if error.is_passing() && tries < TRIES => {
                    tries += 1;
                    let pause = error.retry_after().unwrap_or(PAUSE);
                    self.tell(unit, Progress::Retries { reason: error.to_string(), pause, attempt: tries + 1 });
                    state = learnt(error).or(state);
                    tokio::time::sleep(pause).await;
                }
                Err(error) => return Err(problems(&error)),
            }
        }
    }
}

/// What a step that failed has to tell the next one.
fn learnt(error: CallError) -> Option<crate::bindings::emhost::plugin::types::State> {
    if let Cause::Failed { state, .. } = error.cause { state } else { None }
}
