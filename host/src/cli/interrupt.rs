//! Ctrl-C and SIGTERM: a run ends in good order, any other command at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use emhost::pipeline::apply::Stop;
use tokio::sync::watch;

use super::Exit;

struct Inner {
    claimed: AtomicBool,
    stop: watch::Sender<Stop>,
}

/// Who is told when a person wants to stop.
#[derive(Clone)]
pub struct Interrupts(Arc<Inner>);

impl Interrupts {
    /// Listens from now on. Until a run claims them, a signal ends the process with the documented code.
    pub fn listen() -> Self {
        static ONLY: OnceLock<Interrupts> = OnceLock::new();
        ONLY.get_or_init(|| {
            let interrupts = Self(Arc::new(Inner { claimed: AtomicBool::new(false), stop: watch::Sender::new(Stop::No) }));
            let heard = interrupts.clone();
            std::thread::spawn(move || heard.hear());
            interrupts
        })
        .clone()
    }

    fn hear(&self) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else { return };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if !self.0.claimed.load(Ordering::SeqCst) {
                    std::process::exit(Exit::Stopped as i32);
                }
                self.0.stop.send_modify(|stop| *stop = if *stop == Stop::No { Stop::Soon } else { Stop::Now });
            }
        });
    }

    /// From now on signals only ask; whoever claims them has to look.
    pub fn claim(&self) -> watch::Receiver<Stop> {
        self.0.claimed.store(true, Ordering::SeqCst);
        self.0.stop.subscribe()
    }
}
