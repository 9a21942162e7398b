//! The calls of a turn, open and ended, and the rules of their nesting.

use std::collections::HashMap;

use serde_json::Value;

use crate::Event;

/// The calls that contain other calls.
const LEVELS: [&str; 16] = [
    "run_subtask",
    "agent_create_plan",
    "agent_update_plan",
    "plan_step",
    "route_request",
    "task",
    "discuss",
    "agent_reply",
    "verify_step",
    "planned_step",
    "__step_output__",
    "websearch",
    "dump_agent",
    "restore_agent",
    "digest_page",
    HOOK,
];
/// The name of a hook among them: no tool has it.
const HOOK: &str = "a hook";

/// The open calls while a turn is read.
#[derive(Default)]
pub(super) struct Calls {
    tools: HashMap<String, Tool>,
    models: HashMap<String, Model>,
    parts: HashMap<String, Part>,
    /// The levels whose answers a hook has judged, or their schema, by their parents. Such an answer comes after its model call.
    judged: Vec<Value>,
}

struct Tool {
    name: String,
    parent: Value,
    depth: u64,
    open: bool,
}

struct Model {
    parent: Value,
    depth: u64,
    open: bool,
}

struct Part {
    model: String,
    kind: String,
    done: bool,
}

impl Calls {
    /// Takes the next event of the turn.
    // Long: an arm for each kind of event.
    pub(super) fn take(&mut self, event: &Event) -> Result<(), String> {
        let (parent, depth) =
            (event.data["parent_id"].clone(), event.data["depth"].as_u64().unwrap_or_default());
        if event.data.get("depth").is_some() {
            self.check_parent(event, &parent, depth)?;
        }
        let status = event.text("status");
        match event.kind.as_str() {
            "tool_call_update" if status == "start" => {
                if self.models.values().any(|model| model.open && model.parent == parent) {
                    return Err("a tool starts while its level's model call is open".into());
                }
                let tool = Tool { name: event.text("name").into(), parent, depth, open: true };
                match self.tools.insert(event.text("tool_call_id").into(), tool) {
                    Some(_) => Err("a tool call starts twice".into()),
                    None => Ok(()),
                }
            }
            "tool_call_update" => {
                let id = event.text("tool_call_id");
                if self.tools.values().any(|tool| tool.open && tool.parent == id) {
                    return Err("a subtask ends before its own tools".into());
                }
                let tool =
                    self.tools.get_mut(id).filter(|tool| tool.open).ok_or("an end without its start")?;
                tool.open = false;
                let same = tool.name == event.text("name") && tool.parent == parent && tool.depth == depth;
                same.then_some(()).ok_or_else(|| "start and end of a tool call differ".to_owned())
            }
            "model_call_update" if status == "start" => {
                if self.models.values().any(|model| model.open && model.parent == parent) {
                    return Err("two model calls of one level at once".into());
                }
                match self
                    .models
                    .insert(event.text("model_call_id").into(), Model { parent, depth, open: true })
                {
                    Some(_) => Err("a model call starts twice".into()),
                    None => Ok(()),
                }
            }
            "model_call_update" => {
                let model = self.open_model(event.text("model_call_id"), &parent, depth)?;
                model.open = false;
                let id = event.text("model_call_id");
                match self.parts.values().any(|part| part.model == id && !part.done) {
                    true => Err("a model call ends with a part that is not done".into()),
                    false => Ok(()),
                }
            }
            "model_call_reset" => {
                let id = event.text("model_call_id");
                self.open_model(id, &parent, depth)?;
                self.parts.retain(|_, part| part.model != id);
                Ok(())
            }
            "hook_update" => self.hook(event, parent, depth),
            // The call that gives an answer in JSON is the state alone: readers get the answer.
            "agent_state" if event.text("details") == "executing_tool:give_answer" => {
                self.judged.push(Value::Null);
                Ok(())
            }
            "chunk" => self.chunk(event, &parent, depth),
            _ => Ok(()),
        }
    }

    /// A hook that asks a model has a start and an end; another one has an end alone.
    fn hook(&mut self, event: &Event, parent: Value, depth: u64) -> Result<(), String> {
        if event.is("hook_update", &[("status", "end"), ("point", "answer")]) {
            self.judged.push(parent.clone());
        }
        let (id, open) = (event.text("hook_call_id"), event.text("status") == "start");
        if self.tools.values().any(|tool| tool.open && tool.parent == id) {
            return Err("a hook ends before its own calls".into());
        }
        let tool = Tool { name: HOOK.into(), parent, depth, open };
        match self.tools.insert(id.into(), tool) {
            Some(before) if !before.open || open => Err("a hook is asked twice".into()),
            _ => Ok(()),
        }
    }

    /// The parent is a `run_subtask` one level above that has begun and not ended (N-057, N-112). A summary is one model
    /// call below the root that no call contains.
    fn check_parent(&self, event: &Event, parent: &Value, depth: u64) -> Result<(), String> {
        let Some(id) = parent.as_str() else {
            let is_model_call = event.kind.starts_with("model_call_");
            let is_summary = is_model_call && event.text("model_call_id").contains("-summary-");
            let expected = u64::from(is_summary);
            return (depth == expected)
                .then_some(())
                .ok_or_else(|| format!("depth {depth} without a parent"));
        };
        let parent = self.tools.get(id).ok_or("an unknown parent")?;
        if !LEVELS.contains(&parent.name.as_str()) || parent.depth + 1 != depth {
            return Err(format!("{} at depth {} is the parent of depth {depth}", parent.name, parent.depth));
        }
        parent
            .open
            .then_some(())
            .ok_or_else(|| "a subtask has ended, and still something happens in it".to_owned())
    }

    fn open_model(&mut self, id: &str, parent: &Value, depth: u64) -> Result<&mut Model, String> {
        let model = self.models.get_mut(id).filter(|model| model.open).ok_or("no such model call is open")?;
        if model.parent != *parent || model.depth != depth {
            return Err("a model call changes its level".into());
        }
        Ok(model)
    }

    fn chunk(&mut self, event: &Event, parent: &Value, depth: u64) -> Result<(), String> {
        let model = event.text("model_call_id");
        let is_closed = self.models.get(model).is_some_and(|model| !model.open && model.parent == *parent);
        if !(is_closed && self.judged.contains(parent)) {
            self.open_model(model, parent, depth)?;
        }
        let done = event.data["done"] == Value::Bool(true);
        let kind = if event.text("kind").is_empty() { "text" } else { event.text("kind") };
        if event.text("content").is_empty() && !done {
            return Err("an empty chunk that closes nothing".into());
        }
        let new = || Part { model: model.into(), kind: kind.into(), done: false };
        let part = self.parts.entry(event.text("part_id").into()).or_insert_with(new);
        if part.done || part.model != model || part.kind != kind {
            return Err("a part goes on elsewhere, or after its end".into());
        }
        part.done = done;
        Ok(())
    }

    /// Every tool call has its end in any case; a model call that was stopped may lack it.
    pub(super) fn finish(&self, complete: bool) -> Result<(), String> {
        if let Some((id, tool)) = self.tools.iter().find(|(_, tool)| tool.open) {
            return Err(format!("the tool call {id} ({}) never ended", tool.name));
        }
        if complete && self.models.values().any(|model| model.open) {
            return Err("a model call never ended".into());
        }
        Ok(())
    }
}
