//! Tool calls: the root's are parts of the message. Those below it stand in the output of the root's call, unless they
//! wait for the client.

use serde_json::value::RawValue;
use serde_json::{Error, Value};

use super::Encoder;
use crate::ai_sdk::frame::{Frame, Output, Tool, Within};
use crate::ai_sdk::inside::Inside;
use crate::names;
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
    /// The work within a call of the root.
    inside: Option<Inside>,
}

impl Call {
    fn tool<'a>(&'a self, id: &'a str, by_client: bool) -> Tool<'a> {
        let parent_id = self.place.parent_id.as_deref();
        let tool_metadata = parent_id.map(|parent_id| Within { parent_id, depth: self.place.depth });
        Tool { tool_call_id: id, tool_name: &self.name, provider_executed: !by_client, tool_metadata }
    }

    fn output(&self) -> Option<Output<'_>> {
        self.inside.as_ref().map(|inside| Output::Inside { text: inside.text(), calls: inside })
    }
}

impl Encoder {
    /// A call whose part stands in the message from now on.
    fn part(
        &mut self,
        (id, name, args): (&str, &str, Option<&Value>),
        place: &Place,
        by_client: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some(call) = self.call((id, name, args), place) else { return Ok(()) };
        (call.has_part, call.by_client) = (true, by_client);
        let Some(call) = self.calls.get(id) else { return Ok(()) };
        self.voice.tell(out, &Frame::ToolInputStart(call.tool(id, by_client)))?;
        let input = call.input.to_string();
        self.voice.tell(out, &Frame::ToolInputDelta { tool_call_id: id, input_text_delta: &input })
    }

    /// The input of a part is complete. A client runs its tool now.
    fn available(&mut self, id: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        let Some(call) = self.calls.get(id) else { return Ok(()) };
        let frame = Frame::ToolInputAvailable { tool: call.tool(id, call.by_client), input: &call.input };
        self.voice.tell(out, &frame)
    }

    /// The call of this id, which begins where it is not known.
    fn call(&mut self, (id, name, args): (&str, &str, Option<&Value>), place: &Place) -> Option<&mut Call> {
        if self.calls.get(id).is_none() {
            let parent = place.parent_id.as_deref();
            let parent = parent.and_then(|parent| Some((parent, self.calls.get(parent)?)));
            let root = parent.map(|(parent, call)| call.root.clone().unwrap_or_else(|| parent.to_owned()));
            let call = Call {
                name: names::theirs(name).into_owned(),
                place: place.clone(),
                root,
                input: args.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
                has_part: false,
                by_client: false,
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
    fn progress(&mut self, root: &str, now_ms: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        let Some(call) = self.calls.get_mut(root) else { return Ok(()) };
        if !self.voice.is_heard() || !call.inside.as_mut().is_some_and(|inside| inside.is_due(now_ms)) {
            return Ok(());
        }
        let Some(output) = call.output() else { return Ok(()) };
        let frame = Frame::ToolOutputAvailable { tool_call_id: root, output, preliminary: true };
        self.voice.tell(out, &frame)
    }

    /// The turn is parked: the calls of the root around the waiting ones have no further output before an answer. Clients
    /// answer by themselves once no part is left without an output.
    pub(super) fn tell_whats_inside(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        for (id, call) in self.calls.iter() {
            let Some(output) = call.output() else { continue };
            let frame = Frame::ToolOutputAvailable { tool_call_id: id, output, preliminary: false };
            self.voice.say(out, &frame)?;
        }
        Ok(())
    }

    pub(super) fn text_below(
        &mut self,
        part_id: &str,
        content: &str,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some((root, inside)) = self.inside(place) else { return Ok(()) };
        // The text of a deeper level is that of another subtask.
        if place.parent_id.as_deref() != Some(root.as_str()) {
            return Ok(());
        }
        inside.writes(part_id, content);
        self.progress(&root, now_ms, out)
    }

    pub(super) fn forget_text_below(
        &mut self,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some((root, inside)) = self.inside(place) else { return Ok(()) };
        if place.parent_id.as_deref() != Some(root.as_str()) {
            return Ok(());
        }
        inside.forgets();
        self.progress(&root, now_ms, out)
    }

    pub(super) fn call_starts(
        &mut self,
        (id, name, args): (&str, &str, Option<&Value>),
        awaits: Option<Awaited>,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let by_client = awaits == Some(Awaited::Client);
        // A call that somebody allowed has its part.
        let has_part = self.calls.get(id).is_some_and(|call| call.has_part);
        if !has_part && (by_client || is_root(place)) {
            self.part((id, name, args), place, by_client, out)?;
            self.available(id, out)?;
        } else if by_client {
            self.available(id, out)?;
        }
        if by_client {
            self.asked.push(id.to_owned());
        }
        if is_root(place) {
            return Ok(());
        }
        let name = self.call((id, name, args), place).map(|call| call.name.clone());
        let Some(((root, inside), name)) = self.inside(place).zip(name) else { return Ok(()) };
        inside.call_starts(id, &name, place.depth);
        self.progress(&root, now_ms, out)
    }

    pub(super) fn call_ends(
        &mut self,
        id: &str,
        (result, is_error, decision): (&str, bool, Option<Decision>),
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.asked.retain(|asked| asked != id);
        let Some(call) = self.calls.remove(id) else { return Ok(()) };
        if call.has_part {
            self.part_ends(id, &call, (result, is_error, decision), out)?;
        }
        self.calls.retain(|below| below.root.as_deref() != Some(id));
        let Some((root, inside)) = self.inside(&call.place) else { return Ok(()) };
        inside.call_ends(id, is_error);
        self.progress(&root, now_ms, out)
    }

    fn part_ends(
        &mut self,
        id: &str,
        call: &Call,
        (result, is_error, decision): (&str, bool, Option<Decision>),
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if matches!(decision, Some(Decision::Deny | Decision::Expired)) {
            return self.voice.tell(out, &Frame::ToolOutputDenied { tool_call_id: id });
        }
        if is_error && call.input.get("_raw").is_some() {
            let tool = call.tool(id, call.by_client);
            return self
                .voice
                .tell(out, &Frame::ToolInputError { tool, input: &call.input, error_text: result });
        }
        if is_error {
            return self.voice.tell(out, &Frame::ToolOutputError { tool_call_id: id, error_text: result });
        }
        // The client's own result was JSON before it became a text for the model.
        let json: Option<&RawValue> =
            call.by_client.then(|| wire::json::from_str(result).ok()).flatten().filter(is_composed);
        let output = match (&call.inside, json) {
            (Some(inside), _) => Output::Inside { text: result, calls: inside },
            (None, Some(json)) => Output::Json(json),
            (None, None) => Output::Text(result),
        };
        self.voice.tell(out, &Frame::ToolOutputAvailable { tool_call_id: id, output, preliminary: false })
    }

    pub(super) fn sources(&mut self, id: &str, sources: &[Source], out: &mut Vec<u8>) -> Result<(), Error> {
        for (index, Source { title }) in sources.iter().enumerate() {
            let source_id = &format!("{id}-{index}");
            let is_url = title.starts_with("https://") || title.starts_with("http://");
            let frame = match is_url {
                true => Frame::SourceUrl { source_id, url: title, title },
                // A document of a collection has no address.
                false => Frame::SourceDocument { source_id, media_type: "text/plain", title },
            };
            self.voice.tell(out, &frame)?;
        }
        Ok(())
    }

    pub(super) fn asks(
        &mut self,
        approval_id: &str,
        (id, name, args): (&str, &str, &Value),
        by_client: bool,
        place: &Place,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.part((id, name, Some(args)), place, by_client, out)?;
        // The call of the root around it has something to tell from now on.
        self.inside(place);
        // A client would run its tool at once if the input were told as complete.
        if !by_client {
            self.available(id, out)?;
        }
        self.asked.push(approval_id.to_owned());
        self.voice.tell(out, &Frame::ToolApprovalRequest { approval_id, tool_call_id: id })
    }

    pub(super) fn decided(
        &mut self,
        approval_id: &str,
        decision: Decision,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.asked.retain(|asked| asked != approval_id);
        let approved = matches!(decision, Decision::Approve | Decision::ApproveForThread);
        let reason = (decision == Decision::Expired).then_some("Nobody answered in time.");
        self.voice.tell(out, &Frame::ToolApprovalResponse { approval_id, approved, reason })
    }

    pub(super) fn asks_for_budget(
        &mut self,
        approval_id: &str,
        input: &Value,
        place: &Place,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.asks(approval_id, (approval_id, RAISE_LIMIT, input), false, place, out)
    }

    pub(super) fn budget_decided(
        &mut self,
        approval_id: &str,
        decision: Decision,
        limits: TurnLimits,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.decided(approval_id, decision, out)?;
        self.calls.remove(approval_id);
        let frame = match decision {
            Decision::Approve | Decision::ApproveForThread => Frame::ToolOutputAvailable {
                tool_call_id: approval_id,
                output: Output::Limits(limits),
                preliminary: false,
            },
            Decision::Deny | Decision::Expired | Decision::Standing => {
                Frame::ToolOutputDenied { tool_call_id: approval_id }
            }
        };
        self.voice.tell(out, &frame)
    }
}

/// Whether JSON is an object or an array. A text that looks like a number is a text.
fn is_composed(json: &&RawValue) -> bool {
    json.get().starts_with(['{', '['])
}
