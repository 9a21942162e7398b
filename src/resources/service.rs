//! The service itself: its health, its description and its models.

use super::words::*;

#[cfg(test)]
use crate::health::Health;
#[cfg(test)]
use crate::models::ModelList;
#[cfg(target_arch = "wasm32")]
use crate::routes::{health, models, openapi};

routes! {
    /// Reports the version and the model that run here, or every problem of the configuration. See docs/agents.md for
    /// agents that stay, docs/workflows.md for sessions of workflows, and "Share links" in docs/wire-protocol.md.
    Get "/api/health" => Health, Unlimited, Nothing, Reads,
        |r| ready(Ok(health::report(r.call))),
        |row| row.gives::<Health>(200).gives::<Health>(503);
    /// Returns this description of the API.
    Get "/openapi.json" => OpenApi, Open, Nothing, Reads,
        |r| openapi::description(r.call),
        |row| row.gives::<Map<String, Value>>(200);
    /// Lists the models that a request may name. The ids are the names for the member `model` of a request. See "Routes" in
    /// docs/wire-protocol.md for the members of a model.
    Get "/api/models" => Models, Needs(Read), Nothing, Reads,
        |r| ready(models::list(r.call)),
        |row| row.gives::<ModelList<'_>>(200);
}
