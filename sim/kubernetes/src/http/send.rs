//! Doing what is asked of a kind, and putting the answer into the form that is wanted.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, header};
use http_body_util::{BodyExt as _, Full};
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Value, json};

use super::negotiation::{Accepted, Form};
use crate::access::reviews;
use crate::failure::{Failure, Outcome};
use crate::kinds::Resource;
use crate::rules;
use crate::serve::Body;
use crate::tables::{self, Include};
use crate::verbs::patch::PatchKind;
use crate::verbs::read::Page;
use crate::verbs::{Asked, create, delete, patch, read, subresources, update};
use crate::world::World;

/// An answer on its way.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) changed: Vec<String>,
    kind: &'static str,
    body: Body,
    warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn json(code: u16, value: &Value) -> Self {
        Self::bytes(code, serde_json::to_vec(value).unwrap_or_default())
    }

    fn bytes(code: u16, bytes: Vec<u8>) -> Self {
        Self {
            code,
            changed: Vec::new(),
            kind: "application/json",
            body: Full::new(Bytes::from(bytes)).boxed_unsync(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn text(code: u16, text: &str) -> Self {
        Self { kind: "text/plain; charset=utf-8", ..Self::bytes(code, text.as_bytes().to_vec()) }
    }

    pub(crate) fn stream(body: Body) -> Self {
        Self { code: 200, changed: Vec::new(), kind: "application/json", body, warnings: Vec::new() }
    }

    pub(crate) fn failed(failure: &Failure) -> Self {
        Self::json(failure.code, &failure.body())
    }

    pub(crate) fn typed(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut builder = Response::builder()
            .status(self.code)
            .header(header::CONTENT_TYPE, self.kind)
            .header(header::CACHE_CONTROL, "no-cache, private");
        for warning in &self.warnings {
            let quoted: String = warning
                .chars()
                .filter(|letter| !letter.is_control())
                .flat_map(|letter| matches!(letter, '"' | '\\').then_some('\\').into_iter().chain([letter]))
                .collect();
            builder = builder.header(header::WARNING, format!("299 - \"{quoted}\""));
        }
        builder.body(self.body).unwrap_or_else(|_| Response::new(Full::default().boxed_unsync()))
    }
}

/// Does what is asked.
pub(super) fn resource(world: &mut World, verb: &str, asked: &Asked, accept: Accepted, body: Value, kind: &str) -> Outcome<Answer> {
    if !asked.subresource.is_empty() && asked.subresource != "status" {
        return part(world, verb, asked, body, kind);
    }
    if asked.resource.only_create {
        return match (verb, asked.resource.kind.as_str()) {
            ("create", "Binding") => Ok(Answer::json(201, &subresources::bind(world, asked, &body)?)),
            ("create", _) => Ok(Answer::json(201, &reviews::review(world, asked, body)?)),
            _ => Err(Failure::method_not_allowed()),
        };
    }
    let mut warnings = Vec::new();
    if matches!(verb, "create" | "update") {
        warnings = unknown_fields(asked, &body)?;
    }
    let mut answer = match verb {
        "get" => Ok(one(asked, accept, 200, &*read::get(world, asked)?)),
        "list" => Ok(page(asked, accept, &read::list(world, asked)?)),
        "create" if asked.name.is_empty() || asked.subresource.is_empty() => {
            let made = create::create(world, asked, body)?;
            warnings.extend(rules::security::warning(world, &asked.resource, &made));
            Ok(one(asked, accept, 201, &made))
        }
        "update" => Ok(one(asked, accept, 200, &*update::update(world, asked, body)?)),
        "patch" => {
            let Some(kind) = PatchKind::of(kind) else {
                return Err(Failure::new(
                    415,
                    "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
                ));
            };
            if kind != PatchKind::Json {
                warnings = unknown_fields(asked, &body)?;
            }
            let (object, new) = patch::patch(world, asked, kind, &body)?;
            if asked.subresource.is_empty() {
                warnings.extend(rules::security::warning(world, &asked.resource, &object));
            }
            Ok(one(asked, accept, if new { 201 } else { 200 }, &object))
        }
        "delete" => {
            let options = options(asked, body);
            Ok(one(asked, Accepted { form: Form::Plain, json: true }, 200, &*delete::delete(world, asked, &options)?))
        }
        "deletecollection" => {
            let options = options(asked, body);
            Ok(page(asked, accept, &delete::collection(world, asked, &options)?))
        }
        _ => Err(Failure::not_supported(&asked.resource, verb)),
    }?;
    if asked.resource.kind == "Endpoints" {
        warnings.push("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned());
    }
    answer.warnings = warnings;
    Ok(answer)
}

/// Deletion's options come in the body or in the query.
fn options(asked: &Asked, body: Value) -> Value {
    let mut options = if body.is_object() { body } else { json!({}) };
    if let Ok(seconds) = asked.option("gracePeriodSeconds").parse::<i64>() {
        options["gracePeriodSeconds"] = seconds.into();
    }
    if !asked.option("propagationPolicy").is_empty() {
        options["propagationPolicy"] = asked.option("propagationPolicy").into();
    }
    options
}

fn part(world: &mut World, verb: &str, asked: &Asked, body: Value, kind: &str) -> Outcome<Answer> {
    let answer = match (asked.subresource.as_str(), verb) {
        ("scale", "get") => Answer::json(200, &subresources::scale(asked, &*read::get(world, asked)?)?),
        ("scale", "update") => Answer::json(200, &subresources::set_scale(world, asked, &body, None)?),
        ("scale", "patch") => Answer::json(200, &subresources::set_scale(world, asked, &body, PatchKind::of(kind))?),
        ("eviction", "create") => Answer::json(201, &subresources::evict(world, asked, &body)?),
        ("binding", "create") => Answer::json(201, &subresources::bind(world, asked, &body)?),
        ("token", "create") => Answer::json(201, &reviews::token(world, asked, body)?),
        ("log", "get") => Answer::text(200, &subresources::log(world, asked)?).typed("text/plain"),
        ("finalize" | "approval" | "ephemeralcontainers" | "resize", "update") => {
            let accept = Accepted { form: Form::Plain, json: true };
            if asked.subresource == "finalize" {
                return finalize(world, asked, &body);
            }
            let status =
                Asked { subresource: if asked.subresource == "approval" { "status".to_owned() } else { String::new() }, ..asked.clone() };
            one(asked, accept, 200, &*update::update(world, &status, body)?)
        }
        ("exec" | "attach" | "portforward" | "proxy", _) => {
            return Err(Failure::new(501, "NotImplemented", format!("{} is not there in a simulated cluster", asked.subresource)));
        }
        (_, "get") => one(asked, Accepted { form: Form::Plain, json: true }, 200, &*read::get(world, asked)?),
        _ => return Err(Failure::method_not_allowed()),
    };
    Ok(answer)
}

/// A namespace's own finalizers have a path of their own.
fn finalize(world: &mut World, asked: &Asked, body: &Value) -> Outcome<Answer> {
    read::get(world, asked)?;
    let finalizers = body.pointer("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
    world.edit(&asked.key(), |namespace| crate::document::put(namespace, "/spec/finalizers", finalizers));
    world.enqueue(asked.key());
    let answer = read::get(world, asked)?;
    world.settle();
    Ok(one(asked, Accepted { form: Form::Plain, json: true }, 200, &answer))
}

/// Refuses fields that the kind does not have, or warns of them, as the request says.
fn unknown_fields(asked: &Asked, body: &Value) -> Outcome<Vec<String>> {
    let strict = asked.option("fieldValidation") == "Strict";
    if asked.option("fieldValidation") == "Ignore" {
        return Ok(Vec::new());
    }
    if asked.resource.custom.is_none()
        && let Some(wrong) = crate::schema::mistyped(&asked.resource.kind, body)
    {
        let kind = &asked.resource.kind;
        return Err(Failure::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {kind}: {wrong}",
            asked.resource.version
        )));
    }
    let mut found = Vec::new();
    match &asked.resource.custom {
        Some(custom) if custom.schema.is_object() => rules::custom::unknown(&custom.schema, body, "", &mut found),
        Some(_) => {}
        None => crate::schema::unknown(&asked.resource.kind, body, &mut found),
    }
    found.sort();
    let found: Vec<String> = found.into_iter().map(|field| format!("unknown field \"{field}\"")).collect();
    if strict && !found.is_empty() {
        let kind = &asked.resource.kind;
        return Err(Failure::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
            asked.resource.version,
            found.join(", ")
        )));
    }
    Ok(found)
}

/// One object in the form that is wanted.
fn one(asked: &Asked, accept: Accepted, code: u16, object: &Value) -> Answer {
    let is_status = object["kind"] == "Status" && object["apiVersion"] == "v1";
    match accept.form {
        Form::Table if !is_status => {
            let include = Include::of(asked.option("includeObject"));
            let rows = [tables::row(&asked.resource, object, include)];
            Answer::json(code, &table(&asked.resource, &rows, &json!({"resourceVersion": object["metadata"]["resourceVersion"]})))
        }
        Form::Partial if !is_status => Answer::json(code, &tables::partial(object)),
        _ => {
            let mut bytes = Vec::with_capacity(1024);
            let view = View { object, version: (!is_status).then(|| asked.resource.api_version()), bare: false };
            if serde_json::to_writer(&mut bytes, &view).is_err() {
                return Answer::failed(&Failure::internal("the object cannot be written"));
            }
            Answer::bytes(code, bytes)
        }
    }
}

pub(super) fn table(resource: &Resource, rows: &[Value], metadata: &Value) -> Value {
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": tables::columns(resource), "rows": rows})
}

/// A list in the form that is wanted.
fn page(asked: &Asked, accept: Accepted, page: &Page) -> Answer {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let Some(next) = &page.next {
        metadata["continue"] = next.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    match accept.form {
        Form::Table => {
            let include = Include::of(asked.option("includeObject"));
            let rows: Vec<Value> = page.items.iter().map(|object| tables::row(&asked.resource, object, include)).collect();
            Answer::json(200, &table(&asked.resource, &rows, &metadata))
        }
        Form::Partial => {
            let items: Vec<Value> = page.items.iter().map(|object| tables::partial(object)).collect();
            Answer::json(
                200,
                &json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items}),
            )
        }
        _ => {
            let whole = Whole { resource: &asked.resource, metadata: &metadata, items: &page.items };
            serde_json::to_vec(&whole)
                .map_or_else(|_| Answer::failed(&Failure::internal("the list cannot be written")), |bytes| Answer::bytes(200, bytes))
        }
    }
}

/// An object as one version of its kind shows it, without copying it.
pub(super) struct View<'a> {
    pub(super) object: &'a Value,
    pub(super) version: Option<String>,
    /// Items of typed lists say neither kind nor version.
    pub(super) bare: bool,
}

impl serde::Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(fields) = self.object.as_object() else { return serde::Serialize::serialize(self.object, serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in fields {
            match (key.as_str(), &self.version) {
                ("apiVersion" | "kind", _) if self.bare => {}
                ("apiVersion", Some(version)) => map.serialize_entry(key, version)?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

struct Whole<'a> {
    resource: &'a Resource,
    metadata: &'a Value,
    items: &'a [Arc<Value>],
}

impl serde::Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bare = self.resource.custom.is_none();
        let version = self.resource.api_version();
        let items: Vec<View<'_>> = self.items.iter().map(|object| View { object, version: Some(version.clone()), bare }).collect();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", &self.resource.list_kind)?;
        map.serialize_entry("apiVersion", &version)?;
        map.serialize_entry("metadata", self.metadata)?;
        map.serialize_entry("items", &items)?;
        map.end()
    }
}
