//! A run on a terminal: a tree that is redrawn in place, with messages above it.
//!
//! Whoever tells of an event never waits for the terminal: events change the tree in memory, and a thread of its own draws it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use emhost::pipeline::{Event, UnitId, Watch};

use super::messages::{Message, Messages};
use super::tree::Tree;
use super::{Ui, Volume};

/// How often it is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// After such a pause this process was stopped, and the terminal was somebody else's meanwhile.
const AWAY: Duration = Duration::from_secs(2);

/// The tree while it is watched. When this goes, so does the tree.
pub struct Live(Arc<Drawing>);

/// What the watcher and the thread that draws share.
pub struct Drawing {
    ui: Ui,
    began: Instant,
    state: Mutex<State>,
    wake: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct State {
    tree: Tree,
    messages: Messages,
    queue: Vec<Message>,
    ended: bool,
}

impl Live {
    /// Begins to draw; an error is that of a system without threads to spare.
    pub fn start(ui: &Ui, title: &str, estimates: HashMap<UnitId, Duration>) -> std::io::Result<Self> {
        let state = State {
            tree: Tree::new(title, estimates, ui.redactor()),
            messages: Messages::new(ui.volume == Volume::Verbose),
            queue: Vec::new(),
            ended: false,
        };
        let drawing = Arc::new(Drawing {
            ui: ui.clone(),
            began: Instant::now(),
            state: Mutex::new(state),
            wake: Condvar::new(),
            thread: Mutex::new(None),
        });
        let thread = std::thread::Builder::new().name("terminal".to_owned()).spawn({
            let drawing = Arc::clone(&drawing);
            move || drawing.draw()
        })?;
        *drawing.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(Self(drawing))
    }

    /// What is needed to end it from elsewhere.
    pub fn drawing(&self) -> &Arc<Drawing> {
        &self.0
    }
}

impl Watch for Live {
    fn event(&self, event: Event) {
        let now = self.0.began.elapsed();
        let mut state = self.0.lock();
        if !state.ended {
            state.tree.take(&event, now);
            let messages = state.messages.take(&event, now);
            state.queue.extend(messages);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drawing {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints what is left to be said and takes the tree off the terminal.
    pub fn end(&self) {
        self.lock().ended = true;
        self.wake.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It never panics; if it did, there would be no tree any more, which is what is asked for.
            let _ = thread.join();
        }
    }

    fn draw(&self) {
        let mut last = Instant::now();
        loop {
            let state = self.lock();
            let waited = self.wake.wait_timeout_while(state, TICK, |state| !state.ended);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let ended = state.ended;
            let mut queue = std::mem::take(&mut state.queue);
            if ended {
                queue.extend(state.messages.rest());
            }
            drop(state);
            if last.elapsed() > AWAY {
                self.ui.screen.forget();
            }
            for message in &queue {
                self.ui.message(message);
            }
            if ended {
                self.ui.screen.redraw(&[], false);
                return;
            }
            let size = self.ui.screen.size();
            let frame = self.lock().tree.frame(self.began.elapsed(), size);
            self.ui.screen.redraw(&frame, self.ui.color);
            last = Instant::now();
        }
    }
}
