//! Pods that run to an end.

use std::time::Duration;

use serde_json::Value;

use super::templates::{self, condition, is_over, is_ready};
use crate::document::{flag, list, now, number, place, put, remove, text};
use crate::objects::Key;
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, job: &Value) {
    let has = |kind: &str| list(job, "/status/conditions").iter().any(|one| one["type"] == kind && one["status"] == "True");
    if has("Complete") || has("Failed") {
        if let Some(seconds) = number(job, "/spec/ttlSecondsAfterFinished") {
            expire(world, key, job, seconds);
        }
        return;
    }
    if flag(job, "/spec/suspend") {
        return;
    }
    let completions = number(job, "/spec/completions").unwrap_or(1);
    let parallel = number(job, "/spec/parallelism").unwrap_or(1);
    let pods = templates::pods(world, text(job, "/metadata/uid"));
    let count = |phase: &str| i64::try_from(pods.iter().filter(|(_, pod)| text(pod, "/status/phase") == phase).count()).unwrap_or(0);
    let (succeeded, failed) = (count("Succeeded"), count("Failed"));
    let active = i64::try_from(pods.iter().filter(|(_, pod)| !is_over(pod)).count()).unwrap_or(0);
    let missing = (completions - succeeded - active).min(parallel - active);
    let template = job["spec"]["template"].clone();
    for _ in 0..missing.clamp(0, templates::room(world)) {
        templates::pod(world, job, &template, None, |_| {});
    }
    let pods = templates::pods(world, text(job, "/metadata/uid"));
    let active = pods.iter().filter(|(_, pod)| !is_over(pod)).count();
    let ready = pods.iter().filter(|(_, pod)| is_ready(pod) && !is_over(pod)).count();
    world.edit(key, |job| {
        let status = place(job, "/status");
        crate::document::default(status, "/startTime", now());
        for (field, value) in [("active", active), ("ready", ready)] {
            if value > 0 || field == "ready" {
                status[field] = value.into();
            } else {
                remove(status, &format!("/{field}"));
            }
        }
        put(status, "/terminating", 0);
        for (field, value) in [("succeeded", succeeded), ("failed", failed)] {
            if value > 0 {
                status[field] = value.into();
            }
        }
        if succeeded >= completions {
            put(status, "/completionTime", now());
            condition(job, "SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods");
            condition(job, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods");
        }
    });
}

/// Deletes a job that ended some time ago.
fn expire(world: &mut World, key: &Key, job: &Value, seconds: i64) {
    let ended = text(job, "/status/completionTime").parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_second);
    let left = ended + seconds - jiff::Timestamp::now().as_second();
    if left <= 0 {
        let _ = crate::verbs::delete::mark(world, key, &serde_json::json!({"propagationPolicy": "Background"}));
    } else {
        world.again(world.dials.limit(Duration::from_secs(u64::try_from(left).unwrap_or(0))), key.clone());
    }
}
