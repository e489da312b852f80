//! The strategic merge: every type of value has its rule.

use super::delete::{Delete, extract, says_nothing};
use super::document::{Identity, identities};
use super::{Problem, lists, url};
use crate::schema::{ANYTHING, Key, Release, Shape, Table, check, is_zero};
use crate::tree::{Entries, Meaning, Node, Scalar, get, set};

/// Keys whose value takes the place of the old one, where others of their type are joined.
const REPLACED: [(&str, &str); 5] = [
    ("v1alpha1.ClusterNetworkConfig", "podSubnets"),
    ("v1alpha1.ClusterNetworkConfig", "serviceSubnets"),
    ("v1alpha1.APIServerConfig", "auditPolicy"),
    ("network.RuleConfigV1Alpha1", "ingress"),
    ("network.RulePortSelector", "ports"),
];

enum Part {
    Delete(Delete),
    Merge(Node),
}

/// Merges the documents of one patch.
pub(super) fn apply(documents: &mut Vec<Node>, mut patch: Vec<Node>, release: Release) -> Result<(), Problem> {
    patch.retain(|document| !says_nothing(document));
    let mut parts = Vec::new();
    for (identity, document) in identities(&patch)?.into_iter().zip(patch) {
        let inside = |problem: Problem| problem.inside(&identity.prefix());
        let api = document.text_of("apiVersion").is_some();
        let (deletes, rest) = extract(document).map_err(inside)?;
        if deletes.iter().any(Delete::is_document) && (identity.kind.is_none() || !api) {
            return Err(inside(Problem::whole("a `$patch: delete` of a whole document needs its `apiVersion` and `kind`")));
        }
        if let Some(rest) = &rest {
            check(rest, release).map_err(inside)?;
        }
        parts.extend(deletes.into_iter().map(Part::Delete).chain(rest.map(Part::Merge)).map(|part| (identity.clone(), part)));
    }
    // Talos takes the document without a kind first, wherever it stands.
    parts.sort_by_key(|(identity, _)| identity.kind.is_some());
    for (identity, part) in parts {
        let found = documents.iter().position(|document| Identity::of(document).as_ref() == Ok(&identity));
        let done = match (part, found) {
            (Part::Delete(delete), None) => Err(delete.missing()),
            (Part::Delete(delete), Some(at)) if delete.is_document() => {
                documents.remove(at);
                Ok(())
            }
            (Part::Delete(delete), Some(at)) => delete.apply(&mut documents[at]),
            (Part::Merge(document), None) => {
                let at = if identity.kind.is_some() { documents.len() } else { 0 };
                documents.insert(at, document);
                Ok(())
            }
            (Part::Merge(document), Some(at)) => {
                let shape = Table::get().document(&document, release).map(Shape::Named);
                Merge { release, path: Vec::new() }.value(&mut documents[at], document, shape.as_ref(), true)
            }
        };
        done.map_err(|problem| problem.inside(&identity.prefix()))?;
    }
    Ok(())
}

/// A merge at work: where it is, and whose rules count.
pub(super) struct Merge {
    release: Release,
    path: Vec<String>,
}

impl Merge {
    /// Merges a value into one that is there; `pointer` as in the tables.
    pub(super) fn value(&mut self, left: &mut Node, right: Node, shape: Option<&Shape>, pointer: bool) -> Result<(), Problem> {
        if right.is_null() {
            return Ok(());
        }
        if left.is_null() {
            *left = right;
            return Ok(());
        }
        match (shape, left, right) {
            // Certificate and key belong together: what the patch lacks of them is gone.
            (Some(Shape::Named(name)), left, right) if name.starts_with("x509.") => {
                *left = right;
                Ok(())
            }
            (Some(Shape::Named(name)), Node::Map(left), Node::Map(right)) if Table::get().is_struct(name) => {
                self.structs(left, right, name)
            }
            (Some(Shape::Map(_, Some("v1alpha1.Args"))), Node::Map(left), Node::Map(right)) => {
                for (key, value) in right {
                    set(left, key, value);
                }
                Ok(())
            }
            (Some(Shape::Map(element, _)), Node::Map(left), Node::Map(right)) => self.map(left, right, Some(element)),
            (Some(Shape::List(element, named)), Node::List(left), Node::List(right)) => lists::merge(self, left, right, element, *named),
            (Some(Shape::Named(ANYTHING)) | None, left, right) => self.anything(left, right),
            (Some(Shape::Named(leaf)), left, right) => {
                self.leaf(left, right, leaf, pointer);
                Ok(())
            }
            // The configuration has another type than Talos knows: the patch is right.
            (_, left, right) => {
                *left = right;
                Ok(())
            }
        }
    }

    fn structs(&mut self, left: &mut Entries, right: Entries, name: &'static str) -> Result<(), Problem> {
        let table = Table::get();
        for key in table.keys(name, self.release) {
            self.forget(left, &right, key)?;
        }
        for (key, value) in right {
            let known = table.key(name, &key, self.release);
            if REPLACED.contains(&(name, key.as_str())) {
                let nothing = value.is_null() || matches!(&value, Node::Map(entries) if entries.is_empty());
                if !nothing {
                    set(left, key, value);
                }
                continue;
            }
            self.entry(left, key, value, known.map(|known| &known.shape), known.is_some_and(|known| known.pointer))?;
        }
        Ok(())
    }

    /// Sizes and expressions of a struct are taken from the patch even where it has none: so Talos does.
    fn forget(&mut self, left: &mut Entries, right: &Entries, key: &Key) -> Result<(), Problem> {
        if key.pointer || get(right, key.name).is_some() {
            return Ok(());
        }
        match key.shape {
            Shape::Named("block.ByteSize" | "cel.Expression") => left.retain(|(name, _)| name != key.name),
            Shape::Named(name) if Table::get().is_struct(name) => {
                if let Some((_, Node::Map(inner))) = left.iter_mut().find(|(name, _)| name == key.name) {
                    self.structs(inner, Vec::new(), name)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn entry(&mut self, left: &mut Entries, key: String, value: Node, shape: Option<&Shape>, pointer: bool) -> Result<(), Problem> {
        let Some(at) = left.iter().position(|(name, _)| *name == key) else {
            // Lists with a key are joined even with themselves.
            let value = match (shape, value) {
                (Some(Shape::List(element, Some(named))), Node::List(items)) => {
                    let mut joined = Vec::new();
                    lists::merge(self, &mut joined, items, element, Some(named))?;
                    Node::List(joined)
                }
                (_, value) => value,
            };
            left.push((key, value));
            return Ok(());
        };
        self.path.push(key);
        self.value(&mut left[at].1, value, shape, pointer)?;
        self.path.pop();
        Ok(())
    }

    fn map(&mut self, left: &mut Entries, right: Entries, element: Option<&Shape>) -> Result<(), Problem> {
        right.into_iter().try_for_each(|(key, value)| self.entry(left, key, value, element, false))
    }

    /// Values without a type of their own: both sides must agree on one.
    fn anything(&mut self, left: &mut Node, right: Node) -> Result<(), Problem> {
        match (left, right) {
            (Node::Map(left), Node::Map(right)) => self.map(left, right, None),
            (Node::List(left), Node::List(right)) => {
                left.extend(right);
                Ok(())
            }
            (Node::Scalar(left), Node::Scalar(right)) if same_type(left, &right) => {
                let nothing = matches!(right.meaning(), Meaning::Int(0)) || right.meaning() == Meaning::Float(0.0) || right.text.is_empty();
                if !nothing {
                    *left = right;
                }
                Ok(())
            }
            (left, right) => {
                Err(Problem::at(&self.path, format!("it is {} in the configuration and {} in the patch", left.kind(), right.kind())))
            }
        }
    }

    /// A scalar takes the place of the old one, unless it is the empty value of its type.
    fn leaf(&self, left: &mut Node, right: Node, leaf: &str, pointer: bool) {
        if let (Node::Scalar(old), Node::Scalar(new)) = (&*left, &right)
            && matches!(leaf, "v1alpha1.Endpoint" | "meta.URL")
        {
            *left = Node::text(url::merge(&old.text, &new.text));
            return;
        }
        let overwrites = pointer && self.release.at_least(12);
        let nothing = leaf != "bool" && matches!(&right, Node::Scalar(scalar) if is_zero(scalar, leaf));
        if overwrites || !nothing {
            *left = right;
        }
    }
}

fn same_type(one: &Scalar, other: &Scalar) -> bool {
    std::mem::discriminant(&one.meaning()) == std::mem::discriminant(&other.meaning())
}
