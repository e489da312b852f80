//! The sandbox: one fresh store and instance per call, from code that was linked once.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime::component::{Component, HasSelf, Instance, InstancePre, Linker, Resource, ResourceTable};
use wasmtime::{Config, Engine, Store, Trap};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{I32Exit, WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_http::WasiHttpCtx;

use super::answers::{Answer, Vetting};
use super::cache::Cache;
use super::error::{CallError, Cause, LoadError};
use super::inspect::{Inspection, digest, inspect};
use crate::bindings::emhost::plugin::types::Failure;
use crate::bindings::exports::emhost::plugin as exports;
use crate::capabilities::inventory::{ClusterHandle, NodeHandle};
use crate::capabilities::operation::Operation;
use crate::capabilities::policy::Verb;
use crate::capabilities::{Call, Context, Differs, Exceeded, Guest, Lines, Outgoing, Stopped};
use crate::diagnostic::{Diagnostic, story};
use crate::inventory::Node;
use crate::redact::one_line;

/// How often the time a guest computes is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The engine that runs all plugins of this process.
pub struct Runtime {
    engine: Engine,
    linker: Linker<Guest>,
    cache: Option<Cache>,
}

impl Runtime {
    /// Sets the sandbox up; with a cache, plugins are compiled once per machine.
    ///
    /// # Errors
    /// A machine on which compiled code cannot run.
    pub fn new(cache: Option<Cache>) -> Result<Self, LoadError> {
        Self::with(cache, true)
    }

    /// A sandbox in which nothing ends a guest that computes for ever, to measure what that costs.
    #[doc(hidden)]
    pub fn without_interruption_for_measuring() -> Result<Self, LoadError> {
        Self::with(None, false)
    }

    fn with(cache: Option<Cache>, interruption: bool) -> Result<Self, LoadError> {
        let fail = |error: wasmtime::Error| LoadError::Engine(format!("{error:#}"));
        let mut config = Config::new();
        config.wasm_component_model(true).epoch_interruption(interruption);
        let engine = Engine::new(&config).map_err(fail)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(fail)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).map_err(fail)?;
        crate::bindings::Host_::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest).map_err(fail)?;
        tick(&engine);
        Ok(Self { engine, linker, cache })
    }

    /// Reads, compiles and links a component. Nothing of it runs.
    ///
    /// # Errors
    /// Why it can never be called.
    pub fn load(&self, bytes: &[u8]) -> Result<Plugin, LoadError> {
        let known = self.cache.as_ref().and_then(|cache| cache.find(&self.engine, &digest(bytes)));
        let (inspection, component) = if let Some((Some(inspection), component)) = known {
            (inspection, Ok(component))
        } else {
            let inspection = inspect(bytes)?;
            let component = match &self.cache {
                Some(cache) => cache.compile(&self.engine, bytes, &inspection.digest, Some(&inspection)),
                None => Component::new(&self.engine, bytes),
            };
            (inspection, component)
        };
        let name = inspection.manifest.name.clone();
        let fail = |error: wasmtime::Error| LoadError::Compile { plugin: name.clone(), reason: one_line(&format!("{error:#}"), 500) };
        let pre = self.linker.instantiate_pre(&component.map_err(fail)?).map_err(fail)?;
        let roles = Roles {
            lifecycle: exports::lifecycle::GuestIndices::new(&pre).map_err(fail)?,
            configurator: exports::configurator::GuestIndices::new(&pre).ok(),
            boot_source: exports::boot_source::GuestIndices::new(&pre).ok(),
            gpu: exports::gpu::GuestIndices::new(&pre).ok(),
            provisioner: exports::provisioner::GuestIndices::new(&pre).ok(),
            distro: exports::distro::GuestIndices::new(&pre).ok(),
            distro_backup: exports::distro_backup::GuestIndices::new(&pre).ok(),
            addon: exports::addon::GuestIndices::new(&pre).ok(),
        };
        Ok(Plugin { inspection, engine: self.engine.clone(), pre, roles })
    }

    /// The engine, and compiled code, for what is no plugin: the host's own components.
    pub(crate) fn workshop(&self) -> Workshop {
        Workshop { engine: self.engine.clone(), cache: self.cache.clone() }
    }
}

/// Compiles components that are the host's own.
pub(crate) struct Workshop {
    pub engine: Engine,
    cache: Option<Cache>,
}

impl Workshop {
    /// The component with this digest, if it was compiled before.
    pub fn find(&self, digest: &str) -> Option<Component> {
        self.cache.as_ref()?.find(&self.engine, digest).map(|(_, component)| component)
    }

    /// Compiles it, and keeps it under this digest.
    pub fn compile(&self, digest: &str, bytes: &[u8]) -> wasmtime::Result<Component> {
        match &self.cache {
            Some(cache) => cache.compile(&self.engine, bytes, digest, None),
            None => Component::new(&self.engine, bytes),
        }
    }
}

/// Moves the engine's clock for as long as the engine lives.
fn tick(engine: &Engine) {
    let engine = engine.weak();
    std::thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    });
}

/// Where each role's functions are in the component.
pub(super) struct Roles {
    pub lifecycle: exports::lifecycle::GuestIndices,
    pub configurator: Option<exports::configurator::GuestIndices>,
    pub boot_source: Option<exports::boot_source::GuestIndices>,
    pub gpu: Option<exports::gpu::GuestIndices>,
    pub provisioner: Option<exports::provisioner::GuestIndices>,
    pub distro: Option<exports::distro::GuestIndices>,
    pub distro_backup: Option<exports::distro_backup::GuestIndices>,
    pub addon: Option<exports::addon::GuestIndices>,
}

/// A plugin, ready to be called any number of times at once.
pub struct Plugin {
    inspection: Inspection,
    engine: Engine,
    pre: InstancePre<Guest>,
    pub(super) roles: Roles,
}

/// The host asked for what cannot be called: no fault of the plugin.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Uncallable(pub String);

/// One call at work: its store, its instance, and the handles it is given.
pub(super) struct Live<'a> {
    pub store: Store<Guest>,
    pub instance: Instance,
    pub roles: &'a Roles,
    operation: u32,
    cluster: u32,
    node: Option<u32>,
}

impl Live<'_> {
    pub fn operation(&self) -> Resource<Operation> {
        Resource::new_borrow(self.operation)
    }

    pub fn cluster(&self) -> Resource<ClusterHandle> {
        Resource::new_borrow(self.cluster)
    }

    /// The node the call is about. A call without one is a bug of the host, not of the plugin.
    pub fn node(&self) -> wasmtime::Result<Resource<NodeHandle>> {
        self.node.map(Resource::new_borrow).ok_or_else(|| Uncallable("this call is about a node, and none was given".to_owned()).into())
    }
}

impl Plugin {
    /// What it says of itself.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inspection.manifest.name
    }

    /// Starts the plugin once without any right, so that one that cannot start is found when it
    /// is added and not in the middle of a run.
    ///
    /// # Errors
    /// Why it does not start.
    pub async fn try_start(&self, context: &Context) -> Result<(), LoadError> {
        let started = self.call(context, Verb::Validate, None, async |live: &mut Live<'_>| {
                live.roles.lifecycle.load(&mut live.store, &live.instance)?;
                macro_rules! load {
                    ($($role:ident),*) => { $(if let Some(indices) = &live.roles.$role { indices.load(&mut live.store, &live.instance)?; })* };
                }
                load!(configurator, boot_source, gpu, provisioner, distro, distro_backup, addon);
                Ok(Ok(()))
        });
        started.await.map_err(|error| LoadError::Start { plugin: self.name().to_owned(), reason: error.to_string() })
    }

    /// Makes one call in a store of its own, which is gone afterwards, whatever happened in it.
    pub(super) async fn call<R, F>(&self, context: &Context, verb: Verb, node: Option<&Node>, call_guest: F) -> Result<R, CallError>
    where
        R: Answer,
        F: AsyncFnOnce(&mut Live<'_>) -> wasmtime::Result<Result<R, Failure>>,
    {
        let unit = node.map(|node| node.name.clone());
        let operation = format!(
            "{}/{}/{}",
            context.cluster.id,
            verb.role().map_or("lifecycle", super::Role::as_str),
            unit.as_deref().unwrap_or("cluster")
        );
        let call = Arc::new(Call::new(context, verb, unit, operation));
        let error = |cause: Cause| self.explain(&call, cause);
        if !context.policy.has_role(verb) {
            return Err(error(Cause::Role));
        }
        let limit = context.limits.wall;
        let going = async {
            let mut live = self.start(&call, node).await?;
            call_guest(&mut live).await
        };
        // Kept beyond the timeout: what it waits for is forgotten once it is dropped.
        let mut going = std::pin::pin!(going);
        let answer = match tokio::time::timeout(limit, going.as_mut()).await {
            Err(_) => return Err(error(Cause::TooLong(limit, call.waits_for()))),
            Ok(Err(trap)) => return Err(error(cause(&trap, &call))),
            Ok(Ok(answer)) => answer,
        };
        // A plugin that broke a rule is not believed, whatever it answers.
        if let Some(refusal) = call.broken_rule() {
            return Err(error(Cause::Broke { summary: refusal.summary, help: refusal.help }));
        }
        let vetting = Vetting { redactor: &call.redactor, state: call.limits.state };
        match answer {
            Ok(mut answer) => match answer.vet(&vetting) {
                Ok(()) => Ok(answer),
                Err(why) => Err(error(Cause::Answer(call.shown(&why, 500)))),
            },
            Err(failure) => Err(error(failed(failure, &vetting))),
        }
    }

    async fn start(&self, call: &Arc<Call>, node: Option<&Node>) -> wasmtime::Result<Live<'_>> {
        let mut table = ResourceTable::new();
        table.set_max_capacity(call.limits.handles);
        let operation = table.push(Operation)?.rep();
        let cluster = table.push(ClusterHandle(Arc::clone(&call.cluster)))?.rep();
        let node = node.map(|node| Ok::<_, wasmtime::Error>(table.push(NodeHandle(Arc::new(node.clone())))?.rep())).transpose()?;
        let guest =
            Guest { call: Arc::clone(call), table, wasi: wasi(call), http: WasiHttpCtx::new(), outgoing: Outgoing::new(Arc::clone(call)) };
        let mut store = Store::new(&self.engine, guest);
        store.limiter(|guest| guest);
        store.set_max_component_handles(call.limits.handles);
        call.limits.meter(&mut store);
        let instance = self.pre.instantiate_async(&mut store).await?;
        Ok(Live { store, instance, roles: &self.roles, operation, cluster, node })
    }

    fn explain(&self, call: &Call, mut cause: Cause) -> CallError {
        let words = call.last_words();
        let words = story(words.trim(), &call.redactor);
        let shown = matches!(cause, Cause::Panicked(_) | Cause::Trapped(_) | Cause::Exited | Cause::TooLong(..) | Cause::Limit(_));
        let mut remarks = call.take_remarks();
        let said = match &mut cause {
            Cause::Broke { summary, help } => Some((&*summary, help)),
            Cause::Failed { diagnostics, .. } => diagnostics.first_mut().map(|first| (&first.summary, &mut first.help)),
            _ => None,
        };
        if let Some((summary, help)) = said {
            // Said once, with what to do about it.
            for remark in remarks.extract_if(.., |remark| remark.summary == *summary) {
                *help = help.take().or(remark.help);
            }
        }
        CallError {
            plugin: self.name().to_owned(),
            verb: call.verb,
            unit: call.unit.clone(),
            cause,
            remarks,
            last_words: (shown && !words.is_empty()).then_some(words),
        }
    }
}

/// WASI with clocks, randomness and standard output, and nothing of this machine behind it.
fn wasi(call: &Arc<Call>) -> WasiCtx {
    let mut builder = WasiCtxBuilder::new();
    builder
        .max_random_size(64 << 10)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .stdout(Lines::new(Arc::clone(call)))
        .stderr(Lines::new(Arc::clone(call)));
    if let Some((started, seed)) = call.tape.determined() {
        builder
            .wall_clock(TapedClock(started))
            .secure_random(dice(seed, "secure"))
            .insecure_random(dice(seed, "insecure"))
            .insecure_random_seed(u128::from(seed));
    }
    builder.build()
}

/// A wall clock that stands where the recorded call began.
struct TapedClock(Duration);

impl wasmtime_wasi::HostWallClock for TapedClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// Dice that fall the same way every time, for calls on tape.
fn dice(seed: u64, of: &str) -> Deterministic {
    let roll = |number: u8| Sha256::digest(format!("{seed}/{of}/{number}"));
    Deterministic::new((0..=u8::MAX).flat_map(roll).collect())
}

fn failed(mut failure: Failure, vetting: &Vetting<'_>) -> Cause {
    if let Err(why) = failure.state.vet(vetting) {
        return Cause::Answer(why);
    }
    let diagnostics: Vec<Diagnostic> =
        failure.diagnostics.iter().take(50).map(|said| Diagnostic::from_plugin(said, vetting.redactor)).collect();
    Cause::Failed {
        kind: failure.kind,
        diagnostics,
        retry_after: failure.retry_after_ms.map(|ms| Duration::from_millis(ms.into())),
        state: failure.state,
    }
}

fn cause(error: &wasmtime::Error, call: &Call) -> Cause {
    let clean = |text: &str| call.shown(text, 500);
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return Cause::Broke { summary: stopped.0.summary.clone(), help: stopped.0.help.clone() };
    }
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        return Cause::Limit(exceeded.0.clone());
    }
    if let Some(differs) = error.downcast_ref::<Differs>() {
        return Cause::Replay(clean(&differs.to_string()));
    }
    if let Some(uncallable) = error.downcast_ref::<Uncallable>() {
        return Cause::Host(uncallable.0.clone());
    }
    if error.downcast_ref::<I32Exit>().is_some() {
        return Cause::Exited;
    }
    let root = error.root_cause().to_string();
    match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) => {
            let words = call.last_words();
            match words.find("panicked at") {
                Some(start) => {
                    let words = words[start..].trim_start_matches("panicked at").trim();
                    // What follows is advice for somebody at the plugin's own terminal.
                    Cause::Panicked(clean(words.split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or(words)))
                }
                None => Cause::Trapped("it gave up (unreachable)".to_owned()),
            }
        }
        Some(Trap::StackOverflow) => Cause::Limit("recursed too deep: its stack is full".to_owned()),
        Some(Trap::MemoryOutOfBounds) => Cause::Trapped("it reached outside its memory (or recursed too deep)".to_owned()),
        Some(trap) => Cause::Trapped(clean(&trap.to_string())),
        None if root.contains("fuel allocated for hostcalls") => {
            Cause::Limit(format!("passed more than {} MiB at once", call.limits.crossing >> 20))
        }
        None if root.contains("resource table has no free keys") => {
            Cause::Limit(format!("holds more than {} handles", call.limits.handles))
        }
        // What is above the root is a backtrace for whoever wrote the guest's compiler.
        None => Cause::Trapped(clean(&root)),
    }
}
