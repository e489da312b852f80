//! HTTP through a slot, for JSON and forms.
//!
//! The host dials, checks the server and adds the credential; a plugin names the slot and a path.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{ErrorCode, Fields, HeaderError, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

use crate::Failure;

/// A slot that speaks HTTP, and the path all requests start with.
#[derive(Debug, Clone)]
pub struct Client {
    slot: String,
    base: String,
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The reason phrase, where Proxmox puts its error texts.
    pub reason: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A request body with its type.
#[derive(Debug, Clone)]
pub struct Body {
    content_type: String,
    bytes: Vec<u8>,
}

impl Body {
    /// `application/json`.
    ///
    /// # Errors
    /// A value that is no JSON.
    pub fn json<T: Serialize>(value: &T) -> Result<Self, Failure> {
        let bytes = serde_json::to_vec(value).map_err(|error| Failure::internal("http/json", error.to_string()))?;
        Ok(Self::bytes("application/json", bytes))
    }

    /// `application/x-www-form-urlencoded`.
    pub fn form<K: AsRef<str>, V: AsRef<str>>(fields: &[(K, V)]) -> Self {
        Self::bytes("application/x-www-form-urlencoded", query(fields).into_bytes())
    }

    /// Any bytes.
    pub fn bytes(content_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { content_type: content_type.into(), bytes }
    }
}

/// Fields as a query or form has them.
pub fn query<K: AsRef<str>, V: AsRef<str>>(fields: &[(K, V)]) -> String {
    let pairs: Vec<String> = fields.iter().map(|(key, value)| format!("{}={}", encode(key.as_ref()), encode(value.as_ref()))).collect();
    pairs.join("&")
}

/// One segment of a path, or one value of a query.
pub fn encode(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

impl Client {
    /// A client for a slot; `base` is put before every path, for example `/api2/json`.
    pub fn new(slot: impl Into<String>, base: impl Into<String>) -> Self {
        Self { slot: slot.into(), base: base.into() }
    }

    /// Reads.
    ///
    /// # Errors
    /// No answer.
    pub fn get(&self, path: &str) -> Result<Response, Failure> {
        self.send(&Method::Get, path, None)
    }

    /// Sends something new.
    ///
    /// # Errors
    /// No answer.
    pub fn post(&self, path: &str, body: Body) -> Result<Response, Failure> {
        self.send(&Method::Post, path, Some(body))
    }

    /// Replaces.
    ///
    /// # Errors
    /// No answer.
    pub fn put(&self, path: &str, body: Body) -> Result<Response, Failure> {
        self.send(&Method::Put, path, Some(body))
    }

    /// Removes.
    ///
    /// # Errors
    /// No answer.
    pub fn delete(&self, path: &str) -> Result<Response, Failure> {
        self.send(&Method::Delete, path, None)
    }

    #[expect(clippy::needless_pass_by_value, reason = "the callers own it and are done with it")]
    fn send(&self, method: &Method, path: &str, body: Option<Body>) -> Result<Response, Failure> {
        request(method, &format!("{}.emhost.internal", self.slot), &format!("{}{path}", self.base), &[], body.as_ref())
            .map_err(|trouble| trouble.failure(&self.slot))
    }
}

impl Response {
    /// The answer if its status is one of success; otherwise what the other side says.
    ///
    /// # Errors
    /// A status of failure, as the kind of failure it is.
    pub fn ok(self) -> Result<Self, Failure> {
        let said =
            if self.reason.is_empty() { String::from_utf8_lossy(&self.body).chars().take(300).collect() } else { self.reason.clone() };
        let summary = format!("the server answered {}: {}", self.status, said.trim());
        match self.status {
            200..=299 => Ok(self),
            401 | 403 => Err(Failure::denied("http/denied", summary)),
            404 | 409 | 412 => Err(Failure::conflict("http/conflict", summary)),
            408 | 425 | 429 | 500..=599 => Err(Failure::unavailable("http/unavailable", summary)),
            _ => Err(Failure::invalid("http/invalid", summary)),
        }
    }

    /// The body as the type it should have.
    ///
    /// # Errors
    /// A body that is something else.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::unavailable("http/json", format!("the server's answer is not what it should be: {error}")))
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The request could not be made, for example for a header that only the host sets.
    Request(String),
    /// The host or the way there.
    Code(ErrorCode),
    /// The answer broke off.
    Body(String),
}

impl Trouble {
    /// As a failure of the kind it is.
    pub fn failure(&self, slot: &str) -> Failure {
        match self {
            Self::Request(why) => Failure::internal("http/request", format!("the request to slot `{slot}` cannot be made: {why}")),
            Self::Body(why) => Failure::unavailable("http/body", format!("slot `{slot}`: the answer broke off: {why}")),
            Self::Code(code) => match code {
                ErrorCode::HttpRequestDenied => Failure::denied("http/refused", format!("the host refused the request to slot `{slot}`")),
                ErrorCode::TlsCertificateError => {
                    Failure::denied("http/certificate", format!("slot `{slot}`: the server's certificate is not trusted"))
                }
                ErrorCode::HttpRequestBodySize(_) => {
                    Failure::internal("http/too-large", format!("slot `{slot}`: the request is larger than the host allows"))
                }
                ErrorCode::HttpResponseBodySize(_) => {
                    Failure::invalid("http/too-large", format!("slot `{slot}`: the answer is larger than the host allows"))
                }
                ErrorCode::TlsProtocolError => Failure::unavailable("http/failed", format!("slot `{slot}`: TLS failed")),
                ErrorCode::ConnectionRefused => Failure::unavailable("http/failed", format!("slot `{slot}`: connection refused")),
                ErrorCode::ConnectionTimeout => Failure::unavailable("http/failed", format!("slot `{slot}`: no answer in time")),
                ErrorCode::DestinationNotFound => {
                    Failure::unavailable("http/failed", format!("slot `{slot}`: its host name leads nowhere"))
                }
                // The host's own words name the slot.
                ErrorCode::InternalError(Some(text)) => Failure::unavailable("http/failed", text.clone()),
                other => Failure::unavailable("http/failed", format!("slot `{slot}`: {other:?}")),
            },
        }
    }
}

/// One request to any authority; the host answers only those of slots.
///
/// # Errors
/// Why there is no answer.
pub fn request(method: &Method, authority: &str, path: &str, headers: &[(&str, &[u8])], body: Option<&Body>) -> Result<Response, Trouble> {
    let bad = |what: &str| Trouble::Request(what.to_owned());
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value).map_err(|error| {
            Trouble::Request(match error {
                HeaderError::Forbidden => format!("header `{name}` is the host's to set"),
                HeaderError::InvalidSyntax => format!("header `{name}` is malformed"),
                HeaderError::Immutable => format!("header `{name}` cannot be set any more"),
            })
        })?;
    }
    if let Some(Body { content_type, bytes }) = body {
        fields.append("content-type", content_type.as_bytes()).map_err(|error| Trouble::Request(format!("content-type: {error:?}")))?;
        // Proxmox takes no chunked bodies.
        fields
            .append("content-length", bytes.len().to_string().as_bytes())
            .map_err(|error| Trouble::Request(format!("content-length: {error:?}")))?;
    }
    let request = OutgoingRequest::new(fields);
    request.set_method(method).map_err(|()| bad("the method is malformed"))?;
    request.set_scheme(Some(&Scheme::Https)).map_err(|()| bad("the scheme is malformed"))?;
    request.set_authority(Some(authority)).map_err(|()| bad("the slot's name is malformed"))?;
    request.set_path_with_query(Some(path)).map_err(|()| bad("the path is malformed"))?;
    let outgoing = request.body().map_err(|()| bad("it has no body"))?;
    let pending = outgoing_handler::handle(request, None).map_err(Trouble::Code)?;
    let written = write(outgoing, body.map_or(&[], |body| &body.bytes));
    let response = loop {
        match pending.get() {
            Some(answer) => break answer.map_err(|()| bad("answer taken twice"))?.map_err(Trouble::Code)?,
            None => pending.subscribe().block(),
        }
    };
    // An answer says more than a body that nobody wanted.
    drop(written);
    let status = response.status();
    let headers: Vec<(String, String)> =
        response.headers().entries().into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    let body = read(&response.consume().map_err(|()| bad("answer consumed twice"))?)?;
    let reason = headers.iter().find(|(name, _)| name == "x-emhost-reason").map(|(_, value)| value.clone()).unwrap_or_default();
    Ok(Response { status, reason, headers, body })
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    let stream = body.write().map_err(|()| "body written twice".to_owned())?;
    for chunk in bytes.chunks(4096) {
        stream.blocking_write_and_flush(chunk).map_err(|error| format!("{error:?}"))?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|error| format!("{error:?}"))
}

fn read(body: &IncomingBody) -> Result<Vec<u8>, Trouble> {
    let stream = body.stream().map_err(|()| Trouble::Request("body read twice".to_owned()))?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => return Err(Trouble::Body(error.to_debug_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, reason: &str) -> Response {
        Response { status, reason: reason.to_owned(), headers: Vec::new(), body: b"{\"data\":1}".to_vec() }
    }

    #[test]
    fn a_status_is_the_kind_of_failure_it_is() {
        use crate::FailureKind::{Conflict, Denied, Invalid, Unavailable};
        assert!(answer(200, "OK").ok().is_ok());
        for (status, kind) in [(400, Invalid), (401, Denied), (403, Denied), (404, Conflict), (500, Unavailable), (599, Unavailable)] {
            assert_eq!(answer(status, "x").ok().expect_err("fails").kind, kind, "{status}");
        }
        let said = answer(403, "Permission check failed (/vms/100, VM.Allocate)").ok().expect_err("fails");
        assert_eq!(said.diagnostics[0].summary, "the server answered 403: Permission check failed (/vms/100, VM.Allocate)");
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(query(&[("net0", "virtio=AA:BB,bridge=vmbr0"), ("a b", "é")]), "net0=virtio%3DAA%3ABB%2Cbridge%3Dvmbr0&a%20b=%C3%A9");
    }

    #[test]
    fn json_of_another_shape_says_so() {
        assert!(answer(200, "").json::<Vec<u8>>().is_err());
    }
}
