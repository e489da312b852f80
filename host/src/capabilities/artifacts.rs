//! Bytes that somebody else serves: where they are, and what they are down to the byte.
//!
//! A plugin names them by a slot; whoever downloads them (a hypervisor) needs the real address and a digest. Nobody publishes one,
//! so the host reads the bytes once, without a credential: that is how the hypervisor will read them.

use std::time::Duration;

use futures::StreamExt;
use reqwest::{StatusCode, Url};
use sha2::{Digest, Sha256};

use super::slots::{CONNECT_TIMEOUT, CheckedResolver, DOMAIN, Slots, Target, forbidden, join};
use super::tls;
use crate::bindings::emhost::plugin::types::ImageFormat;
use crate::redact::{one_line, printable};

/// A factory builds an image when it is asked for the first time, which takes minutes.
const SILENCE: Duration = Duration::from_mins(10);
/// No image of an operating system is larger.
const LARGEST: u64 = 32 << 30;
/// How much of the beginning says what it is: as far as the label of an ISO.
const BEGINNING: usize = 32 * 1024 + 6;
/// How often a server may send on.
const REDIRECTS: usize = 5;

/// What a plugin named by a slot, with its real address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The slot.
    pub slot: String,
    /// Where it really is.
    pub url: String,
    /// What it is called wherever it is: the slot and the path in it.
    pub key: String,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// `sha256:` and the digest.
    pub digest: String,
    /// How many bytes.
    pub size: u64,
}

/// Why it could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// What was tried, and what was answered.
    pub summary: String,
    /// What to do.
    pub help: Option<String>,
    /// Whether another try may help.
    pub passing: bool,
}

impl Unread {
    fn new(summary: String, help: &str) -> Self {
        Self { summary, help: Some(help.to_owned()), passing: false }
    }
}

impl Slots {
    /// The real address of what a plugin named as `https://SLOT.emhost.internal/…`.
    ///
    /// # Errors
    /// Why it has none, as a person reads it.
    pub fn locate(&self, url: &str) -> Result<Located, String> {
        let shown = || one_line(url, 200);
        let parsed = Url::parse(url).map_err(|error| format!("`{}` is no URL: {error}", shown()))?;
        let slot = parsed.host_str().and_then(|host| host.strip_suffix(DOMAIN));
        let plain = parsed.scheme() == "https" && parsed.port().is_none() && parsed.username().is_empty() && parsed.password().is_none();
        let Some(name) = slot.filter(|slot| plain && super::policy::is_name(slot)) else {
            return Err(format!("`{}` is no slot: it is written https://SLOT{DOMAIN}/…", shown()));
        };
        let Some(slot) = self.get(name) else {
            return Err(format!("`{}` is in slot `{name}`, which no site.yaml binds", shown()));
        };
        let Target::Url(base) = &slot.target else {
            return Err(format!("`{}` is in slot `{name}`, which leads to nodes and not to a server", shown()));
        };
        let query = parsed.query().map_or_else(String::new, |query| format!("?{query}"));
        let path = format!("{}{query}", parsed.path());
        Ok(Located { slot: name.to_owned(), url: join(base, &path).to_string(), key: format!("{name}{path}") })
    }

    /// Reads all of it once and says what it is. `seen` is told how much was read, and of how much where that is known.
    ///
    /// # Errors
    /// Why it could not be read, or that it is no image.
    pub async fn read(&self, located: &Located, format: ImageFormat, seen: impl Fn(u64, Option<u64>)) -> Result<Read, Unread> {
        let what = || format!("reading {}", located.url);
        let client = self.reader(&located.slot).map_err(|why| Unread::new(format!("{}: {why}", what()), "check the slot in site.yaml"))?;
        let trouble = |error: reqwest::Error| {
            let passing = !error.is_redirect();
            let (why, help) = tls::diagnose(&error.without_url()).explain(&located.slot);
            Unread { summary: format!("{}: {why}", what()), help, passing }
        };
        let response = client.get(&located.url).send().await.map_err(trouble)?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(&what(), status, &beginning_of(response).await));
        }
        let announced = response.content_length();
        let (mut hash, mut size, mut beginning) = (Sha256::new(), 0u64, Vec::new());
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(trouble)?;
            size = size.saturating_add(chunk.len() as u64);
            if size > LARGEST {
                return Err(Unread::new(
                    format!("{}: it is larger than {} GiB, and no image is", what(), LARGEST >> 30),
                    "check the slot's `url:` in site.yaml",
                ));
            }
            hash.update(&chunk);
            let wanted = BEGINNING.saturating_sub(beginning.len()).min(chunk.len());
            beginning.extend_from_slice(&chunk[..wanted]);
            seen(size, announced);
        }
        if announced.is_some_and(|announced| announced != size) {
            let summary = format!("{}: it ended after {size} of {} bytes", what(), announced.unwrap_or_default());
            return Err(Unread { summary, help: None, passing: true });
        }
        if !is_image(format, &beginning) {
            let summary = format!("{}: the {size} bytes that were served are no {} image: {}", what(), name(format), looks(&beginning));
            return Err(Unread::new(summary, "open the address in a browser, and check the slot's `url:` in site.yaml"));
        }
        Ok(Read { digest: format!("sha256:{}", crate::plugins::hex(&hash.finalize())), size })
    }

    /// Reads a text that a slot leads to, or that somebody serves over HTTPS, without a credential.
    ///
    /// # Errors
    /// Why it could not be read.
    pub async fn read_text(&self, url: &str, largest: usize) -> Result<Vec<u8>, Unread> {
        let shown = one_line(url, 200);
        let fail = |why: &str| {
            Unread::new(format!("reading {shown}: {why}"), "name a file of the cluster's folder, or an address that begins with https://")
        };
        let parsed = Url::parse(url).map_err(|error| fail(&format!("it is no URL: {error}")))?;
        let (address, client, slot) = if parsed.host_str().is_some_and(|host| host.ends_with(DOMAIN)) {
            let located = self.locate(url).map_err(|why| fail(&why))?;
            (located.url, self.reader(&located.slot).map_err(|why| fail(&why))?, located.slot)
        } else {
            let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
            if parsed.scheme() != "https" || !parsed.username().is_empty() || parsed.password().is_some() {
                return Err(fail("only https:// without a user is read"));
            }
            if let Some(why) = host.parse().ok().and_then(forbidden) {
                return Err(fail(&format!("it leads to {why}")));
            }
            let tls = tls::client(&tls::Trust::System, None).map_err(|error| fail(&error.to_string()))?;
            (url.to_owned(), follower(tls, true).map_err(|why| fail(&why))?, String::new())
        };
        let trouble = |error: reqwest::Error| {
            let passing = !error.is_redirect();
            let (why, help) = tls::diagnose(&error.without_url()).explain(&slot);
            Unread { summary: format!("reading {shown}: {why}"), help, passing }
        };
        let response = client.get(address).send().await.map_err(trouble)?;
        let status = response.status();
        if !status.is_success() {
            let said = beginning_of(response).await;
            return Err(Unread { help: Some("check the address".to_owned()), ..refused(&format!("reading {shown}"), status, &said) });
        }
        let (announced, mut bytes) = (response.content_length(), Vec::new());
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            bytes.extend_from_slice(&chunk.map_err(trouble)?);
            if bytes.len() > largest {
                return Err(fail(&format!("it is larger than {} MiB", largest >> 20)));
            }
        }
        if announced.is_some_and(|announced| announced != bytes.len() as u64) {
            let summary = format!("reading {shown}: it ended after {} bytes", bytes.len());
            return Err(Unread { summary, help: None, passing: true });
        }
        Ok(bytes)
    }

    /// A client that follows where servers of images send it, as the hypervisor's does, and shows no credential to anybody.
    fn reader(&self, slot: &str) -> Result<reqwest::Client, String> {
        let slot = self.get(slot).ok_or("the slot is not bound")?;
        let tls = tls::client(&slot.trust, None).map_err(|error| error.to_string())?;
        follower(tls, matches!(&slot.target, Target::Url(base) if base.scheme() == "https"))
    }
}

pub(crate) fn follower(tls: rustls::ClientConfig, secure: bool) -> Result<reqwest::Client, String> {
    let follow = reqwest::redirect::Policy::custom(move |attempt| {
        if attempt.previous().len() > REDIRECTS {
            return attempt.error("it is sent on and on");
        }
        let host = attempt.url().host_str().unwrap_or_default().trim_matches(['[', ']']);
        let same = attempt.previous().first().is_some_and(|first| first.host_str() == attempt.url().host_str());
        let inward = host.parse().is_ok_and(|address| forbidden(address).is_some());
        if (secure && attempt.url().scheme() != "https") || (inward && !same) {
            return attempt.error("it is sent on to where nothing may be read");
        }
        attempt.follow()
    });
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(follow)
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE)
        .http1_only()
        .dns_resolver(std::sync::Arc::new(CheckedResolver))
        .build()
        .map_err(|error| error.to_string())
}

/// What a server that gave no image says instead, cut short.
async fn beginning_of(mut response: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < 500 {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    one_line(&printable(&String::from_utf8_lossy(&bytes)), 300)
}

fn refused(what: &str, status: StatusCode, said: &str) -> Unread {
    let said = if said.trim().is_empty() { String::new() } else { format!(": {said}") };
    // Whoever is busy, or builds it and gives up waiting, may have it next time.
    let passing = status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    let help = match status {
        StatusCode::NOT_FOUND => "check the version in cluster.yaml and the slot's `url:` in site.yaml",
        StatusCode::BAD_REQUEST => "check version and extensions in cluster.yaml: the server says what it does not have",
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYMENT_REQUIRED => {
            "images have to be readable without a credential, because the hypervisor reads them; check the slot's `url:` in site.yaml"
        }
        _ if passing => "see whether the server works, then try again",
        _ => "check the slot's `url:` in site.yaml",
    };
    Unread { summary: format!("{what}: the server answered {}{said}", status.as_u16()), help: Some(help.to_owned()), passing }
}

fn name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Iso => "ISO",
        ImageFormat::Raw => "raw disk",
        ImageFormat::RawGz => "raw.gz",
        ImageFormat::RawXz => "raw.xz",
        ImageFormat::RawZst => "raw.zst",
        ImageFormat::Qcow2 => "qcow2",
    }
}

/// Whether bytes that begin like this can be such an image.
fn is_image(format: ImageFormat, beginning: &[u8]) -> bool {
    match format {
        ImageFormat::Iso => beginning.get(32 * 1024 + 1..).is_some_and(|label| label.starts_with(b"CD001")),
        // The mark of a boot sector, which a GPT disk has too.
        ImageFormat::Raw => beginning.get(510..512) == Some(&[0x55, 0xaa]),
        ImageFormat::RawGz => beginning.starts_with(&[0x1f, 0x8b]),
        ImageFormat::RawXz => beginning.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]),
        ImageFormat::RawZst => beginning.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        ImageFormat::Qcow2 => beginning.starts_with(b"QFI\xfb"),
    }
}

fn looks(beginning: &[u8]) -> String {
    if beginning.is_empty() {
        return "nothing was served".to_owned();
    }
    let start = &beginning[..beginning.len().min(60)];
    let text = one_line(&printable(&String::from_utf8_lossy(start)), 60);
    let page = text.trim_start().to_ascii_lowercase();
    if page.starts_with("<!doctype html") || page.starts_with("<html") {
        "it is a web page".to_owned()
    } else {
        format!("it begins with `{text}`")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::inventory::site::SlotConfig;
    use crate::redact::Redactor;

    fn slots(yaml: &str) -> Slots {
        let configs: BTreeMap<String, SlotConfig> = serde_saphyr::from_str(yaml).expect("yaml");
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let secrets = Arc::new(super::super::secrets::MemorySecrets::default());
        Slots::bind(&configs, secrets, Redactor::new(), &none).expect("slots")
    }

    /// Answers these, one connection each, and gives back what was asked.
    fn serve(answers: Vec<Vec<u8>>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).expect("a request");
                    request.push(byte[0]);
                }
                asked.push(String::from_utf8_lossy(&request).into_owned());
                stream.write_all(&answer).expect("an answer");
            }
            asked
        });
        (url, asked)
    }

    fn ok(body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    async fn read(answers: Vec<Vec<u8>>, format: ImageFormat) -> (Result<Read, Unread>, u64, Vec<String>) {
        let (url, asked) = serve(answers);
        let slots = slots(&format!("images: {{url: '{url}/base'}}"));
        let located = slots.locate("https://images.emhost.internal/image/abc/v1/x?y=1").expect("located");
        assert_eq!((located.url, located.key.as_str()), (format!("{url}/base/image/abc/v1/x?y=1"), "images/image/abc/v1/x?y=1"));
        let located = slots.locate("https://images.emhost.internal/image/abc/v1/x").expect("located");
        let seen = AtomicU64::new(0);
        let read = slots.read(&located, format, |bytes, _| seen.store(bytes, Ordering::Relaxed)).await;
        (read, seen.into_inner(), asked.join().expect("a server"))
    }

    #[tokio::test]
    async fn an_image_is_read_once_and_known_by_its_digest() {
        let image = [b"QFI\xfb".to_vec(), vec![7; 100_000]].concat();
        let moved = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
        let (read, seen, asked) = read(vec![moved, ok(&image)], ImageFormat::Qcow2).await;
        let digest = format!("sha256:{}", crate::plugins::hex(&Sha256::digest(&image)));
        assert_eq!(read, Ok(Read { digest, size: 100_004 }));
        assert_eq!(seen, 100_004);
        assert!(asked[1].starts_with("GET /elsewhere "), "{asked:?}");
        assert!(!asked.concat().to_ascii_lowercase().contains("authorization"), "{asked:?}");
    }

    #[tokio::test]
    async fn what_is_no_image_is_refused_in_plain_words() {
        let cases: [(Vec<u8>, &str, bool); 7] = [
            (ok(b"not found"), "the 9 bytes that were served are no qcow2 image: it begins with `not found`", false),
            (ok(b"<!DOCTYPE html><html>log in</html>"), "it is a web page", false),
            (ok(b""), "nothing was served", false),
            (
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\nconnection: close\r\n\r\nno such".to_vec(),
                "the server answered 404: no such",
                false,
            ),
            (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(), "the server answered 503", true),
            (
                b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
                "nothing may be read",
                false,
            ),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\nQFI\xfb".to_vec(), "reading http://127.0.0.1", true),
        ];
        for (answer, part, passing) in cases {
            let (read, _, _) = read(vec![answer], ImageFormat::Qcow2).await;
            let unread = read.expect_err(part);
            assert!(unread.summary.contains(part), "{}", unread.summary);
            assert_eq!(unread.passing, passing, "{}", unread.summary);
        }
    }

    #[test]
    fn every_format_has_its_mark() {
        let iso = [vec![0; 32 * 1024 + 1], b"CD001\x01".to_vec()].concat();
        let raw = [vec![0; 510], vec![0x55, 0xaa]].concat();
        for (format, bytes) in [
            (ImageFormat::Iso, iso.as_slice()),
            (ImageFormat::Raw, &raw),
            (ImageFormat::RawGz, &[0x1f, 0x8b, 8]),
            (ImageFormat::RawXz, b"\xfd7zXZ\0\0"),
            (ImageFormat::RawZst, &[0x28, 0xb5, 0x2f, 0xfd]),
            (ImageFormat::Qcow2, b"QFI\xfb\0"),
        ] {
            assert!(is_image(format, bytes), "{format:?}");
            assert!(!is_image(format, b"<html>"), "{format:?}");
        }
    }

    #[test]
    fn only_slots_with_a_server_have_addresses() {
        let slots = slots("images: {url: 'https://x'}\ntalos: {port: 50000}");
        for (url, part) in [
            ("https://factory.talos.dev/image/x", "is no slot"),
            ("http://images.emhost.internal/x", "is no slot"),
            ("https://images.emhost.internal:8443/x", "is no slot"),
            ("https://other.emhost.internal/x", "no site.yaml binds"),
            ("https://talos.emhost.internal/x", "leads to nodes"),
            ("nonsense", "is no URL"),
        ] {
            let error = slots.locate(url).expect_err(url);
            assert!(error.contains(part), "{url}: {error}");
        }
    }
}
