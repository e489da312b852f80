//! Answers: the envelope, the reason phrase, the headers.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, EXPIRES, HOST, LOCATION, PRAGMA, SERVER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Fail, Outcome};

/// Bodies up to this many bytes are sent as they are.
const SMALL: usize = 1024;

/// What goes back to the client.
pub(super) type Reply = Response<Full<Bytes>>;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    /// For the web interface: always 200, the real status inside.
    Extjs,
}

/// What a reply is made of.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub status: u16,
    /// The first line of it becomes the reason phrase.
    pub message: String,
    pub content_type: Option<&'static str>,
    pub body: Vec<u8>,
}

impl Draft {
    /// An answer without a body, such as every 401.
    pub fn bare(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), ..Self::default() }
    }

    /// A refusal of the HTTP layer itself: the text is the body as well.
    pub fn refused(status: u16, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, body: message.clone().into_bytes(), message, content_type: None }
    }

    /// The outcome of a call.
    pub fn outcome(outcome: Outcome, format: Format) -> Self {
        let (status, message, mut envelope) = match outcome {
            Ok(answer) => (200, "OK".to_owned(), envelope(answer)),
            Err(fail) if (595..600).contains(&fail.status) => return Self::bare(fail.status, fail.message),
            Err(fail) => failed(fail, format),
        };
        if format == Format::Extjs {
            envelope.insert("success".to_owned(), json!(u8::from(status < 400)));
        }
        let (status, message) = if format == Format::Extjs { (200, "OK".to_owned()) } else { (status, message) };
        let body = Value::Object(envelope).to_string().into_bytes();
        Self { status, message, content_type: Some("application/json;charset=UTF-8"), body }
    }

    /// The reply; `last` where the connection ends after it.
    pub fn reply(self, asked: &HeaderMap, last: bool) -> Reply {
        let (encoding, body) = compressed(self.body, asked);
        let mut reply = Response::new(Full::new(Bytes::from(body)));
        *reply.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let reason = self.message.lines().next().unwrap_or_default();
        if let Ok(reason) = ReasonPhrase::try_from(reason.as_bytes()) {
            reply.extensions_mut().insert(reason);
        }
        let headers = reply.headers_mut();
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&jiff::Timestamp::now());
        if let Some(date) = date.ok().and_then(|date| HeaderValue::try_from(date).ok()) {
            headers.insert(http::header::DATE, date.clone());
            headers.insert(EXPIRES, date);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=0"));
        headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        headers.insert(SERVER, HeaderValue::from_static("pve-api-daemon/3.0"));
        if let Some(kind) = self.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let keep = if last || self.status >= 400 { "close" } else { "Keep-Alive" };
        headers.insert(CONNECTION, HeaderValue::from_static(keep));
        reply
    }
}

fn envelope(answer: Answer) -> Map<String, Value> {
    let mut envelope = Map::new();
    envelope.insert("data".to_owned(), answer.data);
    // A total of zero is as good as none, as in Perl.
    let telling = answer.extra.into_iter().filter(|(_, value)| *value != json!(0) && !value.is_null());
    envelope.extend(telling.map(|(name, value)| (name.to_owned(), value)));
    envelope
}

fn failed(fail: Fail, format: Format) -> (u16, String, Map<String, Value>) {
    let mut envelope = Map::new();
    envelope.insert("data".to_owned(), Value::Null);
    if !fail.errors.is_empty() {
        envelope.insert("errors".to_owned(), json!(fail.errors));
    }
    envelope.insert("message".to_owned(), json!(fail.message));
    if format == Format::Extjs {
        envelope.insert("status".to_owned(), json!(fail.status));
    }
    (fail.status, fail.message, envelope)
}

fn compressed(body: Vec<u8>, asked: &HeaderMap) -> (Option<&'static str>, Vec<u8>) {
    let accepts = |name: &str| asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains(name));
    if body.len() <= SMALL {
        return (None, body);
    }
    let gzip = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&body).and_then(|()| encoder.finish())
    };
    let deflate = || {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&body).and_then(|()| encoder.finish())
    };
    let packed = match () {
        () if accepts("gzip") => Some(("gzip", gzip())),
        () if accepts("deflate") => Some(("deflate", deflate())),
        () => None,
    };
    match packed {
        Some((name, Ok(packed))) => (Some(name), packed),
        _ => (None, body),
    }
}

/// What plain HTTP on the port of TLS gets.
pub(super) fn redirect(request: &Request<Incoming>) -> Reply {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let get = request.method() == Method::GET || request.method() == Method::HEAD;
    let (status, text) = if get { (301, "Moved Permanently") } else { (308, "Permanent Redirect") };
    let mut reply = Draft::refused(status, text).reply(request.headers(), true);
    if let Ok(location) = HeaderValue::try_from(format!("https://{host}{target}")) {
        reply.headers_mut().insert(LOCATION, location);
    }
    reply
}
