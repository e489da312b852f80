//! The columns that custom resource definitions name.

use serde_json::Value;

use super::time::since;
use crate::document::text;
use crate::kinds::Custom;

pub(super) fn cells(custom: &Custom, object: &Value) -> Vec<Value> {
    let mut cells = vec![object["metadata"]["name"].clone()];
    if custom.columns.is_empty() {
        cells.push(since(text(object, "/metadata/creationTimestamp")).into());
    }
    cells.extend(custom.columns.iter().map(|column| {
        let value = find(object, &column.path);
        match (column.kind.as_str(), value) {
            ("date", Some(Value::String(time))) => since(time).into(),
            ("date", _) => "<unknown>".into(),
            (_, Some(value)) if value.is_object() || value.is_array() => value.to_string().into(),
            (_, value) => value.cloned().unwrap_or(Value::Null),
        }
    }));
    cells
}

/// The first value at a JSON path: fields, numbers, `[*]` and `[?(@.a=="b")]`.
pub(crate) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut here = object;
    let mut rest = path.trim().trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) = inner.split_once(']')?;
            rest = after;
            here = item(here, inside)?;
            continue;
        }
        let name = rest.trim_start_matches('.');
        let mut field = String::new();
        let mut end = name.len();
        let mut letters = name.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => field.extend(letters.next().map(|(_, letter)| letter)),
                '.' | '[' => {
                    end = at;
                    break;
                }
                other => field.push(other),
            }
        }
        rest = &name[end..];
        if !field.is_empty() {
            here = here.get(&field)?;
        }
    }
    Some(here)
}

fn item<'a>(list: &'a Value, inside: &str) -> Option<&'a Value> {
    let inside = inside.trim();
    if let Some(condition) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (field, wanted) = condition.split_once("==")?;
        let field = field.trim().trim_start_matches("@.");
        let wanted = wanted.trim().trim_matches(['"', '\'']);
        return list.as_array()?.iter().find(|one| one.get(field).and_then(Value::as_str) == Some(wanted));
    }
    if inside == "*" {
        return list.as_array()?.first();
    }
    match inside.parse::<usize>() {
        Ok(at) => list.get(at),
        Err(_) => list.get(inside.trim_matches(['"', '\''])),
    }
}

#[cfg(test)]
mod tests {
    use super::find;
    use serde_json::json;

    #[test]
    fn json_paths_of_columns_are_followed() {
        let object =
            json!({"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]}, "m": {"a.b/c": 1}});
        assert_eq!(find(&object, ".status.conditions[?(@.type==\"Ready\")].status"), Some(&json!("True")));
        assert_eq!(find(&object, ".status.conditions[0].type"), Some(&json!("A")));
        assert_eq!(find(&object, ".m.a\\.b/c"), Some(&json!(1)));
        assert_eq!(find(&object, ".gone.x"), None);
    }
}
