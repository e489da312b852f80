//! Watching a kind: changes as they happen, one JSON document a line.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::negotiation::{Accepted, Form};
use super::send::{Answer, View, table};
use crate::cluster::Cluster;
use crate::failure::{Failure, Outcome};
use crate::objects::selectors::Selection;
use crate::objects::{Change, What};
use crate::tables::{self, Include};
use crate::verbs::Asked;

/// Between two bookmarks.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// How long a watch lasts whose client does not say.
const LONGEST: Duration = Duration::from_mins(45);

struct Watch {
    cluster: Cluster,
    asked: Asked,
    selection: Selection,
    form: Form,
    revision: u64,
    wake: tokio::sync::watch::Receiver<u64>,
    deadline: Instant,
    bookmarks: bool,
    ready: VecDeque<Bytes>,
    over: bool,
}

/// Begins a watch.
pub(super) fn start(cluster: &Cluster, asked: Asked, accept: Accepted) -> Outcome<Answer> {
    let selection = Selection::parse(asked.option("labelSelector"), asked.option("fieldSelector"))?;
    selection.known(&asked.resource)?;
    let given = asked.option("resourceVersion");
    let initial = asked.says("sendInitialEvents");
    let bookmarks = asked.says("allowWatchBookmarks");
    if initial && asked.option("resourceVersionMatch") != "NotOlderThan" {
        let mut failure = Failure::new(
            422,
            "Invalid",
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        );
        failure.details = Some(json!({"group": "meta.k8s.io", "kind": "ListOptions"}));
        return Err(failure);
    }
    let from = match given {
        "" | "0" => None,
        text => Some(text.parse::<u64>().map_err(|_| Failure::bad_request(format!("invalid resource version \"{text}\"")))?),
    };
    let seconds = asked.option("timeoutSeconds").parse::<u64>().ok().filter(|seconds| *seconds > 0).map_or(LONGEST, Duration::from_secs);
    let form = accept.form;
    let (items, revision, wake) = cluster.read(|world| {
        let namespace = (!asked.namespace.is_empty()).then_some(asked.namespace.as_str());
        let wanted = from.is_none() || initial;
        let items: Vec<Arc<Value>> = if wanted {
            world.objects.list(&asked.resource.sort, namespace).filter(|object| selection.chooses(object)).cloned().collect()
        } else {
            Vec::new()
        };
        let revision = if wanted { world.objects.revision() } else { from.unwrap_or_default() };
        (items, revision, world.objects.latest())
    });
    let mut watch = Watch {
        cluster: cluster.clone(),
        asked,
        selection,
        form,
        revision,
        wake,
        deadline: Instant::now() + seconds,
        bookmarks,
        ready: VecDeque::new(),
        over: false,
    };
    let mut first = Vec::new();
    for object in &items {
        watch.line(&mut first, "ADDED", object);
    }
    if initial && bookmarks {
        watch.bookmark(&mut first, true);
    }
    if !first.is_empty() {
        watch.ready.push_back(first.into());
    }
    let frames = stream::unfold(watch, |mut watch| async move {
        let bytes = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Frame::data(bytes)), watch))
    });
    Ok(Answer::stream(StreamBody::new(frames).boxed_unsync()))
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.over {
                return None;
            }
            self.wake.borrow_and_update();
            let Some((changes, revision)) = self.cluster.read(|world| world.objects.since(&self.asked.resource.sort, self.revision)) else {
                self.over = true;
                let oldest = self.cluster.read(|world| world.objects.oldest(&self.asked.resource.sort));
                let failure = Failure::expired(format!("too old resource version: {} ({oldest})", self.revision));
                let mut line = json!({"type": "ERROR", "object": failure.body()}).to_string().into_bytes();
                line.push(b'\n');
                return Some(line.into());
            };
            let mut bytes = Vec::new();
            for change in &changes {
                self.change(&mut bytes, change);
            }
            self.revision = self.revision.max(revision);
            if !bytes.is_empty() {
                return Some(bytes.into());
            }
            tokio::select! {
                woken = self.wake.changed() => if woken.is_err() { self.over = true },
                () = tokio::time::sleep_until(self.deadline.min(Instant::now() + BOOKMARKS)) => {
                    self.over = Instant::now() >= self.deadline;
                    if self.bookmarks {
                        let mut bytes = Vec::new();
                        self.bookmark(&mut bytes, false);
                        return Some(bytes.into());
                    }
                }
            }
        }
    }

    /// What a change is for somebody who sees only some of the objects.
    fn change(&self, bytes: &mut Vec<u8>, change: &Change) {
        if !self.asked.namespace.is_empty() && change.object["metadata"]["namespace"] != self.asked.namespace.as_str() {
            return;
        }
        let before = change.before.as_ref().is_some_and(|object| self.selection.chooses(object));
        let after = change.what != What::Deleted && self.selection.chooses(&change.object);
        let what = match (before, after) {
            (true, true) => "MODIFIED",
            (false, true) => "ADDED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        self.line(bytes, what, &change.object);
    }

    fn line(&self, bytes: &mut Vec<u8>, what: &str, object: &Value) {
        let start = bytes.len();
        bytes.extend_from_slice(format!("{{\"type\":\"{what}\",\"object\":").as_bytes());
        let written = match self.form {
            Form::Table => {
                let rows = [tables::row(&self.asked.resource, object, Include::of(self.asked.option("includeObject")))];
                let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                serde_json::to_writer(&mut *bytes, &table(&self.asked.resource, &rows, &metadata))
            }
            Form::Partial => serde_json::to_writer(&mut *bytes, &tables::partial(object)),
            _ => serde_json::to_writer(&mut *bytes, &View { object, version: Some(self.asked.resource.api_version()), bare: false }),
        };
        if written.is_err() {
            bytes.truncate(start);
            return;
        }
        bytes.extend_from_slice(b"}\n");
    }

    fn bookmark(&self, bytes: &mut Vec<u8>, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": self.revision.to_string(), "creationTimestamp": null});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.form {
            Form::Table => table(&self.asked.resource, &[], &metadata),
            Form::Partial => json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}),
            _ => json!({"kind": self.asked.resource.kind, "apiVersion": self.asked.resource.api_version(), "metadata": metadata}),
        };
        bytes.extend_from_slice(json!({"type": "BOOKMARK", "object": object}).to_string().as_bytes());
        bytes.push(b'\n');
    }
}
