//! A small copy of the client: it makes a message of frames as `processUIMessageStream` of `ai` 7 does, and fails where
//! that fails. The end-to-end tests have the real one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A message that is being read.
#[derive(Clone, Default)]
pub struct Client {
    pub parts: Vec<Value>,
    pub metadata: BTreeMap<String, Value>,
    pub id: String,
    pub finish: Option<String>,
    pub error: Option<String>,
    pub is_done: bool,
    /// The parts of text that are open, by their ids.
    open: BTreeMap<String, usize>,
}

/// The frames of a stream.
pub fn frames(bytes: &[u8]) -> Vec<Option<Value>> {
    let text = std::str::from_utf8(bytes).unwrap();
    let frames = text.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").unwrap());
    frames.map(|data| (data != "[DONE]").then(|| serde_json::from_str(data).unwrap())).collect()
}

impl Client {
    pub fn read(mut self, frames: &[Option<Value>]) -> Client {
        frames.iter().for_each(|frame| self.frame(frame.as_ref()));
        self
    }

    /// The client gives the answers to all calls that wait, as a page does.
    pub fn answers(mut self) -> Client {
        for part in &mut self.parts {
            match part["state"].as_str() {
                Some("approval-requested") => part["state"] = json!("approval-responded"),
                Some("input-available") if part["providerExecuted"] != true => {
                    (part["state"], part["output"]) = (json!("output-available"), json!({"rain": true}));
                }
                _ => {}
            }
        }
        (self.finish, self.is_done) = (None, false);
        self
    }

    /// Whether the client sends its message by itself: `lastAssistantMessageIsCompleteWithToolCalls` or
    /// `lastAssistantMessageIsCompleteWithApprovalResponses` holds. The page asks both after each stream.
    pub fn sends(&self) -> bool {
        let step =
            self.parts.iter().rposition(|part| part["type"] == "step-start").map_or(0, |step| step + 1);
        let has_result = |part: &Value| {
            part["state"] == "output-error"
                || (part["state"] == "output-available" && part["preliminary"] != true)
        };
        let decided = |part: &Value| part["state"] == "approval-responded";
        let all = || self.parts[step..].iter().filter(|part| part["toolCallId"].is_string());
        let own = || all().filter(|part| part["providerExecuted"] != true);
        let have_results = own().count() > 0 && own().all(has_result);
        let is_complete =
            |part: &Value| has_result(part) || decided(part) || part["state"] == "output-denied";
        have_results || (all().any(decided) && all().all(is_complete))
    }

    fn tool(&mut self, frame: &Value) -> &mut Value {
        let id = &frame["toolCallId"];
        let found = self.parts.iter_mut().find(|part| part["toolCallId"] == *id);
        found.unwrap_or_else(|| panic!("No tool invocation found for tool call ID {id}"))
    }

    fn begin(&mut self, kind: &str, frame: &Value) {
        self.open.insert(frame["id"].as_str().unwrap().to_owned(), self.parts.len());
        self.parts.push(json!({"type": kind, "text": "", "state": "streaming"}));
    }

    fn open_part(&mut self, frame: &Value) -> &mut Value {
        let at = self.open.get(frame["id"].as_str().unwrap());
        &mut self.parts[*at.unwrap_or_else(|| panic!("no part for {frame}"))]
    }

    fn end(&mut self, frame: &Value) {
        self.open_part(frame)["state"] = json!("done");
        self.open.remove(frame["id"].as_str().unwrap());
    }

    // Long: an arm for each frame.
    fn frame(&mut self, frame: Option<&Value>) {
        let Some(frame) = frame else {
            self.is_done = true;
            return;
        };
        assert!(!self.is_done, "{frame} after the end");
        let kind = frame["type"].as_str().unwrap();
        match kind {
            "start" => {
                self.id = frame["messageId"].as_str().unwrap().to_owned();
                self.takes(&frame["messageMetadata"]);
            }
            "start-step" => self.parts.push(json!({"type": "step-start"})),
            "finish-step" | "abort" | "data-agent-state" => {}
            "reset-step" => {
                let step = self.parts.iter().rposition(|part| part["type"] == "step-start").unwrap();
                self.parts.truncate(step + 1);
                self.open.clear();
            }
            "text-start" => self.begin("text", frame),
            "reasoning-start" => self.begin("reasoning", frame),
            "text-delta" | "reasoning-delta" => {
                let part = self.open_part(frame);
                part["text"] =
                    json!(format!("{}{}", part["text"].as_str().unwrap(), frame["delta"].as_str().unwrap()));
            }
            "text-end" | "reasoning-end" => self.end(frame),
            "tool-input-start" => self.parts.push(json!({
                "type": format!("tool-{}", frame["toolName"].as_str().unwrap()),
                "toolCallId": frame["toolCallId"], "state": "input-streaming",
                "providerExecuted": frame["providerExecuted"], "toolMetadata": frame["toolMetadata"],
            })),
            "tool-input-delta" => {
                let input = serde_json::from_str(frame["inputTextDelta"].as_str().unwrap()).unwrap();
                self.tool(frame)["input"] = input;
            }
            "tool-input-available" => {
                let part = self.tool(frame);
                (part["state"], part["input"]) = (json!("input-available"), frame["input"].clone());
            }
            "tool-approval-request" => {
                let part = self.tool(frame);
                (part["state"], part["approval"]) =
                    (json!("approval-requested"), frame["approvalId"].clone());
            }
            "tool-approval-response" => {
                let id = &frame["approvalId"];
                let part = self.parts.iter_mut().find(|part| part["approval"] == *id);
                let part = part.unwrap_or_else(|| panic!("no approval {id}"));
                part["state"] = json!("approval-responded");
                if frame["providerExecuted"].is_boolean() {
                    part["providerExecuted"] = frame["providerExecuted"].clone();
                }
            }
            "tool-output-available" => {
                let part = self.tool(frame);
                (part["state"], part["output"]) = (json!("output-available"), frame["output"].clone());
                part["preliminary"] = frame["preliminary"].clone();
            }
            "tool-output-error" | "tool-input-error" => {
                let part = self.tool(frame);
                (part["state"], part["errorText"]) = (json!("output-error"), frame["errorText"].clone());
            }
            "tool-output-denied" => self.tool(frame)["state"] = json!("output-denied"),
            "source-url" | "source-document" => self.parts.push(frame.clone()),
            "finish" => {
                self.finish = frame["finishReason"].as_str().map(str::to_owned);
                self.takes(&frame["messageMetadata"]);
            }
            "error" => self.error = frame["errorText"].as_str().map(str::to_owned),
            data if data.starts_with("data-") => {
                let same = |part: &&mut Value| part["type"] == frame["type"] && part["id"] == frame["id"];
                match self.parts.iter_mut().find(same) {
                    Some(part) => part["data"] = frame["data"].clone(),
                    None => self.parts.push(frame.clone()),
                }
            }
            other => panic!("the client knows no {other}"),
        }
    }

    fn takes(&mut self, metadata: &Value) {
        self.metadata.extend(metadata.as_object().unwrap().clone());
    }
}
