//! One request, from its headers to its answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::{Fault, Profile, audit};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts as Head;
use http::{Method, Request, Version};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::authenticate::{Credentials, authenticate};
use super::reply::{Draft, Format, Reply};
use super::{decode, upload};
use crate::call::{Fail, Outcome, Upload};
use crate::dispatch::Asked;
use crate::pve::Pve;
use crate::schema::{self, Given};

const MOST_HEADERS: usize = 64;
const LONGEST_HEADERS: usize = 8 * 1024;
const LONGEST_BODY: u64 = 512 * 1024;
const REQUESTS_PER_CONNECTION: u32 = 100;
/// How long the answer to somebody unknown takes.
const UNAUTHORIZED_DELAY: Duration = Duration::from_secs(3);
const FORM: &str = "application/x-www-form-urlencoded";

/// Where a request came in.
#[derive(Clone)]
pub(super) struct Origin {
    pub pve: Arc<Pve>,
    pub host: String,
}

/// What came of a request.
struct Done {
    draft: Draft,
    /// Whether nothing was done.
    failed: bool,
    who: Option<String>,
    changed: Vec<String>,
    fault: Option<Fault>,
}

impl From<Draft> for Done {
    fn from(draft: Draft) -> Self {
        Self { draft, failed: true, who: None, changed: Vec::new(), fault: None }
    }
}

/// Answers a request; none where the connection closes without an answer.
pub(super) async fn answer(origin: &Origin, request: Request<Incoming>, count: u32) -> Option<Reply> {
    let (head, body) = request.into_parts();
    if too_many_headers(&head) {
        return None;
    }
    let path = decode::path(head.uri.path());
    let outcome = match handle(origin, &head, &path, body).await {
        Ok(outcome) => outcome,
        Err(draft) => {
            if draft.status == 401 && origin.pve.parts.dials.profile() == Profile::Home {
                tokio::time::sleep(origin.pve.parts.dials.limit(UNAUTHORIZED_DELAY)).await;
            }
            draft.into()
        }
    };
    let lost = matches!(outcome.fault, Some(Fault::RequestLost | Fault::ReplyLost));
    origin.pve.parts.audit.record(audit::Entry {
        part: "pve".to_owned(),
        who: outcome.who.unwrap_or_else(|| "-".to_owned()),
        request: format!("{} {path}", head.method),
        status: if lost { 0 } else { outcome.draft.status },
        changed: outcome.changed,
        fault: outcome.fault,
        ..audit::Entry::default()
    });
    let asked_to = head.headers.get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    let closes = asked_to || count >= REQUESTS_PER_CONNECTION || head.version == Version::HTTP_10;
    (!lost).then(|| outcome.draft.reply(&head.headers, closes))
}

fn too_many_headers(head: &Head) -> bool {
    let size: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 2).sum();
    head.headers.len() + 1 >= MOST_HEADERS || size >= LONGEST_HEADERS
}

async fn handle(origin: &Origin, head: &Head, path: &str, body: Incoming) -> Result<Done, Draft> {
    if ![Method::GET, Method::POST, Method::PUT, Method::DELETE].contains(&head.method) {
        return Err(Draft::bare(501, format!("method '{}' not available", head.method)));
    }
    if let Some(encoding) = head.headers.get(TRANSFER_ENCODING) {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        return Err(if encoding.eq_ignore_ascii_case("chunked") {
            Draft::refused(501, "chunked transfer encoding not supported")
        } else {
            Draft::refused(501, format!("Unknown transfer encoding '{encoding}'"))
        });
    }
    if !path.starts_with("/api2") {
        return Err(Draft::refused(500, format!("no such file '{path}'\n")));
    }
    let Some((format, rest)) = decode::split(path) else { return Err(Draft::refused(501, "no such uri")) };
    let credentials = authenticate(&origin.pve.state().access, &head.method, rest, &head.headers)?;
    let who = credentials.who.as_ref().map(|who| who.id.clone());
    let (given, file) = parameters(origin, head, body, &credentials).await?;
    let Some(format) = decode::format(format) else {
        return Err(Draft::refused(501, format!("no formatter for uri {rest}, {format}")));
    };
    let left = file.as_ref().map(|file| file.path.clone());
    let mut done = called(origin, head, rest, credentials, given, file, format).await;
    if let Some(path) = left.filter(|_| done.failed)
        && tokio::fs::remove_file(path).await.is_err()
    {
        // Whoever was to take the file had taken it before it failed.
    }
    done.who = who;
    Ok(done)
}

/// Finds and runs the call, unless the dials have other plans.
async fn called(
    origin: &Origin,
    head: &Head,
    path: &str,
    credentials: Credentials,
    given: BTreeMap<String, Given>,
    file: Option<Upload>,
    format: Format,
) -> Done {
    let pve = &origin.pve;
    let found = match schema::find(pve.release(), head.method.as_str(), path) {
        Ok(found) => found,
        Err(fail) => return Draft::outcome(Err(fail), format).into(),
    };
    let what = format!("{} {}", found.endpoint.method, found.endpoint.path);
    let fault = pve.parts.dials.fault(&what, &[Fault::RequestLost, Fault::ReplyLost, Fault::ServerError]);
    let instead = |status, text: &str| Done { fault, ..Draft::outcome(Err(Fail::new(status, text)), format).into() };
    match fault {
        Some(Fault::RequestLost) => return instead(500, ""),
        // The daemon behind the proxy failed, or took too long.
        Some(Fault::ServerError) if pve.parts.dials.draw(&format!("596 {what}"), 2) == 0 => return instead(596, "Connection timed out"),
        Some(Fault::ServerError) => return instead(500, "unable to open database - Input/output error\n"),
        _ => {}
    }
    let asked = Asked {
        host: origin.host.clone(),
        path: path.to_owned(),
        who: credentials.who,
        by_token: credentials.by_token,
        given,
        upload: file,
    };
    let outcome: Outcome = pve.dispatch(found, asked).await;
    let changed = outcome.as_ref().map(|answer| answer.changed.clone()).unwrap_or_default();
    Done { failed: outcome.is_err(), draft: Draft::outcome(outcome, format), who: None, changed, fault }
}

/// The parameters of body and query, and the file where there is one.
async fn parameters(
    origin: &Origin,
    head: &Head,
    body: Incoming,
    credentials: &Credentials,
) -> Result<(BTreeMap<String, Given>, Option<Upload>), Draft> {
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let length: u64 = header(CONTENT_LENGTH).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let query = decode::form(head.uri.query().unwrap_or_default());
    let mut given = BTreeMap::new();
    let mut file = None;
    if length > 0 {
        if head.method != Method::PUT && head.method != Method::POST {
            return Err(Draft::refused(501, format!("Unexpected content for method '{}'", head.method)));
        }
        let header = header(CONTENT_TYPE).unwrap_or_default();
        let unknown = || Draft::refused(506, format!("upload 'Content-Type '{header}' not implemented"));
        let (kind, boundary) = decode::content_type(header);
        if credentials.is_upload {
            let boundary = boundary.filter(|_| kind == "multipart/form-data").ok_or_else(unknown)?;
            let received = upload::receive(&origin.pve.parts.store, body, &boundary, length).await;
            let (fields, upload) = received.map_err(|text| Draft::refused(500, text))?;
            given = fields;
            file = Some(upload);
        } else {
            if length > LONGEST_BODY {
                return Err(Draft::refused(501, "for data too large"));
            }
            if !["", FORM, "application/json"].contains(&kind.as_str()) {
                return Err(unknown());
            }
            let bytes = body.collect().await.map_err(|_| Draft::bare(400, "bad request"))?.to_bytes();
            given = if kind == "application/json" {
                decode::json(&bytes).map_err(|text| Draft::refused(500, format!("{text}\n")))?
            } else {
                decode::form(&String::from_utf8_lossy(&bytes))
            };
        }
    }
    given.extend(query);
    given.remove("_dc");
    Ok((given, file))
}
