//! Questions about access: who am I, may I, may they.

use serde_json::{Value, json};

use super::{Attempt, User, rbac, tokens};
use crate::document::{list, text};
use crate::failure::{Failure, Outcome};
use crate::verbs::{Asked, read};
use crate::world::World;

/// Answers a review.
pub(crate) fn review(world: &World, asked: &Asked, mut body: Value) -> Outcome<Value> {
    if !body.is_object() {
        body = json!({});
    }
    body["kind"] = asked.resource.kind.as_str().into();
    body["apiVersion"] = asked.resource.api_version().into();
    if body.get("metadata").is_none() {
        body["metadata"] = json!({});
    }
    let status = match asked.resource.kind.as_str() {
        "SelfSubjectAccessReview" => verdict(world, &asked.user, &body),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let groups = list(&body, "/spec/groups").iter().filter_map(Value::as_str).map(str::to_owned).collect();
            verdict(world, &User { name: text(&body, "/spec/user").to_owned(), uid: String::new(), groups }, &body)
        }
        "SelfSubjectRulesReview" => {
            let rules: Vec<&Value> = rbac::rules(world, &asked.user, text(&body, "/spec/namespace")).collect();
            let everything = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
            let all_paths = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
            let (mut resources, mut paths) = (Vec::new(), Vec::new());
            if asked.user.is_master() {
                resources.push(everything);
                paths.push(all_paths);
            }
            for rule in rules {
                if rule.get("nonResourceURLs").is_some() { paths.push(rule.clone()) } else { resources.push(rule.clone()) }
            }
            json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
        }
        "SelfSubjectReview" => json!({"userInfo": told(&asked.user)}),
        "TokenReview" => match tokens::user(world, text(&body, "/spec/token")) {
            Some(user) => json!({"authenticated": true, "user": told(&user)}),
            None => json!({"user": {}, "error": "[invalid bearer token]"}),
        },
        _ => return Err(Failure::no_such_path()),
    };
    body["status"] = status;
    Ok(body)
}

fn told(user: &User) -> Value {
    let mut told = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        told["uid"] = user.uid.as_str().into();
    }
    told
}

fn verdict(world: &World, user: &User, body: &Value) -> Value {
    let attempt = if let Some(resource) = body.pointer("/spec/resourceAttributes") {
        let field = |name: &str| resource[name].as_str().unwrap_or_default().to_owned();
        Attempt {
            verb: field("verb"),
            group: field("group"),
            resource: field("resource"),
            subresource: field("subresource"),
            namespace: field("namespace"),
            name: field("name"),
            path: None,
        }
    } else {
        let path = text(body, "/spec/nonResourceAttributes/path").to_owned();
        Attempt { verb: text(body, "/spec/nonResourceAttributes/verb").to_owned(), path: Some(path), ..Attempt::default() }
    };
    if rbac::allows(world, user, &attempt) { json!({"allowed": true}) } else { json!({"allowed": false}) }
}

/// A new token for a service account.
pub(crate) fn token(world: &World, asked: &Asked, mut body: Value) -> Outcome<Value> {
    let account = read::get(world, asked)?;
    if !body.is_object() {
        body = json!({});
    }
    let seconds = body.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(3600);
    if seconds < 600 {
        let cause =
            crate::failure::Cause::invalid("spec.expirationSeconds", &seconds.into(), "may not specify a duration less than 10 minutes");
        let resource = crate::kinds::Resource {
            kind: "TokenRequest".to_owned(),
            group: "authentication.k8s.io".to_owned(),
            ..(*asked.resource).clone()
        };
        return Err(Failure::invalid(&resource, "", &[cause]));
    }
    let (token, end) = tokens::issue(world, &account, list(&body, "/spec/audiences"), seconds);
    body["kind"] = "TokenRequest".into();
    body["apiVersion"] = "authentication.k8s.io/v1".into();
    body["metadata"] = json!({"name": asked.name, "namespace": asked.namespace, "creationTimestamp": crate::document::now()});
    body["status"] = json!({"token": token, "expirationTimestamp": end});
    Ok(body)
}
