//! How many pods may be missing at once.

use serde_json::Value;

use super::templates::{condition, is_over, is_ready, share};
use crate::document::{place, put};
use crate::objects::Key;
use crate::objects::selectors::matches;
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, budget: &Value) {
    let selector = budget.pointer("/spec/selector");
    let chosen =
        world.objects.list("pods", Some(&key.namespace)).filter(|pod| matches(selector, pod.pointer("/metadata/labels")) && !is_over(pod));
    let (mut expected, mut healthy) = (0_i64, 0_i64);
    for pod in chosen {
        expected += 1;
        healthy += i64::from(is_ready(pod) && pod.pointer("/metadata/deletionTimestamp").is_none());
    }
    let needed = match budget.pointer("/spec/maxUnavailable") {
        Some(most) => expected - share(Some(most), expected, true),
        None => share(budget.pointer("/spec/minAvailable"), expected, true),
    };
    let allowed = (healthy - needed.max(0)).max(0);
    world.edit(key, |budget| {
        let generation = budget["metadata"]["generation"].clone();
        let status = place(budget, "/status");
        for (field, value) in
            [("currentHealthy", healthy), ("desiredHealthy", needed.max(0)), ("disruptionsAllowed", allowed), ("expectedPods", expected)]
        {
            put(status, &format!("/{field}"), value);
        }
        status["observedGeneration"] = generation;
        let (state, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        condition(budget, "DisruptionAllowed", state, reason, "");
    });
}
