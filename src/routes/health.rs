//! `GET /api/health`. No credential, no I/O.

use bindings::d1;
use bindings::env::{AI, VECTORS, is_bound, var};
use platform::QUOTA_BINDING;

use crate::call::{Answer, Call};
use crate::health::{Bindings, Health};
use crate::reply::Reply;

/// The report.
pub fn report(call: &Call) -> Answer {
    let bindings = Bindings {
        threads: call.env.durable_object("THREADS").is_ok(),
        db: d1::is_there(&call.env),
        quota: call.env.durable_object(QUOTA_BINDING).is_ok(),
        ai: is_bound(&call.env, AI),
        vectors: is_bound(&call.env, VECTORS),
    };
    let health =
        Health::of(&call.settings, bindings, wire::time::day(call.now), &|name| var(&call.env, name));
    Reply::json(health.status(), &health).into()
}
