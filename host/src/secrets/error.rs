//! Why secrets cannot be read or kept, and what to do about it. No message has any part of a value in it.

use std::io;
use std::path::PathBuf;

/// What is wrong with one SOPS file.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// There is nothing in it.
    #[error("the file is empty: restore it from version control, or remove it if it never held anything")]
    Empty,
    /// Nobody has that many secrets.
    #[error("the file is larger than {0} MiB: it is not a file of secrets")]
    Large(u64),
    /// It is not text.
    #[error("the file is not UTF-8 text: restore it from version control")]
    NotText,
    /// It is not YAML, or not such as SOPS writes.
    #[error("line {line}: {reason}")]
    Yaml {
        /// Where.
        line: usize,
        /// What.
        reason: String,
    },
    /// There is no `sops:` block.
    #[error("the file is not encrypted (it has no `sops:` block): encrypt it with `sops encrypt --in-place FILE`")]
    NotEncrypted,
    /// The `sops:` block is not whole.
    #[error("the `sops:` block is damaged or cut off ({0}): restore the file from version control")]
    Metadata(String),
    /// More is needed than one key.
    #[error(
        "the file needs keys of several key groups at once (Shamir): use one key group, with `sops groups delete` or by encrypting it again"
    )]
    Shamir,
    /// Something that emhost does not know about SOPS.
    #[error("the file uses `{0}`, which emhost does not know: use `encrypted_regex` or `unencrypted_regex` instead")]
    Unknown(&'static str),
    /// A regular expression that is none.
    #[error("`{rule}` is not a regular expression: {reason}")]
    Regex {
        /// Which one.
        rule: &'static str,
        /// Why.
        reason: String,
    },
    /// A value that should be encrypted is not.
    #[error(
        "`{name}` is there in the clear, it was added by hand: take it out and add it with `sops edit`; if it was committed, change it"
    )]
    Clear {
        /// The value's path.
        name: String,
    },
    /// A value cannot be decrypted with the file's own key.
    #[error(
        "`{name}` was damaged, moved or renamed outside of sops: restore the file from version control, and make such changes with `sops edit`"
    )]
    Value {
        /// The value's path.
        name: String,
    },
    /// The values are not those that were written.
    #[error(
        "MAC mismatch: the file was edited by hand outside of sops, or two versions of it were merged: restore one version and repeat the \
         change with `sops edit`. If you know that what is there is right, `sops --ignore-mac edit` and saving accepts it"
    )]
    Mac,
    /// The file's rules would leave the new secret readable.
    #[error("secret `{name}` would be kept in the clear, as the file has `{rule}`: change that rule, in .sops.yaml and in the file")]
    WouldBeClear {
        /// The secret.
        name: String,
        /// The rule.
        rule: String,
    },
    /// It is not laid out so that a line can be added.
    #[error(
        "the file is not laid out as sops does it, so nothing can be added to it: let sops write it once, for example with `sops rotate --in-place FILE`"
    )]
    Layout,
    /// There is a key without a value.
    #[error("secret `{name}` is there without a value: give it one with `sops edit`, or remove the line so that one can be made")]
    NoValue {
        /// The secret.
        name: String,
    },
    /// No random numbers or no key: the system's fault.
    #[error("cannot encrypt: {0}")]
    Encrypt(String),
}

/// Why the secrets of a cluster cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The folder cannot be opened.
    #[error("cannot open folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written; what was there is untouched.
    #[error("cannot write {}: {source}\nwhat was there before is untouched", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody took the file away meanwhile.
    #[error("{} was there when emhost started and is gone now: put it back, or run emhost again to begin a new one", file.display())]
    Gone {
        /// The file.
        file: PathBuf,
    },
    /// Somebody writes the file all the time.
    #[error("{} changes faster than it can be added to: try again when nobody else writes it", file.display())]
    Busy {
        /// The file.
        file: PathBuf,
    },
    /// The file leads elsewhere.
    #[error("{} is a symbolic link, which would be lost by writing it: put the file itself there", file.display())]
    Link {
        /// The file.
        file: PathBuf,
    },
    /// A file's content.
    #[error("{}: {source}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: FormatError,
    },
    /// None of the keys at hand opens the file.
    #[error(
        "{}: none of your age keys opens it\nit is encrypted for:\n{recipients}\nkeys were looked for in:\n{looked}\nput the right key into \
         one of these places, or have somebody who can open it add yours: `sops rotate --in-place --add-age YOUR-PUBLIC-KEY FILE`",
        file.display()
    )]
    NoKey {
        /// The file.
        file: PathBuf,
        /// Whom it is encrypted for, a line each.
        recipients: String,
        /// Where keys were looked for, a line each.
        looked: String,
    },
    /// A place for keys was named that has none, so none is made elsewhere.
    #[error(
        "there is no age key to encrypt secrets with\nkeys were looked for in:\n{looked}\nmake one with `age-keygen -o FILE`, or unset what names a key that is not there"
    )]
    Unusable {
        /// Where keys were looked for, a line each.
        looked: String,
    },
    /// There is no place for a key.
    #[error("there is no age key, and no place to keep a new one: set HOME, or SOPS_AGE_KEY_FILE to a file made by `age-keygen -o FILE`")]
    Homeless,
    /// `.sops.yaml` cannot be used.
    #[error("{}: {reason}", file.display())]
    Rules {
        /// The file.
        file: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Not a name under which a secret can be kept.
    #[error("`{0}` cannot be the name of a secret")]
    Name(String),
}

impl From<SecretsError> for io::Error {
    fn from(error: SecretsError) -> Self {
        let kind = match &error {
            SecretsError::Folder { source, .. } | SecretsError::Read { source, .. } | SecretsError::Write { source, .. } => source.kind(),
            SecretsError::Gone { .. } => io::ErrorKind::NotFound,
            SecretsError::Busy { .. } => io::ErrorKind::WouldBlock,
            SecretsError::Name(_) => io::ErrorKind::InvalidInput,
            SecretsError::NoKey { .. } | SecretsError::Unusable { .. } | SecretsError::Homeless => io::ErrorKind::PermissionDenied,
            SecretsError::Link { .. } | SecretsError::Format { .. } | SecretsError::Rules { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
