//! The steps of a workflow: the demo looks a little into each step, then completes it with notes, so that a procedure runs
//! without a key. It also judges, plans and notes where a step asks for that.

use serde_json::{Value, json};

use super::{Answer, Call, Scene};

const COMPLETE_STEP: &str = "complete_step";
const STEP_OUTPUT: &str = "__step_output__";
const FINISH: &str = "finish_subtask";
const CALCULATE: &str = "calculate";

/// The beginnings of the prompts of levels that serve a step.
const VERIFIER: &str = "You judge the work of another model on one step of a procedure.";
const PLANNER: &str = "You plan one step of a procedure.";
const NOTES: &str = "You write the notes of one step of a procedure";
/// The beginning of the message after the last step.
const ALL_DONE: &str = "All steps of the procedure are done.";

/// The answer to a message of a workflow; none for any other message.
pub(super) fn work(scene: &Scene<'_>) -> Option<Answer> {
    let finish = |result: Value| Some(Answer::calls("", vec![Call { tool: FINISH, arguments: result }]));
    match () {
        () if scene.system.starts_with(VERIFIER) => {
            finish(json!({"assessment": "pass", "reasoning": "The demo lets all work pass."}))
        }
        () if scene.system.starts_with(PLANNER) => {
            let score =
                json!({"action": CALCULATE, "args": {"expression": "6 * 7"}, "expected_outcome": "a number"});
            let can_calculate = scene.question.contains("\ncalculate: ");
            let actions: Vec<Value> = can_calculate.then_some(score).into_iter().collect();
            let last = json!({"action": COMPLETE_STEP, "args": {}, "expected_outcome": "the step is done"});
            finish(json!({"plan": actions.into_iter().chain([last]).collect::<Vec<_>>()}))
        }
        () if scene.system.starts_with(NOTES) => finish(json!({"notesMarkdown": notes("this planned step")})),
        () if scene.question.starts_with(ALL_DONE) => Some(Answer::text(
            "The procedure is complete. I am the demo model: the steps were real, and so are their notes, but I know \
             nothing about the subject. With a real model each step does its work.",
        )),
        () => step(scene),
    }
}

/// A step: a small calculation, where there is a tool for it, then its end.
fn step(scene: &Scene<'_>) -> Option<Answer> {
    let heading = scene.question.lines().next()?;
    let (number, title) = heading.strip_prefix("Step ")?.split_once(": ")?;
    if scene.offers(STEP_OUTPUT) {
        let arguments = json!({
            "thought": "The demo needs no call for this.",
            "notesMarkdown": notes(title),
            "isComplete": true,
            "toolCalls": [],
        });
        return Some(Answer::calls("", vec![Call { tool: STEP_OUTPUT, arguments }]));
    }
    if !scene.offers(COMPLETE_STEP) {
        return None;
    }
    if scene.may_call(CALCULATE) {
        let expression =
            format!("{} * 7", title.chars().filter(|letter| letter.is_alphabetic()).count().max(1));
        let calls = vec![Call { tool: CALCULATE, arguments: json!({"expression": expression}) }];
        return Some(Answer::calls(format!("I work on step {number}: {title}. "), calls));
    }
    let calls = vec![Call { tool: COMPLETE_STEP, arguments: json!({"notesMarkdown": notes(title)}) }];
    Some(Answer::calls("", calls))
}

fn notes(about: &str) -> String {
    format!(
        "The demo model went through \"{about}\". It counted a few letters; there is nothing else to hand on."
    )
}

#[cfg(test)]
mod tests {
    use super::super::play::Play;
    use serde_json::Value;
    use wire::model::ModelReply;

    fn call(reply: &ModelReply) -> (&str, Value) {
        let call = &reply.tool_calls[0];
        (call.name.as_str(), serde_json::from_str(&call.arguments).unwrap())
    }

    // Issue 21: the demo plays a workflow without a key.
    #[test]
    fn a_step_is_worked_on_and_completed() {
        let mut play =
            Play::ask("Step 1 of 2: Collect facts\n\nCollect them.", &["calculate", "complete_step"]);
        let reply = play.reply();
        assert_eq!(call(&reply), ("calculate", serde_json::json!({"expression": "12 * 7"})));
        play.answer(&reply, |_| Ok("84".to_owned()));
        let reply = play.reply();
        let (name, arguments) = call(&reply);
        assert_eq!(name, "complete_step");
        let notes = arguments["notesMarkdown"].as_str().unwrap();
        assert!(notes.contains("Collect facts") && notes.chars().count() >= 50);
        let alone = Play::ask("Step 1 of 2: Collect facts\n\nCollect them.", &["complete_step"]);
        assert_eq!(call(&alone.reply()).0, "complete_step");
        let structured = Play::ask("Step 1 of 2: Collect", &["__step_output__"]).reply();
        assert_eq!(call(&structured).1["isComplete"], true);
        // Outside of a workflow such a text is a question like any.
        assert!(Play::ask("Step 1 of 2: Collect", &["calculate"]).reply().text.contains("demo model"));
        let last = Play::ask("All steps of the procedure are done. Tell the user.", &[]).reply();
        assert!(last.text.starts_with("The procedure is complete."));
    }

    #[test]
    fn a_step_is_judged_planned_and_noted() {
        let judged = Play::with_system(super::VERIFIER, "…", &["finish_subtask"]).reply();
        assert_eq!(call(&judged).1["assessment"], "pass");
        let with = Play::with_system(super::PLANNER, "<actions>\ncalculate: …", &["finish_subtask"]).reply();
        assert_eq!(call(&with).1["plan"].as_array().unwrap().len(), 2);
        let without = Play::with_system(super::PLANNER, "<actions>\n", &["finish_subtask"]).reply();
        assert_eq!(call(&without).1["plan"][0]["action"], "complete_step");
        let noted = Play::with_system(super::NOTES, "…", &["finish_subtask"]).reply();
        assert!(call(&noted).1["notesMarkdown"].as_str().unwrap().chars().count() >= 50);
    }
}
