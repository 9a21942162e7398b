//! Custom instructions.

use super::words::*;
use wire::protocol::NewInstructions;

#[cfg(target_arch = "wasm32")]
use crate::routes::instructions;
#[cfg(test)]
use wire::protocol::Instructions;

routes! {
    /// Returns the user's custom instructions. See "Custom instructions" in docs/wire-protocol.md.
    Get "/api/me/instructions" => Instructions, Needs(Read), Nothing, Reads,
        |r| instructions::get(r.call, r.caller.owner()?, None),
        |row| row.gives::<Instructions>(200);
    /// Writes the user's custom instructions, which each new turn of the user begins with. A chat that is open may begin
    /// turns with the ones before for another minute. See "Custom instructions" in docs/wire-protocol.md.
    Put "/api/me/instructions" => PutInstructions, Needs(Write), json::<NewInstructions>(), Uploads,
        |r| instructions::put(r.call, r.caller.owner()?, None, r.body),
        |row| row.takes(example()).gives::<Instructions>(200).refuses(&[E::QuotaExceeded]);
    /// Returns the custom instructions of a project. See "Custom instructions" in docs/wire-protocol.md.
    Get "/api/projects/{}/instructions" => ProjectInstructions(project), Needs(Read), Nothing, Reads,
        |r| instructions::get(r.call, r.caller.owner()?, Some(project)),
        |row| row.gives::<Instructions>(200).refuses(&[E::ProjectNotFound]);
    /// Writes the custom instructions of a project, which each new turn about it begins with, behind the user's. They go
    /// with the project. See "Custom instructions" in docs/wire-protocol.md.
    Put "/api/projects/{}/instructions" => PutProjectInstructions(project), Needs(Write), json::<NewInstructions>(),
        Uploads,
        |r| instructions::put(r.call, r.caller.owner()?, Some(project), r.body),
        |row| row.takes(example()).gives::<Instructions>(200).refuses(&[E::ProjectNotFound, E::QuotaExceeded]);
}

/// The table `instructions`.
pub const TABLE: Table = users(
    "instructions",
    Rows {
        key: &["project_id"],
        line: Some("instructions"),
        columns: &["project_id", "content", "updated_at"],
        ..ROWS
    },
    20,
);

#[cfg(test)]
fn example() -> Value {
    json!({ "content": "Answer briefly, and in metric units." })
}
