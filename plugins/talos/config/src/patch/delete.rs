//! `$patch: delete`: what a patch wants gone.

use super::Problem;
use crate::tree::{Node, Scalar};

const HITS_NOTHING: &str = "`$patch: delete` hits nothing: the configuration has no such value";

/// One value to be removed from a document.
#[derive(Debug)]
pub(super) struct Delete {
    /// The way to it; empty for the whole document.
    path: Vec<String>,
    /// For an item of a list: the key and the value that tell which.
    item: Option<(String, String)>,
}

/// Takes the deletions out of a document of a patch; what is left of it, if anything.
pub(super) fn extract(document: Node) -> Result<(Vec<Delete>, Option<Node>), Problem> {
    let mut deletes = Vec::new();
    let rest = walk(document, false, &mut Vec::new(), &mut deletes)?;
    Ok((deletes, rest.filter(|rest| !says_nothing(rest))))
}

/// Whether a document of a patch only says which one it is, so that Talos passes over it.
pub(super) fn says_nothing(document: &Node) -> bool {
    matches!(document, Node::Map(entries)
        if entries.iter().all(|(key, value)| matches!(key.as_str(), "version" | "kind" | "name") && matches!(value, Node::Scalar(_))))
}

/// What is left of a value; nothing when it was to be deleted, or when nothing else stood in it.
fn walk(node: Node, in_list: bool, path: &mut Vec<String>, deletes: &mut Vec<Delete>) -> Result<Option<Node>, Problem> {
    match node {
        Node::Map(entries) => {
            let is_order =
                |(key, value): &(String, Node)| key == "$patch" && matches!(value, Node::Scalar(Scalar { text, .. }) if text == "delete");
            if let Some(at) = entries.iter().position(is_order) {
                let item = if in_list {
                    let first = entries.iter().enumerate().find(|(index, _)| *index != at).map(|(_, (key, value))| (key.clone(), value));
                    let Some((key, Node::Scalar(Scalar { text, .. }))) = first else {
                        return Err(Problem::at(
                            path,
                            "beside `$patch: delete` there must be a key that tells which item of the list goes",
                        ));
                    };
                    Some((key, text.clone()))
                } else {
                    None
                };
                deletes.push(Delete { path: path.clone(), item });
                return Ok(None);
            }
            let full = !entries.is_empty();
            let mut rest = Vec::new();
            for (key, value) in entries {
                path.push(key.clone());
                if let Some(value) = walk(value, false, path, deletes)? {
                    rest.push((key, value));
                }
                path.pop();
            }
            Ok((!rest.is_empty() || !full).then_some(Node::Map(rest)))
        }
        Node::List(items) => {
            let full = !items.is_empty();
            let mut rest = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                path.push(index.to_string());
                let before = deletes.len();
                if let Some(item) = walk(item, true, path, deletes)? {
                    rest.push(item);
                }
                if let Some(inner) = deletes[before..].iter().find(|delete| delete.path.len() > path.len()) {
                    return Err(Problem::at(
                        &inner.path,
                        "`$patch: delete` cannot reach inside an item of a list; delete the item and add it anew",
                    ));
                }
                path.pop();
            }
            Ok((!rest.is_empty() || !full).then_some(Node::List(rest)))
        }
        scalar @ Node::Scalar(_) => Ok(Some(scalar)),
    }
}

impl Delete {
    /// Whether the whole document goes.
    pub(super) fn is_document(&self) -> bool {
        self.path.is_empty()
    }

    /// The problem that there is nothing to delete.
    pub(super) fn missing(&self) -> Problem {
        Problem::at(&self.path, HITS_NOTHING)
    }

    /// Removes the value from a document.
    pub(super) fn apply(&self, document: &mut Node) -> Result<(), Problem> {
        let (last, way) = self.path.split_last().ok_or_else(|| self.missing())?;
        let mut parent = document;
        for key in way {
            let Node::Map(entries) = parent else { return Err(self.missing()) };
            parent = entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value).ok_or_else(|| self.missing())?;
        }
        match (parent, &self.item) {
            (Node::Map(entries), None) => {
                let at = entries.iter().position(|(name, value)| name == last && !value.is_null()).ok_or_else(|| self.missing())?;
                entries.remove(at);
            }
            (Node::List(items), Some((key, value))) => {
                let at = items.iter().position(|item| item.text_of(key) == Some(value)).ok_or_else(|| self.missing())?;
                items.remove(at);
            }
            _ => return Err(self.missing()),
        }
        Ok(())
    }
}
