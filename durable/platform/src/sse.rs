//! Events as server-sent events. Pure: from an event straight into the bytes that go out.

use wire::protocol::{Event, Seq};

/// Appends an event: `id`, `event`, one line of `data` (JSON escapes line breaks), a blank line.
pub fn encode(out: &mut Vec<u8>, seq: Seq, turn_id: &str, event: &Event) -> Result<(), serde_json::Error> {
    let start = out.len();
    let written = try_encode(out, seq, turn_id, event);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn try_encode(out: &mut Vec<u8>, seq: Seq, turn_id: &str, event: &Event) -> Result<(), serde_json::Error> {
    out.extend_from_slice(b"id: ");
    serde_json::to_writer(&mut *out, &seq)?;
    out.extend_from_slice(b"\nevent: ");
    out.extend_from_slice(event.kind().as_bytes());
    out.extend_from_slice(b"\ndata: {\"seq\":");
    serde_json::to_writer(&mut *out, &seq)?;
    out.extend_from_slice(b",\"turn_id\":");
    serde_json::to_writer(&mut *out, turn_id)?;
    // An event is a JSON object that has at least its type: the event's members follow those that were written here.
    let brace = out.len();
    serde_json::to_writer(&mut *out, event)?;
    if let Some(brace) = out.get_mut(brace) {
        *brace = b',';
    }
    out.extend_from_slice(b"\n\n");
    Ok(())
}

/// Appends a comment. It keeps the connection alive, and shows the writer whether the connection still is.
pub fn heartbeat(out: &mut Vec<u8>) {
    out.extend_from_slice(b": \n\n");
}

/// Appends the comment that ends the stream of a parked turn (docs/wire-protocol.md).
pub fn parked(out: &mut Vec<u8>) {
    out.extend_from_slice(b": parked\n\n");
}
