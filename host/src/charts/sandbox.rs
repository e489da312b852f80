//! The room in which Helm works: memory and time, and nothing of this machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable};
use wasmtime::{Engine, ResourceLimiter, Store, Trap};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{I32Exit, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::dice::{Dice, Standing};
use crate::capabilities::Exceeded;
use crate::plugins::Limits;

/// How much of what Helm complains about is kept.
const WORDS: usize = 4 << 10;

/// The most functions that tables hold: a program of Go names each of its own in one.
const FUNCTIONS: usize = 1_000_000;

/// A chart, as it is handed over.
pub(super) enum Source {
    /// As it is published.
    Archive(Vec<u8>),
    /// The files of a folder.
    Folder(Vec<(String, Vec<u8>)>),
}

/// Helm, compiled and linked.
pub(super) struct Renderer {
    engine: Engine,
    pre: InstancePre<Room>,
}

/// Why Helm gave no answer.
pub(super) enum Stopped {
    /// It used more than it may: what.
    Limit(String),
    /// It ended in a way that it should not: how, and its last words.
    Broken(String, String),
}

/// What decides about randomness and time.
pub(super) struct Fate {
    pub dice: Dice,
    pub now: Duration,
}

impl Renderer {
    pub fn new(engine: &Engine, component: &Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        Ok(Self { engine: engine.clone(), pre: linker.instantiate_pre(component)? })
    }

    /// Renders in a store of its own, which is gone afterwards. `Err` inside is Helm's own answer that it cannot.
    pub async fn render(&self, source: &Source, request: &str, fate: Fate, limits: &Limits) -> Result<Result<String, String>, Stopped> {
        let words = Words::default();
        let going = self.call(source, request, fate, limits, &words);
        match tokio::time::timeout(limits.wall, going).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(stopped(&error, limits, &words.text())),
            Err(_) => Err(Stopped::Limit(format!("took longer than the {:?} it may take", limits.wall))),
        }
    }

    async fn call(
        &self,
        source: &Source,
        request: &str,
        fate: Fate,
        limits: &Limits,
        words: &Words,
    ) -> wasmtime::Result<Result<String, String>> {
        let mut builder = WasiCtxBuilder::new();
        builder
            // A library in it looks at the name of its program.
            .arg("helm")
            .max_random_size(64 << 10)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .stdout(words.clone())
            .stderr(words.clone())
            .wall_clock(Standing(fate.now))
            .monotonic_clock(Standing(fate.now))
            .insecure_random_seed(0)
            .insecure_random(Dice::new(b"", "", ""))
            .secure_random(fate.dice);
        let room = Room { wasi: builder.build(), table: ResourceTable::new(), memory: limits.memory };
        let mut store = Store::new(&self.engine, room);
        store.limiter(|room| room);
        limits.meter(&mut store);
        let instance = self.pre.instantiate_async(&mut store).await?;
        match source {
            Source::Archive(bytes) => {
                let render = instance.get_typed_func::<(&[u8], &str), (Result<String, String>,)>(&mut store, "render-archive")?;
                Ok(render.call_async(&mut store, (bytes.as_slice(), request)).await?.0)
            }
            Source::Folder(files) => {
                let render =
                    instance.get_typed_func::<(&[(String, Vec<u8>)], &str), (Result<String, String>,)>(&mut store, "render-folder")?;
                Ok(render.call_async(&mut store, (files.as_slice(), request)).await?.0)
            }
        }
    }
}

fn stopped(error: &wasmtime::Error, limits: &Limits, words: &str) -> Stopped {
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        return Stopped::Limit(exceeded.0.clone());
    }
    let root = error.root_cause().to_string();
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => Stopped::Limit("went too deep: something in it includes itself".to_owned()),
        _ if root.contains("fuel allocated for hostcalls") => {
            Stopped::Limit(format!("makes more than the {} MiB it may", limits.crossing >> 20))
        }
        // The runtime of Go ends its process when there is nothing else it can do.
        _ if error.downcast_ref::<I32Exit>().is_some() => Stopped::Broken("it gave up".to_owned(), words.to_owned()),
        _ => Stopped::Broken(root, words.to_owned()),
    }
}

/// The data of one store.
struct Room {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: usize,
}

impl WasiView for Room {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl ResourceLimiter for Room {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.memory {
            return Err(Exceeded(format!("needs more than the {} MiB of memory it may have", self.memory >> 20)).into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= FUNCTIONS)
    }
}

/// The end of what Helm wrote to standard output and error.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<Vec<u8>>>);

impl Words {
    fn take(&self, bytes: &[u8]) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime of Go says first what is wrong and then, at length, where.
        let room = WORDS.saturating_sub(words.len());
        words.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl IsTerminal for Words {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Words {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only interfaces of WASI 0.3 ask for this one, and they are not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Words {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Words {
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
