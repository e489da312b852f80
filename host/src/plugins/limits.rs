//! How much of everything one call of a plugin may use.

use std::time::Duration;

use wasmtime::{Store, UpdateDeadline};

use super::instances::TICK;
use crate::capabilities::Exceeded;

/// The limits of one call. What exceeds one ends the call, never the host.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Linear memory of the guest, in bytes.
    pub memory: usize,
    /// Time the guest may compute, not counting what it waits for.
    pub cpu: Duration,
    /// Time for the whole call, waiting included.
    pub wall: Duration,
    /// Elements of all tables of one instance.
    pub table_elements: usize,
    /// Core instances, memories and tables in one component.
    pub instances: usize,
    /// Handles the guest may hold at a time.
    pub handles: usize,
    /// Bytes of strings and lists in one crossing between guest and host.
    pub crossing: usize,
    /// Bytes of one HTTP request body.
    pub request_body: u64,
    /// Bytes of one HTTP response body.
    pub response_body: u64,
    /// Bytes of one gRPC message.
    pub grpc_message: usize,
    /// Requests and gRPC calls in one call of the plugin.
    pub requests: u32,
    /// Bytes of state that a unit may keep.
    pub state: usize,
    /// Bytes of log messages, standard output and standard error.
    pub log_bytes: usize,
    /// Messages of log, progress and reports.
    pub messages: u32,
    /// Bytes of one archive.
    pub archive: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A JavaScript or Python engine starts at about 30 MiB.
            memory: 256 << 20,
            cpu: Duration::from_secs(10),
            wall: Duration::from_mins(2),
            table_elements: 100_000,
            instances: 64,
            handles: 4096,
            crossing: 32 << 20,
            request_body: 64 << 20,
            response_body: 16 << 20,
            grpc_message: 16 << 20,
            requests: 1000,
            state: 256 << 10,
            log_bytes: 256 << 10,
            messages: 2000,
            archive: 4 << 30,
        }
    }
}

impl Limits {
    /// Bounds what crosses and how long is computed in a store.
    ///
    /// One tick at a time: a tick counts only if the guest was computing when it came, so waiting is free; and the guest steps aside,
    /// so the wall clock can end it too.
    pub(crate) fn meter<T: 'static>(&self, store: &mut Store<T>) {
        store.set_hostcall_fuel(self.crossing);
        let most = self.cpu.as_millis() / TICK.as_millis();
        let mut ticks = 0;
        let cpu = self.cpu;
        store.epoch_deadline_callback(move |_| {
            ticks += 1;
            if ticks > most {
                return Err(Exceeded(format!("computed for more than the {cpu:?} it may")).into());
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
    }
}
