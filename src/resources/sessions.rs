//! Sessions: signing in and out, and the sessions that a user has.

use super::words::*;
use crate::account::store;
use crate::account::store::MAX_ENDED;
use crate::audit::statements::MAX_A_DAY;
use wire::protocol::{SignIn, StartSignIn};

#[cfg(test)]
use crate::auth::signed_in::Opened;
#[cfg(target_arch = "wasm32")]
use crate::routes::{oidc, session, sessions};
#[cfg(test)]
use wire::protocol::{SessionList, StartedSignIn};

routes! {
    /// Opens a session, or tells whose the session is. With an API key in the body it opens a session with the key's
    /// scopes, which ends with the key, after 30 days at most. Without a key it tells the user of the cookie. Where no
    /// cookie is valid it opens an anonymous session, if the deployment has them. The answer sets the cookie where a
    /// session begins or is renewed. See "Credentials" in docs/wire-protocol.md.
    Post "/api/session" => Session, KnownOrigin, optional_json::<SignIn>(),
        Count(MAX_A_DAY as u64, "sign-ins of a user in a day; their newest sessions stay"),
        |r| session::open(r.call, r.body),
        |row| row
            .takes(json!({ "key": "espk_0123456789ab_0123456789abcdef" }))
            .gives::<Opened>(200)
            .refuses(&[E::Unauthenticated, E::Misconfigured, E::IssuerUnavailable]);
    /// Signs out. The session ends: while D1 answers, its cookie is invalid everywhere within a minute. The browser deletes
    /// the cookie. No copy of the cookie opens the session.
    Delete "/api/session" => SignOut, KnownOrigin, Nothing,
        Count(MAX_ENDED as u64, "sessions of visitors without a row that a network ends in an hour"),
        |r| session::sign_out(r.call),
        |row| row.gives_nothing("The browser deletes the cookie.");
    /// Begins a sign-in at an identity provider, and tells the address there that the browser goes to. The browser keeps
    /// the sign-in in a cookie for ten minutes. The providers stand in the answer of `POST /api/session`. The answer is 404
    /// `route_not_found` for an unknown provider, and 503 `issuer_unavailable` with `Retry-After` while the provider cannot
    /// be reached. See "Credentials" in docs/wire-protocol.md.
    Post "/api/oidc/{}" => StartSignIn(provider), KnownOrigin, optional_json::<StartSignIn>(), Reads,
        |r| oidc::start(r.call, provider, r.body),
        |row| row
            .takes(json!({ "return_to": "/" }))
            .gives::<StartedSignIn>(200)
            .refuses(&[E::RouteNotFound, E::Misconfigured, E::IssuerUnavailable]);
    /// Takes a provider's answer, to which the provider redirects the browser: opens a session for twelve hours, with the
    /// scopes `read` and `write`, and redirects to the page. A sign-in that fails redirects to the page too, with the
    /// reason as `sign_in`: `denied`, `expired`, `failed` or `unavailable`. Only the browser that began the sign-in can end
    /// it. The page is the `return_to` of `POST /api/oidc/{id}`. See "Credentials" in docs/wire-protocol.md.
    Get "/api/oidc/{}/callback" => EndOfSignIn(provider), Open, Nothing,
        Count(MAX_A_DAY as u64, "sign-ins of a user in a day; their newest sessions stay"),
        |r| oidc::callback(r.call, provider),
        |row| row
            .query(Parameter::new("state", "As the provider got it.", json!({ "type": "string" })))
            .query(Parameter::new("code", "The provider's code.", json!({ "type": "string" })))
            .query(Parameter::new("error", "Why there is no code.", json!({ "type": "string" })))
            .query(Parameter::new("iss", "The provider (RFC 9207).", json!({ "type": "string" })))
            .answers(303, "The browser goes on at the page.", None)
            .refuses(&[E::RouteNotFound, E::Misconfigured]);
    /// Lists the user's sessions, newest first: those that their API keys or an identity provider opened, or a visitor's own
    /// after its first turn.
    /// The list has at most 100. See "Signing in" in docs/operations.md.
    Get "/api/me/sessions" => Sessions, Needs(Read), Nothing, Reads,
        |r| sessions::list(r.call, r.caller.owner()?),
        |row| row.gives::<SessionList>(200);
    /// Ends all sessions of the user but the one of the request. Within a minute their cookies are invalid everywhere. An
    /// API key or a token has no session of its own, so it ends all.
    Delete "/api/me/sessions" => EndOtherSessions, Needs(Write), Nothing, Removes,
        |r| sessions::end_others(r.call, r.caller.owner()?),
        |row| row.gives_nothing("They have ended.");
    /// Ends a session of the user. Within a minute its cookie is invalid everywhere. Where it is the session of the
    /// request, the browser deletes its cookie.
    Delete "/api/me/sessions/{}" => EndSignIn(sign_in), Needs(Write), Nothing, Removes,
        |r| sessions::end(r.call, r.caller.owner()?, sign_in),
        |row| row.gives_nothing("It has ended.").refuses(&[E::SessionNotFound]);
}

/// The table `sessions`.
pub const TABLE: Table = users(
    "sessions",
    Rows {
        of_user: store::OF_SESSIONS,
        key: &["substr(hash, 1, 32)"],
        line: Some("session"),
        columns: &["substr(hash, 1, 32) AS id", "agent", "created_at", "seen_at", "expires_at", "revoked_at"],
        withheld: &["hash", "key_prefix", "tenant", "user_id", "network"],
        // A visitor's: it refuses the cookie as long as one may be out there. It names nobody any more.
        stays: Some("hash = ?3"),
        ..ROWS
    },
    100,
);
