//! JSON patches (RFC 6902), which Talos takes only where the configuration is one document.

use super::Problem;
use crate::schema::{Release, check};
use crate::tree::{Node, set};

/// Applies the operations in their order.
pub(super) fn apply(documents: &mut [Node], operations: Vec<Node>, release: Release) -> Result<(), Problem> {
    let [document] = documents else {
        return Err(Problem::whole(
            "JSON patches work only where the configuration is a single document, and this one has more; write it as a piece of configuration",
        ));
    };
    for (index, operation) in operations.into_iter().enumerate() {
        step(document, &operation).map_err(|text| Problem::at(&[index.to_string()], text))?;
    }
    check(document, release)
}

fn step(document: &mut Node, operation: &Node) -> Result<(), String> {
    let Node::Map(entries) = operation else { return Err(format!("an operation must be a map, not {}", operation.kind())) };
    let text = |key: &str| operation.text_of(key).ok_or_else(|| format!("the operation says no `{key}`"));
    // A value may be null, so its key counts.
    let value = || entries.iter().find(|(key, _)| key == "value").map(|(_, value)| value.clone()).ok_or("the operation says no `value`");
    let name = text("op")?;
    let path = text("path")?;
    match name {
        "add" => add(document, path, value()?),
        "remove" => remove(document, path).map(drop),
        "replace" => {
            *find(document, path)? = value()?;
            Ok(())
        }
        "move" => {
            let moved = remove(document, text("from")?)?;
            add(document, path, moved)
        }
        "copy" => {
            let copied = find(document, text("from")?)?.clone();
            add(document, path, copied)
        }
        "test" => {
            let expected = value()?.data();
            let found = find(document, path).map_or(serde_json::Value::Null, |found| found.data());
            if found == expected { Ok(()) } else { Err(format!("the test of `{path}` failed: the configuration has another value")) }
        }
        other => Err(format!("there is no operation `{other}`; there are add, remove, replace, move, copy and test")),
    }
}

/// The parts of a pointer.
fn parts(path: &str) -> Result<Vec<String>, String> {
    let rest = path.strip_prefix('/').ok_or_else(|| format!("`{path}` must begin with `/`"))?;
    Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

fn find<'tree>(document: &'tree mut Node, path: &str) -> Result<&'tree mut Node, String> {
    let mut node = document;
    for part in parts(path)? {
        node = child(node, &part).ok_or_else(|| format!("`{path}` is not in the configuration"))?;
    }
    Ok(node)
}

fn child<'tree>(node: &'tree mut Node, part: &str) -> Option<&'tree mut Node> {
    match node {
        Node::Map(entries) => entries.iter_mut().find(|(key, _)| key == part).map(|(_, value)| value),
        Node::List(items) => part.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
        Node::Scalar(_) => None,
    }
}

/// The value that holds the one at a path, and the last part of the path.
fn parent<'tree>(document: &'tree mut Node, path: &str) -> Result<(&'tree mut Node, String), String> {
    let mut way = parts(path)?;
    let last = way.pop().unwrap_or_default();
    let mut node = document;
    for part in way {
        node = child(node, &part).ok_or_else(|| format!("`{path}` has no parent in the configuration"))?;
    }
    Ok((node, last))
}

fn add(document: &mut Node, path: &str, value: Node) -> Result<(), String> {
    match parent(document, path)? {
        (Node::Map(entries), key) => set(entries, key, value),
        (Node::List(items), key) if key == "-" => items.push(value),
        (Node::List(items), key) => match key.parse::<usize>() {
            Ok(index) if index <= items.len() => items.insert(index, value),
            _ => return Err(format!("`{path}` is no place in a list of {}", items.len())),
        },
        (Node::Scalar(_), _) => return Err(format!("`{path}` has no parent in the configuration")),
    }
    Ok(())
}

fn remove(document: &mut Node, path: &str) -> Result<Node, String> {
    let missing = || format!("`{path}` is not in the configuration");
    match parent(document, path)? {
        (Node::Map(entries), key) => {
            let at = entries.iter().position(|(name, _)| *name == key).ok_or_else(missing)?;
            Ok(entries.remove(at).1)
        }
        (Node::List(items), key) => {
            let at = key.parse::<usize>().ok().filter(|index| *index < items.len()).ok_or_else(missing)?;
            Ok(items.remove(at))
        }
        (Node::Scalar(_), _) => Err(missing()),
    }
}
