//! Events: what controllers tell about objects. The oldest are forgotten.

use serde_json::{Value, json};

use crate::document::{now, text};
use crate::objects::Key;
use crate::world::World;

/// How many events a cluster keeps.
const KEPT: usize = 500;

/// Tells something about an object. The same thing said again only counts up.
pub(crate) fn tell(world: &mut World, object: &Value, kind: &str, reason: &str, message: &str, source: &str) {
    let namespace = match text(object, "/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let uid = text(object, "/metadata/uid");
    // The name tells the same event apart from others, as the real one's hash does.
    let mark = super::templates::hash(&json!([uid, reason, message, source]));
    let name = format!("{}.{mark}", text(object, "/metadata/name"));
    let key = Key::new("events", namespace, &name);
    if world.objects.get(&key).is_some() {
        world.edit(&key, |event| {
            event["count"] = (event["count"].as_i64().unwrap_or(1) + 1).into();
            event["lastTimestamp"] = now().into();
        });
        return;
    }
    let involved = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
        "uid": uid, "resourceVersion": object["metadata"]["resourceVersion"],
    });
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}, "involvedObject": involved,
        "reason": reason, "message": message, "type": kind, "source": {"component": source}, "count": 1,
        "firstTimestamp": now(), "lastTimestamp": now(), "eventTime": null, "reportingComponent": source, "reportingInstance": "",
    });
    if world.make("events", event).is_some() {
        world.told.push_back(key);
        if world.told.len() > KEPT
            && let Some(oldest) = world.told.pop_front()
        {
            let _ = world.remove(&oldest);
        }
    }
}
