//! What a client may do with objects.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod subresources;
pub(crate) mod update;

use std::collections::HashMap;
use std::sync::Arc;

use crate::access::User;
use crate::failure::{Failure, Outcome};
use crate::kinds::Resource;
use crate::objects::Key;

/// One request for a kind.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) user: User,
    pub(crate) agent: String,
}

impl Asked {
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.resource.sort, &self.namespace, &self.name)
    }

    pub(crate) fn option(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub(crate) fn says(&self, name: &str) -> bool {
        matches!(self.option(name), "true" | "1")
    }

    pub(crate) fn dry(&self) -> Outcome<bool> {
        match self.option("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Failure::bad_request(format!("Invalid value: \"{other}\": supported values: \"All\""))),
        }
    }

    /// Who writes, as `managedFields` tell it.
    pub(crate) fn manager(&self) -> String {
        let given = self.option("fieldManager");
        if given.is_empty() { self.agent.split('/').next().unwrap_or_default().to_owned() } else { given.to_owned() }
    }
}
