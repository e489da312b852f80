//! Calls of the guest `probe`, which does what its settings say.

use std::fmt::Write;

use emhost::bindings::emhost::plugin::types::{Intent, Step};
use emhost::capabilities::Context;
use emhost::plugins::CallError;
use emhost_testkit::{Builder, Kit};
use emhost_tests::guest;
use serde_json::{Value, json};

/// The guest, before it is loaded.
pub fn probe() -> Builder {
    Kit::file(guest("probe"))
}

pub fn get(path: &str) -> Value {
    json!({"do": "http", "method": "GET", "path": path})
}

pub fn post(path: &str, body: &str) -> Value {
    json!({"do": "http", "method": "POST", "path": path, "body": body})
}

fn seen(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// One call with these host calls in it.
#[derive(Clone, Copy)]
pub struct Call<'a>(pub &'a Kit);

impl Call<'_> {
    fn context(self, run: &Value) -> Context {
        let mut context = self.0.context.clone();
        context.settings = json!({"run": run});
        context
    }

    /// `provisioner.observe`.
    pub async fn look(self, run: Value) -> Result<Value, CallError> {
        let machine = self.0.plugin.observe_machine(&self.context(&run), &self.0.node(), None).await?;
        Ok(seen(&machine.expect("a machine").host))
    }

    /// `provisioner.apply`.
    pub async fn apply(self, run: Value) -> Result<Value, CallError> {
        match self.0.plugin.apply_machine(&self.context(&run), &self.0.node(), None, Intent::Present, None).await? {
            Step::Again(again) => Ok(seen(&again.reason)),
            Step::Done(_) => Ok(Value::Null),
        }
    }

    /// `distro.observe`.
    pub async fn look_node(self, run: Value) -> Result<Value, CallError> {
        let status = self.0.plugin.observe_node(&self.context(&run), &self.0.node(), None).await?;
        Ok(seen(&status.attributes[0].value))
    }

    /// `distro.apply`.
    pub async fn apply_node(self, run: Value) -> Result<Value, CallError> {
        match self.0.plugin.apply_node(&self.context(&run), &self.0.node(), &[], None, Intent::Present, None).await? {
            Step::Again(again) => Ok(seen(&again.reason)),
            Step::Done(_) => Ok(Value::Null),
        }
    }
}

/// An error as the person at the terminal gets it, with what changes from run to run replaced.
pub fn told(error: &CallError, replaced: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for one in error.diagnostics() {
        let severity = format!("{:?}", one.severity).to_lowercase();
        writeln!(text, "{severity}[{}] {}", one.code, one.summary).expect("a string");
        for (name, more) in [("detail", &one.detail), ("help", &one.help)] {
            if let Some(more) = more {
                writeln!(text, "  {name}: {}", more.replace('\n', "\n    ")).expect("a string");
            }
        }
    }
    for (from, to) in replaced {
        text = text.replace(from, to);
    }
    text
}
