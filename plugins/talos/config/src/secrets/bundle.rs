//! The secrets of one cluster.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

use crate::Random;
use crate::pki::{Damaged, Kind, Pair, authority, rsa_key};

/// The secrets of one cluster. Made once: other secrets are another cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct Bundle {
    /// What the nodes of the cluster find each other by.
    pub cluster_id: String,
    /// What they tell each other is encrypted with.
    pub cluster_secret: Zeroizing<String>,
    /// What kubelets join with.
    pub bootstrap_token: Zeroizing<String>,
    /// What Kubernetes encrypts its secrets with, in clusters made by Talos 1.3 and later.
    pub secretbox_secret: Option<Zeroizing<String>>,
    /// What it encrypts them with in older clusters.
    pub aescbc_secret: Option<Zeroizing<String>>,
    /// What workers get their certificates with.
    pub trustd_token: Zeroizing<String>,
    /// The authority of etcd.
    pub etcd: Pair,
    /// The authority of Kubernetes.
    pub kubernetes: Pair,
    /// The authority of what extends the API of Kubernetes.
    pub aggregator: Pair,
    /// The key that signs the tokens of service accounts, in PEM.
    pub service_account: Zeroizing<String>,
    /// The authority of Talos's API.
    pub os: Pair,
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bundle").finish_non_exhaustive()
    }
}

impl Bundle {
    /// New secrets. All versions of Talos that are known make the same: `now` is in seconds since 1970, `service_account` a key
    /// of RSA in PKCS#8, which takes too long to be made here.
    ///
    /// # Errors
    /// When the key for service accounts is none of RSA.
    pub fn new(now: u64, random: &mut Random<'_>, service_account: &str) -> Result<Self, Damaged> {
        let mut new = |kind, organization| authority(kind, organization, now, random).ok_or(Damaged::Certificate);
        let etcd = new(Kind::P256, Some("etcd"))?;
        let kubernetes = new(Kind::P256, Some("kubernetes"))?;
        // Talos passes a common name here that its own code drops.
        let aggregator = new(Kind::P256, None)?;
        let os = new(Kind::Ed25519, Some("talos"))?;
        Ok(Self {
            cluster_id: URL_SAFE.encode(bytes(random)),
            cluster_secret: Zeroizing::new(STANDARD.encode(bytes(random))),
            bootstrap_token: token(random),
            secretbox_secret: Some(Zeroizing::new(STANDARD.encode(bytes(random)))),
            aescbc_secret: None,
            trustd_token: token(random),
            etcd,
            kubernetes,
            aggregator,
            service_account: rsa_key(service_account)?,
            os,
        })
    }
}

fn bytes(random: &mut Random<'_>) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    random(bytes.as_mut_slice());
    bytes
}

/// A token such as `abcdef.0123456789abcdef`.
fn token(random: &mut Random<'_>) -> Zeroizing<String> {
    const LETTERS: [u8; 36] = *b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut token = Zeroizing::new(String::with_capacity(23));
    while token.len() < 23 {
        if token.len() == 6 {
            token.push('.');
        }
        let mut byte = [0];
        random(&mut byte);
        // 252 is the largest multiple of 36: what lies beyond would favour some letters.
        if byte[0] < 252 {
            token.push(LETTERS[usize::from(byte[0] % 36)].into());
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_form_of_bootstrap_tokens_and_no_favourite_letter() {
        let mut next = 249_u8;
        let mut random = |bytes: &mut [u8]| {
            bytes[0] = next;
            next = next.wrapping_add(1);
        };
        // 249 to 251 count, 252 to 255 are drawn again.
        assert_eq!(token(&mut random).as_str(), "xyz012.3456789abcdefghi");
    }
}
