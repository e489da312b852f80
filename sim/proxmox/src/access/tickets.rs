//! Tickets and the tokens against forged requests that go with them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::credentials::same;
use super::{Access, Caller};
use crate::tasks::now;

/// How long a ticket is good, in seconds.
const LIFETIME: u64 = 2 * 3600;
/// How far clocks of hosts may differ, in seconds.
const GRACE: u64 = 300;

impl Access {
    fn signature(&self, purpose: &str, text: &str) -> Vec<u8> {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()) else { return Vec::new() };
        mac.update(purpose.as_bytes());
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().to_vec()
    }

    /// `PVE:USER:TIME::SIGNATURE`.
    pub fn ticket(&self, user: &str) -> String {
        let plain = format!("PVE:{user}:{:08X}", now());
        let signature = STANDARD.encode(self.signature("ticket", &plain));
        format!("{plain}::{signature}")
    }

    /// Who a ticket stands for.
    pub fn verify_ticket(&self, ticket: &str) -> Result<Caller, String> {
        let invalid = || "permission denied - invalid PVE ticket".to_owned();
        let (plain, signature) = ticket.rsplit_once("::").ok_or_else(invalid)?;
        if !same(signature, &STANDARD.encode(self.signature("ticket", plain))) {
            return Err(invalid());
        }
        let (user, time) = plain.strip_prefix("PVE:").and_then(|rest| rest.rsplit_once(':')).ok_or_else(invalid)?;
        if !fresh(time) {
            return Err(invalid());
        }
        self.enabled(user)?;
        Ok(Caller { id: user.to_owned() })
    }

    /// `TIME:SIGNATURE`, to be sent with every change.
    pub fn csrf_token(&self, user: &str) -> String {
        let time = format!("{:08X}", now());
        let signature = STANDARD_NO_PAD.encode(self.signature("csrf", &format!("{time}:{user}")));
        format!("{time}:{signature}")
    }

    /// Whether the token belongs to the user.
    pub fn verify_csrf_token(&self, user: &str, token: &str) -> bool {
        token.split_once(':').is_some_and(|(time, signature)| {
            fresh(time) && same(signature, &STANDARD_NO_PAD.encode(self.signature("csrf", &format!("{time}:{user}"))))
        })
    }
}

fn fresh(time: &str) -> bool {
    let Ok(made) = u64::from_str_radix(time, 16) else { return false };
    let now = now();
    made < now + GRACE && now < made + LIFETIME
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::User;
    use super::*;

    #[test]
    fn a_ticket_is_only_good_as_it_was_given() {
        let mut access = Access { key: "k".to_owned(), ..Access::default() };
        access.users.insert("a@pve".to_owned(), User { enable: true, ..User::default() });
        let ticket = access.ticket("a@pve");
        assert_eq!(access.verify_ticket(&ticket).unwrap().id, "a@pve");
        assert!(access.verify_ticket(&ticket.replacen("a@pve", "b@pve", 1)).is_err());
        access.key = "other".to_owned();
        assert!(access.verify_ticket(&ticket).is_err());
    }

    #[test]
    fn an_old_ticket_is_refused() {
        let mut access = Access { key: "k".to_owned(), ..Access::default() };
        access.users.insert("a@pve".to_owned(), User { enable: true, ..User::default() });
        let plain = format!("PVE:a@pve:{:08X}", now() - LIFETIME);
        let ticket = format!("{plain}::{}", STANDARD.encode(access.signature("ticket", &plain)));
        assert!(access.verify_ticket(&ticket).is_err());
    }

    #[test]
    fn a_token_against_forgery_has_43_characters_and_one_owner() {
        let access = Access { key: "k".to_owned(), ..Access::default() };
        let token = access.csrf_token("a@pve");
        assert_eq!(token.split_once(':').unwrap().1.len(), 43);
        assert!(access.verify_csrf_token("a@pve", &token));
        assert!(!access.verify_csrf_token("b@pve", &token));
    }
}
