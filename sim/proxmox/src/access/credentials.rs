//! Passwords and token secrets: kept as salted hashes, compared in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rand::RngCore as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Access, Caller, User};
use crate::tasks::now;

/// A secret that can be recognised and not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Secret {
    salt: String,
    hash: String,
}

impl Secret {
    /// Keeps a secret.
    pub fn new(text: &str) -> Self {
        let salt = random_secret();
        Self { hash: hashed(&salt, text), salt }
    }

    /// Whether this is the secret.
    pub fn is(&self, text: &str) -> bool {
        same(&self.hash, &hashed(&self.salt, text))
    }
}

fn hashed(salt: &str, text: &str) -> String {
    STANDARD_NO_PAD.encode(Sha256::new().chain_update(salt).chain_update(":").chain_update(text).finalize())
}

/// Compares without telling how much was equal.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// 32 random bytes as text.
pub(crate) fn random_secret() -> String {
    let mut bytes = [0; 32];
    rand::thread_rng().fill_bytes(&mut bytes);
    STANDARD_NO_PAD.encode(bytes)
}

impl Access {
    /// The user, when it may come in at all. The error is what the log of a real host says.
    pub fn enabled(&self, id: &str) -> Result<&User, String> {
        let user = self.users.get(id).ok_or_else(|| format!("no such user ('{id}')"))?;
        if !user.enable {
            return Err(format!("user '{id}' is disabled"));
        }
        if user.expire > 0 && user.expire < now() {
            return Err(format!("user '{id}' access expired"));
        }
        Ok(user)
    }

    /// Who a token `USER@REALM!NAME=SECRET` stands for.
    pub fn verify_token(&self, given: &str) -> Result<Caller, String> {
        let (id, secret) = given.rsplit_once('=').ok_or("no tokenid specified")?;
        let (user, name) = id.split_once('!').ok_or("unable to parse token id")?;
        let token = self.enabled(user)?.tokens.get(name).ok_or_else(|| format!("no such token '{name}' for user '{user}'"))?;
        // Proxmox itself does not read shorter names from its configuration (facts §13).
        if name.len() < 2 {
            return Err(format!("no such token '{name}' for user '{user}'"));
        }
        if token.expire > 0 && token.expire < now() {
            return Err(format!("token '{name}' access expired"));
        }
        if !token.secret.is(secret) {
            return Err("invalid token value!".to_owned());
        }
        Ok(Caller { id: id.to_owned() })
    }

    /// Whether this is the password of the user.
    pub fn verify_password(&self, id: &str, password: &str) -> Result<(), String> {
        let user = self.enabled(id)?;
        if user.password.as_ref().is_some_and(|known| known.is(password)) { Ok(()) } else { Err("authentication failure".to_owned()) }
    }
}
