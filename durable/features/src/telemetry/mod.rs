//! Telemetry: each finished turn as spans of OpenTelemetry, for a collector that the operator names. It has no tools and
//! stores nothing: the outbox of a thread brings the turn, at least once, and the same turn has the same ids each time.
//!
//! `durable/features/src/telemetry` makes spans of a finished turn from the news of its end (`spans.rs`, `otlp.rs`),
//! and the adapter sends them beside the news for D1. So it needs no rows and no timer of its own, and a death loses
//! nothing. The ids are digests of the turn's, so what arrives twice is one span.

mod config;
mod otlp;
mod spans;

pub use config::Config;
pub use spans::{Finished, export};

use std::rc::Rc;

use wire::http::{Http, HttpRequest, Unreachable};

/// The answers after which the protocol lets a client send the same again. It forbids that after all others from 400 on:
/// <https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes>.
const PASSING: [u16; 4] = [429, 502, 503, 504];

/// Sends finished turns to the collector. Returns a text where the collector refuses them for good. The text and the error
/// are for the operator. They repeat nothing of the answer, which may repeat the spans.
pub async fn send(
    http: &dyn Http,
    config: &Config,
    turns: &[Finished<'_>],
) -> Result<Option<String>, String> {
    let body = export(config, turns).map_err(|error| format!("the spans: {error}"))?;
    let headers = vec![("content-type", "application/json".to_owned())];
    let request = HttpRequest { named: config.headers(), ..HttpRequest::post(config.url(), headers, body) };
    match http.send(Rc::new(request)).await {
        Ok(reply) if (200..300).contains(&reply.status) => Ok(None),
        Ok(reply) => {
            let said = format!("the collector answered with status {}", reply.status);
            let is_final = reply.status >= 400 && !PASSING.contains(&reply.status);
            if is_final { Ok(Some(said)) } else { Err(said) }
        }
        Err(Unreachable) => Err("the collector could not be reached".to_owned()),
    }
}

#[cfg(test)]
mod tests;
