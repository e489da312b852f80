//! A call's end as HTTP/2 has it: trailers, or headers alone where nothing was sent before.

use std::fmt::Write;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};

use super::frames::frame;
use super::{Code, Status};
use crate::seam::Reply;

/// The body of an answer.
pub(crate) type Answer = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// Answers with messages, or with an error alone if the first thing that comes is one.
///
/// Headers leave with the first message and not before, as the real server has it.
pub(crate) async fn answer(reply: Result<Reply, Status>) -> (Response<Answer>, Code) {
    let mut messages = match reply {
        Err(status) => return (refuse(&status), status.code),
        Ok(Reply::Unary(message)) => stream::iter([Ok(message)]).boxed(),
        Ok(Reply::Stream(messages)) => messages,
    };
    let first = match messages.next().await {
        Some(Err(status)) => return (refuse(&status), status.code),
        Some(Ok(first)) => first,
        None => return (closed(StatusCode::OK, trailers(None)), Code::Ok),
    };
    let rest = stream::unfold(Some(messages), |messages| async move {
        let mut messages = messages?;
        match messages.next().await {
            Some(Ok(message)) => Some((Frame::data(frame(&message)), Some(messages))),
            Some(Err(status)) => Some((Frame::trailers(trailers(Some(&status))), None)),
            None => Some((Frame::trailers(trailers(None)), None)),
        }
    });
    let body = stream::iter([Frame::data(frame(&first))]).chain(rest).map(Ok);
    (headed(StatusCode::OK, HeaderMap::new(), StreamBody::new(body).boxed_unsync()), Code::Ok)
}

/// An error without any message.
pub(crate) fn refuse(status: &Status) -> Response<Answer> {
    closed(StatusCode::OK, trailers(Some(status)))
}

/// An error that is no gRPC at all, such as a wrong content type.
pub(crate) fn reject(http: StatusCode, status: &Status) -> Response<Answer> {
    closed(http, trailers(Some(status)))
}

fn closed(http: StatusCode, headers: HeaderMap) -> Response<Answer> {
    // A body that knows it is empty: clients take headers for trailers only where the stream ends with them.
    headed(http, headers, Empty::new().boxed_unsync())
}

fn headed(http: StatusCode, headers: HeaderMap, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = http;
    *response.headers_mut() = headers;
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

fn trailers(status: Option<&Status>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let code = status.map_or(Code::Ok, |status| status.code);
    headers.insert("grpc-status", HeaderValue::from(u16::from(code as u8)));
    let text = status.map(|status| escape(&status.message)).unwrap_or_default();
    headers.insert("grpc-message", HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("")));
    headers
}

/// Percent-encodes what a header cannot carry.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => {
                // Writing to a string does not fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_survive_the_header() {
        assert_eq!(escape("100% of a\nünit"), "100%25 of a%0A%C3%BCnit");
        let response = refuse(&Status::invalid("a\nb"));
        assert_eq!(response.headers()["grpc-status"], "3");
        assert_eq!(response.headers()["grpc-message"], "a%0Ab");
        assert!(http_body::Body::is_end_stream(response.body()));
    }

    #[tokio::test]
    async fn an_error_before_the_first_message_has_no_body() {
        let stream = stream::iter([Err(Status::denied())]).boxed();
        let (response, code) = answer(Ok(Reply::Stream(stream))).await;
        assert_eq!((response.headers()["grpc-status"].as_bytes(), code), (&b"7"[..], Code::PermissionDenied));
        let stream = stream::iter([Ok(Bytes::from_static(b"x")), Err(Status::denied())]).boxed();
        let (response, _) = answer(Ok(Reply::Stream(stream))).await;
        assert!(response.headers().get("grpc-status").is_none());
        let frames: Vec<_> = http_body_util::BodyStream::new(response.into_body()).map(Result::unwrap).collect().await;
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[1].trailers_ref().unwrap()["grpc-status"], "7");
    }
}
