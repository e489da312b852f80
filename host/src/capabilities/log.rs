//! What plugins log, and their standard output and error, as redacted events.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::call::{Call, Guest};
use super::events::Event;
use crate::bindings::emhost::plugin::log::{self, Level};
use crate::bindings::emhost::plugin::types::Attribute;

/// The longest message that is shown.
const MESSAGE: usize = 4000;
const FIELDS: usize = 32;

fn name(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

fn write(call: &Call, level: Level, message: &str, fields: &[Attribute]) {
    call.say(Event::Log {
        source: call.source(),
        level: name(level),
        message: call.shown(message, MESSAGE),
        fields: fields.iter().take(FIELDS).map(|field| (call.shown(&field.key, 80), call.shown(&field.value, MESSAGE))).collect(),
    });
}

impl log::Host for Guest {
    async fn enabled(&mut self, level: Level) -> wasmtime::Result<bool> {
        Ok(level != Level::Trace)
    }

    async fn write(&mut self, level: Level, message: String, fields: Vec<Attribute>) -> wasmtime::Result<()> {
        let bytes = message.len() + fields.iter().map(|field| field.key.len() + field.value.len()).sum::<usize>();
        if !self.call.may_say(bytes) {
            return Ok(());
        }
        self.call.tape.note("log.write", &(name(level), self.call.shown(&message, MESSAGE)))?;
        write(&self.call, level, &message, &fields);
        Ok(())
    }
}

/// Standard output or error of a guest: lines become log messages, the end is kept for panics.
#[derive(Clone)]
pub(crate) struct Lines {
    call: Arc<Call>,
    partial: Arc<Mutex<Vec<u8>>>,
}

impl Lines {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self { call, partial: Arc::default() }
    }

    fn take(&self, bytes: &[u8]) {
        self.call.hear(bytes);
        let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            partial.extend_from_slice(part);
            // A line without end is cut rather than kept growing.
            if part.ends_with(b"\n") || partial.len() > MESSAGE {
                let line = std::mem::take(&mut *partial);
                if !self.call.may_say(line.len()) {
                    continue;
                }
                let text = String::from_utf8_lossy(&line);
                write(&self.call, Level::Warn, text.trim_end_matches(['\n', '\r']), &[]);
            }
        }
    }
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Lines {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl tokio::io::AsyncWrite for Lines {
    fn poll_write(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>, bytes: &[u8]) -> std::task::Poll<std::io::Result<usize>> {
        self.take(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}
