//! The time of the user's message. Issue 44.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde_json::json;

use crate::journal::LocalTime;
use crate::ports::{Clock, Tool, ToolContext, ToolError};
use crate::testing::*;
use crate::toolbelt::{PermissionClass, ToolSpec, declare};
use wire::model::{Message, ModelRequest};

const TOLD: &str = "[Added by the service: the time of the next message is 2026-11-22T09:15:30+01:00 (Sunday, Europe/Berlin), \
    2026-11-22T08:15:30Z (UTC).]";
const NOW: u64 = 1_795_335_330_999;

/// Says in which zone the user is.
struct Zone(ToolSpec);

impl Tool for Zone {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        ready(Ok(context.time_zone.as_deref().unwrap_or("none").to_owned())).boxed_local()
    }
}

fn case(zone: Option<&str>) -> Case {
    let asks = || Reply::Calls(vec![("zone", json!({}))]);
    let mut case = Case::new(script(&[
        ("go", vec![asks(), Reply::Calls(vec![subtask("child")]), Reply::Text("Done.")]),
        ("child", vec![asks(), Reply::Text("Mine.")]),
    ]));
    let spec = declare("zone", PermissionClass::Safe, "Tells.", json!({"type": "object"}));
    let zone_tool: Rc<dyn Tool> = Rc::new(Zone(spec));
    Rc::get_mut(&mut case.tools).unwrap().add([zone_tool].into_iter());
    let offset = |zone: &str| case.clock.utc_offset_minutes(NOW, zone);
    case.setting.local_time = zone.and_then(|zone| LocalTime::new(NOW, zone, offset(zone)?));
    case
}

/// A turn for the golden journals.
pub(crate) fn golden() -> Case {
    let mut case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("child")]), Reply::Text("Done.")]),
        ("child", vec![Reply::Text("Mine.")]),
    ]));
    case.setting.local_time = LocalTime::new(NOW, "Europe/Berlin", 60);
    case
}

fn user_texts(messages: &[Rc<Message>]) -> Vec<String> {
    let of_user = |message: &Rc<Message>| match &**message {
        Message::User { content } => Some(content.text().into_owned()),
        _ => None,
    };
    messages.iter().filter_map(of_user).collect()
}

fn results(requests: &[ModelRequest]) -> Vec<String> {
    let of_tool = |message: &Rc<Message>| match &**message {
        Message::Tool { content, name, .. } if name == "zone" => Some(content.clone()),
        _ => None,
    };
    requests.iter().filter_map(|request| request.messages.iter().rev().find_map(of_tool)).collect()
}

#[test]
fn the_time_stands_before_the_message_and_in_no_prompt() {
    let mut case = case(Some("Europe/Berlin"));
    case.retrieved = Some("<found/>".to_owned());
    let case = case.run();
    let requests = case.model.requests.borrow();
    let shown: Vec<Vec<String>> = requests.iter().map(|request| user_texts(&request.messages)).collect();
    let (root, child) = (["<found/>", TOLD, "go"].map(str::to_owned), [TOLD, "child"].map(str::to_owned));
    assert_eq!(shown, [root.to_vec(), root.to_vec(), child.to_vec(), child.to_vec(), root.to_vec()]);
    assert!(requests.iter().all(|request| !request.system.contains("2026")), "a prompt stays cacheable");
    // Within a level each request begins with the one before it.
    for (before, after) in [(0, 1), (1, 4), (2, 3)] {
        assert!(requests[after].messages.starts_with(&requests[before].messages));
    }
    assert_eq!(results(&requests), ["Europe/Berlin"; 3], "subtasks too");
}

// The next turn's first request begins with all messages of this turn, as they were sent.
#[test]
fn a_later_turn_sends_the_time_again() {
    let earlier = case(Some("Europe/Berlin")).run();
    let mut later = case(None);
    later.history = earlier.end().history;
    let later = later.run();
    let (earlier, later) = (earlier.model.requests.borrow(), later.model.requests.borrow());
    assert!(later[0].messages.starts_with(&earlier.last().unwrap().messages));
    assert_eq!(user_texts(&later[0].messages), [TOLD, "go", "go"]);
}

#[test]
fn a_turn_without_a_zone_has_no_time() {
    for zone in [None, Some("Nowhere/Town")] {
        let case = case(zone).run();
        let requests = case.model.requests.borrow();
        assert_eq!(user_texts(&requests[0].messages), ["go"], "{zone:?}");
        assert_eq!(results(&requests), ["none"; 3]);
    }
}

// The journal has the text, so a turn that goes on needs neither the clock nor its zones.
#[test]
fn a_turn_that_goes_on_says_the_same_time() {
    let whole = case(Some("Europe/Berlin")).run();
    for commits in 1..whole.disk.commits.get() {
        let mut lost = case(Some("Europe/Berlin"));
        lost.run_with(Some(Kill::AfterCommits(commits)), |_, _| {});
        lost.setting.local_time = None;
        lost.clock.pass(86_400_000);
        lost.resume(None);
        lost.check();
        let requests = lost.model.requests.borrow();
        let all = requests.iter().all(|request| user_texts(&request.messages)[0] == TOLD);
        assert!(all && !requests.is_empty(), "after commit {commits}");
        assert_eq!(lost.end().history, whole.end().history, "after commit {commits}");
    }
}

#[test]
fn a_time_has_its_zone_and_its_day() {
    let text = |ms, zone, offset| LocalTime::new(ms, zone, offset).map(|time| time.text);
    assert_eq!(
        text(NOW, "America/St_Johns", -210).as_deref(),
        Some("2026-11-22T04:45:30-03:30 (Sunday, America/St_Johns), 2026-11-22T08:15:30Z (UTC)")
    );
    assert_eq!(text(u64::MAX, "Europe/Berlin", 60), None);
}
