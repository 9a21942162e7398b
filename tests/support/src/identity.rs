//! The issuers of the end-to-end tests: their keys, their tokens, and forged tokens.
//!
//! Node signs, because wrangler needs it anyway and it knows every algorithm that we accept.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::http::Reply;
use crate::{Client, env};

/// Makes the issuers' private keys, and in the D1 of this file an API key with the scope `admin` and one of another tenant.
const MAKE: &str = "
const { createHash, generateKeyPairSync, randomBytes } = require('node:crypto');
const { DatabaseSync } = require('node:sqlite');
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = (pair) => pair.privateKey.export({ format: 'jwk' });
const keys = { rsa: jwk(rsa()), rotated: jwk(rsa()), stranger: jwk(rsa()), ec: jwk(ec()) };
const key = 'espk_e2eadmin_' + randomBytes(32).toString('hex');
const hash = createHash('sha256').update(key).digest('hex');
const insert = new DatabaseSync(process.argv[1]).prepare('INSERT INTO api_keys ' +
  '(prefix, hash, tenant, user_id, name, created_at, scopes) VALUES (?, ?, ?, ?, ?, ?, ?)');
insert.run('e2eadmin', hash, 'e2e', 'key:e2eadmin', 'end to end', Date.now(), 'admin');
insert.run('e2eother', '', 'other', 'key:e2eother', 'elsewhere', Date.now(), 'read');
console.log(JSON.stringify({ keys, admin_key: key }));
";

/// Signs its input with the private keys of the environment.
const SIGN: &str = "
const { createHmac, createPrivateKey, createPublicKey, sign } = require('node:crypto');
const keys = JSON.parse(process.env.ESPALIER_ISSUER_KEYS);
const part = (json) => Buffer.from(JSON.stringify(json)).toString('base64url');
console.log(JSON.stringify(JSON.parse(process.argv[1]).map(([name, header, claims]) => {
  const signed = part(header) + '.' + part(claims);
  const key = keys[name] && createPrivateKey({ key: keys[name], format: 'jwk' });
  const signature = !key ? Buffer.alloc(0)
    : header.alg === 'HS256'
      ? createHmac('sha256', createPublicKey(key).export({ format: 'pem', type: 'spki' })).update(signed).digest()
      : sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return signed + '.' + signature.toString('base64url');
})));
";

/// The issuers of `closed`, by their short names.
pub const RSA: &str = "https://rsa.example";
/// See [`RSA`].
pub const EC: &str = "https://ec.example";
/// Like Cloudflare Access, whose tokens come in their own header.
pub const ACCESS: &str = "https://team.example";
/// Like [`ACCESS`], but the service cannot fetch its keys: it publishes none.
pub const GONE: &str = "https://gone.example";
/// Like [`RSA`], but its keys arrive only after a test has released the barrier [`SLOW_KEYS`].
pub const SLOW: &str = "https://slow.example";
/// The document with the keys of [`SLOW`], and the barrier in front of it.
pub const SLOW_KEYS: &str = "slow";

/// The keys of the issuers, and an API key with the scope `admin` of the tenant `e2e`.
pub struct Identity {
    /// JSON: private keys by name.
    pub issuer_keys: String,
    /// The key itself.
    pub admin_key: String,
}

impl Identity {
    /// Makes new ones. The API key goes into the D1 of this file, which no other process has open.
    pub async fn make(database: &Path) -> Self {
        let made = node(MAKE, &database.display().to_string()).await;
        let admin_key = made["admin_key"].as_str().unwrap_or_default().to_owned();
        Self { issuer_keys: made["keys"].to_string(), admin_key }
    }

    /// The set that an issuer with these keys publishes.
    pub fn published(&self, names: &[&str]) -> Value {
        published(&self.issuer_keys, names)
    }
}

/// The variable `JWT` for an instance. `url` gives the address of the document of this name, `fake` is the issuer of the
/// provider with this name.
pub fn issuers(url: impl Fn(&str) -> String, fake: &str) -> Value {
    let slow = format!("{}?barrier={SLOW_KEYS}", url(SLOW_KEYS));
    json!([
        { "name": "rsa", "issuer": RSA, "audience": "espalier", "jwks_url": url("rsa"), "tenant_claim": "org" },
        { "name": "ec", "issuer": EC, "audience": "espalier", "jwks_url": url("ec"), "algorithm": "ES256" },
        { "name": "access", "issuer": ACCESS, "audience": "espalier", "jwks_url": url("rsa"),
          "header": "cf-access-jwt-assertion", "tenant": "team" },
        { "name": "gone", "issuer": GONE, "audience": "espalier", "jwks_url": url("gone"),
          "header": "cf-access-jwt-assertion" },
        { "name": "fake", "issuer": fake, "audience": "espalier-api", "jwks_url": url("rsa"), "tenant_claim": "org" },
        { "name": "slow", "issuer": SLOW, "audience": "espalier", "jwks_url": slow },
    ])
}

/// An element of the variable `OIDC`.
pub fn provider(id: &str, label: &str, issuer: &str) -> Value {
    json!({ "id": id, "label": label, "issuer": issuer, "client_id": "espalier",
            "client_secret_secret": "OIDC_CLIENT_SECRET" })
}

/// The variable `OIDC` for an instance: a provider whose users are those of an issuer above, a real one, one that says it is
/// another, one that nobody can reach.
pub fn providers(fake: &str, real: &str, liar: &str) -> Value {
    json!([
        provider("fake", "Fake ID", fake),
        provider("real", "Example ID", real),
        provider("liar", "Liar ID", liar),
        // No server listens on the port of the discard protocol.
        provider("down", "Down ID", "http://127.0.0.1:9"),
    ])
}

/// The set of these keys of the environment.
pub fn set_of(names: &[&str]) -> Value {
    published(&env("ESPALIER_ISSUER_KEYS"), names)
}

fn published(keys: &str, names: &[&str]) -> Value {
    let keys: Value = serde_json::from_str(keys).expect("keys as JSON");
    let public = names.iter().map(|name| {
        let mut key = keys[name].clone();
        let members = key.as_object_mut().unwrap_or_else(|| panic!("no key {name}"));
        for private in ["d", "p", "q", "dp", "dq", "qi"] {
            members.remove(private);
        }
        members.insert("kid".to_owned(), json!(name));
        members.insert("use".to_owned(), json!("sig"));
        key
    });
    json!({ "keys": public.collect::<Vec<_>>() })
}

/// Tokens: each of a key's name (any other: no signature), a header and claims.
pub async fn tokens(wanted: &[(&str, Value, Value)]) -> Vec<String> {
    let signed = node(SIGN, &json!(wanted).to_string()).await;
    let tokens = signed.as_array().expect("an array").iter();
    tokens.map(|token| token.as_str().unwrap_or_default().to_owned()).collect()
}

/// The claims of a token that is good for five minutes.
pub fn claims(issuer: &str, tenant: &str, user: &str) -> Value {
    json!({ "iss": issuer, "aud": "espalier", "sub": user, "org": tenant, "exp": now_s() + 300 })
}

/// Users of tenants at the instance without anonymous users, by their tokens.
pub async fn users<const N: usize>(who: [(&str, &str); N]) -> [Client; N] {
    let wanted =
        who.map(|(tenant, user)| ("rsa", json!({ "alg": "RS256", "kid": "rsa" }), claims(RSA, tenant, user)));
    let tokens: [String; N] = tokens(&wanted).await.try_into().expect("as many as wanted");
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let users = tokens.map(|token| closed.with("authorization", &format!("Bearer {token}")));
    if let Some(first) = users.first() {
        answered(first).await;
    }
    users
}

/// The answer to a user whose issuer the instance may not know yet. One request at a time fetches an issuer's keys; the
/// service tells the others meanwhile to ask again.
pub async fn answered(user: &Client) -> Reply {
    loop {
        let reply = user.get("/api/threads?limit=1").await;
        if reply.status != 503 {
            return reply;
        }
        tokio::task::yield_now().await;
    }
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

async fn node(script: &str, argument: &str) -> Value {
    let output = Command::new("node").args(["--no-warnings", "-e", script, argument]).output().await;
    let output = output.expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}
