//! The running call as the guest sees it: its id, its settings, its time, its voice.

use std::time::Instant;

use wasmtime::component::Resource;

use super::call::Guest;
use super::events::Event;
use crate::bindings::emhost::plugin::{operations, types};
use crate::diagnostic::Diagnostic;

/// The handle on the running call; all it leads to is in [`super::Call`].
pub struct Operation;

impl operations::Host for Guest {}

impl operations::HostOperation for Guest {
    async fn id(&mut self, _: Resource<Operation>) -> wasmtime::Result<String> {
        Ok(self.call.operation.clone())
    }

    async fn settings(&mut self, _: Resource<Operation>) -> wasmtime::Result<String> {
        Ok(self.call.settings.clone())
    }

    async fn remaining_ms(&mut self, _: Resource<Operation>) -> wasmtime::Result<u64> {
        let left = self.call.deadline.saturating_duration_since(Instant::now());
        Ok(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    async fn progress(&mut self, _: Resource<Operation>, activity: String, percent: Option<u8>) -> wasmtime::Result<()> {
        let call = &self.call;
        if !call.may_say(activity.len()) {
            return Ok(());
        }
        call.tape.note("operation.progress", &(call.shown(&activity, 200), percent))?;
        call.say(Event::Progress {
            source: call.source(),
            activity: call.shown(&activity, 200),
            percent: percent.map(|percent| percent.min(100)),
        });
        Ok(())
    }

    async fn report(&mut self, _: Resource<Operation>, diagnostic: types::Diagnostic) -> wasmtime::Result<()> {
        let call = &self.call;
        let clean = Diagnostic::from_plugin(&diagnostic, &call.redactor);
        let bytes = clean.summary.len() + clean.detail.as_ref().map_or(0, String::len) + clean.help.as_ref().map_or(0, String::len);
        if call.may_say(bytes) {
            call.tape.note("operation.report", &diagnostic)?;
            call.say(Event::Report { source: call.source(), diagnostic: clean });
        }
        Ok(())
    }

    async fn drop(&mut self, operation: Resource<Operation>) -> wasmtime::Result<()> {
        self.table.delete(operation)?;
        Ok(())
    }
}
