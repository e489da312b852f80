//! What happened on a node since it booted, and who listens.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use emhost_talos_api::{google, machine};
use futures::stream::{self, BoxStream, StreamExt};
use prost::Message;
use tokio::sync::broadcast;

use crate::wire::Status;

/// Events that are kept, as many as Talos keeps.
const KEPT: usize = 1000;
/// Events a listener may be behind before it misses some.
const BEHIND: usize = 256;
/// How long somebody who listened is expected back.
const RECENT: Duration = Duration::from_secs(5);

/// The events of one boot.
pub(crate) struct Events {
    past: Mutex<VecDeque<Arc<Happened>>>,
    live: broadcast::Sender<Arc<Happened>>,
    asked: Mutex<Option<Instant>>,
}

struct Happened {
    time: SystemTime,
    event: machine::Event,
}

impl Events {
    pub fn new() -> Self {
        Self { past: Mutex::default(), live: broadcast::channel(BEHIND).0, asked: Mutex::default() }
    }

    /// Tells of something; `actor` is the call that caused it, or empty.
    pub fn publish(&self, actor: &str, name: &str, message: &impl Message) {
        let event = event(actor, google::Any::pack(name, message));
        let happened = Arc::new(Happened { time: SystemTime::now(), event });
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        if past.len() == KEPT {
            past.pop_front();
        }
        past.push_back(happened.clone());
        // Nobody listening is fine. Sent under the lock, so that a new listener neither misses nor repeats one.
        let _ = self.live.send(happened);
    }

    /// Whether anybody listens, or did a moment ago: who lost the connection comes back and asks for what was missed.
    pub fn followed(&self) -> bool {
        let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        self.live.receiver_count() > 0 || asked.is_some_and(|asked| asked.elapsed() < RECENT)
    }

    /// What a listener is sent: an empty event at once, then what it asked for of the past, then what happens.
    pub fn listen(&self, request: &machine::EventsRequest) -> Result<BoxStream<'static, Result<Bytes, Status>>, Status> {
        let asked =
            usize::from(request.tail_events != 0) + usize::from(!request.tail_id.is_empty()) + usize::from(request.tail_seconds != 0);
        if asked > 1 {
            return Err(Status::unknown("WithTailEvents can't be specified at the same time with WithTailID or WithTailDuration"));
        }
        if !request.tail_id.is_empty() && !is_id(&request.tail_id) {
            return Err(Status::unknown("error parsing tail_id: xid: invalid ID"));
        }
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let (past, live) = {
            let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            (past.iter().cloned().collect::<Vec<_>>(), self.live.subscribe())
        };
        let skipped = if request.tail_events > 0 {
            past.len().saturating_sub(usize::try_from(request.tail_events).unwrap_or(usize::MAX))
        } else if request.tail_events < 0 {
            0
        } else if !request.tail_id.is_empty() {
            past.iter().position(|happened| happened.event.id > request.tail_id).unwrap_or(past.len())
        } else if request.tail_seconds > 0 {
            let ago = Duration::from_secs(u64::try_from(request.tail_seconds).unwrap_or_default());
            let from = SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
            past.iter().position(|happened| happened.time >= from).unwrap_or(past.len())
        } else {
            past.len()
        };
        let actor = request.with_actor_id.clone();
        let wanted = move |happened: &Arc<Happened>| actor.is_empty() || happened.event.actor_id == actor;
        let hello = event(&request.with_actor_id, google::Any { type_url: String::new(), value: Vec::new() });
        let live = stream::unfold(live, |mut live| async move {
            loop {
                match live.recv().await {
                    Ok(happened) => return Some((happened, live)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        });
        let events = stream::iter(past.into_iter().skip(skipped)).chain(live).filter(move |happened| {
            let wanted = wanted(happened);
            async move { wanted }
        });
        let bytes = events.map(|happened| Bytes::from(happened.event.encode_to_vec()));
        Ok(stream::iter([Bytes::from(hello.encode_to_vec())]).chain(bytes).map(Ok).boxed())
    }
}

fn event(actor: &str, data: google::Any) -> machine::Event {
    machine::Event { metadata: None, data: Some(data), id: id(), actor_id: actor.to_owned() }
}

/// The alphabet of base32hex in lower case.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

fn is_id(text: &str) -> bool {
    text.len() == 20 && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// An id that sorts by time: seconds, five bytes of this process, a counter.
fn id() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut bytes = [0_u8; 12];
    bytes[..4].copy_from_slice(&u32::try_from(seconds).unwrap_or(u32::MAX).to_be_bytes());
    bytes[4..9].copy_from_slice(b"talos");
    bytes[9..].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes()[1..]);
    let mut text = String::with_capacity(20);
    for at in 0..20 {
        let bit = at * 5;
        let pair = u16::from(bytes[bit / 8]) << 8 | u16::from(bytes.get(bit / 8 + 1).copied().unwrap_or_default());
        let value = pair >> (11 - bit % 8) & 0x1f;
        text.push(char::from(ALPHABET[usize::from(value)]));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn phase(name: &str) -> machine::PhaseEvent {
        machine::PhaseEvent { phase: name.to_owned(), action: 0 }
    }

    async fn take(events: &Events, request: machine::EventsRequest, count: usize) -> Vec<machine::Event> {
        let stream = events.listen(&request).unwrap().take(count);
        stream.map(|bytes| machine::Event::decode(bytes.unwrap()).unwrap()).collect().await
    }

    #[tokio::test]
    async fn a_listener_gets_a_greeting_then_the_past_it_asked_for() {
        let events = Events::new();
        for name in ["a", "b", "c"] {
            events.publish(if name == "b" { "me" } else { "" }, "machine.PhaseEvent", &phase(name));
        }
        let all = take(&events, machine::EventsRequest { tail_events: -1, ..Default::default() }, 4).await;
        assert_eq!(all[0].data.as_ref().unwrap().type_url, "");
        assert_eq!(all[1].data.as_ref().unwrap().type_url, "talos/runtime/machine.PhaseEvent");
        let last = take(&events, machine::EventsRequest { tail_events: 1, ..Default::default() }, 2).await;
        assert_eq!(last[1], all[3]);
        let after = take(&events, machine::EventsRequest { tail_id: all[1].id.clone(), ..Default::default() }, 3).await;
        assert_eq!(after[1..], all[2..]);
        let mine = machine::EventsRequest { tail_events: -1, with_actor_id: "me".to_owned(), ..Default::default() };
        assert_eq!(take(&events, mine, 2).await[1], all[2]);
    }

    #[tokio::test]
    async fn what_happens_while_somebody_listens_arrives_once() {
        let events = Events::new();
        let mut stream = events.listen(&machine::EventsRequest::default()).unwrap();
        events.publish("", "machine.PhaseEvent", &phase("late"));
        let got: Vec<_> = stream.by_ref().take(2).collect().await;
        assert_eq!(machine::Event::decode(got[1].clone().unwrap()).unwrap().data.unwrap().value, phase("late").encode_to_vec());
        let odd = machine::EventsRequest { tail_id: "?".to_owned(), ..Default::default() };
        assert!(events.listen(&odd).is_err());
    }
}
