//! Roles and bindings.

use serde_json::Value;

use super::{Attempt, User};
use crate::document::{list, text};
use crate::world::World;

/// Whether roles allow it.
pub(crate) fn allows(world: &World, user: &User, attempt: &Attempt) -> bool {
    user.is_master() || rules(world, user, &attempt.namespace).any(|rule| covers(rule, attempt))
}

/// Every rule that holds for a user in a namespace.
pub(crate) fn rules<'a>(world: &'a World, user: &'a User, namespace: &'a str) -> impl Iterator<Item = &'a Value> {
    let wide = world.objects.list("clusterrolebindings.rbac.authorization.k8s.io", None);
    let narrow = world.objects.list("rolebindings.rbac.authorization.k8s.io", Some(namespace)).filter(move |_| !namespace.is_empty());
    let bound = wide.chain(narrow).filter(|binding| list(binding, "/subjects").iter().any(|subject| is(subject, binding, user)));
    bound.flat_map(|binding| {
        let (name, scope) = (text(binding, "/roleRef/name"), text(binding, "/metadata/namespace"));
        let role = match text(binding, "/roleRef/kind") {
            "Role" => world.objects.find("roles.rbac.authorization.k8s.io", scope, name),
            _ => world.objects.find("clusterroles.rbac.authorization.k8s.io", "", name),
        };
        role.map_or(&[][..], |role| list(role, "/rules"))
    })
}

fn is(subject: &Value, binding: &Value, user: &User) -> bool {
    let name = text(subject, "/name");
    match text(subject, "/kind") {
        "User" => name == user.name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let namespace = match text(subject, "/namespace") {
                "" => text(binding, "/metadata/namespace"),
                given => given,
            };
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn covers(rule: &Value, attempt: &Attempt) -> bool {
    let has = |field: &str, wanted: &str| list(rule, field).iter().any(|one| one == "*" || one == wanted);
    if !has("/verbs", &attempt.verb) {
        return false;
    }
    if let Some(path) = &attempt.path {
        let fits = |rule: &str| rule.strip_suffix('*').map_or(rule == path, |start| path.starts_with(start));
        return list(rule, "/nonResourceURLs").iter().filter_map(Value::as_str).any(fits);
    }
    let resource = if attempt.subresource.is_empty() {
        has("/resources", &attempt.resource)
    } else {
        let whole = format!("{}/{}", attempt.resource, attempt.subresource);
        has("/resources", &whole) || list(rule, "/resources").iter().any(|one| *one == format!("*/{}", attempt.subresource))
    };
    let names = list(rule, "/resourceNames");
    resource && has("/apiGroups", &attempt.group) && (names.is_empty() || names.iter().any(|one| one == attempt.name.as_str()))
}
