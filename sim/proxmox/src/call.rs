//! One request on its way to the function that answers it, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::access::Caller;
use crate::pve::Pve;
use crate::schema::{Endpoint, Params};

/// A request that was found, allowed and checked.
pub(crate) struct Call {
    /// The installation.
    pub pve: Arc<Pve>,
    /// What was asked for.
    pub endpoint: &'static Endpoint,
    /// Who asks.
    pub who: Caller,
    /// The host that was asked; the one that answers is [`Call::node`].
    pub asked: String,
    /// Parameters of path, query and body, checked and normalised.
    pub params: Params,
    /// The file of an upload: where its bytes were put, and its name.
    pub upload: Option<Upload>,
}

/// A file that came with a request.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    /// Where the bytes are; whoever takes them moves the file.
    pub path: std::path::PathBuf,
    /// The name the client gave.
    pub name: String,
}

/// What a request is answered with.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// `data`.
    pub data: Value,
    /// Further members of the envelope, such as `total`.
    pub extra: BTreeMap<&'static str, Value>,
    /// For the audit log: what is different now.
    pub changed: Vec<String>,
}

impl Call {
    /// The host that answers: the one in the path, or the one that was asked.
    pub fn node(&self) -> &str {
        match self.params.node() {
            "" | "localhost" => &self.asked,
            node => node,
        }
    }
}

impl Answer {
    /// Nothing, of a call that changed something.
    pub fn done(what: impl Into<String>) -> Self {
        Self::changed(Value::Null, what)
    }

    /// Only data.
    pub fn data(data: impl Into<Value>) -> Self {
        Self { data: data.into(), ..Self::default() }
    }

    /// Data of a call that changed something.
    pub fn changed(data: impl Into<Value>, what: impl Into<String>) -> Self {
        Self { data: data.into(), changed: vec![what.into()], ..Self::default() }
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// The HTTP status.
    pub status: u16,
    /// The text of the error; its first line is the reason phrase.
    pub message: String,
    /// What is wrong with single parameters.
    pub errors: BTreeMap<String, String>,
}

impl Fail {
    /// A `die` in a handler: 500.
    pub fn die(message: impl Into<String>) -> Self {
        Self::new(500, message)
    }

    /// Any status with a text.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: BTreeMap::new() }
    }

    /// 400 for one parameter.
    pub fn param(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::params([(name.into(), message.into())].into())
    }

    /// 400 for several parameters.
    pub fn params(errors: BTreeMap<String, String>) -> Self {
        Self { status: 400, message: "Parameter verification failed.\n".to_owned(), errors }
    }

    /// 403 that names nothing.
    pub fn forbidden() -> Self {
        Self::new(403, "Permission check failed\n")
    }

    /// As it looks where code catches it and dies with more words: 500.
    #[must_use]
    pub fn within(self, doing: &str) -> Self {
        if self.status == 500 && self.errors.is_empty() {
            return Self::die(format!("{doing}: {}", self.message));
        }
        let errors: Vec<String> = self.errors.iter().map(|(name, text)| format!("{name}: {text}\n")).collect();
        Self::die(format!("{doing}: {} {}{}", self.status, self.message, errors.concat()))
    }

    /// 403 that names path and privileges, any of which would do.
    pub fn denied(path: &str, privileges: &[&str]) -> Self {
        Self::new(403, format!("Permission check failed ({path}, {})\n", privileges.join("|")))
    }
}

impl From<std::io::Error> for Fail {
    /// The disk below the simulator said no.
    fn from(error: std::io::Error) -> Self {
        Self::die(format!("{error}\n"))
    }
}

/// What a handler gives back.
pub(crate) type Outcome = Result<Answer, Fail>;
/// A function that answers one endpoint.
pub(crate) type Handler = fn(Call) -> BoxFuture<'static, Outcome>;
/// Makes a [`Handler`] of a function that answers without waiting.
macro_rules! at_once {
    ($function:path) => {
        |call| Box::pin(async move { $function(&call) })
    };
}
pub(crate) use at_once;
/// Makes a [`Handler`] of a function that always has an answer.
macro_rules! always {
    ($function:path) => {
        |call| Box::pin(async move { Ok($function(&call)) })
    };
}
pub(crate) use always;
/// A function, and the method and path (as in the schema) it answers.
pub(crate) type Route = (&'static str, &'static str, Handler);
