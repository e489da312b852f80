//! What the factory says back.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

/// An answer, and what answering it has changed.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    pub(super) changed: Vec<String>,
}

impl Answer {
    pub(super) fn new(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), changed: Vec::new() }
    }

    /// As Go's `http.Error` writes it.
    pub(super) fn text(status: StatusCode, text: &str) -> Self {
        let answer = Self::new(status).header("content-type", "text/plain; charset=utf-8").header("x-content-type-options", "nosniff");
        answer.body(format!("{text}\n"))
    }

    pub(super) fn missing(text: &str) -> Self {
        Self::text(StatusCode::NOT_FOUND, text)
    }

    pub(super) fn failed() -> Self {
        Self::text(StatusCode::INTERNAL_SERVER_ERROR, "internal server error")
    }

    pub(super) fn json(status: StatusCode, body: &impl serde::Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(text) => Self::new(status).header("content-type", "application/json").body(format!("{text}\n")),
            Err(_) => Self::failed(),
        }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn changed(mut self, what: String) -> Self {
        self.changed.push(what);
        self
    }

    /// For the wire. An answer to HEAD says how long the body would be.
    pub(super) fn response(self, head: bool) -> Response<Full<Bytes>> {
        let mut builder = Response::builder().status(self.status).header("server", "Image Factory (simulated)");
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        builder = builder.header("content-length", self.body.len());
        let body = if head { Bytes::new() } else { self.body };
        builder.body(Full::new(body)).unwrap_or_else(|_| Response::new(Full::default()))
    }
}
