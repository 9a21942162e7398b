//! Agents of code: a call of the service answers in the place of a model. The call runs in a level that asks no model, so
//! the same guards, budget, journal and replay hold for it as for every call. Such an agent hears and remembers like any
//! other, and what it remembers does not change its answers.

use serde_json::Value;

use super::reply::{self, Answer};
use super::websearch;
use crate::journal::{Agent, LevelSpec, ToolEnd};
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::turn::composite::Running;
use crate::turn::{Halt, make_calls, truncated};
use wire::model::{Message, ToolCall};

/// The calls that can answer in an agent's place, each with its arguments for a prompt.
const CALLS: [(&str, Arguments); 1] = [(websearch::NAME, websearch::arguments_of)];

type Arguments = fn(&str) -> Value;

/// Whether a call of this name can answer in an agent's place.
pub fn answers(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<Arguments> {
    CALLS.iter().find(|(own, _)| *own == name).map(|(_, arguments)| *arguments)
}

/// The answer of the call of this name to what an agent has heard.
pub(super) async fn answer(
    Running { turn, parent, key, .. }: Running<'_>,
    agent: &Agent,
    name: &str,
) -> Result<Answer, Halt> {
    let question = turn.record.borrow().agents.question(&agent.name);
    let spec =
        LevelSpec { agent: Some(agent.name.clone()), ..LevelSpec::unasked(turn.spec.limits.iterations) };
    let opening = Opening { spec, shared: reply::belt(turn, parent, agent) };
    let mut level = turn.open_unasked(parent, key, LevelPath::child(key), opening);
    let text = match (find(name), asked(&agent.heard)) {
        (Some(arguments), Some(prompt)) => {
            let arguments = arguments(prompt).to_string();
            let call = ToolCall { call_id: format!("code_{name}"), name: name.to_owned(), arguments };
            let end = make_calls(turn, &mut level, vec![call]).await?.pop().ok_or(Halt::Stopped)?;
            in_words(end)
        }
        (Some(_), None) => "[I heard nothing new, and have nothing to say.]".to_owned(),
        (None, _) => format!("[I could not answer: there is no agent of code {name:?} here.]"),
    };
    let text = truncated(text, turn.spec.limits.tool_result_bytes);
    let said = Message::Assistant { content: text.clone(), tool_calls: Vec::new(), raw: None };
    let messages = vec![Message::User { content: question.into() }, said];
    Ok(Answer { text, messages, overlay: level.into_written(), life: None, is_blocked: false })
}

/// The text that an agent is asked: the newest of its maker, else the newest of another agent.
fn asked(heard: &[String]) -> Option<&str> {
    let of_maker = heard.iter().rev().find(|text| reply::words(text).is_none()).map(String::as_str);
    of_maker.or_else(|| heard.last().and_then(|text| reply::words(text)))
}

/// The end of the call as the agent's words: an agent that fails says so.
fn in_words(end: ToolEnd) -> String {
    if end.is_error { format!("[I could not answer: {}]", end.content) } else { end.content }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn the_newest_words_of_the_maker_are_the_question() {
        let asked = |heard: &[&str]| {
            let heard: Vec<String> = heard.iter().map(|text| (*text).to_owned()).collect();
            super::asked(&heard).map(str::to_owned)
        };
        for (heard, question) in [
            (&[][..], None),
            (&["Pears?"], Some("Pears?")),
            (&["It rained.", "Pears?", "[a] Sweet.", "[b-2] Sour."], Some("Pears?")),
            (&["[a] Sweet.", "[b] Which sort?"], Some("[b] Which sort?")),
            (&["Pears?", "<speaker name=\"a\">\nSweet.\n</speaker>"], Some("Pears?")),
            (&["[a] Sweet.", "<speaker name=\"b\">\nWhich sort?\n</speaker>"], Some("Which sort?")),
            (&["[a] Sweet.", "[The list] Pears?"], Some("[The list] Pears?")),
            (&["[a] Sweet.", "[main] Pears?"], Some("[main] Pears?")),
        ] {
            assert_eq!(asked(heard).as_deref(), question, "{heard:?}");
        }
        assert!(answers("websearch") && !answers("run_subtask"));
    }
}
