//! Storages of a host: how full they are, what is on them, and how things get there.

mod content;
mod download;
mod status;
mod upload;

use crate::call::{Fail, Route};
use crate::schema::volume::normalize_content_filename;
use crate::storage::{Kind, die};
use crate::{Release, StorageSpec};

/// Who answers what.
pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/storage", status::list),
    ("GET", "/nodes/{node}/storage/{storage}", status::index),
    ("GET", "/nodes/{node}/storage/{storage}/status", status::status),
    ("GET", "/nodes/{node}/storage/{storage}/content", content::list),
    ("POST", "/nodes/{node}/storage/{storage}/content", content::alloc),
    ("GET", "/nodes/{node}/storage/{storage}/content/{volume}", content::show),
    ("PUT", "/nodes/{node}/storage/{storage}/content/{volume}", content::note),
    ("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", content::delete),
    ("POST", "/nodes/{node}/storage/{storage}/upload", upload::upload),
    ("POST", "/nodes/{node}/storage/{storage}/download-url", download::download),
    ("GET", "/nodes/{node}/query-url-metadata", download::metadata),
];

/// A file that is to be put on a storage.
#[derive(Debug, Clone)]
struct NewFile {
    host: String,
    storage: String,
    content: String,
    /// Normalised.
    name: String,
    format: String,
    path: String,
}

impl NewFile {
    fn volid(&self) -> String {
        format!("{}:{}/{}", self.storage, self.content, self.name)
    }
}

/// Checks name and content of a new file.
fn new_file(release: Release, spec: &StorageSpec, host: &str, content: &str, name: &str) -> Result<NewFile, Fail> {
    let name = normalize_content_filename(name);
    let lower = name.to_lowercase();
    let wrong = |text: &str| Fail::param("filename", text);
    let format = match content {
        "iso" if [".iso", ".img"].iter().any(|end| lower.len() > end.len() && lower.ends_with(end)) => "iso",
        "iso" => return Err(wrong("wrong file extension")),
        "vztmpl" => {
            let mut endings = vec![".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2"];
            endings.extend((release == Release::V9).then_some(".tar"));
            let found = endings.iter().find(|end| name.len() > end.len() && name.ends_with(**end));
            found.map(|end| end.trim_start_matches(".tar").trim_start_matches('.')).ok_or_else(|| wrong("wrong file extension"))?
        }
        _ => {
            let found = ["ova", "qcow2", "raw", "vmdk"]
                .into_iter()
                .find(|end| name.strip_suffix(&format!(".{end}")).is_some_and(|front| !front.is_empty()));
            found.ok_or_else(|| wrong("invalid filename or wrong extension"))?
        }
    };
    Ok(NewFile {
        host: host.to_owned(),
        storage: spec.id.clone(),
        content: content.to_owned(),
        path: spec.path(&format!("{content}/{name}"), content),
        format: format.to_owned(),
        name,
    })
}

/// The volume of a path, which may or may not name the storage.
fn volume_id(storage: &str, volume: &str) -> Result<String, Fail> {
    match crate::schema::volume::parse_volume_id(volume) {
        Ok((id, _)) if id != storage => Err(Fail::param("volume", format!("storage ID mismatch ({id} != {storage})\n"))),
        Ok(_) => Ok(volume.to_owned()),
        Err(_) if storage.is_empty() => Err(die("no storage ID specified")),
        Err(_) => Ok(format!("{storage}:{volume}")),
    }
}
