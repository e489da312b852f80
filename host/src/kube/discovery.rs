//! Which kinds the API server knows, and where their objects are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::client::{ApiError, Client};
use super::object::{Id, list, text};

/// A kind as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The word for it in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// The kinds of one group and version, by name.
type Kinds = BTreeMap<String, Resource>;

/// What was heard of the server so far. A kind that is not known is asked for each time: somebody may define it any moment.
#[derive(Debug, Default)]
pub struct Discovery(Mutex<BTreeMap<String, Kinds>>);

/// Where all kinds of a group and version are listed.
fn root(api_version: &str) -> String {
    if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") }
}

/// The kinds that a list of the server names, without parts of others such as `deployments/scale`.
fn kinds(answer: &Value) -> Kinds {
    let whole = list(answer, "/resources").iter().filter(|one| !text(one, "/name").contains('/'));
    let resource = |one: &Value| {
        let namespaced = one.get("namespaced").and_then(Value::as_bool).unwrap_or(false);
        (text(one, "/kind").to_owned(), Resource { plural: text(one, "/name").to_owned(), namespaced })
    };
    whole.map(resource).collect()
}

/// A name as a part of a path.
fn segment(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

impl Resource {
    /// Where an object is.
    pub fn path(&self, id: &Id) -> String {
        format!("{}/{}", self.collection(id), segment(&id.name))
    }

    /// Where the objects beside it are.
    pub fn collection(&self, id: &Id) -> String {
        let root = root(&id.api_version);
        if self.namespaced {
            format!("{root}/namespaces/{}/{}", segment(&id.namespace), self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    /// Where all objects of the kind are.
    pub fn all(&self, id: &Id) -> String {
        format!("{}/{}", root(&id.api_version), self.plural)
    }
}

impl Discovery {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Kinds>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind in this version; none where the server does not know it now.
    ///
    /// # Errors
    /// Why the server does not say.
    pub async fn find(&self, client: &Client, api_version: &str, kind: &str) -> Result<Option<Resource>, ApiError> {
        let known = self.known().get(api_version).and_then(|kinds| kinds.get(kind)).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let Some(answer) = client.get(&root(api_version)).await? else { return Ok(None) };
        let kinds = kinds(&answer);
        let found = kinds.get(kind).cloned();
        self.known().insert(api_version.to_owned(), kinds);
        Ok(found)
    }

    /// The same in whatever version the server has it now: one that an object was made in may be gone.
    ///
    /// # Errors
    /// Why the server does not say.
    pub async fn find_any(&self, client: &Client, id: &Id) -> Result<Option<(Id, Resource)>, ApiError> {
        if let Some(resource) = self.find(client, &id.api_version, &id.kind).await? {
            return Ok(Some((id.clone(), resource)));
        }
        if id.group().is_empty() {
            return Ok(None);
        }
        let group = client.get(&format!("/apis/{}", id.group())).await?.unwrap_or_default();
        for version in list(&group, "/versions") {
            let api_version = text(version, "/groupVersion");
            if let Some(resource) = self.find(client, api_version, &id.kind).await? {
                return Ok(Some((Id { api_version: api_version.to_owned(), ..id.clone() }, resource)));
            }
        }
        Ok(None)
    }

    /// Forgets what was heard: kinds may be gone.
    pub fn forget(&self) {
        self.known().clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_have_paths() {
        let answer = json!({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": true},
            {"name": "things", "kind": "Thing", "namespaced": false},
        ]});
        let kinds = kinds(&answer);
        assert_eq!(kinds.len(), 2);
        let id = |api_version: &str, name: &str| Id {
            api_version: api_version.to_owned(),
            kind: String::new(),
            namespace: "a".to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(kinds["Deployment"].path(&id("apps/v1", "web")), "/apis/apps/v1/namespaces/a/deployments/web");
        assert_eq!(kinds["Thing"].path(&id("v1", "system:x y")), "/api/v1/things/system:x%20y");
        assert_eq!(kinds["Deployment"].all(&id("apps/v1", "web")), "/apis/apps/v1/deployments");
    }
}
