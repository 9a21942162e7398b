//! Admits requests to routes. It verifies their credentials by the clock, the secrets of sessions, the keys and sessions
//! in D1, and the public keys of issuers.

use std::cell::RefCell;

use futures::future::join;
use sha2::{Digest, Sha256};
use wire::protocol::{ApiError, ErrorCode, Owner, hex};
use wire::store::StoreError;
use worker::console_error;

use super::account::erasure;
use super::jwks;
use crate::account::erasure::in_progress as erasure_in_progress;
use crate::auth::api_key::{self, ApiKey, KeyRow};
use crate::auth::jwt::{Issuer, Token};
use crate::auth::oidc::Providers;
use crate::auth::scope::{Access, Scope};
use crate::auth::seen::SeenCredentials;
use crate::auth::session::AnonymousSession;
use crate::auth::sessions::store::VisitorRow;
use crate::auth::sessions::{self, Kept, visitor_hash};
use crate::auth::signed_in::SessionToken;
use crate::auth::signed_in::store::{self, SessionRow};
use crate::auth::{Authority, Credential, CredentialDigest, Verified, lacks, presented, unauthenticated};
use crate::body;
use crate::call::Call;
use crate::problem::Failure;
use crate::router::Row;
use crate::settings::Anonymous;

thread_local! {
    // Borrowed for single look-ups only, never across an await.
    static SEEN: RefCell<SeenCredentials> = const { RefCell::new(SeenCredentials::new()) };
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept::new()) };
}

/// The caller of an admitted request, known where the route needs a credential.
#[derive(Clone)]
pub struct Caller(Option<Verified>);

impl Caller {
    /// The caller's verified credential.
    pub fn verified(self) -> Result<Verified, Failure> {
        // A route that asks for the caller has a row with a scope. Should a row lack it, the request fails.
        self.0.ok_or_else(|| Failure::internal("admitting a request")("the route needs no credential"))
    }

    /// The user that the credential stands for; none where the route needs no credential.
    pub fn who(&self) -> Option<&Owner> {
        self.0.as_ref().map(|verified| &verified.principal.owner)
    }

    /// Whether the credential has this scope.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.as_ref().is_some_and(|verified| verified.principal.scopes.has(scope))
    }

    /// Refuses a credential without this scope.
    pub fn needs(&self, scope: Scope) -> Result<(), ApiError> {
        match self.has(scope) {
            true => Ok(()),
            false => Err(lacks(scope)),
        }
    }

    /// The user that the credential stands for.
    pub fn owner(self) -> Result<Owner, Failure> {
        Ok(self.verified()?.principal.owner)
    }
}

/// Admits a request to a route, or refuses it.
pub async fn admit(call: &Call, row: &Row) -> Result<Caller, Failure> {
    let verified = match row.access {
        Access::Unlimited | Access::Open | Access::KnownOrigin => None,
        Access::Needs(scope) | Access::NeedsAtOrigin(scope) => Some(of_scope(call, scope).await?),
        Access::Erases => Some(of_eraser(call).await?),
    };
    let is_ambient =
        verified.as_ref().is_none_or(|verified| verified.principal.authority == Authority::Ambient);
    let always = matches!(row.access, Access::NeedsAtOrigin(_));
    if row.needs_known_origin() && (is_ambient || always) {
        call.provenance().may_change_state(&call.settings.allowed_origins)?;
        if row.refuses_forms() && call.has_body() {
            body::require_json(call.header("content-type").as_deref())?;
        }
    }
    Ok(Caller(verified))
}

/// Verifies the request's credential.
async fn verified(call: &Call) -> Result<Verified, Failure> {
    let credential = presented(|name| call.header(name), issuers(call)?, call.is_https())?;
    verify(call, &credential).await
}

/// Verifies the request's credential, and that it may erase the account.
async fn of_eraser(call: &Call) -> Result<Verified, Failure> {
    let verified = verified(call).await?;
    verified.may_erase(call.now)?;
    Ok(verified)
}

/// Verifies the request's credential, and that it has the scope.
async fn of_scope(call: &Call, scope: Scope) -> Result<Verified, Failure> {
    let verified = verified(call).await?;
    match verified.principal.scopes.has(scope) {
        true => Ok(verified),
        false => Err(lacks(scope).into()),
    }
}

fn issuers(call: &Call) -> Result<&[Issuer], ApiError> {
    // A broken configuration refuses everybody; `/api/health` tells its problems.
    call.settings
        .issuers
        .as_deref()
        .map_err(|_| misconfigured("the issuers of tokens are misconfigured: see GET /api/health"))
}

/// The credential that the browser, or a proxy in front of the service, added by itself.
pub fn ambient(call: &Call) -> Result<Option<Credential>, ApiError> {
    let header = |name: &str| if name == "authorization" { None } else { call.header(name) };
    Ok(presented(header, issuers(call)?, call.is_https()).ok())
}

/// Verifies a credential.
pub async fn verify(call: &Call, credential: &Credential) -> Result<Verified, Failure> {
    match credential {
        Credential::ApiKey(key) => by_key(call, key).await,
        Credential::Jwt { token, authority } => by_token(call, token, *authority).await,
        Credential::SignedIn(token) => by_session(call, token).await,
        Credential::Anonymous(token) => match &call.settings.anonymous {
            Anonymous::On(secrets) => {
                let session = secrets.verify(token, call.now).ok_or_else(session_refused)?;
                by_visit(call, token, session).await
            }
            Anonymous::Off => Err(unauthenticated("this service has no anonymous sessions").into()),
            Anonymous::NoSecret => Err(no_secret().into()),
        },
    }
}

/// Verifies the API key that somebody signs in with.
pub async fn of_key(call: &Call, key: &str) -> Result<Verified, Failure> {
    match ApiKey::parse(key.trim()) {
        Some(key) => by_key(call, &key).await,
        None => Err(key_refused().into()),
    }
}

/// Anonymous sessions are on, but there is no secret to sign them.
pub fn no_secret() -> ApiError {
    misconfigured("anonymous sessions are on, but their secret is missing: see GET /api/health")
}

fn misconfigured(detail: &str) -> ApiError {
    ApiError::new(ErrorCode::Misconfigured, detail)
}

fn key_refused() -> ApiError {
    unauthenticated("the API key is invalid, expired or revoked")
}

fn session_refused() -> ApiError {
    unauthenticated("the session is invalid or over")
}

/// Verifies a token. It verifies the signature of the same token again only after a while. A user whom a token names has no
/// row that could be revoked, so D1 says whether their data is being erased; without its answer only a token goes on that was
/// verified within the hour.
async fn by_token(call: &Call, text: &str, authority: Authority) -> Result<Verified, Failure> {
    let (issuers, now) = (issuers(call)?, call.now);
    // The authority is part of the remembered digest, because it decides whether the origin rules hold.
    let way = [u8::from(authority == Authority::Ambient)];
    let digest = Sha256::new().chain_update(way).chain_update(text).finalize().into();
    if let Some(verified) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(verified);
    }
    let token = Token::parse(text).ok_or_else(jwks::refused)?;
    let issuer = token.issuer(issuers, authority).ok_or_else(jwks::refused)?;
    // The claims first: they cost nothing, and an expired token needs no verified signature.
    let verified = issuer.verify(&token, authority, now).ok_or_else(jwks::refused)?;
    let signed = jwks::signed_by(issuer, &token, now);
    let (signed, erasing) = join(signed, erasure::runs(&call.env, &verified.principal.owner)).await;
    if !signed? {
        return Err(jwks::refused());
    }
    match erasing {
        Ok(false) => {}
        Ok(true) => {
            SEEN.with_borrow_mut(|seen| seen.forget(&digest));
            erasure::go_on(call);
            return Err(erasure_in_progress().into());
        }
        Err(error) => return in_grace(&digest, now, "looking for an erasure", error),
    }
    SEEN.with_borrow_mut(|seen| seen.remember(digest, verified.clone(), now));
    Ok(verified)
}

async fn by_key(call: &Call, key: &ApiKey) -> Result<Verified, Failure> {
    let (digest, now) = (key.digest(), call.now);
    let row = async { Ok(api_key::store::find(&call.env, key.prefix()).await?.map(SessionRow::OfKey)) };
    let known = by_row(call, digest, row, |row| api_key::verify(row, &digest, now)).await?;
    known.ok_or_else(|| key_refused().into())
}

/// Verifies a session by its row: the key must still be valid, and the session ends with it; an identity provider must
/// still be configured.
async fn by_session(call: &Call, token: &SessionToken) -> Result<Verified, Failure> {
    // The digest found the row, so there is nothing left to compare.
    let row = store::find(&call.env, token);
    let known = by_row(call, token.digest(), row, |row| row.opens(Authority::Ambient, call.now)).await?;
    known.ok_or_else(|| session_refused().into())
}

/// Verifies a visitor's session, whose token is good, by its row in D1: the session may have been ended. As with keys, the
/// answer of a moment ago spares the query, and holds longer while D1 is down. Without one D1 must answer: the guard against
/// a session that was ended cannot be passed by waiting for an outage.
async fn by_visit(call: &Call, token: &str, session: AnonymousSession) -> Result<Verified, Failure> {
    let (digest, now) = (digest_of(token), call.now);
    if let Some(verified) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(verified);
    }
    let hash = visitor_hash(&session.user.to_string());
    match sessions::store::of_visitor(&call.env, &hash).await {
        Ok(VisitorRow::Ended) => {
            SEEN.with_borrow_mut(|seen| seen.forget(&digest));
            return Err(session_refused().into());
        }
        Ok(VisitorRow::Open) => {
            KEPT.with_borrow_mut(|kept| kept.insert(&hash));
        }
        Ok(VisitorRow::None) => {}
        Err(error) => return in_grace(&digest, now, "looking up a session", error),
    }
    remember_visitor(token, &session, now);
    Ok(session.verified())
}

/// Remembers a visitor whose session is open: D1 said so now, or it begins now.
pub fn remember_visitor(token: &str, session: &AnonymousSession, now: u64) {
    SEEN.with_borrow_mut(|seen| seen.remember(digest_of(token), session.verified(), now));
}

fn digest_of(token: &str) -> CredentialDigest {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether this isolate does not know yet that the visitor's session has a row. From here on it counts as known.
pub fn is_first_turn(hash: &str) -> bool {
    KEPT.with_borrow_mut(|kept| kept.insert(hash))
}

/// The row of a visitor's session could not be written: the next turn tries again.
pub fn is_not_kept(hash: &str) {
    KEPT.with_borrow_mut(|kept| kept.remove(hash));
}

/// The credential that D1 cannot be asked about, if it was verified before.
fn in_grace(
    digest: &CredentialDigest,
    now: u64,
    what: &'static str,
    error: StoreError,
) -> Result<Verified, Failure> {
    let verified = SEEN.with_borrow(|seen| seen.in_grace(digest, now));
    let verified = verified.ok_or_else(|| Failure::internal(what)(error))?;
    console_error!("{what}: D1 cannot be asked; what was verified before goes on");
    Ok(verified)
}

/// The digest of the session that the request's cookie shows and that admitted it; none where another credential did.
pub fn own_session(call: &Call) -> Result<Option<String>, ApiError> {
    Ok(match presented(|name| call.header(name), issuers(call)?, call.is_https())? {
        Credential::SignedIn(token) => Some(hex(&token.digest())),
        Credential::Anonymous(token) => match &call.settings.anonymous {
            Anonymous::On(secrets) => {
                secrets.verify(&token, call.now).map(|session| visitor_hash(&session.user.to_string()))
            }
            Anonymous::Off | Anonymous::NoSecret => None,
        },
        Credential::ApiKey(_) | Credential::Jwt { .. } => None,
    })
}

/// The providers at which people can sign in, if there are any.
pub fn providers(call: &Call) -> Result<Option<&Providers>, ApiError> {
    let wrong = "the identity providers are misconfigured: see GET /api/health";
    call.settings.providers.as_ref().map(Option::as_ref).map_err(|_| misconfigured(wrong))
}

/// Verifies a credential by its row in D1; `None` refuses it. A credential that was verified a moment ago costs no
/// query, and serves longer while D1 is down.
async fn by_row(
    call: &Call,
    digest: CredentialDigest,
    row: impl Future<Output = Result<Option<SessionRow>, StoreError>>,
    verify: impl FnOnce(KeyRow) -> Option<Verified>,
) -> Result<Option<Verified>, Failure> {
    let now = call.now;
    if let Some(verified) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(Some(verified));
    }
    let row = match row.await {
        Ok(row) => row,
        Err(error) => return in_grace(&digest, now, "looking up an API key", error).map(Some),
    };
    let (used, verified) = match row {
        None => (None, None),
        Some(SessionRow::OfKey(row)) => (row.use_is_news(now).then(|| row.prefix.clone()), verify(row)),
        Some(SessionRow::OfProvider(row)) => {
            (None, providers(call)?.and_then(|providers| providers.opens(row, now)))
        }
    };
    match &verified {
        Some(verified) => {
            SEEN.with_borrow_mut(|seen| seen.remember(digest, verified.clone(), now));
            if let Some(prefix) = used {
                let env = call.env.clone();
                call.context.wait_until(async move {
                    if let Err(error) = api_key::store::touch(&env, &prefix, now).await {
                        console_error!("writing down the use of an API key: {error}");
                    }
                });
            }
        }
        None => SEEN.with_borrow_mut(|seen| seen.forget(&digest)),
    }
    Ok(verified)
}

/// A session was signed out: this isolate notices at once, the others within a minute.
pub fn forget_session(digest: &CredentialDigest) {
    SEEN.with_borrow_mut(|seen| seen.forget(digest));
}

/// A key or a session of this user was revoked: this isolate notices at once, the others within a minute.
pub fn forget(tenant: &str, user: &str) {
    SEEN.with_borrow_mut(|seen| seen.forget_user(tenant, user));
}
