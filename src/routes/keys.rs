//! The API keys of a tenant: list, mint, revoke. A key is shown once; D1 has its digest alone. Revoking a key revokes all
//! keys that it minted: a key that leaked may have minted others.

use wire::protocol::{ApiError, AuditAction, ErrorCode, KeyList, KeySummary, MintedKey, NewKey, Owner};

use super::{audit, credentials};
use crate::audit::Deed;
use crate::auth::api_key::store::{self, MAX_KEYS};
use crate::auth::api_key::{ApiKey, ISSUER};
use crate::auth::scope::{Scope, Scopes};
use crate::auth::{Verified, unauthenticated};
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;

/// `GET /api/keys`.
pub async fn list(call: &Call, admin: Verified) -> Result<Answer, Failure> {
    let keys = store::list(&call.env, &admin.principal.owner.tenant).await;
    Ok(Reply::json(200, &KeyList { keys: keys.map_err(Failure::internal("listing API keys"))? }).into())
}

/// `POST /api/keys`: a key for somebody of the same tenant.
pub async fn mint(call: &Call, admin: Verified, body: &[u8]) -> Result<Answer, Failure> {
    let new = NewKey::parse(body, call.now)?;
    let scopes = match &new.scopes {
        None => Scopes::USER,
        Some(words) => scopes(words)?,
    };
    audit::check_room(call, &admin.principal.owner, AuditAction::KeyMinted).await?;
    let (mut prefix, mut secret) = ([0; 6], [0; 32]);
    let drawn = getrandom::fill(&mut prefix).and_then(|()| getrandom::fill(&mut secret));
    drawn.map_err(Failure::internal("drawing an API key"))?;
    let key = ApiKey::mint(prefix, secret);
    let summary = KeySummary {
        prefix: key.prefix().to_owned(),
        user_id: format!("{ISSUER}:{}", new.user.as_deref().unwrap_or(key.prefix())),
        name: new.name,
        scopes: scopes.to_strings(),
        created_at: call.now,
        created_by: admin.key.as_ref().map(|label| label.prefix.clone()),
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    store(call, &admin.principal.owner, &key, &summary).await?;
    Ok(Reply::json(201, &MintedKey { key: key.reveal().to_owned(), summary }).into())
}

fn scopes(words: &[String]) -> Result<Scopes, ApiError> {
    let scopes = words.iter().enumerate().map(|(index, word)| {
        let unknown = || ApiError::field(format!("scopes[{index}]"), "expected read, write, admin or erase");
        Scope::of_word(word).ok_or_else(unknown)
    });
    let scopes: Scopes = scopes.collect::<Result<_, _>>()?;
    if scopes == Scopes::default() {
        return Err(ApiError::field("scopes", "expected at least one scope"));
    }
    Ok(scopes)
}

/// Stores a key, or says why it cannot: the minting key is no longer valid, or the tenant has too many.
async fn store(call: &Call, admin: &Owner, key: &ApiKey, summary: &KeySummary) -> Result<(), Failure> {
    let tenant = &admin.tenant;
    let (scopes, address) = (summary.scopes.join(" "), call.address_mark());
    let deed = Deed {
        owner: admin,
        action: AuditAction::KeyMinted,
        target: &summary.prefix,
        detail: Some(&scopes),
        address: address.as_deref(),
    };
    store::purge(&call.env, tenant, call.now).await.map_err(Failure::internal("purging API keys"))?;
    let stored = store::insert(&call.env, key, summary, &deed).await;
    if stored.map_err(Failure::internal("storing an API key"))? {
        return Ok(());
    }
    if let Some(minted_by) = &summary.created_by {
        let is_live = store::is_live(&call.env, tenant, minted_by, call.now).await;
        if !is_live.map_err(Failure::internal("looking up an API key"))? {
            return Err(unauthenticated("the API key is invalid, expired or revoked").into());
        }
    }
    let detail = format!("a tenant has at most {MAX_KEYS} valid API keys: revoke some");
    Err(ApiError::new(ErrorCode::InvalidRequest, detail).into())
}

/// `DELETE /api/keys/{prefix}`: ends the key and all keys that it minted, directly or through others. Revoking it again
/// changes nothing.
pub async fn revoke(call: &Call, admin: Verified, prefix: &str) -> Result<Answer, Failure> {
    let (owner, address) = (&admin.principal.owner, call.address_mark());
    let tenant = &owner.tenant;
    let (action, address) = (AuditAction::KeyRevoked, address.as_deref());
    let deed = Deed { owner, action, target: prefix, detail: None, address };
    let revoked = store::revoke(&call.env, &deed, call.now).await;
    let revoked = revoked.map_err(Failure::internal("revoking an API key"))?;
    if revoked.is_empty() {
        return Err(ApiError::new(ErrorCode::KeyNotFound, "there is no API key with this prefix").into());
    }
    for user_id in revoked {
        let user = user_id.split_once(':').map_or("", |(_, user)| user);
        credentials::forget(tenant, user);
    }
    Ok(Reply::empty().into())
}
