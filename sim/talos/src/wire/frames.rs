//! Messages in their frames: a flag for compression, four bytes of length, the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body::Body;
use http_body_util::BodyExt;

use super::{Code, Status};

/// The largest message either way, 32 MiB as Talos sets it.
pub(crate) const LARGEST: usize = 32 << 20;

/// Flag and length.
const HEAD: usize = 5;

/// Puts a message into its frame.
pub(crate) fn frame(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(HEAD + message.len());
    framed.put_u8(0);
    // A message of 4 GiB cannot be made: the largest that is read has 32 MiB.
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// Takes the next message out of what has arrived; none while it is not complete.
pub(crate) fn unframe(arrived: &mut BytesMut, encoding: &str) -> Result<Option<Bytes>, Status> {
    if arrived.len() < HEAD {
        return Ok(None);
    }
    let length = usize::try_from(u32::from_be_bytes([arrived[1], arrived[2], arrived[3], arrived[4]])).unwrap_or(usize::MAX);
    if length > LARGEST {
        let text = format!("grpc: received message larger than max ({length} vs. {LARGEST})");
        return Err(Status::new(Code::ResourceExhausted, text));
    }
    match arrived[0] {
        0 => {}
        1 if encoding.is_empty() || encoding == "identity" => {
            return Err(Status::internal("grpc: compressed flag set with identity or empty encoding"));
        }
        1 => return Err(Status::unimplemented(format!("grpc: Decompressor is not installed for grpc-encoding {encoding:?}"))),
        flag => return Err(Status::internal(format!("grpc: received unexpected payload format {flag}"))),
    }
    if arrived.len() < HEAD + length {
        return Ok(None);
    }
    arrived.advance(HEAD);
    Ok(Some(arrived.split_to(length).freeze()))
}

/// The messages of a body.
pub(crate) fn messages<B>(body: B, encoding: String) -> BoxStream<'static, Result<Bytes, Status>>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    let start = Some((body, BytesMut::new(), encoding));
    stream::unfold(start, |state| async move {
        let (mut body, mut arrived, encoding) = state?;
        loop {
            match unframe(&mut arrived, &encoding) {
                Ok(Some(message)) => return Some((Ok(message), Some((body, arrived, encoding)))),
                Ok(None) => {}
                Err(status) => return Some((Err(status), None)),
            }
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        arrived.extend_from_slice(&data);
                    }
                }
                Some(Err(_)) => return Some((Err(Status::new(Code::Cancelled, "context canceled")), None)),
                None if arrived.is_empty() => return None,
                None => return Some((Err(Status::internal("unexpected EOF")), None)),
            }
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let sent = [Bytes::from_static(b"one"), Bytes::new(), Bytes::from(vec![7; 70_000])];
        let all: Vec<u8> = sent.iter().flat_map(|message| frame(message)).collect();
        for step in [1, 4, 6, 1000, all.len()] {
            let mut arrived = BytesMut::new();
            let mut got = Vec::new();
            for piece in all.chunks(step) {
                arrived.extend_from_slice(piece);
                while let Some(message) = unframe(&mut arrived, "").unwrap() {
                    got.push(message);
                }
            }
            assert_eq!(got, sent, "in pieces of {step}");
        }
    }

    #[test]
    fn what_is_too_large_or_compressed_is_refused_before_it_arrives() {
        let mut large = BytesMut::from(&[0, 2, 0, 0, 1][..]);
        assert_eq!(unframe(&mut large, "").unwrap_err().code, Code::ResourceExhausted);
        let mut zipped = BytesMut::from(&[1, 0, 0, 0, 1, 0][..]);
        assert_eq!(unframe(&mut zipped.clone(), "gzip").unwrap_err().code, Code::Unimplemented);
        assert_eq!(unframe(&mut zipped, "").unwrap_err().code, Code::Internal);
    }
}
