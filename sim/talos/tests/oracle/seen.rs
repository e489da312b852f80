//! What is compared of an answer: everything but values that differ from node to node.

use std::collections::BTreeSet;

use bytes::Bytes;
use emhost_talos_api::common::{Empty, EmptyResponse};
use emhost_talos_api::cosi;
use emhost_talos_api::methods;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use super::super::client::Outcome;

/// What is compared of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The connection broke, with the last words of TLS.
    Broken(String),
    /// An answer.
    Answer {
        /// The code, or none for a stream that stays open.
        code: Option<u16>,
        /// The text of an error.
        message: String,
        /// Whether the error came without anything before it.
        trailers_only: bool,
        /// The fields of the first message and of the messages in its first field.
        fields: BTreeSet<String>,
        /// What it says of nodes and their errors.
        nodes: BTreeSet<String>,
        /// Of resources: where they are, and the keys of what they hold.
        resources: BTreeSet<String>,
    },
}

impl Seen {
    /// Looks at the outcome of a call. `several` says that the call went to several nodes, `names` are for their addresses.
    pub fn of(method: &str, several: bool, names: &[(String, &str)], outcome: Result<Outcome, String>) -> Self {
        let outcome = match outcome {
            Err(why) => return Self::Broken(why.rsplit(": ").next().unwrap_or_default().to_owned()),
            Ok(outcome) => outcome,
        };
        let streamed = methods::find(method).is_some_and(|method| method.streams_out);
        let labelled = |text: String| names.iter().fold(text, |text, (address, name)| text.replace(address, name));
        Self::Answer {
            code: outcome.code,
            message: labelled(outcome.message.clone()),
            trailers_only: outcome.trailers_only,
            fields: outcome.messages.first().map(|message| fields(message)).unwrap_or_default(),
            nodes: if several { nodes(&outcome.messages, streamed).into_iter().map(labelled).collect() } else { BTreeSet::new() },
            resources: if method.starts_with("/cosi.") { resources(&outcome.messages) } else { BTreeSet::new() },
        }
    }
}

/// The numbers of the fields of a message, and those in its first field: `1`, `1.2`.
fn fields(message: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (field, value) in split(message) {
        found.insert(field.to_string());
        if field == 1 {
            found.extend(split(value).into_iter().map(|(inner, _)| format!("1.{inner}")));
        }
    }
    found
}

/// The fields of a message with their values, as far as it is one. Whether an empty value is sent is the sender's choice.
pub fn split(message: &[u8]) -> Vec<(u32, &[u8])> {
    let (fields, _) = all(message);
    fields.into_iter().filter(|(_, value)| !is_empty(value)).collect()
}

/// Zeroes, or a message of nothing but empty values.
fn is_empty(value: &[u8]) -> bool {
    let (fields, rest) = all(value);
    value.iter().all(|byte| *byte == 0) || rest.is_empty() && fields.iter().all(|(_, value)| is_empty(value))
}

/// The fields of a message, and what is left where it is none.
fn all(mut rest: &[u8]) -> (Vec<(u32, &[u8])>, &[u8]) {
    let mut found = Vec::new();
    loop {
        let mut next = rest;
        let Ok((field, kind)) = decode_key(&mut next) else { return (found, rest) };
        let before = next;
        let Ok(length) = (match kind {
            WireType::Varint => decode_varint(&mut next).map(|_| before.len() - next.len()),
            WireType::SixtyFourBit => Ok(8),
            WireType::ThirtyTwoBit => Ok(4),
            _ => decode_varint(&mut next).map(|length| usize::try_from(length).unwrap_or(usize::MAX)),
        }) else {
            return (found, rest);
        };
        let from = if kind == WireType::Varint { before } else { next };
        let Some((value, after)) = from.split_at_checked(length) else { return (found, rest) };
        found.push((field, value));
        rest = after;
    }
}

fn nodes(messages: &[Bytes], streamed: bool) -> BTreeSet<String> {
    let empties: Vec<Empty> = if streamed {
        messages.iter().filter_map(|message| Empty::decode(message.clone()).ok()).collect()
    } else {
        messages.iter().filter_map(|message| EmptyResponse::decode(message.clone()).ok()).flat_map(|reply| reply.messages).collect()
    };
    let one = |metadata: emhost_talos_api::common::Metadata| {
        let status = metadata.status.unwrap_or_default();
        format!("{}: {} ({} {})", metadata.hostname, metadata.error, status.code, status.message)
    };
    empties.into_iter().filter_map(|empty| empty.metadata).map(one).collect()
}

/// Resources in answers to get, list and watch, which all have them at the same places.
fn resources(messages: &[Bytes]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for message in messages {
        if let Ok(cosi::GetResponse { resource: Some(resource) }) = cosi::GetResponse::decode(message.clone())
            && resource.metadata.as_ref().is_some_and(|metadata| !metadata.version.is_empty())
        {
            found.insert(describe(&resource));
        } else if let Ok(watched) = cosi::WatchResponse::decode(message.clone()) {
            found.extend(watched.event.iter().map(|event| {
                let resource = event.resource.as_ref().map(describe).unwrap_or_default();
                format!("{:?} bookmark {} {resource}", event.event_type(), event.bookmark.is_some())
            }));
        }
    }
    found
}

fn describe(resource: &cosi::Resource) -> String {
    let metadata = resource.metadata.clone().unwrap_or_default();
    let spec = resource.spec.clone().unwrap_or_default();
    let place = format!("{} {}/{} {} by {:?}", metadata.r#type, metadata.namespace, metadata.id, metadata.phase, metadata.owner);
    if metadata.namespace == "meta" {
        // Definitions are the same on every node of a version, down to the last letter.
        return format!("{place}: {} {}", spec.yaml_spec, spec.proto_spec.escape_ascii());
    }
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.to_owned());
    let keys: Vec<_> = spec.yaml_spec.lines().filter(|line| !line.starts_with([' ', '-'])).filter_map(key).collect();
    let fields: BTreeSet<_> = split(&spec.proto_spec).into_iter().map(|(field, _)| field).collect();
    let style = spec.yaml_spec.starts_with('|');
    let annotations: Vec<_> = metadata.annotations.keys().collect();
    format!("{} {}/{} {} {annotations:?}: {keys:?} {fields:?} {style}", metadata.r#type, metadata.namespace, metadata.id, metadata.phase)
}
