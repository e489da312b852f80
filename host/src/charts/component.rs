//! Where Helm itself comes from: the component that `cargo xtask helm` builds.
//!
//! It is 27 MB and needs Go to build, so it is not a part of every binary. Whichever way it comes, it is the one that this emhost was
//! tested with: by being inside, by its digest, or because somebody named another one on purpose.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::ChartError;

include!(concat!(env!("OUT_DIR"), "/helm.rs"));

/// The digest of the component that these sources make.
const EXPECTED: &str = include_str!("../../../helm/helm.sha256");
/// The largest component that is read.
const LARGEST: u64 = 128 << 20;
const HOW: &str = "in a checkout of emhost, `cargo xtask helm` builds it (Go is needed) into target/helm/helm.wasm";

/// The places to look for the component, and where charts are kept between runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// A component that somebody named. It is believed.
    pub named: Option<PathBuf>,
    /// The user's data folder, in which `emhost/helm.wasm` has to be the expected one.
    pub data: Option<PathBuf>,
    /// The user's cache, in which `emhost/charts/` keeps charts by their digest.
    pub cache: Option<PathBuf>,
}

impl Sources {
    /// As the environment says: `EMHOST_HELM`, and the folders of a user.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let (mut found, mut home) = (Self::default(), None);
        for (name, value) in variables.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name.to_str() {
                Some("EMHOST_HELM") => found.named = Some(value.into()),
                Some("XDG_DATA_HOME") => found.data = Some(value.into()),
                Some("XDG_CACHE_HOME") => found.cache = Some(value.into()),
                Some("HOME") => home = Some(PathBuf::from(value)),
                _ => {}
            }
        }
        if let Some(home) = home {
            found.data.get_or_insert_with(|| home.join(".local/share"));
            found.cache.get_or_insert_with(|| home.join(".cache"));
        }
        found
    }

    /// The component, or how to get it.
    pub(super) fn find(&self) -> Result<Found, ChartError> {
        if let Some(named) = &self.named {
            let bytes = read(named).map_err(|error| {
                let summary = format!("cannot read Helm's component {}: {error}", named.display());
                ChartError::new("chart/helm", summary, &format!("EMHOST_HELM names it; {HOW}"))
            })?;
            return Ok(Found { digest: digest(&bytes), bytes: bytes.into(), packed: false });
        }
        if let Some(packed) = HELM {
            return Ok(Found { digest: digest(packed), bytes: packed.into(), packed: true });
        }
        self.in_data()
    }

    fn in_data(&self) -> Result<Found, ChartError> {
        let file = self.data.as_ref().map(|data| data.join("emhost/helm.wasm"));
        let shown = file.as_ref().map_or_else(|| "the user's data folder".to_owned(), |file| file.display().to_string());
        let expected = EXPECTED.trim();
        let bytes = match file.as_deref().map_or_else(|| Err(io::ErrorKind::NotFound.into()), read) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let help = format!(
                    "{HOW}; put it to {shown}, or name it with EMHOST_HELM\nits SHA-256 is {expected}\na release that was built with `cargo xtask build --release --helm` has it inside"
                );
                return Err(ChartError::new(
                    "chart/helm",
                    "charts are rendered by Helm's component, which this emhost does not have",
                    &help,
                ));
            }
            Err(error) => {
                let summary = format!("cannot read Helm's component {shown}: {error}");
                return Err(ChartError::new("chart/helm", summary, "see to it that it can be read, or remove it"));
            }
        };
        let digest = digest(&bytes);
        if digest != format!("sha256:{expected}") {
            let summary = format!("{shown} is not the component that this emhost was tested with");
            let help = format!("{HOW}; put that one there, or name the other one with EMHOST_HELM if it is meant");
            return Err(ChartError::new("chart/helm", summary, &help).detail(format!("  - sha256:{expected}\n  + {digest}")));
        }
        Ok(Found { digest, bytes: bytes.into(), packed: false })
    }
}

/// The component's bytes, as they came.
pub(super) struct Found {
    /// Of the bytes as they came.
    pub digest: String,
    bytes: Cow<'static, [u8]>,
    packed: bool,
}

impl Found {
    /// The component itself.
    pub fn unpacked(&self) -> io::Result<Cow<'_, [u8]>> {
        if !self.packed {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&*self.bytes).take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(file)?;
    // A pipe or a device would wait for ever.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", crate::plugins::hex(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &[(&str, &str)]) -> Sources {
        Sources::from_variables(all.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn folders_are_those_of_the_user() {
        let sources = variables(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "/cache"), ("EMHOST_HELM", "")]);
        assert_eq!(sources, Sources { named: None, data: Some("/home/a/.local/share".into()), cache: Some("/cache".into()) });
        assert_eq!(variables(&[("EMHOST_HELM", "/x.wasm")]).named, Some("/x.wasm".into()));
    }

    #[test]
    fn what_is_missing_or_another_is_said_with_how_to_get_it() {
        if HELM.is_some() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let sources = Sources { data: Some(folder.path().to_owned()), ..Sources::default() };
        let missing = sources.find().err().expect("refused").diagnostics.remove(0);
        let help = missing.help.unwrap_or_default();
        assert!(help.contains("cargo xtask helm") && help.contains("EMHOST_HELM") && help.contains(EXPECTED.trim()), "{help}");
        std::fs::create_dir(folder.path().join("emhost")).expect("a folder");
        std::fs::write(folder.path().join("emhost/helm.wasm"), b"\0asm").expect("a file");
        let other = sources.find().err().expect("refused").diagnostics.remove(0);
        assert!(other.summary.ends_with("is not the component that this emhost was tested with"), "{}", other.summary);
        // Who names it means it.
        let named = Sources { named: Some(folder.path().join("emhost/helm.wasm")), ..Sources::default() };
        assert_eq!(named.find().ok().map(|found| found.digest), Some(digest(b"\0asm")));
    }
}
