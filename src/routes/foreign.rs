//! Answers to clients of other services, whose errors have a form of their own.

use serde_json::Value;
use worker::web_sys::Response;

use super::object;
use crate::call::Answer;
use crate::reply::Reply;

/// The headers of a problem that are kept.
const KEPT: [&str; 1] = ["retry-after"];

/// Makes the body of an error of a problem and its status.
pub type Form = fn(u16, &Value) -> Value;

/// An answer with its problem in the client's form.
pub async fn told(answer: Answer, form: Form) -> Answer {
    match answer {
        Answer::Object(response) | Answer::Warned(response, _) if is_problem(&response) => {
            let headers = response.headers();
            let kept = KEPT.into_iter().filter_map(|name| Some((name, headers.get(name).ok().flatten()?)));
            let headers = kept.collect();
            let problem = object::read::<Value>(&response).await.unwrap_or_default();
            Answer::Ours(error(response.status(), &problem, headers, form))
        }
        Answer::Ours(reply) if is_problem_reply(&reply) => {
            let problem = reply.body.as_deref().map(wire::json::from_slice::<Value>);
            let problem = problem.and_then(Result::ok).unwrap_or_default();
            Answer::Ours(error(reply.status, &problem, reply.headers, form))
        }
        answer => answer,
    }
}

/// The media type of problems.
const PROBLEM: &str = "application/problem+json";

fn is_problem(response: &Response) -> bool {
    response.headers().get("content-type").ok().flatten().is_some_and(|kind| kind == PROBLEM)
}

fn is_problem_reply(reply: &Reply) -> bool {
    reply.headers.iter().any(|(name, value)| *name == "content-type" && value == PROBLEM)
}

/// The reply that a problem is to these clients.
fn error(status: u16, problem: &Value, headers: Vec<(&'static str, String)>, form: Form) -> Reply {
    let mut reply = Reply::json(status, &form(status, problem));
    reply.headers.extend(headers.into_iter().filter(|(name, _)| *name != "content-type"));
    reply
}
