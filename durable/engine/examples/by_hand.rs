//! The loop, stepped by hand: a level says what it wants next, and this file gives it. `cargo run -p engine --example
//! by_hand`. The service does the same in `turn/drive.rs`, with a journal, budgets and real models.

use engine::journal::{ModelOutcome, ToolEnd};
use engine::profiles::Limits;
use engine::toolbelt::{PermissionClass, Toolbelt, declare};
use engine::turn::{Level, LevelEnd, Step};
use wire::model::{Message, ModelChoice, ModelReply, ModelRequest, ReplyFinish, ToolCall};

/// Plays the model: asks for the weather, then puts the result into words.
fn model(request: &ModelRequest) -> ModelReply {
    let result = request.messages.iter().find_map(|message| match message.as_ref() {
        Message::Tool { content, .. } => Some(content.clone()),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let (text, tool_calls, finish) = match result {
        Some(weather) => (format!("It is {weather}."), Vec::new(), ReplyFinish::Stop),
        None => {
            let (call_id, name) = ("1".to_owned(), "weather".to_owned());
            let call = ToolCall { call_id, name, arguments: r#"{"city":"Bern"}"#.to_owned() };
            (String::new(), vec![call], ReplyFinish::ToolCalls)
        }
    };
    ModelReply { text, tool_calls, finish, usage: None, raw: None }
}

/// Plays the tool.
fn weather(_: &ToolCall) -> ToolEnd {
    ToolEnd { content: "sunny".to_owned(), ..ToolEnd::default() }
}

/// Steps a level from its start to its end. All that happened, a line each.
pub fn run() -> Vec<String> {
    let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let belt = Toolbelt::new([declare("weather", PermissionClass::Safe, "The weather of a city.", schema)]);
    let choice = ModelChoice::new("scripted", "m");
    let mut level = Level::alone("You are helpful.", "How is the weather?", choice, belt, Limits::default());
    let mut happened = Vec::new();
    loop {
        match level.next() {
            Step::CallModel(request) => {
                happened.push(format!("model call with {} messages", request.messages.len()));
                level.apply_model(ModelOutcome::Replied(Box::new(model(&request))));
            }
            // A level that stands alone follows no course, and has no earlier turns and no hooks.
            Step::Steer => level.steer(&[]),
            Step::Summarise(_) => level.prune_without_summary(),
            Step::Judge => level.pass_draft(),
            Step::CallTools(calls) => {
                happened.extend(calls.iter().map(|call| format!("{} {}", call.name, call.arguments)));
                level.apply_tools(&calls.iter().map(weather).collect::<Vec<_>>());
            }
            Step::Finish(end) => {
                happened.push(if let LevelEnd::Text { text, .. } = end { text } else { format!("{end:?}") });
                return happened;
            }
        }
    }
}

#[allow(clippy::print_stdout, dead_code)] // The tests call `run`.
fn main() {
    run().iter().for_each(|line| println!("{line}"));
}
