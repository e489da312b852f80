//! Outgoing HTTP, to slots and nowhere else.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use serde::{Deserialize, Serialize};
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

use super::call::{Call, Waiting};
use super::credentials::{Credential, REASON, Ticket, is_reserved};
use super::journal::Outcome;
use super::policy::{Need, Refusal};
use super::record::Readable;
use super::slots::{self, Connection, DOMAIN};
use super::tls::{self, Trouble};
use crate::diagnostic::Diagnostic;
use crate::redact::{Redactor, one_line};

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Box<dyn Future<Output = Result<(Response<WasiBody>, Io), Error>> + Send>;

/// The hooks behind `wasi:http/outgoing-handler`.
pub struct Outgoing {
    call: Arc<Call>,
}

impl Outgoing {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self { call }
    }
}

impl WasiHttpHooks for Outgoing {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_reserved)
    }

    fn set_host_header(&mut self) -> bool {
        // The HTTP client sets it from the slot's URL.
        false
    }

    fn send_request(&mut self, request: Request<WasiBody>, options: Option<RequestOptions>, _processed: Io) -> Answer {
        let call = Arc::clone(&self.call);
        Box::new(async move {
            let response = exchange(&call, request, options).await?;
            Ok((response, Box::new(async { Ok(()) }) as Io))
        })
    }
}

/// A request that was checked: it goes to a slot, by a well-formed path.
struct Checked {
    slot: String,
    method: Method,
    path: String,
    change: bool,
}

impl Checked {
    fn url(&self) -> String {
        format!("https://{}{DOMAIN}{}", self.slot, self.path)
    }
}

fn check(call: &Call, method: &Method, uri: &Uri) -> Result<Checked, Refusal> {
    let refuse = |summary: String, help: Option<String>| call.refused(Refusal { summary, help, broke_rule: false });
    let shown = call.shown(&uri.to_string(), 200);
    let host = uri.host().unwrap_or_default();
    let slot = host.strip_suffix(DOMAIN).filter(|slot| super::policy::is_name(slot));
    let authority_is_plain = uri.authority().is_some_and(|authority| authority.as_str() == host);
    let Some(slot) = slot.filter(|_| uri.scheme_str() == Some("https") && authority_is_plain) else {
        return Err(refuse(
            format!("`{shown}` is no slot"),
            Some(format!("plugins never dial addresses: they ask for https://SLOT{DOMAIN}/…, and the site says where the slot leads")),
        ));
    };
    // `url` would resolve these against the slot's own path.
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let plain = uri.path().split('/').all(|segment| {
        let lower = segment.to_ascii_lowercase().replace("%2e", ".");
        lower != "." && lower != ".."
    }) && !path.contains('\\');
    if !plain {
        return Err(refuse(format!("`{shown}` has `.` or `..` in its path"), Some(call.policy.fault())));
    }
    if matches!(*method, Method::CONNECT | Method::TRACE) {
        return Err(refuse(format!("method {method} is never sent"), Some(call.policy.fault())));
    }
    let change = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    call.allow(&Need::Http { slot, change })?;
    if call.slots.get(slot).is_none() {
        return Err(refuse(
            format!("slot `{slot}` is not bound at this site"),
            Some(format!("add to site.yaml:\nslots:\n  {slot}: {{url: \"https://…\"}}")),
        ));
    }
    Ok(Checked { slot: slot.to_owned(), method: method.clone(), path: path.to_owned(), change })
}

async fn exchange(call: &Arc<Call>, request: Request<WasiBody>, options: Option<RequestOptions>) -> Result<Response<WasiBody>, Error> {
    let (parts, body) = request.into_parts();
    let checked = match call.spend_request() {
        Ok(()) => check(call, &parts.method, &parts.uri),
        Err(error) => {
            let help = format!("one call of plugin `{}` may not use more: report it to its author", call.policy.plugin());
            Err(call.refused(Refusal { summary: error.to_string(), help: Some(help), broke_rule: true }))
        }
    };
    let Ok(checked) = checked else {
        return Err(deny(body).await);
    };
    // Known to be too large before any of it goes out.
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > call.limits.request_body) {
        let most = call.limits.request_body;
        call.remark(Diagnostic::note("http/too-large", format!("slot `{}`: the request body is larger than {most} bytes", checked.slot)));
        deny(body).await;
        return Err(Error::HttpRequestBodySize(Some(most)));
    }
    let _waiting = call.waiting(format!("slot `{}` to answer {} {}", checked.slot, checked.method, call.shown(&checked.path, 120)));
    let number = if checked.change {
        match call.begin_change(&format!("{} {}", checked.method, checked.url())) {
            Ok(number) => Some(number),
            Err(_) => return Err(deny(body).await),
        }
    } else {
        None
    };
    let headers: HeaderMap =
        parts.headers.into_iter().filter_map(|(name, value)| Some((name.filter(|name| !is_reserved(name))?, value))).collect();
    let answered = if call.tape.is_on() {
        taped(call, &checked, headers, body, options).await
    } else {
        live(call, &checked, headers, body, options).await
    };
    if let Some(number) = number {
        call.end_change(
            number,
            &match &answered {
                Ok(response) => Outcome::Answered(response.status().as_u16()),
                Err(failed) => Outcome::Unknown(failed.message.clone()),
            },
        );
    }
    answered.map_err(|failed| {
        call.remark(Diagnostic::note("http/failed", call.shown(&failed.message, 500)).help(failed.help.clone()));
        failed.error(&call.redactor)
    })
}

/// Takes the body in before saying no: a guest that is still writing would else see a broken
/// stream instead of the refusal.
async fn deny(body: WasiBody) -> Error {
    let taken = Limited::new(body, 1 << 20).collect();
    // Whatever becomes of the body, the answer is no.
    let _ = tokio::time::timeout(Duration::from_secs(1), taken).await;
    Error::HttpRequestDenied
}

/// A request that got no answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Failed {
    kind: FailedKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FailedKind {
    Certificate,
    Tls,
    Refused,
    Name,
    Timeout,
    RequestSize,
    ResponseSize,
    Credential,
    Other,
}

impl Failed {
    fn new(kind: FailedKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None }
    }

    fn of(trouble: &Trouble, slot: &str) -> Self {
        let (message, help) = trouble.explain(slot);
        let kind = match trouble {
            Trouble::Certificate(_) => FailedKind::Certificate,
            Trouble::Protocol(_) => FailedKind::Tls,
            Trouble::Refused => FailedKind::Refused,
            Trouble::Name(_) => FailedKind::Name,
            Trouble::Timeout => FailedKind::Timeout,
            Trouble::Other(_) => FailedKind::Other,
        };
        Self { kind, message, help }
    }

    fn error(self, redactor: &Redactor) -> Error {
        match self.kind {
            FailedKind::Certificate => Error::TlsCertificateError,
            FailedKind::Tls => Error::TlsProtocolError,
            FailedKind::Refused => Error::ConnectionRefused,
            FailedKind::Name => Error::DestinationNotFound,
            FailedKind::Timeout => Error::ConnectionTimeout,
            FailedKind::RequestSize => Error::HttpRequestBodySize(None),
            FailedKind::ResponseSize => Error::HttpResponseBodySize(None),
            FailedKind::Credential | FailedKind::Other => Error::InternalError(Some(one_line(&redactor.text(&self.message), 500))),
        }
    }
}

async fn live(
    call: &Arc<Call>,
    checked: &Checked,
    mut headers: HeaderMap,
    body: WasiBody,
    options: Option<RequestOptions>,
) -> Result<Response<WasiBody>, Failed> {
    let slot = call.slots.get(&checked.slot).ok_or_else(|| Failed::new(FailedKind::Other, "the slot is not bound"))?;
    let connection = call.slots.connection(slot).await.map_err(|message| Failed::new(FailedKind::Credential, message))?;
    let mut masks = vec![connection.scrub.clone()];
    if connection.credential.is_some() {
        // A compressed answer could carry the credential past the mask.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    // A body without a length would go out in chunks, which Proxmox does not take; and a guest
    // that took the body in hand and wrote nothing leaves a stream that just ends.
    let most = call.limits.request_body;
    let (empty, mut body) = if headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0") {
        (false, reqwest::Body::wrap_stream(limited(body, most)))
    } else {
        let whole = Limited::new(body, usize::try_from(most).unwrap_or(usize::MAX)).collect().await;
        let whole = whole
            .map_err(|_| Failed::new(FailedKind::RequestSize, format!("the request body is larger than {most} bytes or broke off")))?
            .to_bytes();
        (whole.is_empty(), reqwest::Body::from(whole))
    };
    let mut response;
    let mut tried_again = false;
    loop {
        let ticket = credential(call, &connection, &checked.slot, &mut headers, checked.change).await?;
        if let Some(ticket) = &ticket {
            let mask = Redactor::new();
            for part in ticket.parts() {
                mask.learn("ticket", part);
            }
            masks.push(mask);
        }
        let sent = send(call, &connection, checked, headers.clone(), body, options).await;
        response = match sent {
            // A rule broken on purpose, to see that a test notices: what got no answer may have happened.
            Err(_) if empty && crate::state::faults::broken("blind-retry") => {
                send(call, &connection, checked, headers.clone(), reqwest::Body::default(), options).await?
            }
            sent => sent?,
        };
        let Some(ticket) = ticket.filter(|_| response.status() == http::StatusCode::UNAUTHORIZED) else { break };
        // The ticket was withdrawn. What has no body can simply be sent again.
        if let Some(Credential::Ticket(login)) = &connection.credential {
            login.forget(&ticket).await;
        }
        if !empty || tried_again {
            break;
        }
        tried_again = true;
        body = reqwest::Body::default();
    }
    let encoded = response.headers().get(CONTENT_ENCODING).is_some_and(|value| value != "identity");
    if connection.credential.is_some() && encoded {
        return Err(Failed::new(FailedKind::Other, format!("slot `{}` answered compressed although asked not to", checked.slot)));
    }
    Ok(received(call, checked, response, &masks))
}

async fn credential(
    call: &Call,
    connection: &Connection,
    slot: &str,
    headers: &mut HeaderMap,
    change: bool,
) -> Result<Option<Arc<Ticket>>, Failed> {
    match &connection.credential {
        None | Some(Credential::Certificate) => Ok(None),
        Some(Credential::Header(value)) => {
            headers.insert(http::header::AUTHORIZATION, value.clone());
            Ok(None)
        }
        Some(Credential::Ticket(login)) => {
            let ticket = login.ticket(&connection.client, &connection.base, &call.redactor, slot).await;
            let ticket = ticket.map_err(|error| Failed::new(FailedKind::Credential, format!("slot `{slot}`: cannot log in: {error}")))?;
            ticket.add(headers, change);
            Ok(Some(ticket))
        }
    }
}

async fn send(
    call: &Call,
    connection: &Connection,
    checked: &Checked,
    headers: HeaderMap,
    body: reqwest::Body,
    options: Option<RequestOptions>,
) -> Result<Response<reqwest::Body>, Failed> {
    let url = slots::join(&connection.base, &checked.path);
    let mut request = reqwest::Request::new(checked.method.clone(), url);
    *request.headers_mut() = headers;
    *request.body_mut() = Some(body);
    // Without one of the guest's own, the wall clock of the call ends it, and names what it waited for.
    let first_byte = options.and_then(|options| options.first_byte_timeout).unwrap_or(Duration::MAX);
    let sent = tokio::time::timeout(first_byte, connection.client.execute(request)).await;
    let timeout = || Failed::of(&Trouble::Timeout, &checked.slot);
    match sent {
        Err(_) => Err(timeout()),
        Ok(Ok(response)) => Ok(response.into()),
        Ok(Err(error)) if too_large(&error) => {
            Err(Failed::new(FailedKind::RequestSize, format!("the request body is larger than {} bytes", call.limits.request_body)))
        }
        Ok(Err(error)) if error.is_timeout() => Err(timeout()),
        Ok(Err(error)) => Err(Failed::of(&tls::diagnose(&error.without_url()), &checked.slot)),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("larger than the limit")]
struct TooLarge;

fn too_large(error: &reqwest::Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if error.is::<TooLarge>() {
            return true;
        }
        next = error.source();
    }
    false
}

fn limited(body: WasiBody, most: u64) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> {
    let mut sent = 0u64;
    body.into_data_stream().map(move |chunk| {
        let chunk =
            chunk.map_err(|error| Box::new(std::io::Error::other(error.to_string())) as Box<dyn std::error::Error + Send + Sync>)?;
        sent = sent.saturating_add(chunk.len() as u64);
        if sent > most { Err(Box::new(TooLarge) as _) } else { Ok(chunk) }
    })
}

/// The answer as the guest may see it: nothing of the host's own, no credential, and bounded.
fn received(call: &Arc<Call>, checked: &Checked, response: Response<reqwest::Body>, masks: &[Redactor]) -> Response<WasiBody> {
    let (parts, body) = response.into_parts();
    let mask = |bytes: &[u8]| masks.iter().fold(bytes.to_vec(), |bytes, mask| mask.masked(&bytes));
    let mut headers = HeaderMap::new();
    for (name, value) in &parts.headers {
        if let Ok(value) = HeaderValue::from_bytes(&mask(value.as_bytes())) {
            headers.append(name, value);
        }
    }
    let reserved: Vec<HeaderName> = headers.keys().filter(|name| is_reserved(name)).cloned().collect();
    for name in reserved {
        headers.remove(&name);
    }
    let reason = parts.extensions.get::<hyper::ext::ReasonPhrase>();
    if let Some(reason) = reason.and_then(|reason| HeaderValue::from_bytes(&mask(reason.as_bytes())).ok()) {
        headers.insert(HeaderName::from_static(REASON), reason);
    }
    let streams: Vec<_> = masks.iter().map(Redactor::stream).collect();
    let most = call.limits.response_body;
    let state = Receiving {
        body: body.into_data_stream(),
        streams,
        received: 0,
        most,
        done: false,
        call: Arc::clone(call),
        slot: checked.slot.clone(),
        waiting: None,
    };
    let chunks = futures::stream::unfold(state, |mut state| async move { state.next().await.map(|item| (item, state)) });
    let body = StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data)));
    let mut response = Response::new(BodyExt::boxed_unsync(body));
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    response
}

struct Receiving<B> {
    body: B,
    streams: Vec<crate::redact::StreamMasker>,
    received: u64,
    most: u64,
    done: bool,
    call: Arc<Call>,
    slot: String,
    waiting: Option<Waiting>,
}

impl<B: Stream<Item = Result<Bytes, reqwest::Error>> + Unpin> Receiving<B> {
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        while !self.done {
            // From the first read to the last: an answer that drips is waited for between its drops too.
            self.waiting.get_or_insert_with(|| self.call.waiting(format!("the rest of an answer from slot `{}`", self.slot)));
            let next = self.body.next().await;
            let bytes = match next {
                Some(Ok(chunk)) => {
                    self.received = self.received.saturating_add(chunk.len() as u64);
                    if self.received > self.most {
                        self.done = true;
                        let message = format!("slot `{}`: the answer is larger than {} bytes", self.slot, self.most);
                        self.call.remark(Diagnostic::note("http/too-large", message));
                        return Some(Err(Error::HttpResponseBodySize(Some(self.most))));
                    }
                    self.streams.iter_mut().fold(chunk.to_vec(), |bytes, stream| stream.push(&bytes))
                }
                Some(Err(error)) => {
                    self.done = true;
                    let failed = Failed::of(&tls::diagnose(&error.without_url()), &self.slot);
                    self.call.remark(Diagnostic::note("http/cut-off", self.call.shown(&failed.message, 500)));
                    return Some(Err(Error::HttpResponseIncomplete));
                }
                None => {
                    self.done = true;
                    // What one mask held back still has to go through those behind it.
                    let mut held = Vec::new();
                    for stream in &mut self.streams {
                        held = stream.push(&held);
                        held.extend(stream.finish());
                    }
                    held
                }
            };
            if !bytes.is_empty() {
                return Some(Ok(Bytes::from(bytes)));
            }
        }
        self.waiting = None;
        None
    }
}

// ---- on tape ------------------------------------------------------------------------------

#[derive(Serialize)]
struct TapedRequest<'a> {
    method: &'a str,
    url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Readable>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TapedAnswer {
    Response { status: u16, headers: Vec<(String, String)>, body: Readable },
    Failed(Failed),
}

fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}

/// The same exchange with both bodies held whole, so that it can be written down or replayed.
async fn taped(
    call: &Arc<Call>,
    checked: &Checked,
    headers: HeaderMap,
    body: WasiBody,
    options: Option<RequestOptions>,
) -> Result<Response<WasiBody>, Failed> {
    let most = usize::try_from(call.limits.request_body).unwrap_or(usize::MAX);
    let sent = Limited::new(body, most).collect().await;
    let sent = sent
        .map_err(|_| Failed::new(FailedKind::RequestSize, format!("the request body is larger than {most} bytes or broke off")))?
        .to_bytes();
    let request = TapedRequest {
        method: checked.method.as_str(),
        url: checked.url(),
        headers: readable(&headers),
        body: (!sent.is_empty()).then(|| Readable::new(&sent)),
    };
    let going = async {
        let body = Full::new(sent.clone()).map_err(|never| match never {}).boxed_unsync();
        let response = match live(call, checked, headers.clone(), body, options).await {
            Ok(response) => response,
            Err(failed) => return TapedAnswer::Failed(failed),
        };
        let (parts, body) = response.into_parts();
        match body.collect().await {
            Ok(body) => TapedAnswer::Response {
                status: parts.status.as_u16(),
                headers: readable(&parts.headers),
                body: Readable::new(&body.to_bytes()),
            },
            Err(Error::HttpResponseBodySize(_)) => {
                TapedAnswer::Failed(Failed::new(FailedKind::ResponseSize, format!("slot `{}`: the answer is too large", checked.slot)))
            }
            Err(error) => {
                TapedAnswer::Failed(Failed::new(FailedKind::Other, format!("slot `{}`: the answer broke off: {error}", checked.slot)))
            }
        }
    };
    let going: Pin<Box<dyn Future<Output = TapedAnswer> + Send + '_>> = Box::pin(going);
    let answer = call.tape.exchange("http", &request, going).await;
    match answer.map_err(|error| {
        // Not what was recorded: nothing the guest does after this means anything.
        call.refused(Refusal { summary: error.to_string(), help: None, broke_rule: true });
        Failed::new(FailedKind::Other, error.to_string())
    })? {
        TapedAnswer::Failed(failed) => Err(failed),
        TapedAnswer::Response { status, headers, body } => {
            let body = Full::new(Bytes::from(body.bytes())).map_err(|never| match never {}).boxed_unsync();
            let mut response = Response::new(body);
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                    response.headers_mut().append(name, value);
                }
            }
            Ok(response)
        }
    }
}
