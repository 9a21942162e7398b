//! Identity providers that answer as a test wants: for a code, the token endpoint gives the document that the test has put
//! for it. Their keys are the documents `rsa` and so on.
//!
//! | route | |
//! |---|---|
//! | `GET /_fake/idp/NAME/.well-known/openid-configuration` | the provider's document |
//! | `POST /_fake/idp/NAME/token` | the document `code-CODE`: `{"status", "body"}`; without one, `invalid_grant` |

use hyper::{HeaderMap, Response};
use serde_json::{Value, json};

use super::ledger::{Ledger, Outcome};
use super::server::{Body, DOCUMENTS, parse_query, plain};
use super::wire::Headers;

const BEGIN: &str = "/_fake/idp/";

/// Answers, where the path is one of these.
pub fn answer(
    ledger: &Ledger,
    method: &str,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<Response<Body>> {
    let (name, route) = path.strip_prefix(BEGIN)?.split_once('/')?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let host = format!("http://{}", text("host"));
    match (method, route) {
        ("GET", ".well-known/openid-configuration") => {
            let issuer = format!("{host}{BEGIN}{name}");
            Some(plain(
                200,
                &json!({
                    // One provider says that it is another.
                    "issuer": if name == "liar" { format!("{issuer}/") } else { issuer.clone() },
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "jwks_uri": format!("{host}{DOCUMENTS}rsa"),
                }),
            ))
        }
        ("POST", "token") => {
            let form = parse_query(&String::from_utf8_lossy(body));
            let code = form.get("code").cloned().unwrap_or_default();
            let sent = Headers::from([("authorization".to_owned(), text("authorization").to_owned())]);
            let id = ledger.arrive(&format!("{path}/{code}"), 0, sent, json!(form));
            let answer = ledger.published(&format!("{DOCUMENTS}code-{code}"));
            let answer =
                answer.unwrap_or_else(|| json!({ "status": 400, "body": { "error": "invalid_grant" } }));
            ledger.end(id, Outcome::Finished, None);
            let status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            Some(plain(status.unwrap_or(500), answer.get("body").unwrap_or(&Value::Null)))
        }
        _ => None,
    }
}
