//! API keys: `espk_<prefix>_<secret>`. The prefix finds a key's row, the SHA-256 of the whole key proves it. Nothing
//! stores the key itself.

#[cfg(target_arch = "wasm32")]
pub mod store;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wire::protocol::{Owner, hex};

use super::scope::Scopes;
use super::{Authority, CredentialDigest, Principal, Verified};

/// The issuer of users known by a key; `user_id` is `key:<user>`.
pub const ISSUER: &str = "key";
/// How long a key goes on before its use is written down again: `last_used_at` answers "is this key still in use?", for
/// which an hour is exact enough.
const USED_EVERY_MS: u64 = 3_600_000;

/// A key as presented or minted: well-formed, not verified.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    whole: String,
    prefix_end: usize,
}

const BEGIN: &str = "espk_";

impl ApiKey {
    /// Reads a key. The lengths bound the text that reaches the database, with room for keys longer than today's.
    pub fn parse(whole: &str) -> Option<Self> {
        let (prefix, secret) = whole.strip_prefix(BEGIN)?.split_once('_')?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric();
        let fits = (4..=32).contains(&prefix.len()) && (32..=128).contains(&secret.len());
        (fits && prefix.bytes().all(plain) && secret.bytes().all(plain))
            .then(|| ApiKey { whole: whole.to_owned(), prefix_end: BEGIN.len() + prefix.len() })
    }

    /// A new key from so many random bytes.
    pub fn mint(prefix: [u8; 6], secret: [u8; 32]) -> Self {
        let prefix = hex(&prefix);
        let prefix_end = BEGIN.len() + prefix.len();
        ApiKey { whole: format!("{BEGIN}{prefix}_{}", hex(&secret)), prefix_end }
    }

    /// The part that finds its row.
    pub fn prefix(&self) -> &str {
        self.whole.get(BEGIN.len()..self.prefix_end).unwrap_or_default()
    }

    /// The digest that proves the key.
    pub fn digest(&self) -> CredentialDigest {
        Sha256::digest(self.whole.as_bytes()).into()
    }

    /// The key itself, for the one time that it is shown.
    pub fn reveal(&self) -> &str {
        &self.whole
    }
}

// The secret stays out of every log.
impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiKey({})", self.prefix())
    }
}

/// The parts of a key that people may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KeyLabel {
    /// The part of the key between its two underscores.
    pub prefix: String,
    pub name: String,
}

/// A row of `api_keys`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KeyRow {
    pub prefix: String,
    pub name: String,
    /// Lower-case hexadecimal.
    pub hash: String,
    pub tenant: String,
    pub user_id: String,
    /// Words with spaces between them.
    pub scopes: String,
    pub expires_at: Option<u64>,
    pub revoked_at: Option<u64>,
    pub last_used_at: Option<u64>,
    /// When the session began that the row opens; absent for a key itself.
    #[serde(default)]
    pub signed_in_at: Option<u64>,
}

impl KeyRow {
    /// Whether it is time to write down that the key was used.
    pub fn use_is_news(&self, now: u64) -> bool {
        self.last_used_at.is_none_or(|at| now.saturating_sub(at) >= USED_EVERY_MS)
    }

    /// The user of a key that was proved; `None` if the key is revoked or expired, or if its user belongs to another
    /// issuer.
    pub fn opens(self, authority: Authority, now: u64) -> Option<Verified> {
        if self.revoked_at.is_some() {
            return None;
        }
        let user = self.user_id.strip_prefix(ISSUER)?.strip_prefix(':').filter(|user| !user.is_empty())?;
        let owner = Owner { issuer: ISSUER.to_owned(), tenant: self.tenant, user: user.to_owned() };
        let principal = Principal { owner, authority, scopes: Scopes::parse(&self.scopes) };
        let key = Some(KeyLabel { prefix: self.prefix, name: self.name });
        let (expires_at, signed_in_at) = (self.expires_at, self.signed_in_at);
        let verified = Verified { principal, expires_at, key, signed_in_at };
        (!verified.expired(now)).then_some(verified)
    }
}

/// Judges a key by its row; `None` refuses it.
pub fn verify(row: KeyRow, digest: &CredentialDigest, now: u64) -> Option<Verified> {
    let proved = same(row.hash.as_bytes(), hex(digest).as_bytes());
    if proved { row.opens(Authority::Bearer, now) } else { None }
}

/// Compares all bytes, so that the time it takes does not tell where the first difference is.
fn same(left: &[u8], right: &[u8]) -> bool {
    let differences =
        left.iter().zip(right).fold(0_u8, |so_far, (l, r)| std::hint::black_box(so_far | (l ^ r)));
    left.len() == right.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, KeyRow, same, verify};
    use wire::protocol::hex;

    fn key(secret: char) -> String {
        format!("espk_0a1b2c3d_{}", secret.to_string().repeat(64))
    }

    fn row(key: &str) -> KeyRow {
        KeyRow {
            prefix: "0a1b2c3d".to_owned(),
            name: "laptop".to_owned(),
            hash: hex(&ApiKey::parse(key).unwrap().digest()),
            tenant: "acme".to_owned(),
            user_id: "key:0a1b2c3d".to_owned(),
            scopes: "read".to_owned(),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            signed_in_at: None,
        }
    }

    #[test]
    fn a_key_has_a_prefix_and_a_secret() {
        assert_eq!(ApiKey::parse(&key('f')).unwrap().prefix(), "0a1b2c3d");
        let minted = ApiKey::mint([0xab; 6], [0xcd; 32]);
        assert_eq!(minted.reveal(), format!("espk_abababababab_{}", "cd".repeat(32)));
        assert_eq!(ApiKey::parse(minted.reveal()), Some(minted.clone()));
        assert_eq!(format!("{minted:?}"), "ApiKey(abababababab)");
        let long = format!("espk_{}_{}", "a".repeat(33), "b".repeat(64));
        let endless = format!("espk_abcd_{}", "b".repeat(129));
        let bad = [
            "",
            "espk_",
            "espk__",
            "espk_0a1b2c3d",
            "espk_0a1b2c3d_",
            "espk_0a1b2c3d_short",
            "ESPK_0a1b2c3d_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "sk_0a1b2c3d_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "espk_0a1b'--_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "espk_0a1b2c3d_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaa",
            "espk_é1b2_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            &long,
            &endless,
        ];
        for text in bad {
            assert_eq!(ApiKey::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_is_proved_by_its_row() {
        let (mine, other) = (key('a'), key('b'));
        let digest = ApiKey::parse(&mine).unwrap().digest();
        let good = row(&mine);
        let verified = verify(good.clone(), &digest, 1_000).unwrap();
        assert_eq!(verified.principal.owner.user_id(), "key:0a1b2c3d");
        assert_eq!(verified.principal.owner.tenant, "acme");
        assert_eq!(verified.principal.scopes.words(), ["read"]);

        let cases = [
            ("same prefix, another secret", row(&other), false),
            ("no hash", KeyRow { hash: String::new(), ..good.clone() }, false),
            ("half a hash", KeyRow { hash: good.hash.chars().take(32).collect(), ..good.clone() }, false),
            ("expired", KeyRow { expires_at: Some(1_000), ..good.clone() }, false),
            ("not yet expired", KeyRow { expires_at: Some(1_001), ..good.clone() }, true),
            ("revoked", KeyRow { revoked_at: Some(1), ..good.clone() }, false),
            ("a user of another issuer", KeyRow { user_id: "anonymous:x".to_owned(), ..good.clone() }, false),
            ("no issuer", KeyRow { user_id: "0a1b2c3d".to_owned(), ..good.clone() }, false),
            ("no user", KeyRow { user_id: "key:".to_owned(), ..good }, false),
        ];
        for (case, row, passes) in cases {
            assert_eq!(verify(row, &digest, 1_000).is_some(), passes, "{case}");
        }
    }

    #[test]
    fn a_use_is_written_down_once_an_hour() {
        for (last_used_at, news) in
            [(None, true), (Some(0), true), (Some(1), false), (Some(9_999_999), false)]
        {
            let row = KeyRow { last_used_at, ..row(&key('a')) };
            assert_eq!(row.use_is_news(3_600_000), news, "{last_used_at:?}");
        }
    }

    #[test]
    fn comparison_is_equality() {
        for (left, right, equal) in
            [("", "", true), ("ab", "ab", true), ("ab", "aB", false), ("ab", "abc", false)]
        {
            assert_eq!(same(left.as_bytes(), right.as_bytes()), equal, "{left} {right}");
        }
    }
}
