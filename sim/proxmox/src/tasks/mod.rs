//! What takes long: tasks with an identifier, a log and an exit status.
//!
//! As in Proxmox the log file is the truth about how a task ended: a task whose
//! log lacks a last line was cut off, with the simulator or by a signal.

mod log;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use emhost_sim_kit::{Fault, Store, audit};
use futures::FutureExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::access::Caller;
use crate::call::Fail;
use crate::pve::Pve;

use log::TaskFault;
pub(crate) use log::TaskLog;

/// The first process number that is given out.
const FIRST_PID: u64 = 1000;
/// How many finished tasks are remembered.
const REMEMBERED: usize = 2000;
/// How a task ends that nobody saw end.
const CUT_OFF: &str = "unexpected status";
/// Tasks that leave something worth seeing when their worker is killed.
const KILLABLE: [&str; 2] = ["qmclone", "qmcreate"];
/// How a task ends that was stopped.
const INTERRUPTED: &str = "received interrupt";

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub upid: String,
    pub node: String,
    pub pid: u64,
    pub pstart: u64,
    pub starttime: u64,
    /// Such as `qmclone`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it works on; may be empty.
    pub id: String,
    /// The user or token that started it.
    pub user: String,
    /// When it ended; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endtime: Option<u64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// Every task.
pub(crate) struct Tasks {
    store: Arc<Store>,
    inner: Mutex<Inner>,
    /// Says that some task ended.
    ended: watch::Sender<u64>,
}

struct Inner {
    /// Counts tasks, across restarts too.
    next: u64,
    /// By number, so oldest first.
    records: BTreeMap<u64, Record>,
    running: BTreeMap<String, Running>,
    /// What was spawned: a task that has ended holds on to things for a moment longer.
    jobs: Vec<AbortHandle>,
    closed: bool,
}

struct Running {
    stop: watch::Sender<bool>,
    job: Option<AbortHandle>,
}

impl Tasks {
    /// Reads what is kept. Tasks that ran when the simulator ended were cut off.
    pub fn open(store: &Arc<Store>) -> io::Result<Self> {
        let mut records = BTreeMap::new();
        for (key, mut record) in store.all::<Record>("pve/task/")? {
            let Ok(number) = key.parse::<u64>() else { continue };
            if record.endtime.is_none() {
                record.endtime = Some(now());
                record.status = Some(CUT_OFF.to_owned());
                store.put(&key_of(number), &record)?;
            }
            records.insert(number, record);
        }
        let next = records.keys().next_back().map_or(0, |last| last + 1);
        let inner = Inner { next, records, running: BTreeMap::new(), jobs: Vec::new(), closed: false };
        Ok(Self { store: Arc::clone(store), inner: Mutex::new(inner), ended: watch::Sender::new(0) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every task of a node, or of all, newest first.
    pub fn list(&self, node: Option<&str>) -> Vec<Record> {
        let inner = self.inner();
        inner.records.values().rev().filter(|record| node.is_none_or(|node| record.node == node)).cloned().collect()
    }

    /// Whether a task runs.
    pub fn is_running(&self, upid: &str) -> bool {
        self.inner().running.contains_key(upid)
    }

    /// Where the log of a task is.
    pub fn log_file(&self, upid: &str) -> io::Result<PathBuf> {
        // As on a real host: spread over folders by the last digit of the start time.
        let folder = upid.split(':').nth(4).and_then(|time| time.chars().next_back()).unwrap_or('0');
        self.store.file(&format!("pve/tasks/{folder}/{upid}"))
    }

    /// Interrupts a task. One that has ended stays as it is.
    pub fn stop(&self, upid: &str) {
        if let Some(running) = self.inner().running.get(upid) {
            running.stop.send_replace(true);
        }
    }

    /// Waits at most so long for a task to end, and says how it ended.
    pub async fn wait(&self, upid: &str, limit: Duration) -> Option<String> {
        let mut ended = self.ended.subscribe();
        let status = async {
            while self.is_running(upid) {
                if ended.changed().await.is_err() {
                    break;
                }
            }
            self.inner().records.values().rev().find(|record| record.upid == upid).and_then(|record| record.status.clone())
        };
        tokio::time::timeout(limit, status).await.ok().flatten()
    }

    /// Ends every task of a host on the spot, as when only that host loses power.
    pub fn cut_off(&self, node: &str) -> Vec<AbortHandle> {
        let mine: Vec<(u64, Option<AbortHandle>)> = {
            let inner = self.inner();
            let running = inner.records.iter().filter(|(_, record)| record.node == node && record.endtime.is_none());
            running.map(|(number, record)| (*number, inner.running.get(&record.upid).and_then(|running| running.job.clone()))).collect()
        };
        for (number, job) in &mine {
            job.iter().for_each(AbortHandle::abort);
            self.end(*number, CUT_OFF.to_owned());
        }
        mine.into_iter().filter_map(|(_, job)| job).collect()
    }

    /// Ends every task on the spot, as when the host loses power. Nothing is written: the next start finds them cut off.
    pub fn close(&self) -> Vec<AbortHandle> {
        let mut inner = self.inner();
        inner.closed = true;
        inner.jobs.iter().for_each(AbortHandle::abort);
        inner.jobs.clone()
    }

    fn begin(&self, who: &Caller, node: &str, kind: &str, id: &str, booted: u64) -> Result<(u64, Record, watch::Receiver<bool>), Fail> {
        let mut inner = self.inner();
        if inner.closed {
            return Err(Fail::die("got no worker upid - start worker failed\n"));
        }
        let number = inner.next;
        let (pid, starttime) = (FIRST_PID + number, now());
        let pstart = starttime.saturating_sub(booted) * 100 + number % 100;
        let upid = format!("UPID:{node}:{pid:08X}:{pstart:08X}:{starttime:08X}:{kind}:{id}:{}:", who.id);
        let record = Record {
            upid,
            node: node.to_owned(),
            pid,
            pstart,
            starttime,
            kind: kind.to_owned(),
            id: id.to_owned(),
            user: who.id.clone(),
            endtime: None,
            status: None,
        };
        self.store.put(&key_of(number), &record)?;
        inner.next += 1;
        inner.records.insert(number, record.clone());
        let (stop, stopped) = watch::channel(false);
        inner.running.insert(record.upid.clone(), Running { stop, job: None });
        self.forget(&mut inner)?;
        Ok((number, record, stopped))
    }

    /// Drops the oldest finished tasks.
    fn forget(&self, inner: &mut Inner) -> Result<(), Fail> {
        while inner.records.len() > REMEMBERED {
            let Some(oldest) = inner.records.iter().find(|(_, record)| record.endtime.is_some()).map(|(number, _)| *number) else { break };
            if let Some(record) = inner.records.remove(&oldest) {
                self.store.remove(&key_of(oldest))?;
                if std::fs::remove_file(self.log_file(&record.upid)?).is_err() {
                    // A log that is gone already is what was wanted.
                }
            }
        }
        Ok(())
    }

    fn end(&self, number: u64, status: String) {
        let mut inner = self.inner();
        if inner.closed {
            return;
        }
        if let Some(record) = inner.records.get_mut(&number).filter(|record| record.endtime.is_none()) {
            record.endtime = Some(now());
            record.status = Some(status);
            let record = record.clone();
            if self.store.put(&key_of(number), &record).is_err() {
                // The log file has the end as well, and the store refuses everything from now on.
            }
            inner.running.remove(&record.upid);
        }
        drop(inner);
        self.ended.send_modify(|count| *count += 1);
    }
}

impl Pve {
    /// Starts a task and gives back its identifier. What the body answers becomes the exit status.
    pub(crate) fn task<Body, Work>(self: &Arc<Self>, who: &Caller, node: &str, kind: &str, id: &str, body: Body) -> Result<String, Fail>
    where
        Body: FnOnce(TaskLog) -> Work + Send + 'static,
        Work: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.prepared_task(who, node, kind, id, move |log| async move {
            log.begin()?;
            body(log).await
        })
    }

    /// As [`Pve::task`], for a request that has already changed something: the body begins the log itself, and takes that back where it fails.
    pub(crate) fn prepared_task<Body, Work>(
        self: &Arc<Self>,
        who: &Caller,
        node: &str,
        kind: &str,
        id: &str,
        body: Body,
    ) -> Result<String, Fail>
    where
        Body: FnOnce(TaskLog) -> Work + Send + 'static,
        Work: Future<Output = Result<(), String>> + Send + 'static,
    {
        let (number, record, mut stopped) = self.tasks.begin(who, node, kind, id, self.booted)?;
        let upid = record.upid.clone();
        let file = self.tasks.log_file(&upid).and_then(|path| OpenOptions::new().create(true).append(true).open(path));
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                self.tasks.end(number, CUT_OFF.to_owned());
                return Err(Fail::die(format!("unable to create output file '{upid}' - {error}\n")));
            }
        };
        let fault = self.parts.dials.fault(&format!("task {kind}"), &[Fault::TaskFailed, Fault::TaskHalfDone]);
        if fault.is_some() {
            let request = format!("task {kind} {id}");
            self.parts.audit.record(audit::Entry {
                part: "pve".to_owned(),
                who: who.id.clone(),
                request,
                fault,
                ..audit::Entry::default()
            });
        }
        let log = TaskLog::new(file, fault.map(|fault| self.task_fault(fault, kind)));
        let pve = Arc::clone(self);
        let job = tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = AssertUnwindSafe(body(log.clone())).catch_unwind() => outcome.ok(),
                _ = stopped.wait_for(|stop| *stop) => Some(Err(INTERRUPTED.to_owned())),
                () = log.killed() => None,
            };
            // A worker that crashed or was killed leaves a log without an end.
            let status = outcome.map_or_else(|| CUT_OFF.to_owned(), |outcome| log.finish(outcome));
            pve.tasks.end(number, status);
        });
        let mut inner = self.tasks.inner();
        inner.jobs.retain(|job| !job.is_finished());
        inner.jobs.push(job.abort_handle());
        if let Some(running) = inner.running.get_mut(&upid) {
            running.job = Some(job.abort_handle());
        }
        Ok(upid)
    }

    /// What exactly goes wrong. Most tasks that fail half way notice it themselves.
    fn task_fault(&self, fault: Fault, kind: &str) -> TaskFault {
        match fault {
            Fault::TaskFailed => TaskFault::Failed,
            _ if KILLABLE.contains(&kind) && self.parts.dials.draw(&format!("killed {kind}"), 4) == 0 => TaskFault::Killed,
            _ => TaskFault::HalfDone,
        }
    }
}

fn key_of(number: u64) -> String {
    format!("pve/task/{number:012}")
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
