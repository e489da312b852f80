//! Bodies in protobuf, which Go clients send where they do not say otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};
use crate::schema::{Field, Type, fields};

/// What such a body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// One field on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads an object.
pub(crate) fn decode(body: &[u8]) -> Outcome<Value> {
    let malformed = || Failure::bad_request("the body is no protobuf message of Kubernetes");
    let envelope = split(body.strip_prefix(MAGIC).ok_or_else(malformed)?).ok_or_else(malformed)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for (number, wire) in &envelope {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => {
                for (number, wire) in split(bytes).ok_or_else(malformed)? {
                    let Wire::Bytes(bytes) = wire else { continue };
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    if number == 1 { version = text } else { kind = text }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let Some(fields) = fields(&kind) else { return Err(unsupported(&kind)) };
    let mut object = message(fields, raw, &kind)?;
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    Ok(object)
}

/// Nothing is dropped silently: who sends more than is known here is asked for JSON.
fn unsupported(what: &str) -> Failure {
    Failure::new(
        415,
        "UnsupportedMediaType",
        format!("{what} is not understood in protobuf - accepted media types include: application/json, application/yaml"),
    )
}

fn message(fields: &[Field], bytes: &[u8], path: &str) -> Outcome<Value> {
    let mut object = Map::new();
    for (number, wire) in split(bytes).ok_or_else(|| Failure::bad_request("the body is no protobuf message of Kubernetes"))? {
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            return Err(unsupported(&format!("field {number} of {path}")));
        };
        match &field.kind {
            Type::List(inner) => {
                let item = value(inner, &wire, field.name)?;
                if let Value::Array(items) = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new())) {
                    items.push(item);
                }
            }
            Type::Map(inner) => {
                let Wire::Bytes(bytes) = wire else { continue };
                let (mut key, mut item) = (String::new(), None);
                for (number, wire) in split(bytes).unwrap_or_default() {
                    match (number, &wire) {
                        (1, Wire::Bytes(bytes)) => key = String::from_utf8_lossy(bytes).into_owned(),
                        _ => item = Some(value(inner, &wire, field.name)?),
                    }
                }
                if let Value::Object(map) = object.entry(field.name).or_insert_with(|| Value::Object(Map::new())) {
                    map.insert(key, item.unwrap_or_else(|| "".into()));
                }
            }
            Type::Embedded(inner) => {
                let Wire::Bytes(bytes) = wire else { continue };
                if let Value::Object(below) = message(crate::schema::fields(inner).unwrap_or(&[]), bytes, inner)? {
                    object.extend(below);
                }
            }
            Type::Anything if field.name == "status" || field.name == "managedFields" => {}
            kind => {
                let found = value(kind, &wire, field.name)?;
                // Go writes fields of plain text and time even where they hold nothing.
                let nothing = found.is_null() || found == "" || (found == 0 && matches!(kind, Type::Whole) && path == "ObjectMeta");
                if !nothing {
                    object.insert(field.name.to_owned(), found);
                }
            }
        }
    }
    Ok(Value::Object(object))
}

fn value(kind: &Type, wire: &Wire<'_>, name: &str) -> Outcome<Value> {
    Ok(match (kind, wire) {
        (Type::Flag, Wire::Number(number)) => Value::Bool(*number != 0),
        (_, Wire::Number(number)) => Value::from(number.cast_signed()),
        (Type::Text, Wire::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned().into(),
        (Type::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Type::Quantity, Wire::Bytes(bytes)) => {
            let text = split(bytes).unwrap_or_default().into_iter().find_map(|(_, wire)| match wire {
                Wire::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                Wire::Number(_) => None,
            });
            text.unwrap_or_else(|| "0".to_owned()).into()
        }
        (Type::Time, Wire::Bytes(bytes)) => {
            let seconds = split(bytes).unwrap_or_default().into_iter().find_map(|(number, wire)| match wire {
                Wire::Number(seconds) if number == 1 => Some(seconds.cast_signed()),
                _ => None,
            });
            let time = seconds.filter(|seconds| *seconds > 0).and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
            time.map_or(Value::Null, |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into())
        }
        (Type::WholeOrText, Wire::Bytes(bytes)) => {
            let (mut is_text, mut number, mut text) = (false, 0, String::new());
            for (field, wire) in split(bytes).unwrap_or_default() {
                match (field, wire) {
                    (1, Wire::Number(kind)) => is_text = kind == 1,
                    (2, Wire::Number(value)) => number = value.cast_signed(),
                    (3, Wire::Bytes(bytes)) => text = String::from_utf8_lossy(bytes).into_owned(),
                    _ => {}
                }
            }
            if is_text { text.into() } else { number.into() }
        }
        (Type::Message(inner), Wire::Bytes(bytes)) => message(fields(inner).unwrap_or(&[]), bytes, inner)?,
        (_, Wire::Bytes([])) => Value::Object(Map::new()),
        _ => return Err(unsupported(name)),
    })
}

/// The fields of a message in their order.
fn split(mut bytes: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let wire = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => {
                let (number, rest) = bytes.split_at_checked(8)?;
                bytes = rest;
                Wire::Number(u64::from_le_bytes(number.try_into().ok()?))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (inner, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Wire::Bytes(inner)
            }
            5 => {
                let (number, rest) = bytes.split_at_checked(4)?;
                bytes = rest;
                Wire::Number(u64::from(u32::from_le_bytes(number.try_into().ok()?)))
            }
            _ => return None,
        };
        fields.push((tag >> 3, wire));
    }
    Some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend_from_slice(bytes);
        out
    }

    #[test]
    fn an_eviction_in_protobuf_is_read() {
        let metadata = [field(1, b"web"), field(2, b""), field(3, b"default"), field(8, b"")].concat();
        let options = [vec![1 << 3, 30], field(4, b"Background")].concat();
        let raw = [field(1, &metadata), field(2, &options)].concat();
        let kind = [field(1, b"policy/v1"), field(2, b"Eviction")].concat();
        let body = [MAGIC.to_vec(), field(1, &kind), field(2, &raw)].concat();
        let expected = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web", "namespace": "default"},
            "deleteOptions": {"gracePeriodSeconds": 30, "propagationPolicy": "Background"}});
        assert_eq!(decode(&body).unwrap(), expected);
        assert_eq!(decode(b"k8s\0\xff").unwrap_err().code, 400);
        let odd = [MAGIC.to_vec(), field(1, &[field(1, b"x/v1"), field(2, b"Odd")].concat())].concat();
        assert_eq!(decode(&odd).unwrap_err().code, 415);
    }
}
