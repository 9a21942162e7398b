//! `POST /api/session`: an anonymous visitor gets a cookie. Nothing is stored, so one that is never used costs
//! nothing.

use super::credentials;
use crate::auth::session::{Opened, Session, set_cookie, token_in};
use crate::auth::unauthenticated;
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::Call;
use crate::settings::Anonymous;

/// Keeps a visitor who has a valid cookie, else begins a new session.
pub fn open(call: &Call) -> Result<Reply, Failure> {
    let key = match &call.settings.anonymous {
        Anonymous::On(key) => key,
        Anonymous::Off => return Err(unauthenticated("this service has no anonymous sessions").into()),
        Anonymous::NoSecret => return Err(credentials::no_secret().into()),
    };
    credentials::check_page(call)?;
    let cookies = call.header("cookie");
    let known = cookies
        .as_deref()
        .and_then(|cookies| token_in(cookies, call.is_https()))
        .and_then(|token| key.verify(token, call.now));
    let session = match known {
        Some(session) => session.renewed(call.now),
        None => {
            let user = uuid_v7(call.now).map_err(Failure::internal("drawing a visitor's id"))?;
            Session::begin(user, call.now)
        }
    };
    let cookie = set_cookie(&key.sign(&session), &session, call.now, call.is_https());
    let opened = Opened { user_id: session.user, expires_at: session.expires_at };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie))
}
