//! The rules by which the demo model answers, in their order.

use serde_json::json;

use super::assignment::{Assignment, slug};
use super::{Answer, Call, Outcome, Scene, critics, facts, procedure, reading};

/// The tools that the rules know how to call. Like any model it knows them by name, and calls only offered tools.
const CALCULATE: &str = "calculate";
const CURRENT_TIME: &str = "current_time";
const MEMORY_LIST: &str = "memory_list";
const MEMORY_WRITE: &str = "memory_write";
const RECALL: &str = "recall";
const REMEMBER: &str = "remember";
const RUN_SUBTASK: &str = "run_subtask";

/// The pace of counting: slow enough to press stop.
const NUMBER_MS: u64 = 250;

/// The most characters of a quoted question or result.
const MAX_QUOTE_CHARS: usize = 300;

/// The answer to a turn of this version, from 1.
pub fn answer(scene: &Scene<'_>, version: usize) -> Answer {
    if reading::asks_to_summarise(scene.system) {
        return summary(&scene.question);
    }
    if let Some(title) = reading::to_name(scene.system, &scene.question) {
        return Answer::text(format!("<title>{title}</title>"));
    }
    if let Some(answer) = procedure::work(scene) {
        return answer;
    }
    if let Some(assignment) = Assignment::parse(&scene.question) {
        return carry_out(scene, &assignment);
    }
    if let Some(subject) = reading::to_discuss(&scene.question) {
        return critics::convene(scene, &subject).of_version(version);
    }
    let topics = reading::topics(&scene.question);
    if !topics.is_empty() && scene.offers(RUN_SUBTASK) {
        return research(scene, &topics).of_version(version);
    }
    if let Some(last) = reading::count_to(&scene.question) {
        return count(last);
    }
    let answer = match scene.outcomes.as_slice() {
        [] => match single_calls(scene) {
            calls if !calls.is_empty() => Answer::calls("", calls),
            _ if reading::asks_for_espaliers(&scene.question) => Answer::text(facts::espalier(version)),
            _ => introduce(scene),
        },
        outcomes => Answer::text(outcomes.iter().map(sentence).collect::<Vec<_>>().join(" ")),
    };
    answer.of_version(version)
}

impl Answer {
    /// Says at the end of the work which version it is, unless it is the first.
    fn of_version(mut self, version: usize) -> Answer {
        if version > 1 && self.calls.is_empty() {
            let note = format!("This is version {version}. The arrows lead to the versions before it.\n\n");
            self.text.insert_str(0, &note);
        }
        self
    }
}

/// A subtask: its parts or a tool first, then the memory, then the finding.
fn carry_out(scene: &Scene<'_>, assignment: &Assignment) -> Answer {
    if !assignment.aspects.is_empty() && scene.may_call(RUN_SUBTASK) {
        let parts: Vec<Assignment> =
            assignment.aspects.iter().map(|aspect| assignment.of_aspect(aspect)).collect();
        return Answer::calls("This has parts of its own. ", parts.iter().map(subtask).collect());
    }
    if assignment.aspects.is_empty() && scene.may_call(CALCULATE) {
        return Answer::calls("", vec![call(CALCULATE, json!({"expression": assignment.score()}))]);
    }
    let finding = finding(scene, assignment);
    if scene.may_call(MEMORY_WRITE) {
        return Answer::calls("", vec![call(MEMORY_WRITE, json!({"key": assignment.key, "value": finding}))]);
    }
    Answer::text(finding)
}

fn finding(scene: &Scene<'_>, assignment: &Assignment) -> String {
    let subject = &assignment.subject;
    let told: Vec<String> = scene
        .outcomes
        .iter()
        .filter(|outcome| outcome.tool != MEMORY_WRITE)
        .map(|outcome| match (outcome.tool, outcome.is_error) {
            (CALCULATE, false) => format!("The demo score of {subject} is {}.", outcome.content),
            (RUN_SUBTASK, false) => quote(outcome.content),
            _ => sentence(outcome),
        })
        .collect();
    let known = facts::about(subject).map(str::to_owned);
    match known.into_iter().chain(told).collect::<Vec<_>>() {
        nothing if nothing.is_empty() => {
            format!("There is nothing that I could look up about {subject} here.")
        }
        told => told.join(" "),
    }
}

/// A summary of messages, which stand in the question one a line: the user's questions, and the summary before them.
fn summary(messages: &str) -> Answer {
    let asked: Vec<String> =
        reading::questions(messages).iter().map(|asked| format!("- {}", quote(asked))).collect();
    Answer::text(match asked.is_empty() {
        true => "Nothing was asked so far.".to_owned(),
        false => format!("The user asked, in this order:\n\n{}", asked.join("\n")),
    })
}

/// The root of a research: one subtask for each topic, all at once, then the comparison.
fn research(scene: &Scene<'_>, topics: &[String]) -> Answer {
    let list = enumerate(topics);
    let assignments: Vec<Assignment> =
        topics.iter().enumerate().map(|(place, topic)| Assignment::of_topic(topic, place)).collect();
    let result = |assignment: &Assignment| {
        let title = assignment.title();
        let of = |outcome: &&Outcome<'_>| outcome.tool == RUN_SUBTASK && outcome.argument("title") == title;
        scene.outcomes.iter().rfind(of)
    };
    let missing: Vec<&Assignment> =
        assignments.iter().filter(|assignment| result(assignment).is_none()).collect();
    if !missing.is_empty() {
        let plan = match missing.len() {
            1 if topics.len() == 1 => format!("I hand the research of {list} to a subtask. "),
            count if count == topics.len() => {
                format!("I research {list} in {count} subtasks at the same time. ")
            }
            count => format!("I go on with the {} that are missing. ", counted(count, "subtask")),
        };
        return Answer::calls(plan, missing.into_iter().map(subtask).collect());
    }
    let findings: Vec<String> = assignments
        .iter()
        .filter_map(|assignment| Some((&assignment.subject, result(assignment)?)))
        .map(|(topic, outcome)| match outcome.is_error {
            true => format!("- **{topic}**: the subtask failed: {}", quote(outcome.content)),
            false => format!("- **{topic}**: {}", quote(outcome.content)),
        })
        .collect();
    let heading = match topics.len() {
        1 => format!("This is what the subtask found about {list}:"),
        _ => format!("{list}, side by side:"),
    };
    Answer::text(format!(
        "{heading}\n\n{}\n\nThe findings also stand in the memory that the subtasks shared. I am the demo model: a few \
         sentences are all that I know, and a demo score only counts letters and vowels.",
        findings.join("\n")
    ))
}

fn count(last: u64) -> Answer {
    let numbers: Vec<String> = (1..=last).map(|number| number.to_string()).collect();
    Answer { word_ms: NUMBER_MS, ..Answer::text(format!("{}.", numbers.join(", "))) }
}

/// Single calls. The demo makes all calls of a question at once.
fn single_calls(scene: &Scene<'_>) -> Vec<Call> {
    let question = &*scene.question;
    let mut calls = vec![];
    for expression in reading::expressions(question) {
        calls.push(call(CALCULATE, json!({"expression": expression})));
    }
    if reading::asks_the_time(question) {
        calls.push(call(CURRENT_TIME, json!({})));
    }
    let note = reading::to_remember(question);
    // A memory of the person lasts; that of the turn ends with it.
    if let Some(note) = note.as_ref().filter(|_| scene.offers(REMEMBER)) {
        calls.push(call(REMEMBER, json!({"content": note})));
    } else if let Some(note) = note {
        let words: Vec<&str> = note.split_whitespace().take(4).collect();
        calls.push(call(
            MEMORY_WRITE,
            json!({"key": format!("note/{}", slug(&words.join(" "))), "value": note}),
        ));
    } else if reading::asks_for_the_memory(question) {
        calls.push(call(if scene.offers(RECALL) { RECALL } else { MEMORY_LIST }, json!({})));
    }
    calls.retain(|call| scene.offers(call.tool));
    calls
}

/// Describes a result in words.
fn sentence(outcome: &Outcome<'_>) -> String {
    let content = quote(outcome.content);
    if outcome.is_error {
        return format!("{} did not work: {content}.", outcome.tool);
    }
    match outcome.tool {
        CALCULATE => format!("{} = {content}.", outcome.argument("expression")),
        CURRENT_TIME => format!("It is {content}."),
        MEMORY_WRITE => format!(
            "I noted \"{}\" under {}; the memory lasts until this turn ends.",
            quote(&outcome.argument("value")),
            outcome.argument("key")
        ),
        REMEMBER => format!(
            "I remember \"{}\" from now on. Your memories stand in the settings.",
            quote(&outcome.argument("content"))
        ),
        RECALL => format!("I remember: {content}."),
        MEMORY_LIST => format!("In the memory of this turn: {content}."),
        tool => format!("{tool} says: {content}."),
    }
}

fn introduce(scene: &Scene<'_>) -> Answer {
    let asked = quote(scene.question.trim());
    Answer::text(format!(
        "I am Espalier's demo model: a few fixed rules, no language model. You wrote: \"{asked}\".\n\n\
         Try one of these:\n\n\
         - What is 17 * 23, and what time is it?\n\
         - Remember that espaliers grow along a frame\n\
         - Research Rust, Go and Zig, then compare them\n\
         - Have two critics discuss apples\n\
         - Count to 100 (and press stop)\n\n\
         For real answers configure a model: LLM_PROVIDER, LLM_MODEL and LLM_API_KEY."
    ))
}

fn call(tool: &'static str, arguments: serde_json::Value) -> Call {
    Call { tool, arguments }
}

fn subtask(assignment: &Assignment) -> Call {
    call(RUN_SUBTASK, json!({"title": assignment.title(), "instructions": assignment.instructions()}))
}

/// "1 subtask", "2 subtasks".
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// "A, B and C".
fn enumerate(topics: &[String]) -> String {
    match topics {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}
