//! The answers of several nodes as one: each message says which node it is from, and an error is a message too.

use bytes::{BufMut, Bytes, BytesMut};
use emhost_talos_api::common::{Empty, EmptyResponse, Metadata};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::{self, BoxStream};
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

use crate::seam::Reply;
use crate::wire::{Code, Status};

/// A node's name as it was asked for, and what it answers.
pub(crate) type Asked = (String, futures::future::BoxFuture<'static, Result<Reply, Status>>);

/// Puts unary answers together: `messages` of one reply after those of the other.
pub(crate) async fn unary(asked: Vec<Asked>) -> Result<Reply, Status> {
    let answers = join_all(asked.into_iter().map(|(node, answer)| async move {
        let merged = match answer.await {
            Ok(Reply::Unary(message)) => with_node(&node, &message),
            Ok(Reply::Stream(messages)) => collected(&node, messages).await,
            Err(status) => Ok(failed(&node, &status)),
        };
        merged.map_err(|why| format!("error appending info for {node}: {why}"))
    }));
    let mut merged = BytesMut::new();
    let mut wrong = Vec::new();
    for answer in answers.await {
        match answer {
            Ok(bytes) => merged.put_slice(&bytes),
            Err(why) => wrong.push(why),
        }
    }
    if wrong.is_empty() {
        return Ok(Reply::Unary(merged.freeze()));
    }
    let errors = if wrong.len() == 1 { "1 error".to_owned() } else { format!("{} errors", wrong.len()) };
    Err(Status::new(Code::Unknown, format!("{errors} occurred:\n\t* {}\n\n", wrong.join("\n\t* "))))
}

async fn collected(node: &str, mut messages: BoxStream<'static, Result<Bytes, Status>>) -> Result<Vec<u8>, &'static str> {
    let mut all = Vec::new();
    while let Some(message) = messages.next().await {
        match message {
            Ok(message) => all.extend(with_node(node, &message)?),
            Err(status) => {
                all.extend(failed(node, &status));
                break;
            }
        }
    }
    Ok(all)
}

/// Puts streams together, as their messages come.
pub(crate) fn streams(asked: Vec<Asked>) -> Reply {
    let each = asked.into_iter().map(|(node, answer)| {
        let name = node.clone();
        let messages = stream::once(answer).flat_map(|answer| match answer {
            Ok(Reply::Stream(messages)) => messages,
            Ok(Reply::Unary(message)) => stream::iter([Ok(message)]).boxed(),
            Err(status) => stream::iter([Err(status)]).boxed(),
        });
        let named = messages.map(move |message| match message {
            Ok(message) => {
                let mut all = message.to_vec();
                all.extend(metadata(&name, None).encode_to_vec());
                Ok(Bytes::from(all))
            }
            Err(status) => Ok(Bytes::from(metadata(&node, Some(&status)).encode_to_vec())),
        });
        named.boxed()
    });
    Reply::Stream(stream::select_all(each).boxed())
}

fn metadata(node: &str, status: Option<&Status>) -> Empty {
    let metadata = Metadata {
        hostname: node.to_owned(),
        error: status.map(ToString::to_string).unwrap_or_default(),
        status: status.map(Status::to_message),
    };
    Empty { metadata: Some(metadata) }
}

fn failed(node: &str, status: &Status) -> Vec<u8> {
    EmptyResponse { messages: vec![metadata(node, Some(status))] }.encode_to_vec()
}

/// Adds the node to the one message of a reply.
///
/// Every reply has its messages in field 1, and every message its metadata in field 1: fields may be appended.
fn with_node(node: &str, reply: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut rest = reply;
    let (field, kind) = decode_key(&mut rest).map_err(|_| "unexpected EOF")?;
    if field != 1 || kind != WireType::LengthDelimited {
        return Err("unexpected message format");
    }
    decode_varint(&mut rest).map_err(|_| "unexpected EOF")?;
    let added = metadata(node, None).encode_to_vec();
    let mut out = Vec::with_capacity(reply.len() + added.len() + 4);
    encode_key(1, WireType::LengthDelimited, &mut out);
    encode_varint(u64::try_from(rest.len() + added.len()).unwrap_or_default(), &mut out);
    out.extend_from_slice(rest);
    out.extend(added);
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use emhost_talos_api::machine::{Hostname, HostnameResponse};
    use futures::FutureExt;

    use super::*;

    fn hostname(name: &str) -> Reply {
        let one = Hostname { metadata: None, hostname: name.to_owned() };
        Reply::Unary(HostnameResponse { messages: vec![one] }.encode_to_vec().into())
    }

    #[tokio::test]
    async fn answers_and_errors_of_several_nodes_become_one_reply() {
        let refused = Err(Status::precondition("not yet"));
        let asked = vec![("10.0.0.1".to_owned(), async { Ok(hostname("a")) }.boxed()), ("10.0.0.2".to_owned(), async { refused }.boxed())];
        let Ok(Reply::Unary(bytes)) = unary(asked).await else { panic!("no reply") };
        let reply = HostnameResponse::decode(bytes).unwrap();
        assert_eq!(reply.messages.len(), 2);
        let first = reply.messages[0].metadata.clone().unwrap();
        assert_eq!((reply.messages[0].hostname.as_str(), first.hostname.as_str(), first.status), ("a", "10.0.0.1", None));
        let second = reply.messages[1].metadata.clone().unwrap();
        assert_eq!(second.error, "rpc error: code = FailedPrecondition desc = not yet");
        assert_eq!(second.status.unwrap().code, 9);
    }

    #[tokio::test]
    async fn a_reply_without_a_message_is_an_error() {
        let asked = vec![("n".to_owned(), async { Ok(Reply::Unary(Bytes::new())) }.boxed())];
        let status = unary(asked).await.err().unwrap();
        assert_eq!(status.code, Code::Unknown);
    }
}
