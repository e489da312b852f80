//! What an apply would change: the object as it is beside what the server says it would become. Pure.

use serde_json::Value;

/// One value that changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// JSON pointer to it.
    pub pointer: String,
    /// What it is.
    pub before: Option<Value>,
    /// What it would be.
    pub after: Option<Value>,
}

/// What the server keeps of an object for itself, and what only controllers write.
const SERVERS: [&str; 7] = [
    "/status",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/uid",
    "/metadata/creationTimestamp",
    "/metadata/selfLink",
];

/// Every value that differs, in the order of its pointers.
pub fn differences(live: &Value, wanted: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    compare(Some(live), Some(wanted), &mut String::new(), &mut all);
    all
}

fn compare(before: Option<&Value>, after: Option<&Value>, at: &mut String, all: &mut Vec<Difference>) {
    if before == after || SERVERS.contains(&at.as_str()) {
        return;
    }
    match (before, after) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                below(&key.replace('~', "~0").replace('/', "~1"), at, |at| compare(one.get(key), other.get(key), at, all));
            }
        }
        // Lists that grow or shrink are told whole: which of their items is which is not known here.
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                below(&index.to_string(), at, |at| compare(Some(one), Some(other), at, all));
            }
        }
        _ => all.push(Difference { pointer: at.clone(), before: before.cloned(), after: after.cloned() }),
    }
}

fn below(part: &str, at: &mut String, work: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(part);
    work(at);
    at.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_person_wrote_counts() {
        let live = json!({
            "metadata": {"name": "x", "resourceVersion": "1", "generation": 1, "labels": {"a/b": "1", "gone": "1"}},
            "spec": {"replicas": 1, "list": [1, 2], "items": [{"image": "a"}]}, "status": {"ready": 1},
        });
        assert_eq!(differences(&live, &live), []);
        let wanted = json!({
            "metadata": {"name": "x", "resourceVersion": "2", "generation": 2, "labels": {"a/b": "2"}, "managedFields": []},
            "spec": {"replicas": 1, "list": [1], "items": [{"image": "b"}], "new": {"a": 1}}, "status": {"ready": 2},
        });
        let told: Vec<String> = differences(&live, &wanted)
            .into_iter()
            .map(|one| {
                let word = |value: Option<Value>| value.map_or("none".to_owned(), |value| value.to_string());
                format!("{} {} -> {}", one.pointer, word(one.before), word(one.after))
            })
            .collect();
        let expected = [
            "/metadata/labels/a~1b \"1\" -> \"2\"",
            "/metadata/labels/gone \"1\" -> none",
            "/spec/items/0/image \"a\" -> \"b\"",
            "/spec/list [1,2] -> [1]",
            "/spec/new none -> {\"a\":1}",
        ];
        assert_eq!(told, expected);
    }
}
