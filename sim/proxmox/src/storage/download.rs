//! Fetching files from the outside, which for the hosts of a simulated site is
//! only what the site names and what is on loopback.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::Spec;

/// What came back.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Content-Length of a HEAD request.
    pub length: Option<u64>,
    /// Content-Type.
    pub kind: Option<String>,
    /// Content-Disposition.
    pub disposition: Option<String>,
    /// The body; empty for HEAD.
    pub bytes: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfetched {
    /// The name is not known here.
    Unknown { host: String },
    /// Nobody answers.
    Refused { host: String, port: u16 },
    /// The certificate is not trusted.
    Untrusted { host: String, port: u16 },
    /// An answer that is not 200.
    Status { code: u16, reason: String },
    /// The connection broke.
    Broken,
}

impl Unfetched {
    /// The last line of `wget`, which becomes the text of the failed task.
    pub fn wget(&self) -> String {
        match self {
            Self::Unknown { host } => format!("wget: unable to resolve host address '{host}'"),
            Self::Refused { host, port } => format!("Connecting to {host}:{port}... failed: Connection refused."),
            Self::Untrusted { host, .. } => format!("To connect to {host} insecurely, use `--no-check-certificate'."),
            Self::Status { code, reason } => {
                let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S");
                format!("{now} ERROR {code}: {reason}.")
            }
            Self::Broken => "Read error at byte 0 (Connection reset by peer).".to_owned(),
        }
    }

    /// The status line of LWP, which asks for the head of a URL.
    pub fn lwp(&self) -> String {
        match self {
            Self::Unknown { host } => format!("500 Can't connect to {host}:443 (Name or service not known)"),
            Self::Refused { host, port } => format!("500 Can't connect to {host}:{port} (Connection refused)"),
            Self::Untrusted { host, port } => format!("500 Can't connect to {host}:{port} (certificate verify failed)"),
            Self::Status { code, reason } => format!("{code} {reason}"),
            Self::Broken => "500 read timeout".to_owned(),
        }
    }
}

/// Fetches a URL as a host of the site would.
pub(crate) async fn fetch(spec: &Spec, url: &str, verify: bool, head: bool) -> Result<Fetched, Unfetched> {
    let parsed = reqwest::Url::parse(url).map_err(|_| Unfetched::Unknown { host: url.to_owned() })?;
    let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = parsed.port_or_known_default().unwrap_or(443);
    let mut builder = reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls(spec, verify));
    for (name, address) in &spec.resolve {
        builder = builder.resolve(name, *address);
    }
    let allowed = spec.resolve.keys().cloned().collect::<Vec<_>>();
    let may = move |host: &str| {
        host == "localhost"
            || allowed.iter().any(|name| name == host)
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    if !may(&host) {
        return Err(Unfetched::Unknown { host });
    }
    // Redirects must not lead out of the site either.
    let policy = reqwest::redirect::Policy::custom(move |attempt| {
        let inside = attempt.url().host_str().is_some_and(&may);
        if !inside || attempt.previous().len() > 20 { attempt.stop() } else { attempt.follow() }
    });
    let client = builder.redirect(policy).build().map_err(|_| Unfetched::Broken)?;
    let request = if head { client.head(url) } else { client.get(url) };
    let answer = request.send().await.map_err(|error| unfetched(&error, host, port))?;
    let status = answer.status();
    if status.as_u16() != 200 {
        let reason = status.canonical_reason().unwrap_or_default().to_owned();
        return Err(Unfetched::Status { code: status.as_u16(), reason });
    }
    let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    let (kind, disposition) = (header("content-type"), header("content-disposition"));
    let length = header("content-length").and_then(|text| text.parse().ok());
    let bytes = if head { Vec::new() } else { answer.bytes().await.map_err(|_| Unfetched::Broken)?.to_vec() };
    Ok(Fetched { length, kind, disposition, bytes })
}

fn unfetched(error: &reqwest::Error, host: String, port: u16) -> Unfetched {
    if !error.is_connect() {
        return Unfetched::Broken;
    }
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.downcast_ref::<rustls::Error>().is_some() || inner.to_string().contains("certificate") {
            return Unfetched::Untrusted { host, port };
        }
        cause = inner.source();
    }
    Unfetched::Refused { host, port }
}

fn tls(spec: &Spec, verify: bool) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(spec.trust.iter().map(|der| CertificateDer::from(der.clone())));
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider);
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    // Ring has both versions; without them nothing could be fetched at all.
    let Ok(builder) = builder.with_protocol_versions(&versions) else {
        return ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    };
    if verify {
        return builder.with_root_certificates(roots).with_no_client_auth();
    }
    let anybody = Arc::new(Anybody(algorithms));
    builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth()
}

/// Trusts every certificate: `verify-certificates=0`.
#[derive(Debug)]
struct Anybody(rustls::crypto::WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// The checksum a file must have.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    /// `sha256`, …
    pub algorithm: String,
    /// Hexadecimal.
    pub expected: String,
}

impl Checksum {
    /// What the bytes give, if it is something else.
    pub fn differs(&self, bytes: &[u8]) -> Option<String> {
        let got = match self.algorithm.as_str() {
            "md5" => hex(&md5::Md5::digest(bytes)),
            "sha1" => hex(&Sha1::digest(bytes)),
            "sha224" => hex(&Sha224::digest(bytes)),
            "sha384" => hex(&Sha384::digest(bytes)),
            "sha512" => hex(&Sha512::digest(bytes)),
            _ => hex(&Sha256::digest(bytes)),
        };
        (!got.eq_ignore_ascii_case(&self.expected)).then_some(got)
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Unpacks what was downloaded, as far as Proxmox can (facts §8).
pub(crate) fn unpack(bytes: &[u8], compression: &str) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let mut unpacked = Vec::new();
    let read = match compression {
        "gz" => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut unpacked).map_err(|_| "gzip: not in gzip format"),
        "zst" => ruzstd::decoding::StreamingDecoder::new(bytes)
            .map_err(|_| ())
            .and_then(|mut decoder| decoder.read_to_end(&mut unpacked).map_err(|_| ()))
            .map_err(|()| "zstd: unsupported format"),
        // `lzo` and `bz2` are known to Proxmox; nobody packs Talos with them.
        _ => return Err("no decompression method found".to_owned()),
    };
    read.map(|_| unpacked).map_err(|text| format!("command '{compression}' failed: {text}"))
}
