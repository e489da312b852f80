//! Choosing objects by labels and fields.

use serde_json::Value;

use crate::document::text;
use crate::failure::{Failure, Outcome};
use crate::kinds::Resource;

/// One condition on labels or fields.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

impl Condition {
    fn holds(&self, value: &impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::In(key, values) => value(key).is_some_and(|found| values.contains(&found)),
            Self::NotIn(key, values) => value(key).is_none_or(|found| !values.contains(&found)),
            Self::Exists(key) => value(key).is_some(),
            Self::Missing(key) => value(key).is_none(),
        }
    }
}

/// `labelSelector` and `fieldSelector` of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: Vec<Condition>,
    fields: Vec<Condition>,
}

impl Selection {
    pub(crate) fn parse(labels: &str, fields: &str) -> Outcome<Self> {
        Ok(Self { labels: parse_labels(labels)?, fields: parse_fields(fields)? })
    }

    /// Refuses fields by which objects of this kind cannot be chosen.
    pub(crate) fn known(&self, resource: &Resource) -> Outcome<()> {
        let fields: &[&str] = match resource.kind.as_str() {
            _ if resource.custom.is_some() => &[],
            "Pod" => &[
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            ],
            "Node" => &["spec.unschedulable"],
            "Event" => &[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ],
            "Secret" => &["type"],
            "Namespace" => &["status.phase"],
            "Service" => &["spec.clusterIP", "spec.type"],
            "ReplicaSet" | "ReplicationController" => &["status.replicas"],
            "Job" => &["status.successful"],
            "CertificateSigningRequest" => &["spec.signerName"],
            _ => &[],
        };
        for condition in &self.fields {
            let (Condition::In(key, _) | Condition::NotIn(key, _)) = condition else { continue };
            if !matches!(key.as_str(), "metadata.name" | "metadata.namespace") && !fields.contains(&key.as_str()) {
                let why = if resource.custom.is_some() || !fields.is_empty() {
                    format!("field label not supported: {key}")
                } else {
                    format!("\"{key}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
                };
                return Err(Failure::bad_request(why));
            }
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn chooses(&self, object: &Value) -> bool {
        let label = |key: &str| object["metadata"]["labels"][key].as_str().map(str::to_owned);
        let field = |key: &str| Some(field(object, key));
        self.labels.iter().all(|one| one.holds(&label)) && self.fields.iter().all(|one| one.holds(&field))
    }
}

/// A field as field selectors see it: missing ones are empty.
fn field(object: &Value, path: &str) -> String {
    let pointer = format!("/{}", path.replace('.', "/"));
    match object.pointer(&pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if path == "spec.unschedulable" => "false".to_owned(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn parse_fields(text: &str) -> Outcome<Vec<Condition>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (negative, pair) = match part.split_once("!=") {
                Some(pair) => (true, Some(pair)),
                None => (false, part.split_once("==").or_else(|| part.split_once('='))),
            };
            let Some((key, value)) = pair else {
                return Err(Failure::bad_request(format!(
                    "Unable to find \"/v1, Kind=\" that match label selector \"\", field selector \"{text}\": invalid selector: '{part}'; can't understand '{part}'"
                )));
            };
            let (key, values) = (key.trim().to_owned(), vec![value.trim().replace('\\', "")]);
            Ok(if negative { Condition::NotIn(key, values) } else { Condition::In(key, values) })
        })
        .collect()
}

fn parse_labels(text: &str) -> Outcome<Vec<Condition>> {
    let mut conditions = Vec::new();
    for part in split_outside_brackets(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let values = |list: &str| -> Option<Vec<String>> {
            let inner = list.trim().strip_prefix('(')?.strip_suffix(')')?;
            Some(inner.split(',').map(|value| value.trim().to_owned()).collect())
        };
        let unclear = || Failure::bad_request(format!("unable to parse requirement: found '{part}'"));
        let condition = if let Some(key) = part.strip_prefix('!') {
            Condition::Missing(key.trim().to_owned())
        } else if let Some((key, list)) =
            part.split_once(" notin ").or_else(|| part.split_once(" notin(").map(|(key, _)| (key, &part[key.len() + 6..])))
        {
            Condition::NotIn(key.trim().to_owned(), values(list).ok_or_else(unclear)?)
        } else if let Some((key, list)) =
            part.split_once(" in ").or_else(|| part.split_once(" in(").map(|(key, _)| (key, &part[key.len() + 3..])))
        {
            Condition::In(key.trim().to_owned(), values(list).ok_or_else(unclear)?)
        } else if let Some((key, value)) = part.split_once("!=") {
            Condition::NotIn(key.trim().to_owned(), vec![value.trim().to_owned()])
        } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            Condition::In(key.trim().to_owned(), vec![value.trim().to_owned()])
        } else if part.contains(char::is_whitespace) {
            return Err(unclear());
        } else {
            Condition::Exists(part.to_owned())
        };
        conditions.push(condition);
    }
    Ok(conditions)
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether labels satisfy a `LabelSelector` object: `matchLabels` and `matchExpressions`. A missing selector chooses nothing.
pub(crate) fn matches(selector: Option<&Value>, labels: Option<&Value>) -> bool {
    let Some(selector) = selector.filter(|value| value.is_object()) else { return false };
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str).map(str::to_owned);
    let exact = crate::document::pairs(selector, "/matchLabels").all(|(key, value)| label(key).as_deref() == value.as_str());
    exact && crate::document::list(selector, "/matchExpressions").iter().all(|expression| expression_holds(expression, &label))
}

/// Whether labels have all these pairs, as selectors of services are.
pub(crate) fn has_all(pairs: Option<&Value>, labels: Option<&Value>) -> bool {
    let pairs = pairs.and_then(Value::as_object);
    pairs.is_some_and(|pairs| pairs.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value)))
}

/// One of `matchExpressions`, also of node selectors.
pub(crate) fn expression_holds(expression: &Value, label: &impl Fn(&str) -> Option<String>) -> bool {
    let key = text(expression, "/key").to_owned();
    let values: Vec<String> = crate::document::list(expression, "/values").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let numbers = |found: Option<String>| Some((found?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match text(expression, "/operator") {
        "In" => Condition::In(key, values).holds(label),
        "NotIn" => Condition::NotIn(key, values).holds(label),
        "Exists" => Condition::Exists(key).holds(label),
        "DoesNotExist" => Condition::Missing(key).holds(label),
        "Gt" => numbers(label(&key)).is_some_and(|(found, limit)| found > limit),
        "Lt" => numbers(label(&key)).is_some_and(|(found, limit)| found < limit),
        _ => false,
    }
}

/// A `LabelSelector` in the words of a query, as scale subresources tell it.
pub(crate) fn spelled(selector: &Value) -> String {
    let mut parts: Vec<String> = crate::document::pairs(selector, "/matchLabels")
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in crate::document::list(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let values: Vec<_> = crate::document::list(expression, "/values").iter().filter_map(Value::as_str).collect();
        parts.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_choose_as_kubernetes_does() {
        let pod = json!({"metadata": {"name": "a", "labels": {"app": "web", "tier": "front"}}, "spec": {"nodeName": "n1"}});
        let chooses = |labels: &str, fields: &str| Selection::parse(labels, fields).unwrap().chooses(&pod);
        assert!(chooses("app=web", "") && chooses("app==web,tier!=back", "") && chooses("app in (web, db),!gone", ""));
        assert!(chooses("app", "") && chooses("tier notin (back)", "") && chooses("other!=x", ""));
        assert!(!chooses("app=db", "") && !chooses("!app", "") && !chooses("other in (x)", ""));
        assert!(chooses("", "metadata.name=a,spec.nodeName=n1") && chooses("", "spec.nodeName!=,status.phase!=Running"));
        assert!(!chooses("", "metadata.name=b") && !chooses("", "spec.nodeName="));
        assert!(Selection::parse("what is this", "").is_err() && Selection::parse("", "nothing").is_err());
        let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]});
        assert!(matches(Some(&selector), pod.pointer("/metadata/labels")));
        assert!(!matches(None, pod.pointer("/metadata/labels")));
        assert_eq!(spelled(&selector), "app=web,tier");
    }
}
