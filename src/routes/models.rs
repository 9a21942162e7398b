//! `GET /api/models`.

use platform::env::{AI, is_bound, var};

use crate::models::{ModelList, configuration};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::Call;

/// What this deployment offers.
pub fn list(call: &Call) -> Result<Reply, Failure> {
    let configuration = configuration(|name| var(&call.env, name), is_bound(&call.env, AI))?;
    Ok(Reply::json(200, &ModelList::of(&configuration)))
}
