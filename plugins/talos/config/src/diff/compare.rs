//! Two trees side by side, led by the types of their values.

use serde_json::{Value, json};

use super::{Change, leaf, list};
use crate::patch::Identity;
use crate::pointer::pointer;
use crate::schema::{ANYTHING, Release, Shape, Table, is_secret, is_zero};
use crate::tree::{Entries, Node, get};

/// The tables of all releases: what a machine has may come from an older one.
const ANY: Release = Release(None);

/// Compares two documents of one name, of which one may be missing.
pub(super) fn document(identity: &Identity, before: Option<&Node>, after: Option<&Node>, changes: &mut Vec<Change>) {
    let shape = after.or(before).and_then(|document| Table::get().document(document, ANY)).map(Shape::Named);
    let count = changes.len();
    let mut walk = Walk { path: identity.parts(), secret: false, changes };
    let has_kind = identity.parts().is_empty();
    let inner = |document: Option<&Node>| match document {
        // They are in the pointer.
        Some(Node::Map(entries)) if !has_kind => {
            Some(entries.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "name")).cloned().collect())
        }
        Some(Node::Map(entries)) => Some(entries.clone()),
        _ => None,
    };
    let (left, right): (Option<Entries>, Option<Entries>) = (inner(before), inner(after));
    let name = match shape {
        Some(Shape::Named(name)) => Some(name),
        _ => None,
    };
    walk.entries(left.as_ref(), right.as_ref(), |key| name.and_then(|name| field(name, key)), name);
    if before.is_some() != after.is_some() && changes.len() == count {
        let there = |document: Option<&Node>| document.map(|_| json!({}));
        changes.push(Change { pointer: pointer(&identity.parts()), before: there(before), after: there(after), sensitive: false });
    }
}

/// The type of a key, and whether empty differs from absent.
fn field(name: &str, key: &str) -> Option<(&'static Shape, bool)> {
    Table::get().key(name, key, ANY).map(|key| (&key.shape, key.pointer))
}

pub(super) struct Walk<'changes> {
    path: Vec<String>,
    secret: bool,
    changes: &'changes mut Vec<Change>,
}

impl Walk<'_> {
    fn change(&mut self, before: Option<Value>, after: Option<Value>) {
        self.changes.push(Change { pointer: pointer(&self.path), before, after, sensitive: self.secret });
    }

    pub(super) fn inside(&mut self, part: String, walk: impl FnOnce(&mut Self)) {
        self.path.push(part);
        walk(self);
        self.path.pop();
    }

    fn entries(
        &mut self,
        left: Option<&Entries>,
        right: Option<&Entries>,
        field: impl Fn(&str) -> Option<(&'static Shape, bool)>,
        name: Option<&str>,
    ) {
        let keys =
            right.into_iter().flatten().chain(left.into_iter().flatten().filter(|(key, _)| !right.is_some_and(|right| has(right, key))));
        for (key, _) in keys {
            let side = |entries: Option<&Entries>| entries.and_then(|entries| get(entries, key)).cloned();
            let (left, right) = (side(left), side(right));
            let (shape, pointer) = field(key).map_or((None, true), |(shape, pointer)| (Some(shape), pointer));
            let outside = self.secret;
            self.secret |= is_secret(name, key);
            self.inside(key.clone(), |walk| walk.value(left.as_ref(), right.as_ref(), shape, pointer));
            self.secret = outside;
        }
    }

    /// Compares two values of a type; nothing is known of the type where there is none.
    pub(super) fn value(&mut self, left: Option<&Node>, right: Option<&Node>, shape: Option<&Shape>, pointer: bool) {
        let there = |node: &&Node| !is_absent(node, shape, pointer);
        let (left, right) = (left.filter(there), right.filter(there));
        let Some(one) = right.or(left) else { return };
        let count = self.changes.len();
        match (shape, one) {
            (Some(Shape::Named(name)), Node::Map(_)) if Table::get().is_struct(name) => {
                self.entries(map(left), map(right), |key| field(name, key), Some(name));
            }
            (Some(Shape::Map(element, _)), Node::Map(_)) => self.plain_map(map(left), map(right), Some(element)),
            (Some(Shape::Named(ANYTHING)) | None, Node::Map(_)) => self.untyped(map(left), map(right)),
            (shape, Node::List(_)) => {
                let element = match shape {
                    Some(Shape::List(element, _)) => Some(&**element),
                    _ => None,
                };
                list::compare(self, items(left), items(right), element);
            }
            (shape, Node::Scalar(_) | Node::Map(_)) => {
                let shown = |node: Option<&Node>| node.map(|node| leaf::shown(node, shape));
                let same = matches!((left, right), (Some(left), Some(right)) if leaf::same(left, right, shape));
                if !same {
                    self.change(shown(left), shown(right));
                }
                return;
            }
        }
        // One of the two has another type, or nothing in it, so that nothing inside could differ.
        let kinds = |node: Option<&Node>| node.map(std::mem::discriminant);
        if kinds(left) != kinds(right) && self.changes.len() == count {
            self.change(left.map(Node::data), right.map(Node::data));
        }
    }

    fn plain_map(&mut self, left: Option<&Entries>, right: Option<&Entries>, element: Option<&Shape>) {
        let keys =
            right.into_iter().flatten().chain(left.into_iter().flatten().filter(|(key, _)| !right.is_some_and(|right| has(right, key))));
        for (key, _) in keys {
            let side = |entries: Option<&Entries>| {
                entries.and_then(|entries| entries.iter().find(|(name, _)| name == key)).map(|(_, value)| value.clone())
            };
            let (left, right) = (side(left), side(right));
            self.inside(key.clone(), |walk| walk.value(left.as_ref(), right.as_ref(), element, true));
        }
    }

    fn untyped(&mut self, left: Option<&Entries>, right: Option<&Entries>) {
        self.entries(left, right, |_| None, None);
    }
}

fn has(entries: &Entries, key: &str) -> bool {
    entries.iter().any(|(known, _)| known == key)
}

fn map(node: Option<&Node>) -> Option<&Entries> {
    match node {
        Some(Node::Map(entries)) => Some(entries),
        _ => None,
    }
}

fn items(node: Option<&Node>) -> &[Node] {
    match node {
        Some(Node::List(items)) => items,
        _ => &[],
    }
}

/// Whether Talos has nothing for a value.
fn is_absent(node: &Node, shape: Option<&Shape>, pointer: bool) -> bool {
    match (shape, node) {
        (_, node) if node.is_null() => true,
        (Some(_), Node::List(items)) => items.is_empty(),
        (Some(Shape::Map(..)), Node::Map(entries)) => entries.is_empty(),
        (Some(Shape::Named(name)), Node::Map(entries)) if !pointer => {
            entries.iter().all(|(key, value)| field(name, key).is_some_and(|(shape, pointer)| is_absent(value, Some(shape), pointer)))
        }
        (Some(Shape::Named(name)), Node::Scalar(scalar)) if !pointer => is_zero(scalar, name),
        _ => false,
    }
}
