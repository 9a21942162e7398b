//! `GET /api/models`.

use bindings::env::{AI, is_bound, var};

use crate::call::{Answer, Call};
use crate::models::{ModelList, configuration};
use crate::problem::Failure;
use crate::reply::Reply;

/// The models that this deployment offers.
pub fn list(call: &Call) -> Result<Answer, Failure> {
    let configuration =
        configuration(&|name| var(&call.env, name), is_bound(&call.env, AI), wire::time::day(call.now))?;
    Ok(Reply::json(200, &ModelList::of(&configuration)).into())
}
