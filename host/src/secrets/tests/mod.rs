//! Against files that the real `sops` 3.11.0 made (`fixtures/`), and folders on disk. `tests/suite/sops.rs` has the
//! tests with the program itself.

mod file;
mod folder;
mod keys;

use std::ffi::OsString;
use std::path::Path;

use age::x25519::Identity;

use super::*;
use crate::redact::Redactor;

/// Two throw-away keys; every fixture is encrypted for both.
const ONE: &str = include_str!("../fixtures/one.key");
const TWO: &str = include_str!("../fixtures/two.key");

const TYPES: &str = include_str!("../fixtures/types.sops.yaml");

fn secret(key: &str) -> &str {
    key.lines().last().unwrap()
}

fn public(key: &str) -> String {
    identity(key).to_public().to_string()
}

fn identity(key: &str) -> Identity {
    secret(key).parse().unwrap()
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::from_variables(variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
}

fn open(folder: &Path) -> Result<Store, SecretsError> {
    Store::open(folder, environment(&[("SOPS_AGE_KEY", ONE)]), Redactor::new())
}

fn refused<T>(result: Result<T, SecretsError>) -> String {
    result.err().expect("an error").to_string()
}
