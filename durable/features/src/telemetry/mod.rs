//! Telemetry: each finished turn as spans of OpenTelemetry, for a collector that the operator names. It has no tools and
//! stores nothing: the outbox of a thread brings the turn, at least once, and the same turn has the same ids each time.

mod config;
mod otlp;
mod spans;

pub use config::Config;
pub use spans::{Finished, export};

use std::rc::Rc;

use wire::http::{Http, HttpRequest, Unreachable};

/// Sends finished turns to the collector. The error is for the operator, and has no text of the collector: an answer may
/// repeat what was sent.
pub async fn send(http: &dyn Http, config: &Config, turns: &[Finished<'_>]) -> Result<(), String> {
    let body = export(config, turns).map_err(|error| format!("the spans: {error}"))?;
    let headers = vec![("content-type", "application/json".to_owned())];
    let request = HttpRequest { named: config.headers(), ..HttpRequest::post(config.url(), headers, body) };
    match http.send(Rc::new(request)).await {
        Ok(reply) if (200..300).contains(&reply.status) => Ok(()),
        Ok(reply) => Err(format!("the collector answered with status {}", reply.status)),
        Err(Unreachable) => Err("the collector could not be reached".to_owned()),
    }
}

#[cfg(test)]
mod tests;
