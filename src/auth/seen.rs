//! API keys, signed-in sessions and tokens that this isolate has verified lately. They spare most requests a query, and
//! known users go on while the database is down.

use std::collections::BTreeMap;

use super::{CredentialDigest, Verified};

/// How long a verified key serves without a query. Other isolates notice a revocation or a sign-out within this time.
pub const FRESH_MS: u64 = 60_000;
/// How long a verified key serves while the database is down: chat survives an outage of an hour.
const GRACE_MS: u64 = 3_600_000;
/// About 300 bytes each: a fraction of a megabyte of the isolate's 128.
const CAPACITY: usize = 1_000;

/// The verified credentials, by their digest: only a request that presents the same credential finds it.
#[derive(Debug, Default)]
pub struct SeenCredentials(BTreeMap<CredentialDigest, (u64, Verified)>);

impl SeenCredentials {
    /// An empty cache.
    pub const fn new() -> Self {
        SeenCredentials(BTreeMap::new())
    }

    /// The user of this credential, if it was verified a moment ago.
    pub fn fresh(&self, digest: &CredentialDigest, now: u64) -> Option<Verified> {
        self.within(FRESH_MS, digest, now)
    }

    /// The user of this credential, for use while the database is down.
    pub fn in_grace(&self, digest: &CredentialDigest, now: u64) -> Option<Verified> {
        self.within(GRACE_MS, digest, now)
    }

    fn within(&self, age: u64, digest: &CredentialDigest, now: u64) -> Option<Verified> {
        let (at, key) = self.0.get(digest)?;
        (now.saturating_sub(*at) < age && !key.expired(now)).then(|| key.clone())
    }

    /// Remembers a credential that was just verified. When it is full, it drops the one that was verified longest ago.
    pub fn remember(&mut self, digest: CredentialDigest, key: Verified, now: u64) {
        if self.0.len() >= CAPACITY && !self.0.contains_key(&digest) {
            let oldest = self.0.iter().min_by_key(|(_, (at, _))| *at).map(|(digest, _)| *digest);
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        self.0.insert(digest, (now, key));
    }

    /// Forgets all credentials of a user, because one of their keys was revoked and the digests do not tell which.
    pub fn forget_user(&mut self, tenant: &str, user: &str) {
        self.0.retain(|_, (_, key)| {
            let owner = &key.principal.owner;
            !(owner.tenant == tenant && owner.user == user)
        });
    }

    /// Forgets a credential that is no longer valid.
    pub fn forget(&mut self, digest: &CredentialDigest) {
        self.0.remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, SeenCredentials};
    use crate::auth::scope::Scopes;
    use crate::auth::{Authority, Principal, Verified};
    use wire::protocol::Owner;

    fn key(user: &str, expires_at: Option<u64>) -> Verified {
        let owner = Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: user.to_owned() };
        let principal = Principal { owner, authority: Authority::Bearer, scopes: Scopes::USER };
        Verified { principal, expires_at, key: None, signed_in_at: None }
    }

    fn digest(of: usize) -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&of.to_be_bytes());
        digest
    }

    #[test]
    fn a_key_is_fresh_for_a_minute_and_graced_for_an_hour() {
        let mut seen = SeenCredentials::new();
        seen.remember(digest(1), key("ada", None), 1_000);
        for (now, fresh, in_grace) in [
            (1_000, true, true),
            (60_999, true, true),
            (61_000, false, true),
            (3_600_999, false, true),
            (3_601_000, false, false),
        ] {
            assert_eq!(seen.fresh(&digest(1), now).is_some(), fresh, "{now}");
            assert_eq!(seen.in_grace(&digest(1), now).is_some(), in_grace, "{now}");
        }
        assert_eq!(seen.fresh(&digest(2), 1_000), None);
    }

    #[test]
    fn a_remembered_key_ends_with_the_key_or_its_refusal() {
        let mut seen = SeenCredentials::new();
        seen.remember(digest(1), key("ada", Some(5_000)), 1_000);
        assert!(seen.fresh(&digest(1), 4_999).is_some());
        assert_eq!(seen.fresh(&digest(1), 5_000), None);
        assert_eq!(seen.in_grace(&digest(1), 5_000), None);
        seen.remember(digest(2), key("bob", None), 1_000);
        seen.forget(&digest(2));
        assert_eq!(seen.in_grace(&digest(2), 1_000), None);
        seen.remember(digest(3), key("bob", None), 1_000);
        seen.forget_user("other", "bob");
        assert!(seen.in_grace(&digest(3), 1_000).is_some());
        seen.forget_user("acme", "bob");
        assert_eq!(seen.in_grace(&digest(3), 1_000), None);
        assert!(seen.in_grace(&digest(1), 1_000).is_some());
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut seen = SeenCredentials::new();
        for n in 0..=CAPACITY {
            seen.remember(digest(n), key("ada", None), n as u64);
        }
        assert_eq!(seen.0.len(), CAPACITY);
        assert_eq!(seen.fresh(&digest(0), 1), None);
        assert!(seen.fresh(&digest(CAPACITY), CAPACITY as u64).is_some());
        seen.remember(digest(CAPACITY), key("ada", None), 9_999);
        assert_eq!(seen.0.len(), CAPACITY);
    }
}
