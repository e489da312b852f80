//! Requests to the API server, by whichever address answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use super::access::Access;
use crate::capabilities::trust::{self, Trust};
use crate::redact::one_line;

/// One address of several, the others of which may work.
const CONNECT: Duration = Duration::from_secs(3);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(20);
/// The largest answer that is read.
const LARGEST: usize = 64 << 20;

/// Who we say we are.
const AGENT: &str = concat!("emhost/", env!("CARGO_PKG_VERSION"));

/// What a request carries.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Nothing.
    None,
    /// An object.
    Json(&'a Value),
    /// A merge patch.
    Merge(&'a Value),
    /// An object for server-side apply.
    Apply(&'a Value),
}

impl Body<'_> {
    fn parts(self) -> Option<(&'static str, Vec<u8>)> {
        // A JSON value can always be written.
        let text = |value: &Value| value.to_string().into_bytes();
        match self {
            Self::None => None,
            Self::Json(value) => Some(("application/json", text(value))),
            Self::Merge(value) => Some(("application/merge-patch+json", text(value))),
            // JSON is YAML.
            Self::Apply(value) => Some(("application/apply-patch+yaml", text(value))),
        }
    }
}

/// What the API server said instead of doing it: its `Status` object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// The HTTP status.
    pub code: u16,
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// Why, in more words.
    pub details: Details,
}

/// What a `Status` has to add.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Details {
    /// Each cause.
    pub causes: Vec<CauseOf>,
    /// When to try again.
    #[serde(rename = "retryAfterSeconds")]
    pub retry_after_seconds: u32,
}

/// One cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CauseOf {
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// The field that it is about.
    pub field: String,
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No address answers.
    #[error("the Kubernetes API does not answer ({0})")]
    Unreachable(String),
    /// The connection broke off, so it may have happened.
    #[error("no answer came to {request} from {server}: {why}")]
    Lost {
        /// What was asked.
        request: String,
        /// Whom.
        server: String,
        /// Why.
        why: String,
    },
    /// The server said no.
    #[error("{server} answered {} to {request}: {}", refused.code, refused.message)]
    Refused {
        /// What was asked.
        request: String,
        /// Whom.
        server: String,
        /// What it said.
        refused: Box<Refused>,
    },
    /// The access cannot be used.
    #[error("{0}")]
    Access(String),
}

impl ApiError {
    /// The HTTP status of a refusal.
    pub fn code(&self) -> Option<u16> {
        if let Self::Refused { refused, .. } = self { Some(refused.code) } else { None }
    }

    /// Whether another try may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Lost { .. } => true,
            // A value of another type than its field is told with 500, and will never fit.
            Self::Refused { refused, .. } if refused.message.contains("typed patch object") => false,
            Self::Refused { refused, .. } => refused.code == 429 || refused.code >= 500,
            Self::Access(_) => false,
        }
    }
}

/// A client of one cluster, as long as its certificate is good.
pub struct Client {
    http: reqwest::Client,
    servers: Vec<Url>,
    token: Option<zeroize::Zeroizing<String>>,
    /// The server that answered last.
    good: AtomicUsize,
}

impl Client {
    /// Speaks to these servers, in this order of liking.
    ///
    /// # Errors
    /// An access that cannot be used.
    pub fn new(access: &Access, servers: Vec<Url>) -> Result<Self, ApiError> {
        let unusable = |error: &dyn std::fmt::Display| ApiError::Access(format!("the access to Kubernetes cannot be used: {error}"));
        let trusted = access.authorities.clone().map_or(Trust::System, Trust::Authorities);
        let identity = access.identity.as_ref().map(|pem| trust::certificate(pem)).transpose().map_err(|error| unusable(&error))?;
        // What has no authority of its own is checked by those of this system, and never not at all.
        let tls = trust::client(&trusted, identity).map_err(|error| unusable(&error))?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .read_timeout(ANSWER)
            .user_agent(AGENT)
            .http1_only()
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Self { http, servers, token: access.token.clone(), good: AtomicUsize::new(0) })
    }

    /// Asks for something; none where it is not there. Any server will do.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn get(&self, path: &str) -> Result<Option<Value>, ApiError> {
        match self.ask(&Method::GET, path, Body::None).await {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends what changes nothing: a question, or a change that is only tried (`dryRun=All`). Any server will do.
    ///
    /// # Errors
    /// What the server says, or that no server answers.
    pub async fn ask(&self, method: &Method, path: &str, body: Body<'_>) -> Result<Value, ApiError> {
        let first = self.good.load(Ordering::Relaxed);
        let mut why = String::from("it has no address yet");
        for turn in 0..self.servers.len() {
            let at = (first + turn) % self.servers.len();
            match self.send(at, method, path, body).await {
                // A server that starts or stops says so; another one may know.
                Err(ApiError::Lost { server, why: reason, .. }) => why = format!("{server}: {reason}"),
                Err(error) if error.is_passing() && error.code().is_some_and(|code| code >= 500) => why = error.to_string(),
                answer => {
                    self.good.store(at, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        Err(ApiError::Unreachable(why))
    }

    /// Changes something, at the server that answered last and at no other: an answer that does not come leaves it open whether it happened.
    ///
    /// # Errors
    /// What the server says, or that nothing was heard.
    pub async fn change(&self, method: &Method, path: &str, body: Body<'_>) -> Result<Value, ApiError> {
        let at = self.good.load(Ordering::Relaxed);
        self.send(at, method, path, body).await
    }

    /// Where the server that answered last is.
    pub fn server(&self) -> &str {
        self.servers.get(self.good.load(Ordering::Relaxed)).map_or("", |server| server.as_str().trim_end_matches('/'))
    }

    async fn send(&self, at: usize, method: &Method, path: &str, body: Body<'_>) -> Result<Value, ApiError> {
        let Some(base) = self.servers.get(at) else { return Err(ApiError::Unreachable("it has no address yet".to_owned())) };
        let server = base.as_str().trim_end_matches('/').to_owned();
        let request = format!("{method} {path}");
        let mut asked = self.http.request(method.clone(), trust::join(base, path)).header(http::header::ACCEPT, "application/json");
        if let Some(token) = self.token.as_ref().filter(|_| base.scheme() == "https") {
            asked = asked.bearer_auth(token.as_str());
        }
        if let Some((kind, bytes)) = body.parts() {
            asked = asked.header(http::header::CONTENT_TYPE, kind).body(bytes);
        }
        let lost = |error: reqwest::Error| ApiError::Lost {
            request: request.clone(),
            server: server.clone(),
            why: trust::reason(&error.without_url()),
        };
        let mut response = asked.send().await.map_err(lost)?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > LARGEST {
                let why = format!("the answer is larger than {} MiB", LARGEST >> 20);
                return Err(ApiError::Lost { request: request.clone(), server: server.clone(), why });
            }
        }
        if !status.is_success() {
            return Err(ApiError::Refused { request, server, refused: Box::new(refused(status, &bytes)) });
        }
        serde_json::from_slice(&bytes).map_err(|error| ApiError::Lost { request, server, why: format!("its answer is no JSON: {error}") })
    }
}

fn refused(status: StatusCode, bytes: &[u8]) -> Refused {
    let mut refused: Refused = serde_json::from_slice(bytes).unwrap_or_default();
    refused.code = status.as_u16();
    if refused.message.is_empty() {
        refused.message = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    }
    for text in std::iter::once(&mut refused.message).chain(refused.details.causes.iter_mut().map(|cause| &mut cause.message)) {
        *text = one_line(text, 500);
    }
    refused
}
