//! Who watches a run: a live tree, lines, objects, or nobody, by where the output goes.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use emhost::pipeline::{Event, UnitId, Watch};

use super::lines::{Json, Lines, Silent};
use super::live::Live;
use super::{Ui, Volume};

/// Shows what happens, until it is ended or dropped. What happens after that is not shown, unless it is begun again.
pub struct Watching {
    ui: Ui,
    now: Mutex<Option<Arc<dyn Watch>>>,
}

impl Watching {
    /// Begins anew, under another title, with what earlier runs took.
    pub fn begin(&self, title: &str, estimates: HashMap<UnitId, Duration>) {
        self.end();
        let watch = self.ui.watcher(title, estimates);
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
    }

    /// Takes the tree off the terminal.
    pub fn end(&self) {
        let ended = self.now.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(ended);
        self.ui.end_live();
    }
}

impl Watch for Watching {
    fn event(&self, event: Event) {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(now) = now {
            now.event(event);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.end();
    }
}

impl Ui {
    /// Begins to show what happens.
    pub fn watch(&self, title: &str) -> Arc<Watching> {
        let watching = Watching { ui: self.clone(), now: Mutex::new(None) };
        watching.begin(title, HashMap::new());
        Arc::new(watching)
    }

    fn watcher(&self, title: &str, estimates: HashMap<UnitId, Duration>) -> Arc<dyn Watch> {
        if self.json {
            return Arc::new(Json(self.clone()));
        }
        if self.volume == Volume::Quiet {
            return Arc::new(Silent(self.clone()));
        }
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if std::io::stderr().is_terminal()
            && !dumb
            && let Ok(live) = Live::start(self, title, estimates)
        {
            *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(live.drawing());
            return Arc::new(live);
        }
        Arc::new(Lines::new(self))
    }

    /// Takes the tree off the terminal, if there is one.
    pub fn end_live(&self) {
        let drawing = std::mem::take(&mut *self.live.lock().unwrap_or_else(PoisonError::into_inner)).upgrade();
        if let Some(drawing) = drawing {
            drawing.end();
        }
    }
}
