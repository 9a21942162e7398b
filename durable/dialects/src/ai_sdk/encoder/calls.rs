//! Tool calls: the root's are parts of the message. Those below it stand in the output of the root's call, unless they
//! wait for the client.

use serde_json::value::RawValue;
use serde_json::{Error, Value};

use super::Encoder;
use crate::ai_sdk::frame::{self, json};
use crate::ai_sdk::inside::Inside;
use crate::template::Hole::{Json, Text};
use crate::{RAISE_LIMIT, is_root};
use wire::protocol::{Awaited, Decision, Place, Source, TurnLimits};

/// A call that has not ended.
pub struct Call {
    name: String,
    place: Place,
    /// The root's call around it; none for the root's own.
    root: Option<String>,
    input: Value,
    has_part: bool,
    by_client: bool,
    /// A person decides on it.
    is_asked: bool,
    /// The work within a call of the root.
    inside: Option<Inside>,
}

impl Call {
    /// The head of its part.
    fn tool(&self, id: &str) -> Vec<u8> {
        frame::tool(id, &self.name, self.waits_for_client(), &self.place)
    }

    /// Whether the client has something to do before the call can end. A client that answers by itself does so once it has
    /// done that for each such part of the last step.
    fn waits_for_client(&self) -> bool {
        self.by_client || self.is_asked
    }
}

impl Encoder {
    /// A call whose part stands in the message from now on.
    fn part(
        &mut self,
        (id, name, args): (&str, &str, Option<&Value>),
        place: &Place,
        (by_client, is_asked): (bool, bool),
        out: &mut Vec<u8>,
    ) {
        let Some(call) = self.call((id, name, args), place) else { return };
        (call.has_part, call.by_client, call.is_asked) = (true, by_client, is_asked);
        let (tool, input) = (call.tool(id), call.input.to_string());
        self.voice.tell(out, frame::TOOL_INPUT_START, &[Json(&tool)]);
        self.voice.tell(out, frame::TOOL_INPUT_DELTA, &[Text(id), Text(&input)]);
    }

    /// The input of a part is complete. A client runs its tool now.
    fn available(&mut self, id: &str, out: &mut Vec<u8>) {
        let Some(call) = self.calls.get(id) else { return };
        if call.by_client && self.voice.is_heard() && self.voice.seq < self.past {
            return self.held.push(id.to_owned());
        }
        let (tool, input) = (call.tool(id), call.input.to_string());
        self.voice.tell(out, frame::TOOL_INPUT_AVAILABLE, &[Json(&tool), Json(input.as_bytes())]);
    }

    /// The replay is over: the calls that it left open run in the client.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        for id in std::mem::take(&mut self.held) {
            self.available(&id, out);
        }
    }

    /// The call of this id, which begins where it is not known.
    fn call(&mut self, (id, name, args): (&str, &str, Option<&Value>), place: &Place) -> Option<&mut Call> {
        if self.calls.get(id).is_none() {
            let parent = place.parent_id.as_deref();
            let parent = parent.and_then(|parent| Some((parent, self.calls.get(parent)?)));
            let root = parent.map(|(parent, call)| call.root.clone().unwrap_or_else(|| parent.to_owned()));
            let call = Call {
                name: self.names.theirs(name).into_owned(),
                place: place.clone(),
                root,
                input: args.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
                has_part: false,
                by_client: false,
                is_asked: false,
                inside: None,
            };
            self.calls.insert(id, call);
        }
        self.calls.get_mut(id)
    }

    /// The work within the root's call around a place.
    fn inside(&mut self, place: &Place) -> Option<(String, &mut Inside)> {
        let parent = place.parent_id.as_deref()?;
        let root = self.calls.get(parent)?.root.clone().unwrap_or_else(|| parent.to_owned());
        let call = self.calls.get_mut(&root)?;
        Some((root, call.inside.get_or_insert_default()))
    }

    /// Tells the work within a call of the root, if it was not told a moment ago.
    fn progress(&mut self, root: &str, now_ms: u64, out: &mut Vec<u8>) {
        let Some(inside) = self.calls.get_mut(root).and_then(|call| call.inside.as_mut()) else { return };
        if self.voice.is_heard() && inside.is_due(now_ms) {
            self.voice.tell(out, frame::TOOL_OUTPUT_SO_FAR, &[Text(root), Json(&inside.output())]);
        }
    }

    /// The turn is parked: the calls of the root around the waiting ones have no further output before an answer. Clients
    /// answer by themselves once no part is left without an output.
    pub(super) fn tell_whats_inside(&mut self, out: &mut Vec<u8>) {
        for (id, call) in self.calls.iter() {
            let Some(inside) = &call.inside else { continue };
            self.voice.say(out, frame::TOOL_OUTPUT, &[Text(id), Json(&inside.output())]);
        }
    }

    pub(super) fn text_below(
        &mut self,
        part_id: &str,
        content: &str,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) {
        let Some((root, inside)) = self.inside(place) else { return };
        // The text of a deeper level is that of another subtask.
        if place.parent_id.as_deref() == Some(root.as_str()) {
            inside.writes(part_id, content);
            self.progress(&root, now_ms, out);
        }
    }

    pub(super) fn forget_text_below(&mut self, place: &Place, now_ms: u64, out: &mut Vec<u8>) {
        let Some((root, inside)) = self.inside(place) else { return };
        if place.parent_id.as_deref() == Some(root.as_str()) {
            inside.forgets();
            self.progress(&root, now_ms, out);
        }
    }

    pub(super) fn call_starts(
        &mut self,
        (id, name, args): (&str, &str, Option<&Value>),
        awaits: Option<Awaited>,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) {
        let by_client = awaits == Some(Awaited::Client);
        // A call that somebody allowed has its part.
        let has_part = self.calls.get(id).is_some_and(|call| call.has_part);
        if !has_part && (by_client || is_root(place)) {
            self.part((id, name, args), place, (by_client, false), out);
            self.available(id, out);
        } else if by_client {
            self.available(id, out);
        }
        if by_client {
            self.asked.push(id.to_owned());
        }
        if is_root(place) {
            return;
        }
        let name = self.call((id, name, args), place).map(|call| call.name.clone());
        let Some(((root, inside), name)) = self.inside(place).zip(name) else { return };
        inside.call_starts(id, &name, place.depth);
        self.progress(&root, now_ms, out);
    }

    pub(super) fn call_ends(
        &mut self,
        id: &str,
        (result, is_error, decision): (&str, bool, Option<Decision>),
        now_ms: u64,
        out: &mut Vec<u8>,
    ) {
        self.asked.retain(|asked| asked != id);
        let Some(call) = self.calls.remove(id) else { return };
        if call.has_part {
            self.has_answers |= call.waits_for_client();
            self.part_ends(id, &call, (result, is_error, decision), out);
        }
        self.calls.retain(|below| below.root.as_deref() != Some(id));
        let Some((root, inside)) = self.inside(&call.place) else { return };
        inside.call_ends(id, is_error);
        self.progress(&root, now_ms, out);
    }

    fn part_ends(
        &mut self,
        id: &str,
        call: &Call,
        (result, is_error, decision): (&str, bool, Option<Decision>),
        out: &mut Vec<u8>,
    ) {
        if matches!(decision, Some(Decision::Deny | Decision::Expired)) {
            return self.voice.tell(out, frame::TOOL_OUTPUT_DENIED, &[Text(id)]);
        }
        if is_error && call.input.get("_raw").is_some() {
            let (tool, input) = (call.tool(id), call.input.to_string());
            let holes = [Json(&tool), Json(input.as_bytes()), Text(result)];
            return self.voice.tell(out, frame::TOOL_INPUT_ERROR, &holes);
        }
        if is_error {
            return self.voice.tell(out, frame::TOOL_OUTPUT_ERROR, &[Text(id), Text(result)]);
        }
        // The client's own result was JSON before it became a text for the model.
        let json = (call.by_client && is_composed(result)).then(|| result.replace(['\n', '\r'], ""));
        let inside = call.inside.as_ref().map(|inside| inside.output_with(Text(result)));
        let output = match &inside {
            Some(inside) => Json(inside),
            // A line of a frame ends at a line break, which is blank in JSON.
            None => json.as_ref().map_or(Text(result), |json| Json(json.as_bytes())),
        };
        self.voice.tell(out, frame::TOOL_OUTPUT, &[Text(id), output]);
    }

    pub(super) fn sources(&mut self, id: &str, sources: &[Source], out: &mut Vec<u8>) {
        for (index, Source { title }) in sources.iter().enumerate() {
            let id = format!("{id}-{index}");
            let is_url = title.starts_with("https://") || title.starts_with("http://");
            match is_url {
                true => self.voice.tell(out, frame::SOURCE_URL, &[Text(&id), Text(title), Text(title)]),
                // A document of a collection has no address.
                false => self.voice.tell(out, frame::SOURCE_DOCUMENT, &[Text(&id), Text(title)]),
            }
        }
    }

    pub(super) fn asks(
        &mut self,
        approval_id: &str,
        (id, name, args): (&str, &str, &Value),
        by_client: bool,
        place: &Place,
        out: &mut Vec<u8>,
    ) {
        // A client would run the tool at once if the input were told as complete.
        self.part((id, name, Some(args)), place, (by_client, true), out);
        // The call of the root around it has something to tell from now on.
        self.inside(place);
        self.asked.push(approval_id.to_owned());
        self.voice.tell(out, frame::TOOL_APPROVAL_REQUEST, &[Text(approval_id), Text(id)]);
    }

    /// The decision on a call. Its part is the service's from now on, unless the client may carry the call out.
    pub(super) fn decided(&mut self, approval_id: &str, id: &str, decision: Decision, out: &mut Vec<u8>) {
        self.asked.retain(|asked| asked != approval_id);
        // A form has no part.
        let Some(call) = self.calls.get_mut(id).filter(|call| call.is_asked) else { return };
        let approved: &[u8] = match decision {
            Decision::Approve | Decision::ApproveForThread => b"true",
            Decision::Expired => br#"false,"reason":"Nobody answered in time.""#,
            Decision::Deny | Decision::Standing => b"false",
        };
        (call.by_client, call.is_asked) = (call.by_client && approved == b"true", false);
        let by_us: &[u8] = if call.by_client { b"" } else { br#","providerExecuted":true"# };
        let holes = [Text(approval_id), Json(approved), Json(by_us)];
        self.voice.tell(out, frame::TOOL_APPROVAL_RESPONSE, &holes);
    }

    pub(super) fn asks_for_budget(
        &mut self,
        approval_id: &str,
        input: &Value,
        place: &Place,
        out: &mut Vec<u8>,
    ) {
        self.asks(approval_id, (approval_id, RAISE_LIMIT, input), false, place, out);
    }

    pub(super) fn budget_decided(
        &mut self,
        approval_id: &str,
        decision: Decision,
        limits: TurnLimits,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.decided(approval_id, approval_id, decision, out);
        self.calls.remove(approval_id);
        match decision {
            Decision::Approve | Decision::ApproveForThread => {
                let limits = json(&limits)?;
                self.voice.tell(out, frame::TOOL_OUTPUT, &[Text(approval_id), Json(&limits)]);
            }
            Decision::Deny | Decision::Expired | Decision::Standing => {
                self.voice.tell(out, frame::TOOL_OUTPUT_DENIED, &[Text(approval_id)]);
            }
        }
        Ok(())
    }
}

/// Whether a text is an object or an array in JSON. A text that looks like a number is a text.
fn is_composed(text: &str) -> bool {
    text.trim_ascii_start().starts_with(['{', '[']) && wire::json::from_str::<&RawValue>(text).is_ok()
}
