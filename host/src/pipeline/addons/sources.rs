//! Manifests that the host reads itself: files and folders of the cluster's folder, and addresses that are pinned by their digest.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use super::super::run::Run;
use crate::diagnostic::Diagnostic;
use crate::kube::documents::LARGEST;
use crate::plugins::lock::{Image, Lock, LockError};
use crate::redact::one_line;

/// The most files that are read for one source, and how deep folders are followed.
const MOST: usize = 1000;
const DEEPEST: usize = 8;
/// How often an address is tried.
const TRIES: u32 = 3;

/// A text with manifests.
pub(super) struct Text {
    /// Where it was read.
    pub from: String,
    pub body: String,
    /// What is to be pinned when it is applied for the first time.
    pub pin: Option<(String, Image)>,
}

/// The digests of manifests that come from elsewhere, as `emhost.lock` has them; and the folder that files are read from.
#[derive(Default)]
pub struct Pins {
    folder: PathBuf,
    locked: bool,
    known: Mutex<BTreeMap<String, Image>>,
}

impl Pins {
    /// What the lock file of a cluster's folder says. `locked`: nothing may be added to it.
    pub fn new(folder: PathBuf, known: BTreeMap<String, Image>, locked: bool) -> Self {
        Self { folder, locked, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Image>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what an address was when it was planned.
    pub(super) fn keep(&self, address: &str, image: &Image) -> Result<(), LockError> {
        // One at a time: each reads the file, adds to it, and writes it.
        let mut known = self.known();
        if !known.contains_key(address) {
            Lock::pin_manifest(&self.folder, address, image)?;
            known.insert(address.to_owned(), image.clone());
        }
        Ok(())
    }
}

/// What the lock file says, for a person: what, the story, and what to do.
pub(super) fn refusal(error: &LockError) -> Diagnostic {
    let text = error.to_string();
    let mut lines: Vec<&str> = text.lines().collect();
    let help = (lines.len() > 1).then(|| lines.pop().unwrap_or_default().to_owned());
    let mut diagnostic = Diagnostic::error("lock/manifest", lines.first().copied().unwrap_or_default()).help(help);
    diagnostic.detail = (lines.len() > 1).then(|| lines[1..].join("\n"));
    diagnostic
}

impl Run {
    /// The texts of one source of an addon.
    pub(super) async fn source(&self, addon: &str, source: &str) -> Result<Vec<Text>, Box<Diagnostic>> {
        let shown = one_line(source, 200);
        if source.contains("://") {
            return Ok(vec![self.address(addon, source).await?]);
        }
        let fail = |why: &std::io::Error| {
            let summary = format!("addon {addon}: {shown} cannot be read: {why}");
            Box::new(Diagnostic::error("site/manifests", summary).help(Some("manifests are files and folders in the cluster's folder")))
        };
        let folder = Dir::open_ambient_dir(&self.pins.folder, ambient_authority()).map_err(|why| fail(&why))?;
        let mut texts = Vec::new();
        read(&folder, source, DEEPEST, &mut texts).map_err(|why| fail(&why))?;
        if texts.is_empty() {
            return Err(fail(&std::io::Error::other("there is no file with manifests (.yaml, .yml or .json) in it")));
        }
        Ok(texts)
    }

    async fn address(&self, addon: &str, address: &str) -> Result<Text, Box<Diagnostic>> {
        let mut attempt = 0;
        let bytes = loop {
            attempt += 1;
            match self.slots.read_text(address, LARGEST).await {
                Ok(bytes) => break bytes,
                Err(unread) if unread.passing && attempt < TRIES => tokio::time::sleep(self.pause(attempt, None)).await,
                Err(unread) => {
                    return Err(Box::new(
                        Diagnostic::error("addon/source", format!("addon {addon}: {}", unread.summary)).help(unread.help),
                    ));
                }
            }
        };
        let image = Image { digest: format!("sha256:{}", crate::plugins::hex(&Sha256::digest(&bytes))), size: bytes.len() as u64 };
        let pinned = self.pins.known().get(address).cloned();
        let pin = match pinned {
            Some(pinned) if pinned.digest != image.digest => {
                let error = LockError::Manifest { address: address.to_owned(), was: pinned.digest, is: image.digest };
                return Err(Box::new(refusal(&error)));
            }
            Some(_) => None,
            None if self.pins.locked => {
                let summary = format!("the manifest at {address} is not in emhost.lock, and with --locked nothing is added to it");
                let help = "apply without --locked once, and commit emhost.lock";
                return Err(Box::new(Diagnostic::error("lock/manifest", summary).help(Some(help))));
            }
            None => Some((address.to_owned(), image)),
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Box::new(
                Diagnostic::error("addon/source", format!("addon {addon}: what {address} serves is no text"))
                    .help(Some("check the address")),
            )
        })?;
        Ok(Text { from: address.to_owned(), body: text, pin })
    }
}

/// Reads a file, or every file of a folder with manifests in it, in the order of their names.
fn read(folder: &Dir, path: &str, depth: usize, texts: &mut Vec<Text>) -> std::io::Result<()> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let path = if path.is_empty() { "." } else { path };
    if folder.metadata(path)?.is_file() {
        let mut text = String::new();
        // One byte more than is allowed shows that there is too much.
        folder.open(path)?.take(LARGEST as u64 + 1).read_to_string(&mut text)?;
        texts.push(Text { from: path.to_owned(), body: text, pin: None });
        if texts.len() > MOST {
            return Err(std::io::Error::other(format!("there are more than {MOST} files")));
        }
        return Ok(());
    }
    if !folder.metadata(path)?.is_dir() {
        return Err(std::io::Error::other("it is neither a file nor a folder"));
    }
    if depth == 0 {
        return Err(std::io::Error::other(format!("folders are nested deeper than {DEEPEST}")));
    }
    let mut names = Vec::new();
    for entry in folder.read_dir(path)? {
        let entry = entry?;
        names.push((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?.is_dir()));
    }
    names.sort();
    for (name, is_folder) in names {
        let manifests = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
        if !name.starts_with('.') && (is_folder || manifests) {
            read(folder, &format!("{path}/{name}"), depth - 1, texts)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_in_order_and_never_left() {
        let place = tempfile::tempdir().expect("a folder");
        let inner = place.path().join("cluster");
        std::fs::create_dir_all(inner.join("mine/deep/.git")).expect("folders");
        for (name, text) in [
            ("mine/b.yaml", "b"),
            ("mine/a.yml", "a"),
            ("mine/deep/c.json", "c"),
            ("mine/README.md", "no"),
            ("mine/deep/.git/x.yaml", "no"),
        ] {
            std::fs::write(inner.join(name), text).expect("a file");
        }
        std::fs::write(place.path().join("secret.yaml"), "secret").expect("a file");
        std::os::unix::fs::symlink("../../secret.yaml", inner.join("mine/z.yaml")).expect("a link");
        let folder = Dir::open_ambient_dir(&inner, ambient_authority()).expect("the folder");
        let all = |path: &str| {
            let mut texts = Vec::new();
            read(&folder, path, DEEPEST, &mut texts).map(|()| texts.into_iter().map(|text| (text.from, text.body)).collect::<Vec<_>>())
        };
        assert!(all("mine").is_err(), "a link that leads out is not followed");
        std::fs::remove_file(inner.join("mine/z.yaml")).expect("the link goes");
        let expected = [("mine/a.yml", "a"), ("mine/b.yaml", "b"), ("mine/deep/c.json", "c")];
        let expected = expected.map(|(from, text)| (from.to_owned(), text.to_owned()));
        assert_eq!(all("./mine/").expect("texts"), expected);
        assert_eq!(all("mine/b.yaml").expect("a text").len(), 1);
        for bad in ["../secret.yaml", "/etc/hostname", "none"] {
            assert!(all(bad).is_err(), "{bad}");
        }
    }
}
