//! Certificates and keys in the forms Talos reads: PEM with the labels of its own.

mod authority;
mod pem;

use zeroize::Zeroizing;

pub use authority::{Kind, authority};
pub use pem::Damaged;

/// A certificate and its private key, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: Zeroizing<String>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    /// Certificate and key in one text, as an authority is kept that somebody else signs with.
    pub fn together(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}{}", self.certificate, self.key.as_str()))
    }

    /// Whether both can be read and belong together.
    ///
    /// # Errors
    /// With the half that is damaged, or that they are of different pairs.
    pub fn check(&self) -> Result<(), Damaged> {
        pem::matching(&self.certificate, &self.key)
    }
}

/// A private key of the host (`PRIVATE KEY`, PKCS#8) as an RSA key of Talos (`RSA PRIVATE KEY`, PKCS#1).
///
/// # Errors
/// When it is no RSA key in PKCS#8.
pub fn rsa_key(pkcs8: &str) -> Result<Zeroizing<String>, Damaged> {
    pem::rsa_key(pkcs8)
}

/// Whether a private key can be read.
///
/// # Errors
/// When it is no PEM, or of a kind that Talos does not take.
pub fn check_key(key: &str) -> Result<(), Damaged> {
    pem::key(key).map(drop)
}
