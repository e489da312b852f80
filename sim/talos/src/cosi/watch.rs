//! Watching resources: what is there, and every change after it.

use std::collections::VecDeque;
use std::time::SystemTime;

use bytes::Bytes;
use emhost_talos_api::cosi::{self, EventType, WatchOptions, WatchRequest, WatchResponse};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use prost::Message;

use super::query::Query;
use super::resources::Change;
use super::{Resources, View};
use crate::wire::Status;

/// A watch as it goes on.
struct Watch {
    resources: Resources,
    request: WatchRequest,
    aggregated: bool,
    query: Query,
    /// The change that comes next.
    position: i64,
    written: tokio::sync::watch::Receiver<i64>,
    ready: VecDeque<WatchResponse>,
    /// Whether changes were lost, so that nothing more can follow.
    ended: bool,
}

/// Starts a watch. The first message is empty: it says that the watch stands.
pub(super) fn watch(
    resources: &Resources,
    request: WatchRequest,
    options: &WatchOptions,
    query: Query,
) -> Result<BoxStream<'static, Result<Bytes, Status>>, Status> {
    let view = resources.view(&request.r#type, &request.namespace);
    let (position, initial) = match &request.id {
        Some(id) => start_one(resources, &request, id, options, &view)?,
        None => start_kind(resources, &request, options, &query, &view)?,
    };
    let initial: Vec<_> = initial.into_iter().filter(|event| speaks(request.api_version, event)).collect();
    let mut ready = VecDeque::from([WatchResponse::default()]);
    ready.extend(pack(initial, options.aggregated && request.id.is_none()));
    let aggregated = options.aggregated && request.id.is_none();
    let watch = Watch { resources: resources.clone(), request, aggregated, query, position, written: view.written, ready, ended: false };
    let stream = stream::unfold(watch, |mut watch| async move { watch.next().await.map(|response| (response, watch)) });
    Ok(stream.map(|response| Ok(Bytes::from(response.encode_to_vec()))).boxed())
}

impl Watch {
    async fn next(&mut self) -> Option<WatchResponse> {
        loop {
            if let Some(response) = self.ready.pop_front() {
                return Some(response);
            }
            if self.ended {
                // The real one stays open and silent after its error.
                return std::future::pending().await;
            }
            self.collect();
            if self.ready.is_empty() && self.written.changed().await.is_err() {
                // Nothing changes any more, and the watch stands as long as its client.
                return std::future::pending().await;
            }
        }
    }

    /// Takes what changed since the last time.
    fn collect(&mut self) {
        let WatchRequest { namespace, r#type: kind, api_version, .. } = &self.request;
        let events = if let Some(changes) = self.resources.since(kind, namespace, self.position) {
            if let Some(last) = changes.last() {
                self.position = last.position + 1;
            }
            changes.iter().filter_map(|change| self.event(change)).collect()
        } else {
            self.ended = true;
            let text = format!("buffer overrun: namespace {namespace:?} type {kind:?}, pos {}", self.position);
            vec![cosi::Event { event_type: EventType::Errored.into(), error: Some(text), ..cosi::Event::default() }]
        };
        let events: Vec<_> = events.into_iter().filter(|event| speaks(*api_version, event)).collect();
        if !events.is_empty() {
            self.ready.extend(pack(events, self.aggregated));
        }
    }

    fn event(&self, change: &Change) -> Option<cosi::Event> {
        if let Some(id) = &self.request.id {
            return (id_of(&change.resource) == id).then(|| event(&self.resources, change.kind, change, change.old.is_some()));
        }
        let now = self.query.matches(&change.resource);
        let before = change.old.as_ref().map_or(now, |old| self.query.matches(old));
        match (change.kind, before, now) {
            // What comes into or leaves the selection looks like something made or destroyed.
            (EventType::Updated, true, false) => Some(event(&self.resources, EventType::Destroyed, change, false)),
            (EventType::Updated, false, true) => Some(event(&self.resources, EventType::Created, change, false)),
            (_, _, true) => Some(event(&self.resources, change.kind, change, true)),
            _ => None,
        }
    }
}

/// Clients of version 0 know made, changed and destroyed only.
fn speaks(api_version: i32, event: &cosi::Event) -> bool {
    let known = event.event_type != i32::from(EventType::Bootstrapped) && event.event_type != i32::from(EventType::Errored);
    api_version >= 1 || known
}

fn pack(events: Vec<cosi::Event>, aggregated: bool) -> Vec<WatchResponse> {
    if aggregated {
        return if events.is_empty() { Vec::new() } else { vec![WatchResponse { event: events }] };
    }
    events.into_iter().map(|event| WatchResponse { event: vec![event] }).collect()
}

fn event(resources: &Resources, kind: EventType, change: &Change, with_old: bool) -> cosi::Event {
    cosi::Event {
        resource: Some((*change.resource).clone()),
        event_type: kind.into(),
        old: change.old.as_ref().filter(|_| with_old).map(|old| (**old).clone()),
        error: None,
        bookmark: Some(bookmark(resources, change.position)),
    }
}

fn id_of(resource: &cosi::Resource) -> &str {
    resource.metadata.as_ref().map_or("", |metadata| metadata.id.as_str())
}

fn bookmark(resources: &Resources, position: i64) -> Vec<u8> {
    [resources.cookie().to_be_bytes(), position.to_be_bytes()].concat()
}

/// Where a bookmark goes on, if it is one of this run and what follows it is still kept.
fn after(resources: &Resources, bookmark: &[u8], view: &View, lowest: i64) -> Result<i64, Status> {
    let invalid = || Status::precondition("invalid watch bookmark");
    let (cookie, position) = bookmark.split_at_checked(8).ok_or_else(invalid)?;
    let position = i64::from_be_bytes(position.try_into().map_err(|_| invalid())?);
    let written = *view.written.borrow();
    let oldest = view.recent.front().map_or(written, |change| change.position);
    if cookie != resources.cookie().to_be_bytes() || position < lowest || position >= written || position + 1 < oldest {
        return Err(invalid());
    }
    Ok(position + 1)
}

/// Something of which only the name is known.
fn tombstone(request: &WatchRequest, id: &str) -> cosi::Resource {
    let now = SystemTime::now().into();
    let metadata = cosi::Metadata {
        namespace: request.namespace.clone(),
        r#type: request.r#type.clone(),
        id: id.to_owned(),
        version: "undefined".to_owned(),
        phase: "running".to_owned(),
        created: Some(now),
        updated: Some(now),
        ..cosi::Metadata::default()
    };
    cosi::Resource { metadata: Some(metadata), spec: Some(cosi::Spec::default()) }
}

fn bare(kind: EventType, resource: cosi::Resource, bookmark: Option<Vec<u8>>) -> cosi::Event {
    cosi::Event { resource: Some(resource), event_type: kind.into(), old: None, error: None, bookmark }
}

fn start_one(
    resources: &Resources,
    request: &WatchRequest,
    id: &str,
    options: &WatchOptions,
    view: &View,
) -> Result<(i64, Vec<cosi::Event>), Status> {
    let written = *view.written.borrow();
    let tail = usize::try_from(options.tail_events).unwrap_or_default();
    match (&options.start_from_bookmark, tail) {
        (Some(_), 1..) => Err(Status::unknown("cannot use both TailEvents and StartFromBookmark options")),
        (Some(bookmark), 0) => Ok((after(resources, bookmark, view, 0)?, Vec::new())),
        (None, 1..) => {
            let mut own = view.recent.iter().rev().filter(|change| id_of(&change.resource) == id);
            let oldest = view.recent.front().map_or(written, |change| change.position);
            Ok((own.nth(tail - 1).map_or(oldest, |change| change.position), Vec::new()))
        }
        (None, 0) => {
            let now = view.items.iter().find(|resource| id_of(resource) == id);
            let first = match now {
                Some(resource) => bare(EventType::Created, (**resource).clone(), None),
                None => bare(EventType::Destroyed, tombstone(request, id), None),
            };
            Ok((written, vec![first]))
        }
    }
}

fn start_kind(
    resources: &Resources,
    request: &WatchRequest,
    options: &WatchOptions,
    query: &Query,
    view: &View,
) -> Result<(i64, Vec<cosi::Event>), Status> {
    let written = *view.written.borrow();
    let tail = i64::from(options.tail_events.max(0));
    if options.bootstrap_contents && (tail > 0 || options.start_from_bookmark.is_some()) {
        return Err(Status::unknown("cannot use BootstrapContents with TailEvents and StartFromBookmark options"));
    }
    let position = match &options.start_from_bookmark {
        Some(_) if tail > 0 => return Err(Status::unknown("cannot use both TailEvents and StartFromBookmark options")),
        Some(bookmark) => after(resources, bookmark, view, -1)?,
        None => (written - tail).max(view.recent.front().map_or(written, |change| change.position)),
    };
    let mut initial = Vec::new();
    let here = Some(bookmark(resources, position - 1));
    if options.bootstrap_contents {
        let items = view.items.iter().filter(|resource| query.matches(resource));
        initial.extend(items.map(|resource| bare(EventType::Created, (**resource).clone(), None)));
        initial.push(bare(EventType::Bootstrapped, tombstone(request, ""), here.clone()));
    }
    if options.bootstrap_bookmark {
        initial.push(bare(EventType::Noop, tombstone(request, ""), here));
    }
    Ok((position, initial))
}
