//! In which form a client wants its answer.

use crate::failure::{Failure, Outcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Table,
    Partial,
    Discovery,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Accepted {
    pub(super) form: Form,
    /// Whether JSON is welcome at all.
    pub(super) json: bool,
}

impl Accepted {
    /// The first form of the list that there is.
    pub(super) fn parse(header: &str) -> Outcome<Self> {
        let mut json = header.is_empty();
        for entry in header.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            json |= matches!(kind, "application/json" | "*/*" | "application/*" | "application/yaml" | "text/plain" | "text/*");
            if kind != "application/json" {
                continue;
            }
            let options: Vec<&str> = parts.collect();
            let form = options.iter().find_map(|option| option.strip_prefix("as="));
            let version = options.iter().find_map(|option| option.strip_prefix("v=")).unwrap_or_default();
            match form {
                None => break,
                Some("Table") => return Ok(Self { form: Form::Table, json: true }),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") if version == "v1" => {
                    return Ok(Self { form: Form::Partial, json: true });
                }
                Some("APIGroupDiscoveryList") if version == "v2" => return Ok(Self { form: Form::Discovery, json: true }),
                Some(_) => {}
            }
        }
        if json || header.contains("openapi") {
            return Ok(Self { form: Form::Plain, json });
        }
        Err(Failure::new(406, "NotAcceptable", "only the following media types are accepted: application/json"))
    }
}
