//! Keys a version does not know, and the way its refusal shows them.

use super::super::Version;
use super::super::schema::{Leaf, Shape, Table};
use super::super::yaml::{Content, Node, Style, emit, key_order};

/// Refuses a document with unknown keys, showing all of them.
pub(super) fn check(root: &Node, name: &'static str, version: Version) -> Result<(), String> {
    match unknown(root, &Shape::Struct(name), version)? {
        Some(found) => Err(format!("unknown keys found during decoding:\n{}", emit(&found))),
        None => Ok(()),
    }
}

fn unknown(node: &Node, shape: &Shape, version: Version) -> Result<Option<Node>, String> {
    match &node.content {
        Content::Scalar { .. } => Ok(None),
        Content::List(items) => {
            let Shape::List(many) = shape else {
                return match shape {
                    Shape::Leaf(Leaf::Anything | Leaf::Hardware) => Ok(None),
                    // Flags of several values came with 1.13, but up to 1.13.5 this check stood in their way.
                    Shape::Leaf(Leaf::Argument) if version >= Version::new(1, 13, 6) => Ok(None),
                    _ => Err(format!("unexpected type for yaml sequence: {}", shape.type_name())),
                };
            };
            let mut found = Vec::new();
            for item in items {
                found.extend(unknown(item, &many.element, version)?);
            }
            Ok((!found.is_empty()).then(|| Node::list(found)))
        }
        Content::Map(entries) => {
            let mut found = Vec::new();
            for (key, value) in entries {
                let Some(name) = key.raw() else { return Err("unexpected mapping key type".to_owned()) };
                let inner = match shape {
                    Shape::Leaf(Leaf::Anything) => None,
                    Shape::Map(many) => unknown(value, &many.element, version)?,
                    Shape::Struct(owner) => match Table::get().key(owner, name, version) {
                        Some(shape) => unknown(value, shape, version)?,
                        None => Some(value.clone()),
                    },
                    Shape::Leaf(Leaf::Pem { certificate, key }) => {
                        let known = name == "crt" && *certificate || name == "key" && *key;
                        (!known).then(|| value.clone())
                    }
                    Shape::Leaf(leaf) if leaf.is_struct() => Some(value.clone()),
                    _ => return Err(format!("unexpected type for yaml mapping: {}", shape.type_name())),
                };
                found.extend(inner.map(|inner| (Node::scalar(name, Style::Plain), inner)));
            }
            found.sort_by(|(one, _), (other, _)| key_order(one.raw().unwrap_or_default(), other.raw().unwrap_or_default()));
            Ok((!found.is_empty()).then(|| Node::map(found)))
        }
    }
}
