//! The discussion of a turn with agents: who speaks when, and what each of them must have heard by then.
//!
//! An agent's instructions name it (`[[speaker:talks/a#NUMBER]]`), so a request shows whose it is. Its marker is
//! `talks/a2#NUMBER`: the second time that `a` is asked. An agent that could not reach its model says so, and its next
//! question still has a number of its own. The agents of journeys are named like these.

use espalier_test_support::fake_llm::{position, text_of};
use espalier_test_support::{Value, json};

use super::steps;

/// The turns of the speakers: the root's step and call, the place among the speakers of that call, and who it is.
const SPEAKERS: [(&str, &str); 6] = [
    ("0.0-d0.0", "a1"),
    ("1.0-d0.0", "a2"),
    ("1.0-d1.0", "b1"),
    ("2.0-d0.0", "a3"),
    ("2.0-d1.0", "b2"),
    ("3.1-d0.0", "c1"),
];

/// What each of them is asked with: the prompts, and the answers of the others in their order.
const HEARD: [(&str, &[&str]); 6] = [
    ("a1", &["Who are you?"]),
    ("a2", &["Apples?"]),
    ("a3", &["b1"]),
    ("b1", &["Apples?", "a2"]),
    ("b2", &["a3"]),
    ("c1", &["Apples?", "a2", "b1", "a3", "b2", "Who is right?"]),
];

/// The rounds of the agents that stay.
pub const ROUNDS: [(&str, u64); 2] = [("a", 3), ("b", 2)];

/// The beginning of an answer whose model failed.
const FAILED: &str = "[I could not answer: ";
const BLOCKED: &str = "Error: blocked by hook talks: ";

/// The name of an agent. The agents of a thread's turns have different ones.
pub fn name(who: &str, number: &str) -> String {
    format!("{who}-{number}")
}

/// The arguments of a call of the discussion.
pub fn call(what: &str, number: &str) -> Option<(&'static str, Value)> {
    let (what, who) = what.split_once('-').unwrap_or((what, ""));
    let own = |who: &str| name(who, number);
    let made = || json!({ "name": own(who), "instructions": format!("You speak. [[speaker:talks/{who}#{number}]]") });
    Some(match what {
        "make" => ("task", made()),
        "meet" => {
            let mut arguments = made();
            arguments["prompt"] = json!("Who are you?");
            ("task", arguments)
        }
        "discuss" => (
            "discuss",
            json!({ "prompt": "Apples?", "speakers": [own("a"), own("b")], "listeners": [own("c")] }),
        ),
        "again" => ("discuss", json!({})),
        "toomuch" => ("discuss", json!({ "prompt": "Pears?", "speakers": [own("b")] })),
        "ask" => ("task", json!({ "name": own(who), "prompt": "Who is right?" })),
        "end" => ("terminate", json!({ "name": own(who) })),
        _ => return None,
    })
}

/// Who speaks at this place of a model call's id.
pub fn speaker(call: &str, place: &str) -> Option<&'static str> {
    let at = format!("{call}-{place}");
    SPEAKERS.iter().find(|(place, _)| *place == at).map(|(_, who)| *who)
}

/// The agent of a request, behind the name of its turn's shape or of its journey, and the number of its turn or play; none
/// where no agent asks.
fn asking(body: &Value) -> Option<(String, String)> {
    let system = text_of(&body["messages"].get(0)?["content"]);
    let (_, rest) = system.split_once("[[speaker:")?;
    let (who, number) = rest.split_once("]]")?.0.split_once('#')?;
    // A hook's model reads the words of agents as data, and its own system prompt names none.
    Some((who.to_owned(), number.to_owned()))
}

/// The questions of an agent, each with the answers that follow it.
fn rounds(body: &Value) -> Vec<(String, Vec<&Value>)> {
    let mut rounds: Vec<(String, Vec<&Value>)> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match (message["role"].as_str(), rounds.last_mut()) {
            (Some("user"), _) => rounds.push((text_of(&message["content"]), Vec::new())),
            (Some("assistant"), Some((_, answers))) => answers.push(message),
            _ => {}
        }
    }
    rounds
}

/// The marker and the step of a request: an agent's, or those of any other level.
pub fn place(body: &Value) -> Option<(String, usize)> {
    let Some((who, number)) = asking(body) else { return steps::place(body).or_else(|| position(body)) };
    let rounds = rounds(body);
    let step = rounds.last()?.1.len();
    Some((format!("{who}{}#{number}", rounds.len()), step))
}

/// Compares an agent's request with what was said. Returns the differences, and the answers that it has heard or given,
/// each as its marker and its last step: these are in the journal.
pub fn judged(body: &Value) -> (Vec<String>, Vec<(String, usize)>) {
    let (mut untrue, mut known) = (Vec::new(), Vec::new());
    let Some((path, number)) = asking(body) else { return (untrue, known) };
    let Some(who) = path.strip_prefix("talks/") else { return (untrue, known) };
    let rounds = rounds(body);
    for (index, (question, answers)) in rounds.iter().enumerate() {
        let me = format!("{who}{}", index + 1);
        let heard: Vec<&str> = question.split("\n\n").map(str::trim_end).collect();
        let expected = HEARD.iter().find(|(asked, _)| *asked == me).map_or(&[][..], |(_, heard)| heard);
        let fits = |(heard, expected): (&&str, &&str)| match HEARD.iter().any(|(said, _)| said == expected) {
            false => heard == expected,
            true => {
                let speaker = name(expected.trim_end_matches(char::is_numeric), &number);
                words(heard, &speaker).is_some_and(|text| is_answer(expected, &number, text))
            }
        };
        if heard.len() != expected.len() || !heard.iter().zip(expected).all(fits) {
            untrue.push(format!("talks/{me}#{number} was asked {question:?}, not after {expected:?}"));
        }
        let whole = |(heard, said): (&&str, &&str)| {
            let at = format!("talks/{said}#{number}");
            let answer = answer(&at)?;
            heard.contains(&answer.0).then_some((at, answer.1))
        };
        known.extend(heard.iter().zip(expected).filter_map(whole));
        if index + 1 == rounds.len() {
            continue;
        }
        let said = answers.last().map(|message| text_of(&message["content"])).unwrap_or_default();
        let at = format!("talks/{me}#{number}");
        match answer(&at) {
            Some((text, last)) if text == said.trim_end() && answers.len() == last + 1 => {
                known.push((at, last))
            }
            _ if said.starts_with(FAILED) => {}
            _ => untrue.push(format!("{at} remembers that it said {said:?} in {} replies", answers.len())),
        }
    }
    (untrue, known)
}

/// The words of a speaker, between their marks.
fn words<'a>(heard: &'a str, speaker: &str) -> Option<&'a str> {
    let words = heard.strip_prefix(&format!("<speaker name=\"{speaker}\">\n"))?;
    words.strip_suffix("\n</speaker>").map(str::trim_end)
}

fn is_answer(who: &str, number: &str, text: &str) -> bool {
    text.starts_with(FAILED)
        || answer(&format!("talks/{who}#{number}")).is_some_and(|(answer, _)| answer == text)
}

/// The last reply of a level, and its step.
fn answer(marker: &str) -> Option<(String, usize)> {
    let last = (0..).map_while(|step| super::reply(marker, step)).enumerate().last();
    last.map(|(step, reply)| (reply.text.concat().trim_end().to_owned(), step))
}

/// What is wrong with the result of a call of the discussion that this turn's root made; none where nothing is.
pub fn untrue(marker: &str, tool: &str, arguments: &Value, told: &str) -> Option<String> {
    let number = marker.strip_prefix("talks#")?;
    let first = arguments["speakers"][0].as_str();
    let holds = match tool {
        "terminate" if arguments["name"] == name("c", number) => {
            told == format!("ended: {}", name("c", number))
        }
        // The third discussion is one too many for the hook, which counts them.
        "discuss" if first == Some(&name("b", number)) => told.starts_with(BLOCKED),
        "discuss" if first == Some(&name("a", number)) => {
            let said: Vec<&str> = told.split("\n\n").map(str::trim_end).collect();
            let fits = |text: &str, who: &str| {
                let speaker = name(who.trim_end_matches(char::is_numeric), number);
                words(text, &speaker).is_some_and(|text| is_answer(who, number, text))
            };
            matches!(said.as_slice(), [a, b] if fits(a, "a2") && fits(b, "b1"))
        }
        _ => true,
    };
    (!holds).then(|| format!("{marker}: {tool} {arguments} came to {told:?}"))
}
