//! API keys.

use super::words::*;
use crate::account::store;
use crate::audit::statements::MAX_A_DAY;
use wire::protocol::NewKey;

#[cfg(target_arch = "wasm32")]
use crate::routes::keys;
#[cfg(test)]
use wire::protocol::{KeyList, MintedKey};

routes! {
    /// Lists the API keys of the tenant, oldest first. An expired or revoked key is deleted 30 days later, when the next
    /// key is made, unless it minted one that is still there. Of these the newest 1,000 stay.
    Get "/api/keys" => Keys, Needs(Admin), Nothing, Reads,
        |r| keys::list(r.call, r.caller.verified()?),
        |row| row.gives::<KeyList>(200);
    /// Creates an API key for somebody of the tenant. Only this answer shows the key itself. A tenant has at most 1,000
    /// valid keys.
    Post "/api/keys" => MintKey, Needs(Admin), json::<NewKey>(),
        Count(MAX_A_DAY as u64, "keys that an admin makes in a day"),
        |r| keys::mint(r.call, r.caller.verified()?, r.body),
        |row| row.takes(json!({ "name": "Ada's laptop", "scopes": ["read", "write"] })).gives::<MintedKey>(201);
    /// Revokes an API key and all keys that it minted, directly or through others. Within a minute they are invalid
    /// everywhere. While D1 does not answer, another isolate that knew a key lets it go on for up to an hour. The route
    /// needs the scope `admin`.
    Delete "/api/keys/{}" => RevokeKey(prefix), Needs(Admin), Nothing, Removes,
        |r| keys::revoke(r.call, r.caller.verified()?, prefix),
        |row| row.gives_nothing("It is revoked.").refuses(&[E::KeyNotFound]);
}

/// The table `api_keys`.
pub const TABLE: Table = users(
    "api_keys",
    Rows {
        key: &["prefix"],
        line: Some("api_key"),
        columns: &[
            "prefix",
            "name",
            "scopes",
            "created_at",
            "created_by",
            "expires_at",
            "revoked_at",
            "last_used_at",
        ],
        withheld: &["hash", "tenant", "user_id"],
        // The next life's: somebody minted them while the erasure ran.
        stays: Some(store::NEXT_LIFE),
        ..ROWS
    },
    100,
);
