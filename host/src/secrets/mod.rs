//! The cluster's secrets at rest: SOPS files that the real `sops` reads and writes too, encrypted with age.
//!
//! A file is never written anew from what was understood of it. A new secret is one line put in front of the `sops:`
//! block, and the MAC and the time in that block are replaced in place; so comments, order, recipients and every other
//! ciphertext stay, and a diff shows what happened.
//!
//! | file | what it does |
//! |---|---|
//! | `store` | the secrets of one cluster's folder, as the rest of the host sees them |
//! | `document` | one SOPS file: opened, checked, added to |
//! | `tree`, `scalar` | YAML as `sops` understands it, with the place of each value |
//! | `metadata`, `cipher` | the `sops:` block; `ENC[…]` |
//! | `identity` | where age keys are looked for, and how the first one is made |
//! | `rules` | `.sops.yaml`: whom a new file is encrypted for |
//! | `disk` | reading and replacing a file of the folder |
//!
//! Keys of SSH and of age plugins, and key files with a passphrase, are not used: `SOPS_AGE_KEY_CMD` can hand out any
//! age key.

mod cipher;
mod disk;
mod document;
mod error;
mod identity;
mod metadata;
mod rules;
mod scalar;
mod store;
#[cfg(test)]
mod tests;
mod tree;
mod words;

pub use error::{FormatError, SecretsError};
pub use identity::Environment;
pub use store::Store;

/// The cluster's own secrets; the only file that is written.
pub const FILE: &str = "secrets.sops.yaml";
/// The secrets of the site, in the cluster's folder or the one above it.
pub const SITE_FILE: &str = "site.secrets.sops.yaml";
