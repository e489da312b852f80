//! A configuration to show: the text without its secrets.

use crate::schema::{ANYTHING, Release, Shape, Table, is_secret};
use crate::tree::{Node, emit, parse};

const HIDDEN: &str = "(sensitive)";

/// The text with every secret replaced by `(sensitive)`; what is no YAML is not shown at all.
pub fn redacted(text: &str) -> String {
    let Ok(mut documents) = parse(text) else { return format!("{HIDDEN}\n") };
    for document in &mut documents {
        let shape = Table::get().document(document, Release(None)).map(Shape::Named);
        redact(document, shape.as_ref(), false);
    }
    emit(&documents)
}

fn redact(node: &mut Node, shape: Option<&Shape>, secret: bool) {
    match node {
        Node::Scalar(_) if secret && !node.is_null() => *node = Node::text(HIDDEN),
        Node::Scalar(_) => {}
        Node::List(items) => {
            let element = match shape {
                Some(Shape::List(element, _)) => Some(&**element),
                _ => None,
            };
            for item in items {
                redact(item, element, secret);
            }
        }
        Node::Map(entries) => {
            for (key, value) in entries {
                match shape {
                    Some(Shape::Map(element, _)) => redact(value, Some(element), secret),
                    Some(Shape::Named(name)) if *name != ANYTHING => {
                        let known = Table::get().key(name, key, Release(None)).map(|key| &key.shape);
                        redact(value, known, secret || is_secret(Some(name), key) || known.is_none() && is_secret(None, key));
                    }
                    _ => redact(value, None, secret || is_secret(None, key)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_stays() {
        let text = "machine:\n    type: worker\n    token: abc\n    ca:\n        crt: c\n        key: k\n    env:\n        A: b\n    kubelet:\n        extraConfig:\n            password: p\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: x\nenvironment:\n    - TS_AUTHKEY=1\n---\nkind: NoveltyConfig\nauthKey: 1\n";
        let shown = redacted(text);
        assert_eq!(
            shown,
            "machine:\n    type: worker\n    token: (sensitive)\n    ca:\n        crt: c\n        key: (sensitive)\n    env:\n        A: (sensitive)\n    kubelet:\n        extraConfig:\n            password: (sensitive)\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: x\nenvironment:\n    - (sensitive)\n---\nkind: NoveltyConfig\nauthKey: (sensitive)\n"
        );
        assert_eq!(redacted("secret: ["), "(sensitive)\n");
    }
}
