//! Charts that somebody else serves: fetched without a credential, known by their digest, and kept by it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use futures::StreamExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;

use super::component::digest;
use super::error::ChartError;
use super::reference::{Listed, Reference, Repository, is_digest, is_here};
use crate::capabilities::trust;
use crate::plugins::write;
use crate::redact::{one_line, printable};

/// The largest archive, and the largest answer of a registry beside it.
const LARGEST: usize = 32 << 20;
const LARGEST_ANSWER: usize = 4 << 20;
/// What a registry calls the archive of a chart, and what it was called before.
const LAYERS: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Fetches charts, and keeps them.
pub(super) struct Shelf(pub Option<PathBuf>);

impl Shelf {
    /// The chart with this digest, if it was fetched before.
    pub fn find(&self, wanted: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.place(wanted)?).ok()?;
        // What is not whole, or not it, is fetched again.
        (digest(&bytes) == wanted).then_some(bytes)
    }

    /// Keeps a chart. A shelf that cannot be written costs time, not the run.
    pub fn keep(&self, name: &str, bytes: &[u8]) {
        if let Some(place) = self.place(name) {
            let _ = keep(&place, bytes);
        }
    }

    fn place(&self, digest: &str) -> Option<PathBuf> {
        let digits = is_digest(digest).then(|| digest.strip_prefix("sha256:"))??;
        Some(self.0.as_ref()?.join("emhost/charts").join(format!("{digits}.tgz")))
    }
}

fn keep(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    write(file, bytes)
}

/// Fetches the archive. A folder is not fetched.
pub(super) async fn fetch(reference: &Reference) -> Result<Vec<u8>, ChartError> {
    let bytes = match reference {
        Reference::Folder(_) => return Err(ChartError::new("chart/reference", "a folder is not fetched", "this is a bug of emhost")),
        Reference::Archive(url) => Asking::new(url)?.read(url).await?,
        Reference::Listed(listed) => look_up(listed).await?,
        Reference::Registry(repository) => pull(repository).await?,
    };
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        let begins = one_line(&printable(&String::from_utf8_lossy(&bytes[..bytes.len().min(60)])), 60);
        let summary =
            format!("fetching chart {}: what was served is no .tgz, it begins with `{begins}`", reference.key().unwrap_or_default());
        return Err(ChartError::new("chart/fetch", summary, "open the address in a browser, and check the chart's address and version"));
    }
    Ok(bytes)
}

/// What is read of a repository's list.
#[derive(Deserialize)]
struct Index {
    entries: BTreeMap<String, Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    version: String,
    #[serde(default)]
    urls: Vec<String>,
    digest: Option<String>,
}

/// Finds a chart in the list of a repository, and fetches it from where the list says.
async fn look_up(listed: &Listed) -> Result<Vec<u8>, ChartError> {
    let wrong = |why: String, help: &str| ChartError::new("chart/fetch", format!("fetching chart {listed}: {why}"), help);
    let index = listed.base.join("index.yaml").map_err(|error| wrong(error.to_string(), "check the chart's address"))?;
    let bytes = Asking::new(&index)?.read(&index).await?;
    // A list names every version that ever was.
    let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_nodes: 8_000_000, max_events: 16_000_000 } };
    let list: Index = serde_saphyr::from_slice_with_options(&bytes, options).map_err(|error| {
        wrong(format!("{index} is no list of charts: {}", one_line(&error.to_string(), 200)), "check the repository's address")
    })?;
    let Some(versions) = list.entries.get(&listed.chart) else {
        let known: Vec<&str> = list.entries.keys().map(String::as_str).collect();
        let help = format!("it has {}", one_line(&known.join(", "), 300));
        return Err(wrong(format!("{index} does not have it"), &help));
    };
    let bare = |version: &str| version.trim_start_matches('v').to_owned();
    let Some(entry) = versions.iter().find(|entry| bare(&entry.version) == bare(&listed.version)) else {
        let known: Vec<&str> = versions.iter().take(10).map(|entry| entry.version.as_str()).collect();
        let help = format!("the newest that it has are {}", one_line(&known.join(", "), 300));
        return Err(wrong(format!("{index} does not have this version"), &help));
    };
    let url =
        entry.urls.first().and_then(|url| index.join(url).ok()).filter(|url| url.scheme() == "https" || (is_here(url) && is_here(&index)));
    let Some(url) = url else {
        return Err(wrong(format!("{index} names no https:// address for it"), "tell whoever keeps the repository"));
    };
    let chart = Asking::new(&url)?.read(&url).await?;
    let named = entry.digest.as_deref().map(|named| format!("sha256:{}", named.trim_start_matches("sha256:")));
    if let Some(named) = named.filter(|named| *named != digest(&chart)) {
        let why = format!("what {url} serves is {}, and the list says {}", digest(&chart), one_line(&named, 100));
        return Err(wrong(why, "tell whoever keeps the repository"));
    }
    Ok(chart)
}

/// What is read of an image's manifest.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
}

/// Pulls a chart as a client of the distribution API does: the manifest, then the layer that is the chart.
async fn pull(repository: &Repository) -> Result<Vec<u8>, ChartError> {
    let mut asking = Asking::new(&repository.base)?;
    let url = repository.url("manifests", &repository.version);
    let mut response = asking.get(&url, MANIFEST).await?;
    if response.status() == StatusCode::UNAUTHORIZED {
        asking.token = Some(asking.token(&url, &response).await?);
        response = asking.get(&url, MANIFEST).await?;
    }
    let response = asking.answered(&url, response).await?;
    let bytes = asking.body(&url, response, LARGEST_ANSWER).await?;
    let wrong = |why: String| {
        ChartError::new(
            "chart/fetch",
            format!("fetching chart {repository}: {why}"),
            "see whether this is the address of a chart: `helm pull` takes the same",
        )
    };
    if is_digest(&repository.version) && digest(&bytes) != repository.version {
        return Err(wrong(format!("the manifest that was served is {}", digest(&bytes))));
    }
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| wrong(format!("its manifest cannot be read: {error}")))?;
    let Some(layer) = manifest.layers.iter().find(|layer| LAYERS.contains(&layer.media_type.as_str())) else {
        let kinds: Vec<&str> = manifest.layers.iter().map(|layer| layer.media_type.as_str()).collect();
        return Err(wrong(format!("it has no layer that is a chart, only [{}]", one_line(&kinds.join(", "), 300))));
    };
    if !is_digest(&layer.digest) {
        return Err(wrong(format!("`{}` is no sha256 digest", one_line(&layer.digest, 100))));
    }
    let url = repository.url("blobs", &layer.digest);
    let chart = asking.read(&url).await?;
    if digest(&chart) != layer.digest {
        return Err(wrong(format!("the archive that was served is {}, and the manifest says {}", digest(&chart), layer.digest)));
    }
    Ok(chart)
}

/// A client without a credential, and the token that a registry gives to everybody.
struct Asking {
    client: reqwest::Client,
    here: bool,
    token: Option<String>,
}

impl Asking {
    fn new(url: &Url) -> Result<Self, ChartError> {
        let here = is_here(url);
        // Without TLS nobody has to be trusted, and a machine without authorities can still ask itself.
        let trust = if url.scheme() == "http" { trust::Trust::Fingerprint([0; 32]) } else { trust::Trust::System };
        let client =
            trust::client(&trust, None).map_err(|error| error.to_string()).and_then(|tls| trust::follower(tls, url.scheme() == "https"));
        let client = client.map_err(|why| {
            ChartError::new(
                "chart/fetch",
                format!("fetching {url}: {why}"),
                "install the system's certificate authorities (package ca-certificates)",
            )
        })?;
        Ok(Self { client, here, token: None })
    }

    /// All of it, if the server says yes.
    async fn read(&self, url: &Url) -> Result<Vec<u8>, ChartError> {
        let response = self.get(url, "").await?;
        let response = self.answered(url, response).await?;
        self.body(url, response, LARGEST).await
    }

    async fn get(&self, url: &Url, accept: &str) -> Result<Response, ChartError> {
        let mut request = self.client.get(url.clone());
        if !accept.is_empty() {
            request = request.header(ACCEPT, accept);
        }
        if let Some(token) = &self.token {
            // Not passed on to where a server sends us: the client takes it off on another host.
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        request.send().await.map_err(|error| trouble(url, error))
    }

    /// The response, if it is one that says yes.
    async fn answered(&self, url: &Url, response: Response) -> Result<Response, ChartError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let said = match self.body(url, response, LARGEST_ANSWER).await {
            Ok(body) => one_line(&printable(&String::from_utf8_lossy(&body)), 300),
            Err(_) => String::new(),
        };
        let said = if said.trim().is_empty() { said } else { format!(": {said}") };
        let passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        let help = match status {
            StatusCode::NOT_FOUND => "check the chart's address and version",
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "charts are fetched without a credential: put the chart where it can be read, or into a folder of the cluster"
            }
            _ if passing => "see whether the server works, then try again",
            _ => "check the chart's address",
        };
        Err(ChartError::new("chart/fetch", format!("fetching {url}: the server answered {}{said}", status.as_u16()), help).passing(passing))
    }

    async fn body(&self, url: &Url, response: Response, most: usize) -> Result<Vec<u8>, ChartError> {
        let announced = response.content_length();
        let mut bytes = Vec::new();
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            bytes.extend_from_slice(&chunk.map_err(|error| trouble(url, error))?);
            if bytes.len() > most {
                let summary = format!("fetching {url}: it is larger than {} MiB, and no chart is", most >> 20);
                return Err(ChartError::new("chart/fetch", summary, "check the chart's address"));
            }
        }
        if announced.is_some_and(|announced| announced != bytes.len() as u64) {
            let summary = format!("fetching {url}: it ended after {} of {} bytes", bytes.len(), announced.unwrap_or_default());
            return Err(ChartError::new("chart/fetch", summary, "try again").passing(true));
        }
        Ok(bytes)
    }

    /// The token that whoever asks may have, where the registry says it is given out.
    async fn token(&self, url: &Url, refused: &Response) -> Result<String, ChartError> {
        let wrong = |why: &str| {
            let help = "charts are fetched without a credential: put the chart where it can be read, or into a folder of the cluster";
            ChartError::new("chart/fetch", format!("fetching {url}: the registry answered 401, {why}"), help)
        };
        let mut challenges = refused.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let Some(challenge) = challenges.find_map(bearer) else {
            return Err(wrong("and asks for a user and a password"));
        };
        let mut realm = Url::parse(&challenge.realm).map_err(|_| wrong("and names no address that gives out tokens"))?;
        let plain = realm.scheme() == "http" && self.here && is_here(&realm);
        if realm.scheme() != "https" && !plain {
            return Err(wrong("and would have the token asked for without TLS"));
        }
        if is_here(&realm) && !self.here {
            return Err(wrong("and would have the token asked for on this machine"));
        }
        realm.query_pairs_mut().extend_pairs(challenge.rest);
        let response = self.get(&realm, "").await?;
        let response = self.answered(&realm, response).await?;
        let body = self.body(&realm, response, LARGEST_ANSWER).await?;
        let given: Token = serde_json::from_slice(&body).map_err(|_| wrong("and whoever gives out tokens gave none"))?;
        let token = given.token.or(given.access_token).filter(|token| !token.is_empty());
        token
            .filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()))
            .ok_or_else(|| wrong("and whoever gives out tokens gave none"))
    }
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Where a token is given out, and for what.
#[derive(Debug, PartialEq, Eq)]
struct Challenge {
    realm: String,
    rest: Vec<(String, String)>,
}

/// Reads `Bearer realm="…",service="…",scope="…"`.
fn bearer(text: &str) -> Option<Challenge> {
    let (scheme, mut rest) = text.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut challenge = Challenge { realm: String::new(), rest: Vec::new() };
    loop {
        let (name, after) = rest.trim_start_matches([' ', ',']).split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        match name.to_ascii_lowercase().as_str() {
            "realm" => value.clone_into(&mut challenge.realm),
            "service" | "scope" => challenge.rest.push((name.to_ascii_lowercase(), value.to_owned())),
            _ => {}
        }
        rest = after;
        if rest.trim_matches([' ', ',']).is_empty() {
            return Some(challenge).filter(|challenge| !challenge.realm.is_empty());
        }
    }
}

fn trouble(url: &Url, error: reqwest::Error) -> ChartError {
    let passing = !error.is_redirect();
    let summary = format!("fetching {url}: {}", trust::reason(&error.without_url()));
    ChartError::new("chart/fetch", summary, "check the chart's address, and that this machine reaches it").passing(passing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_says_where_tokens_are() {
        let challenge =
            bearer("Bearer realm=\"https://auth.example.com/token\",service=\"registry.example.com\",scope=\"repository:a/b:pull,push\"");
        let rest = [("service", "registry.example.com"), ("scope", "repository:a/b:pull,push")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(challenge, Some(Challenge { realm: "https://auth.example.com/token".to_owned(), rest: rest.into() }));
        assert_eq!(
            bearer("bearer realm=https://a.example, error=\"x\"").map(|challenge| challenge.realm),
            Some("https://a.example".to_owned())
        );
        for none in ["Basic realm=\"x\"", "Bearer", "Bearer realm", "Bearer realm=\"x", "Bearer service=\"x\""] {
            assert_eq!(bearer(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_on_the_shelf_is_believed_by_its_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf(Some(folder.path().to_owned()));
        let name = digest(b"chart");
        assert_eq!(shelf.find(&name), None);
        shelf.keep(&name, b"chart");
        assert_eq!(shelf.find(&name).as_deref(), Some(&b"chart"[..]));
        let kept = shelf.place(&name).expect("a place");
        fs::write(kept, b"other").expect("a file");
        assert_eq!(shelf.find(&name), None);
        assert_eq!(shelf.place("sha256:../../x"), None);
    }
}
