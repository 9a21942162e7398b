//! The discussion of the demo, as the root and as a critic. Issue 20: "Have two critics discuss apples".

use std::rc::Rc;

use serde_json::value::RawValue;

use super::super::{Stage, script};
use super::*;
use wire::model::{ModelChoice, ModelEvent, ModelReply, RawValueEq, ToolDefinition};

fn request(system: &str, tools: &[&str], messages: &[Message]) -> ModelRequest {
    let tool = |name: &&str| ToolDefinition {
        name: name.to_string(),
        description: String::new(),
        input_schema: Rc::new(RawValueEq(RawValue::from_string("{}".into()).unwrap())),
    };
    let mut request = ModelRequest::new(Rc::new(ModelChoice::new("demo", "demo")), system.into());
    request.messages = messages.iter().cloned().map(Rc::new).collect();
    request.tools = tools.iter().map(tool).collect();
    request
}

fn reply(request: &ModelRequest) -> ModelReply {
    match script(request, Stage { work_ms: 0, version: 1 }).pop().unwrap().event {
        ModelEvent::Finished(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

fn user(text: &str) -> Message {
    Message::User { content: text.into() }
}

fn assistant(text: &str) -> Message {
    Message::Assistant { content: text.into(), tool_calls: vec![], raw: None }
}

/// Plays the root to its end. Lists its calls, and ends with its text; each call has the outcome that `result` gives it.
fn convened(question: &str, tools: &[&str], result: impl Fn(&str) -> (String, bool)) -> Vec<String> {
    let (mut messages, mut told) = (vec![user(question)], vec![]);
    for _ in 0..8 {
        let ModelReply { text, tool_calls, .. } = reply(&request("You are Espalier.", tools, &messages));
        if tool_calls.is_empty() {
            told.push(text);
            return told;
        }
        told.extend(tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments)));
        messages.push(Message::Assistant { content: text, tool_calls: tool_calls.clone(), raw: None });
        for call in tool_calls {
            let (content, is_error) = result(&call.name);
            messages.push(Message::Tool { call_id: call.call_id, name: call.name, content, is_error });
        }
    }
    panic!("{question:?} comes to no end");
}

const AGENTS: [&str; 2] = ["task", "discuss"];

#[test]
fn two_critics_are_made_and_discuss_in_two_rounds() {
    let well = |_: &str| ("well".to_owned(), false);
    let told = convened("Have two critics discuss apples", &AGENTS, well);
    let calls: Vec<_> = told.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(calls, ["task", "task", "discuss", "discuss", "In"]);
    assert!(told[0].contains(r#""name":"gourmet""#) && told[1].contains(r#""name":"gardener""#), "{told:?}");
    assert_eq!(told[2], r#"discuss {"prompt":"The subject: apples","speakers":["gourmet","gardener"]}"#);
    assert_eq!(told[3], "discuss {}");
    assert!(told[4].contains("about apples") && told[4].contains("demo model"), "{told:?}");
    // Critics of an earlier turn are there already: the discussion is held all the same.
    let again = |name: &str| ("there is an agent already".to_owned(), name == "task");
    assert_eq!(convened("Let two critics discuss pears.", &AGENTS, again).len(), 5);
    let refused = |name: &str| ("the budget is used up".to_owned(), name == "discuss");
    assert_eq!(
        convened("Have two critics discuss apples", &AGENTS, refused).last().unwrap(),
        "They could not discuss: the budget is used up"
    );
}

#[test]
fn without_agents_the_answer_says_how_to_have_them() {
    let told = convened("Have two critics discuss apples", &["calculate"], |_| (String::new(), false));
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("agents are off in this chat"), "{told:?}");
}

#[test]
fn subjects_of_a_discussion() {
    let (long, cut) = (format!("two critics discuss {}", "x".repeat(100)), "x".repeat(60));
    let table = [
        ("Have two critics discuss apples", Some("apples")),
        ("let the Critics please discuss \"Zürich\"?\nSoon.", Some("Zürich")),
        ("discuss apples", None),
        ("critics discuss ", None),
        ("critics discuss .", None),
        (&long, Some(&*cut)),
    ];
    for (question, subject) in table {
        assert_eq!(reading::to_discuss(question).as_deref(), subject, "{question}");
    }
}

/// A critic's next words.
fn spoken(critic: &Critic, messages: &[Message]) -> String {
    let request = request(&instructions(critic), &[], messages);
    let reply = reply(&request);
    assert!(reply.tool_calls.is_empty());
    assert_eq!(
        script(&request, Stage { work_ms: 900, version: 1 })[0].after_ms,
        912,
        "a person can watch it speak"
    );
    reply.text
}

/// The words of another agent, as a critic gets them.
fn says(name: &str, words: &str) -> String {
    format!("<speaker name=\"{name}\">\n{words}\n</speaker>")
}

#[test]
fn each_critic_speaks_its_own_sentences_and_remembers() {
    let [gourmet, gardener] = &CRITICS;
    for subject in ["apples", "Apples", "glass houses"] {
        let prompt = format!("The subject: {subject}");
        let first = spoken(gourmet, &[user(&prompt)]);
        let other = spoken(gardener, &[user(&format!("{prompt}\n\n{}", says("gourmet", &first)))]);
        let mut heard = vec![user(&prompt), assistant(&first), user(&says("gardener", &other))];
        let second = spoken(gourmet, &heard);
        let all = [&first, &other, &second];
        assert!(subject != "glass houses" || all.iter().all(|words| words.contains(subject)), "{all:?}");
        assert!(first != second && first != other, "{all:?}");
        heard.extend([assistant(&second), user("Which do you like?")]);
        let alone = spoken(gourmet, &heard);
        assert!(alone.contains(&second) && alone.contains("does not hear"), "{alone}");
        // The words to a person are no round of the discussion.
        heard.extend([assistant(&alone), user(&says("gardener", "And now?"))]);
        assert_eq!(spoken(gourmet, &heard), format!("I have said all that I know about {subject}."));
        heard.extend([assistant("…"), user("The subject: pears")]);
        assert!(spoken(gourmet, &heard).contains("pears"));
    }
    assert_eq!(
        spoken(gardener, &[user("Who are you?")]),
        "I am the gardener. I judge everything by how it grows."
    );
    assert!(speak(&request("You are a critic of the demo: nobody", &[], &[user("x")])).is_none());
}
