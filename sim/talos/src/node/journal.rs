//! What a node writes down: the kernel's messages and the logs of services.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use emhost_talos_api::common;
use futures::stream::{self, BoxStream, StreamExt};
use prost::Message;
use tokio::sync::broadcast;

use crate::wire::Status;

/// Lines that are kept.
const KEPT: usize = 1000;
const BEHIND: usize = 256;
/// Where the kernel's lines are filed.
const KERNEL: &str = "kernel";

struct Line {
    source: String,
    text: String,
}

/// The lines of one boot.
pub(crate) struct Journal {
    past: Mutex<VecDeque<Arc<Line>>>,
    live: broadcast::Sender<Arc<Line>>,
}

impl Journal {
    pub fn new() -> Self {
        Self { past: Mutex::default(), live: broadcast::channel(BEHIND).0 }
    }

    /// A message of the kernel.
    pub fn kernel(&self, text: &str) {
        self.add(KERNEL, format!("kern:    info: [{}]: {text}\n", jiff::Timestamp::now()));
    }

    /// A line of Talos itself, which goes to the kernel's messages and to its own log.
    pub fn talos(&self, text: &str) {
        let now = jiff::Timestamp::now();
        self.add(KERNEL, format!("user: warning: [{now}]: [talos] {text}\n"));
        self.add("machined", format!("{now} {text}\n"));
    }

    /// A line of a service.
    pub fn service(&self, id: &str, text: &str) {
        self.add(id, format!("{text}\n"));
    }

    fn add(&self, source: &str, text: String) {
        let line = Arc::new(Line { source: source.to_owned(), text });
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        if past.len() == KEPT {
            past.pop_front();
        }
        past.push_back(line.clone());
        // Nobody listening is fine.
        let _ = self.live.send(line);
    }

    /// The kernel's messages. `tail` leaves out what is past.
    pub fn dmesg(&self, follow: bool, tail: bool) -> BoxStream<'static, Result<Bytes, Status>> {
        self.read(KERNEL, follow, if tail { Some(0) } else { None })
    }

    /// The log of a service, from its end where a number of lines is given.
    pub fn read(&self, source: &str, follow: bool, lines: Option<usize>) -> BoxStream<'static, Result<Bytes, Status>> {
        let (mut past, live) = {
            let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            (past.iter().filter(|line| line.source == source).cloned().collect::<Vec<_>>(), self.live.subscribe())
        };
        if let Some(lines) = lines {
            past.drain(..past.len().saturating_sub(lines));
        }
        let message = |line: Arc<Line>| {
            let data = common::Data { metadata: None, bytes: line.text.clone().into_bytes() };
            Ok(Bytes::from(data.encode_to_vec()))
        };
        let past = stream::iter(past);
        if !follow {
            return past.map(message).boxed();
        }
        let source = source.to_owned();
        let coming = stream::unfold(live, |mut live| async move {
            loop {
                match live.recv().await {
                    Ok(written) => return Some((written, live)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        });
        let coming = coming.filter(move |line| {
            let wanted = line.source == source;
            async move { wanted }
        });
        past.chain(coming).map(message).boxed()
    }

    /// Whose logs there are.
    pub fn sources(&self) -> Vec<String> {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = past.iter().map(|line| line.source.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether anything was written under this name.
    pub fn knows(&self, source: &str) -> bool {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|line| line.source == source)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn text(stream: BoxStream<'static, Result<Bytes, Status>>) -> String {
        let messages: Vec<_> = stream.collect().await;
        let bytes = messages.into_iter().flat_map(|message| common::Data::decode(message.unwrap()).unwrap().bytes);
        String::from_utf8(bytes.collect()).unwrap()
    }

    #[tokio::test]
    async fn lines_are_filed_under_who_wrote_them() {
        let journal = Journal::new();
        journal.kernel("Linux version 6.12");
        journal.talos("boot sequence: done");
        for at in 0..3 {
            journal.service("kubelet", &format!("line {at}"));
        }
        let dmesg = text(journal.dmesg(false, false)).await;
        assert!(dmesg.starts_with("kern:    info: ["), "{dmesg}");
        assert!(dmesg.ends_with("]: [talos] boot sequence: done\n"), "{dmesg}");
        assert_eq!(text(journal.read("kubelet", false, Some(2))).await, "line 1\nline 2\n");
        assert_eq!(journal.sources(), ["kernel", "kubelet", "machined"]);
    }

    #[tokio::test]
    async fn a_follower_sees_what_comes() {
        let journal = Journal::new();
        journal.service("etcd", "old");
        let mut lines = journal.read("etcd", true, Some(0));
        journal.service("kubelet", "not this");
        journal.service("etcd", "new");
        let first = common::Data::decode(lines.next().await.unwrap().unwrap()).unwrap();
        assert_eq!(first.bytes, b"new\n");
    }
}
