//! Plans in turns with a scripted model, an injected clock and a log in memory; and their rules alone.

mod contexts;
mod drafts;
pub(crate) mod elsewhere;
mod making;
mod plan_limits;
mod reviews;
mod rules;
mod running;
mod swarm;

use serde_json::{Value, json};

use crate::journal::CallRecord;
use crate::testing::*;
use wire::model::{Message, ModelRequest};
use wire::protocol::Event;

pub(crate) fn project(levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(levels));
    case.context = "project";
    case.setting.operation = "planner_stream".to_owned();
    case.setting.entity_id = Some("p1".to_owned());
    case
}

fn operations(case: &Case) -> Vec<(String, String)> {
    let of = |row: &CallRecord| match row {
        CallRecord::Model { operation_type, profile, .. } => Some((operation_type.clone(), profile.clone())),
        _ => None,
    };
    case.end().calls.iter().filter_map(of).collect()
}

fn result(case: &Case, name: &str) -> Value {
    let mut results = case.events().into_iter().filter_map(|event| match event {
        Event::ToolCallUpdate { name: of, result: Some(result), .. } if of == name => Some(result),
        _ => None,
    });
    serde_json::from_str(&results.next_back().unwrap()).unwrap()
}

fn requests_of(case: &Case, work: &str) -> Vec<ModelRequest> {
    let requests = case.model.requests.borrow();
    let has = |request: &&ModelRequest| {
        let Some(Message::User { content }) = request.messages.first().map(|m| &**m) else { return false };
        content.text().contains(work)
    };
    requests.iter().filter(has).cloned().collect()
}

/// b and c build on a; d builds on both.
fn diamond() -> Vec<(&'static str, Vec<Reply>)> {
    vec![
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Shipped.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Text("b done")]),
        ("c", vec![Reply::Text("c done")]),
        ("d", vec![Reply::Text("d done")]),
    ]
}
