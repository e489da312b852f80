//! What a client sends.

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Reads a body of this media type.
pub(super) fn decode(kind: &str, body: &[u8]) -> Outcome<Value> {
    match kind {
        "application/yaml" | "application/apply-patch+yaml" => {
            // JSON is YAML, and most clients send it under this name.
            if let Ok(value) = serde_json::from_slice(body) {
                return Ok(value);
            }
            let text = std::str::from_utf8(body).map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))?;
            serde_saphyr::from_str(text).map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
        }
        "application/vnd.kubernetes.protobuf" => crate::protobuf::decode(body),
        _ if kind.is_empty() || kind.contains("json") || kind == "text/plain" => serde_json::from_slice(body)
            .map_err(|error| Failure::bad_request(format!("couldn't get version/kind; json parse error: {error}"))),
        _ => Err(Failure::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}
