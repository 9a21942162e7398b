//! Events as server-sent events. Pure.

use serde_json::Value;
use wire::protocol::Seq;

use crate::storage::event_json::EventJson;

/// Appends an event: `id`, `event`, one line of `data` (JSON escapes line breaks), a blank line.
pub fn encode(out: &mut Vec<u8>, seq: Seq, turn_id: &str, event: &EventJson) {
    let (number, turn_id) = (seq.to_string(), Value::from(turn_id).to_string());
    let head =
        ["id: ", &number, "\nevent: ", &event.kind, "\ndata: {\"seq\":", &number, ",\"turn_id\":", &turn_id];
    for piece in head.into_iter().chain([",", event.members(), "\n\n"]) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Appends a comment. It keeps the connection alive, and shows the writer whether the connection still is.
pub fn heartbeat(out: &mut Vec<u8>) {
    out.extend_from_slice(b": \n\n");
}

/// Appends the comment that ends the stream of a parked turn (docs/wire-protocol.md).
pub fn parked(out: &mut Vec<u8>) {
    out.extend_from_slice(b": parked\n\n");
}
