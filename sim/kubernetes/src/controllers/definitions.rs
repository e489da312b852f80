//! Custom resource definitions: their kinds are there as soon as they are.

use serde_json::{Value, json};

use super::templates::condition;
use crate::document::{flag, list, put, text};
use crate::kinds::custom_resources;
use crate::objects::Key;
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, definition: &Value) {
    world.kinds.set_custom(&key.name, custom_resources(definition));
    let stored = list(definition, "/spec/versions").iter().find(|one| flag(one, "/storage")).map(|one| text(one, "/name").to_owned());
    world.edit(key, |definition| {
        put(definition, "/status/acceptedNames", definition["spec"]["names"].clone());
        if let Some(stored) = stored {
            let mut versions = list(definition, "/status/storedVersions").to_vec();
            if !versions.iter().any(|one| *one == stored.as_str()) {
                versions.push(stored.into());
            }
            put(definition, "/status/storedVersions", versions);
        }
        condition(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found");
        condition(definition, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted");
    });
}

/// With a definition its objects go.
pub(crate) fn gone(world: &mut World, name: &str) {
    let sort = name.into();
    let keys: Vec<Key> = world.objects.list(name, None).map(|object| Key::of(&sort, object)).collect();
    for key in keys {
        let _ = world.remove(&key);
    }
    world.kinds.set_custom(name, Vec::new());
}

/// An API service is taken for available.
pub(crate) fn service(world: &mut World, key: &Key) {
    world.edit(key, |service| {
        if service.get("status").is_none() {
            service["status"] = json!({});
        }
        condition(service, "Available", "True", "Passed", "all checks passed");
    });
}
