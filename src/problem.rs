//! Errors as `application/problem+json` (RFC 9457). The log has the details of internal failures, redacted; the caller
//! never gets them.

use std::fmt::Display;

use engine::journal;
use platform::storage::outgoing::{News, Outgoing};
use wire::protocol::{ApiError, ErrorCode, Problem, SignInWay};
use wire::redact::redacted;

use crate::auth::unauthenticated;
use crate::reply::Reply;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The caller or the operator can mend it.
    Refused(ApiError),
    /// The caller needs a session, and the service has none for visitors. It names the providers at which people can sign in.
    SignedOut { sign_in: Vec<SignInWay> },
    /// The path exists, but not with this method. `allow` is the value of `Allow`.
    WrongMethod { allow: String },
    /// The service failed. Both texts are for its log.
    Internal { doing: &'static str, error: String },
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Failure::Refused(error)
    }
}

impl Failure {
    /// For `map_err`: an internal failure while doing something.
    pub fn internal<E: Display>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Failure::Internal { doing, error: error.to_string() }
    }

    /// The line for the operator's log.
    pub fn log_line(&self) -> Option<String> {
        match self {
            Failure::Internal { doing, error } => Some(format!("{doing}: {}", redacted(error))),
            Failure::Refused(_) | Failure::SignedOut { .. } | Failure::WrongMethod { .. } => None,
        }
    }

    /// The row of `error_log`, without an owner: the caller may not be verified yet.
    pub fn row(&self, id: String, now: u64) -> Option<Outgoing> {
        let Failure::Internal { doing, error } = self else { return None };
        let failure = journal::FailureRecord {
            id,
            component: "worker".to_owned(),
            stage: (*doing).to_owned(),
            tool_name: None,
            code: ErrorCode::Internal.as_str().to_owned(),
            message: redacted(error),
        };
        Some(Outgoing {
            tenant: String::new(),
            user_id: String::new(),
            thread_id: String::new(),
            news: News::Failed { failure, created_at: now },
            beside: false,
        })
    }

    /// The reply to the caller.
    pub fn reply(&self) -> Reply {
        match self {
            Failure::Refused(error) if error.code == ErrorCode::Unauthenticated => {
                problem(error).with("www-authenticate", CHALLENGE)
            }
            Failure::SignedOut { sign_in } => {
                let error = unauthenticated("sign in, with an API key or at an identity provider");
                let body = Problem { sign_in: sign_in.clone(), ..error.problem() };
                problem_reply(error.code, &body).with("www-authenticate", CHALLENGE)
            }
            Failure::Refused(error) if error.code == ErrorCode::InsufficientScope => problem(error)
                .with("www-authenticate", "Bearer realm=\"espalier\", error=\"insufficient_scope\""),
            Failure::Refused(error) => match error.retry_after_s {
                Some(seconds) => problem(error).with("retry-after", seconds.to_string()),
                None => problem(error),
            },
            Failure::WrongMethod { allow } => {
                let error = ApiError::new(ErrorCode::MethodNotAllowed, format!("this path supports {allow}"));
                problem(&error).with("allow", allow.as_str())
            }
            Failure::Internal { .. } => {
                problem(&ApiError::new(ErrorCode::Internal, "the service failed; try again later"))
            }
        }
    }
}

/// The credential that a caller without one is asked for.
const CHALLENGE: &str = "Bearer realm=\"espalier\"";

fn problem(error: &ApiError) -> Reply {
    problem_reply(error.code, &error.problem())
}

fn problem_reply(code: ErrorCode, problem: &Problem) -> Reply {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    Reply::bytes(code.status(), "application/problem+json", body)
}

#[cfg(test)]
mod tests {
    use super::{ApiError, ErrorCode, Failure, SignInWay};

    fn body(failure: &Failure) -> serde_json::Value {
        wire::json::from_slice(&failure.reply().body.unwrap()).unwrap()
    }

    #[test]
    fn a_refusal_is_told_as_a_problem() {
        let failure = Failure::from(ApiError::field("content", "the message is blank"));
        let reply = failure.reply();
        assert_eq!(reply.status, 400);
        assert_eq!(reply.headers, [("content-type", "application/problem+json".to_owned())]);
        let expected = serde_json::json!({
            "type": "about:blank", "title": "The request is not valid", "status": 400,
            "code": "invalid_request", "detail": "the message is blank", "field": "content",
        });
        assert_eq!(body(&failure), expected);
        assert_eq!(failure.log_line(), None);
    }

    #[test]
    fn some_statuses_have_a_header_of_their_own() {
        let wrong = Failure::WrongMethod { allow: "POST, OPTIONS".to_owned() };
        assert_eq!(wrong.reply().status, 405);
        assert!(wrong.reply().headers.contains(&("allow", "POST, OPTIONS".to_owned())));
        let nobody = Failure::from(ApiError::new(ErrorCode::Unauthenticated, "no credential"));
        assert_eq!(nobody.reply().status, 401);
        assert!(nobody.reply().headers.iter().any(|(name, _)| *name == "www-authenticate"));
    }

    #[test]
    fn a_caller_who_must_sign_in_is_told_where() {
        let told = |sign_in| {
            let failure = Failure::SignedOut { sign_in };
            assert_eq!((failure.reply().status, failure.log_line()), (401, None));
            assert!(failure.reply().headers.iter().any(|(name, _)| *name == "www-authenticate"));
            body(&failure)["sign_in"].clone()
        };
        let way = SignInWay { id: "acme".to_owned(), label: "Acme".to_owned() };
        assert_eq!(told(vec![way]), serde_json::json!([{ "id": "acme", "label": "Acme" }]));
        assert_eq!(told(Vec::new()), serde_json::Value::Null);
    }

    #[test]
    fn an_internal_failure_is_logged_and_not_told() {
        let failure = Failure::internal("looking up a key")("D1_ERROR: no such table: api_keys");
        assert_eq!(
            failure.log_line().as_deref(),
            Some("looking up a key: D1_ERROR: no such table: api_keys")
        );
        assert_eq!(failure.reply().status, 500);
        assert!(!body(&failure).to_string().contains("api_keys"));
    }
}
