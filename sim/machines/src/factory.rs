//! The Image Factory: schematics in, images out (facts/talos.md §5).

mod answer;
mod build;
mod catalogue;
mod extensions;
mod installer;
mod registry;
pub mod schematic;
mod serve;

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use emhost_sim_kit::certificates::{Algorithm, Authority, CertificateError};
use emhost_sim_kit::{Audit, Dials, Store};
use http::{Method, StatusCode};
use serde_json::json;

pub use build::BuildError;
pub use catalogue::Version;
pub use emhost_schematic::Schematic;
pub use installer::NoInstaller;
pub use serve::Serving;

use answer::Answer;
use build::Asset;

/// Where schematics are kept.
const SCHEMATICS: &str = "factory/schematic/";
/// The certificate that signed images carry.
const SIGNER: &str = "factory/signing-cert";
/// What everybody calls the real one.
const PUBLIC: &str = "factory.talos.dev";

/// An Image Factory.
#[derive(Debug)]
pub struct Factory {
    store: Arc<Store>,
    audit: Arc<Audit>,
    dials: Arc<Dials>,
    signer: String,
    /// Hosts under which installers of this factory are asked for.
    names: Mutex<BTreeSet<String>>,
    /// Images that were built before, which are there at once.
    built: Mutex<BTreeSet<String>>,
}

impl Factory {
    /// Opens the factory of a site.
    ///
    /// # Errors
    /// The store cannot be read or written, or no certificate can be made.
    pub fn new(store: Arc<Store>, audit: Arc<Audit>, dials: Arc<Dials>) -> io::Result<Arc<Self>> {
        let kept: Option<String> = store.get(SIGNER)?;
        let signer = kept.map_or_else(certificate, Ok).map_err(io::Error::other)?;
        store.put(SIGNER, &signer)?;
        let names = Mutex::new(BTreeSet::from([PUBLIC.to_owned()]));
        let factory = Self { store, audit, dials, signer, names, built: Mutex::default() };
        // Somebody has asked the real one for plain Talos long ago.
        factory.keep(&Schematic::default())?;
        Ok(Arc::new(factory))
    }

    fn dials(&self) -> &Dials {
        &self.dials
    }

    fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Takes installers under this host, such as `127.1.255.2:443`, for its own too.
    pub fn known_as(&self, host: &str) {
        lock(&self.names).insert(host.to_owned());
    }

    fn is_ours(&self, host: &str) -> bool {
        lock(&self.names).contains(host)
    }

    /// Keeps a schematic and gives its id.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, schematic: &Schematic) -> io::Result<String> {
        let id = schematic.id();
        self.store.put(&format!("{SCHEMATICS}{id}"), &schematic.canonical())?;
        Ok(id)
    }

    /// The schematic of an id that somebody asked for before.
    pub fn schematic(&self, id: &str) -> Option<Schematic> {
        let text: String = self.store.get(&format!("{SCHEMATICS}{id}")).ok().flatten()?;
        schematic::parse(&text).ok()
    }

    async fn answer(&self, method: &Method, path: &str, query: &str, base: &str, body: &[u8]) -> Answer {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let reads = *method == Method::GET;
        let looks = reads || *method == Method::HEAD;
        match parts.as_slice() {
            ["schematics"] if *method == Method::POST => self.create(body),
            ["schematics", id] if reads => match self.schematic(id) {
                Some(schematic) => Answer::new(StatusCode::OK).header("content-type", "application/yaml").body(schematic.canonical()),
                None => Answer::missing("schematic not found"),
            },
            ["versions"] if reads && query.split('&').any(|part| part == "broken=true") => Answer::json(StatusCode::OK, &json!([])),
            ["versions"] if reads => {
                let list: Vec<String> = catalogue::versions().iter().map(|version| format!("v{version}")).collect();
                Answer::json(StatusCode::OK, &list)
            }
            ["version", version, "extensions", "official"] if reads => {
                listed(version, |version| Answer::json(StatusCode::OK, &catalogue::extensions(version)))
            }
            ["version", version, "overlays", "official"] if reads => {
                listed(version, |version| Answer::json(StatusCode::OK, &catalogue::overlays(version)))
            }
            ["image", id, version, file] if looks => self.image(id, version, file, query).await,
            ["pxe", id, version, file] if reads => self.pxe(id, version, file, base),
            ["secureboot", "signing-cert.pem"] if reads => {
                Answer::new(StatusCode::OK).header("content-type", "application/x-pem-file").body(self.signer.clone())
            }
            ["v2", rest @ ..] if looks => self.registry(rest),
            ["healthz" | "readyz"] if looks => Answer::new(StatusCode::OK),
            ["schematics" | "versions"] | ["schematics", _] | ["image" | "pxe", _, _, _] => {
                Answer::text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            }
            _ => Answer::missing("404 page not found"),
        }
    }

    fn create(&self, body: &[u8]) -> Answer {
        let parsed = std::str::from_utf8(body).map_err(|_| "yaml: invalid UTF-8".to_owned()).and_then(schematic::parse);
        let schematic = match parsed {
            Ok(schematic) => schematic,
            Err(why) => return Answer::text(StatusCode::BAD_REQUEST, &why),
        };
        let new = self.schematic(&schematic.id()).is_none();
        let Ok(id) = self.keep(&schematic) else { return Answer::failed() };
        let answer = Answer::json(StatusCode::CREATED, &json!({ "id": id, "schematic": schematic.canonical() }));
        if new { answer.changed(format!("schematic {id} created")) } else { answer }
    }

    /// The file, or the answer that says why there is none.
    fn asset(&self, id: &str, version: &str, file: &str) -> Result<(Asset, emhost_sim_kit::Image), Answer> {
        let schematic = self.schematic(id).ok_or_else(|| Answer::missing(&format!("schematic ID {id:?} not found")))?;
        let version = Version::parse(version).ok_or_else(Answer::failed)?;
        let refused = |error: BuildError| match error {
            BuildError::Invalid(why) => Answer::text(StatusCode::BAD_REQUEST, &why),
            error @ BuildError::NoVersion(_) => Answer::missing(&error.to_string()),
        };
        let asset = Asset::parse(file).map_err(refused)?;
        if !version.is_released() {
            return Err(refused(BuildError::NoVersion(version)));
        }
        let image = asset.image(id, &schematic, version).map_err(refused)?;
        Ok((asset, image))
    }

    async fn image(&self, id: &str, version: &str, file: &str, query: &str) -> Answer {
        if [".sha256", ".sha512", ".sigstore.json"].iter().any(|suffix| file.ends_with(suffix)) {
            return Answer::text(StatusCode::PAYMENT_REQUIRED, "enterprise not enabled: checksum endpoint is not available");
        }
        let (asset, image) = match self.asset(id, version, file) {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        let first = lock(&self.built).insert(format!("{id}/{}/{file}", image.version));
        self.dials.wait("factory image", Duration::from_secs(if first { 40 } else { 4 })).await;
        let name = query.split('&').find_map(|part| part.strip_prefix("filename=")).unwrap_or(file);
        let safe: String = name.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect();
        Answer::new(StatusCode::OK)
            .header("content-type", content_type(file))
            .header("content-disposition", &format!("attachment; filename=\"{safe}\""))
            .body(asset.bytes(&image))
    }

    fn pxe(&self, id: &str, version: &str, file: &str, base: &str) -> Answer {
        match self.asset(id, version, &format!("cmdline-{file}")) {
            Ok((asset, image)) => {
                Answer::new(StatusCode::OK).header("content-type", "text/plain; charset=utf-8").body(asset.pxe(&image, base))
            }
            Err(answer) => answer,
        }
    }
}

fn listed(version: &str, list: impl Fn(Version) -> Answer) -> Answer {
    match Version::parse(version) {
        Some(version) if version.is_released() => list(version),
        Some(version) => Answer::missing(&format!("version {version} is not available")),
        None => Answer::failed(),
    }
}

fn content_type(file: &str) -> &'static str {
    match file.rsplit_once('.').map(|(_, extension)| extension) {
        Some("efi") => "application/efi",
        Some("iso") => "application/x-iso9660-image",
        Some("xz") => "application/x-xz",
        Some("gz") => "application/gzip",
        Some("zst") => "application/zstd",
        Some("qcow2") => "application/x-qemu-disk",
        Some("tar") => "application/x-tar",
        _ => "application/octet-stream",
    }
}

fn certificate() -> Result<String, CertificateError> {
    let ten_years = Duration::from_hours(87_600);
    Authority::generate(Algorithm::P256, "Sidero Labs, Inc. (simulated)", "", ten_years).map(|authority| authority.pem())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
