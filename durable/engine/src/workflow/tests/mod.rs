//! Turns that work on sessions of workflows, with a scripted model, an injected clock and a log in memory.

pub(crate) mod deaths;
mod limits;
mod outputs;
pub(crate) mod planned;
mod random;
pub(crate) mod repeated;
mod stages;
mod steered;
mod stuck;
mod verified;

use serde_json::{Value, json};

use crate::journal::{Fact, Session, SessionChange};
use crate::marks::{HOOK, author};
use crate::profiles::Limits;
use crate::testing::*;
use wire::model::{Message, ModelRequest};
use wire::protocol::{SessionStatus, WorkflowDefinition};

/// A session at the first step of a procedure whose steps have these members beside id, title and instructions.
pub(crate) fn session(steps: &[(&str, Value)]) -> Session {
    let step = |(title, more): &(&str, Value)| {
        let mut step =
            json!({"id": title.to_lowercase(), "title": title, "instructions": format!("Do {title}.")});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let steps: Vec<Value> = steps.iter().map(step).collect();
    let definition: WorkflowDefinition =
        serde_json::from_value(json!({"name": "Report", "goal": "a report", "steps": steps})).unwrap();
    Session {
        session_id: "session-1".to_owned(),
        workflow_id: "report".to_owned(),
        goal: "a report on pears".to_owned(),
        status: SessionStatus::Waiting,
        definition,
        step: 0,
        context: Default::default(),
        notes: Vec::new(),
        revision: 0,
        repeated_call: false,
    }
}

/// A turn that works on a session.
pub(crate) fn on(session: Session, script: Script) -> Case {
    let mut case = Case::new(script);
    case.limits = Limits::of_profile("workflow").unwrap();
    case.setting.session = Some(Box::new(session));
    case
}

/// Steps without further members.
pub(crate) fn plain<'a>(titles: &[&'a str]) -> Vec<(&'a str, Value)> {
    titles.iter().map(|title| (*title, json!({}))).collect()
}

/// Notes that are long enough, about a subject.
pub(crate) fn notes(about: &str) -> String {
    format!("{about}: all of it is done, and this is what came of it in the end.")
}

/// A call that completes a step.
pub(crate) fn done(about: &str) -> (&'static str, Value) {
    ("complete_step", json!({"notesMarkdown": notes(about)}))
}

fn echo() -> (&'static str, Value) {
    ("echo", json!({}))
}

/// The same in so many rounds, each with other arguments.
fn echoes(rounds: usize) -> impl Iterator<Item = Reply> {
    (0..rounds).map(|round| Reply::Calls(vec![("echo", json!({"round": round}))]))
}

/// The events of a session and of the agent's state.
fn flow(case: &Case) -> Vec<String> {
    case.lines().into_iter().filter(|line| line.starts_with("workflow")).collect()
}

/// The changes of the session, in the order in which the journal and the turn's end have them.
pub(crate) fn changes(case: &Case) -> Vec<SessionChange> {
    let entries = case.disk.entries.borrow();
    let of_entries = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded(end) => end.session.as_deref().cloned(),
        Fact::Steered(steered) => steered.change.clone(),
        _ => None,
    });
    of_entries.chain(case.disk.end.borrow().as_ref().and_then(|end| end.session.clone())).collect()
}

/// The session as the turn left it.
pub(crate) fn left(case: &Case) -> Session {
    let mut session = Session::clone(case.setting.session.as_ref().unwrap());
    changes(case).iter().for_each(|change| session.apply(change));
    session
}

/// A request as short lines, without its system prompt.
fn told(request: &ModelRequest) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::User { content } => {
            let text = content.text();
            let is_hooks = author(HOOK, &text).is_some();
            let lines: Vec<&str> = text.lines().take(if is_hooks { usize::MAX } else { 1 }).collect();
            format!("user: {}", lines.join(" "))
        }
        Message::Assistant { content, tool_calls, .. } => {
            let calls: Vec<&str> = tool_calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant: {content}{}", calls.join(","))
        }
        Message::Tool { name, is_error, .. } => {
            format!("{} of {name}", if *is_error { "error" } else { "result" })
        }
    };
    request.messages.iter().map(|message| line(message)).collect()
}

fn requests(case: &Case) -> Vec<ModelRequest> {
    case.model.requests.borrow().clone()
}

/// The questions of the levels whose prompt begins so.
fn asked(case: &Case, begins: &str) -> Vec<String> {
    let asked = requests(case).into_iter().filter(|request| request.system.starts_with(begins));
    let text = |request: ModelRequest| match &*request.messages[0] {
        Message::User { content } => content.text().into_owned(),
        _ => String::new(),
    };
    asked.map(text).collect()
}
