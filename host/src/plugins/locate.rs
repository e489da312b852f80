//! Where a plugin's bytes come from: this binary, a file, and later a registry.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The largest component that is read.
const LARGEST: u64 = 256 << 20;

/// A plugin as a site names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Reference {
    /// Embedded in this binary.
    Builtin(String),
    /// A file, relative to the folder that names it.
    Path(PathBuf),
}

/// Why a plugin's bytes cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// Registries are not read yet.
    #[error("`{0}`: this emhost does not fetch plugins from registries yet; download the component and name its path")]
    Registry(String),
    /// Nothing looks like this.
    #[error("`{0}` names no plugin: write a built-in name, or a path with a `/` in it such as ./plugin.wasm")]
    Shape(String),
    /// No such built-in plugin.
    #[error("there is no built-in plugin `{name}`; {}", builtin_hint(.name))]
    NoBuiltin {
        /// The name.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read plugin {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("plugin {0} is larger than {max} MiB", max = LARGEST >> 20)]
    Large(PathBuf),
}

fn builtin_hint(name: &str) -> String {
    let names: Vec<&str> = builtin_names().collect();
    if names.is_empty() {
        return "this emhost was built without any: build it with `cargo xtask build`".to_owned();
    }
    let file = if Path::new(name).extension().is_some_and(|extension| extension == "wasm") {
        format!("to name a file, write ./{name}; ")
    } else {
        String::new()
    };
    format!("{file}there are: {}", names.join(", "))
}

impl FromStr for Reference {
    type Err = LocateError;

    fn from_str(text: &str) -> Result<Self, LocateError> {
        if text.starts_with("oci://") {
            return Err(LocateError::Registry(crate::redact::one_line(text, 200)));
        }
        if text.contains('/') && !text.contains('\0') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        if crate::capabilities::policy::is_name(text) {
            return Ok(Self::Builtin(text.to_owned()));
        }
        Err(LocateError::Shape(crate::redact::one_line(text, 200)))
    }
}

impl TryFrom<String> for Reference {
    type Error = LocateError;

    fn try_from(text: String) -> Result<Self, LocateError> {
        text.parse()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => f.write_str(name),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Reference {
    /// The component's bytes. A relative path starts at `folder`.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub fn read(&self, folder: &Path) -> Result<std::borrow::Cow<'static, [u8]>, LocateError> {
        match self {
            Self::Builtin(name) => match BUILTIN.iter().find(|(builtin, _)| builtin == name) {
                Some((_, bytes)) => Ok((*bytes).into()),
                None => Err(LocateError::NoBuiltin { name: name.clone() }),
            },
            Self::Path(path) => {
                // A person reads the path as it was written, wherever the command runs.
                let path = if folder == Path::new(".") { path.clone() } else { folder.join(path) };
                let fail = |source| LocateError::Read { path: path.clone(), source };
                let mut bytes = Vec::new();
                let file = std::fs::File::open(&path).map_err(fail)?;
                file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(fail)?;
                if bytes.len() as u64 > LARGEST {
                    return Err(LocateError::Large(path));
                }
                Ok(bytes.into())
            }
        }
    }
}

/// The names of the plugins embedded in this binary.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_path() {
        assert_eq!("talos".parse::<Reference>().expect("parses"), Reference::Builtin("talos".to_owned()));
        assert_eq!("./x.wasm".parse::<Reference>().expect("parses"), Reference::Path("./x.wasm".into()));
        assert!("oci://ghcr.io/x@sha256:00".parse::<Reference>().expect_err("refused").to_string().contains("name its path"));
        assert!("a b".parse::<Reference>().is_err() && "".parse::<Reference>().is_err());
        let missing = Reference::Builtin("x.wasm".to_owned()).read(Path::new(".")).expect_err("refused").to_string();
        assert!(missing.contains("no built-in plugin `x.wasm`"), "{missing}");
    }
}
