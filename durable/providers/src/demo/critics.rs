//! Two critics who discuss a subject: the demo of agents that stay. The root makes both and has them discuss in two rounds;
//! each critic knows a few sentences by heart.

use serde_json::json;

use wire::model::{Message, ModelRequest};

use super::{Answer, Call, Scene, reading, rules};

#[cfg(test)]
mod tests;

const TASK: &str = "task";
const DISCUSS: &str = "discuss";

/// The number of rounds. Each is a call of `discuss`.
const ROUNDS: usize = 2;

/// The beginning of a critic's instructions, by which the model knows its part one level deeper.
const PART: &str = "You are a critic of the demo: ";
/// The beginning of the prompt that both hear.
const SUBJECT: &str = "The subject: ";

struct Critic {
    name: &'static str,
    view: &'static str,
    /// The sentences about apples, one a round.
    of_apples: [&'static str; ROUNDS],
    /// The sentences about any other subject, which stands between the two parts.
    of_others: [[&'static str; 2]; ROUNDS],
}

const CRITICS: [Critic; 2] = [
    Critic {
        name: "gourmet",
        view: "how it tastes",
        of_apples: [
            "An apple is worth its taste. Give me a russet, hard, sharp and sweet at once, and keep the red ones that are \
             all polish.",
            "A tree that is easy to grow and bears bland fruit is a hedge. But a russet that lasts until March? There the \
             gardener has a point.",
        ],
        of_others: [
            ["Of ", " I ask one thing: is it a pleasure today?"],
            ["Sound, yes. But I would rather have less of ", ", and better."],
        ],
    },
    Critic {
        name: "gardener",
        view: "how it grows",
        of_apples: [
            "Taste comes second. An apple has to set fruit after a cold spring, resist scab, and hang within reach of a \
             ladder.",
            "Then let us plant the gourmet's russet on the east wall: it forgives a late frost, and me my pruning.",
        ],
        of_others: [
            [
                "Before anybody enjoys ",
                ", somebody has to keep it alive. I ask what it needs, and for how long.",
            ],
            ["Less of ", " is also less work. On that we agree."],
        ],
    },
];

/// The next step of the root towards a discussion of a subject.
pub fn convene(scene: &Scene<'_>, subject: &str) -> Answer {
    if !scene.offers(TASK) || !scene.offers(DISCUSS) {
        return Answer::text(
            "Two critics could discuss this, but agents are off in this chat. Turn them on under Mode, then ask again. A \
             client of the API sends \"agents\": true.",
        );
    }
    // A critic of an earlier turn is still there: that refusal changes nothing.
    if !scene.has_called(TASK) {
        let call = |critic: &Critic| Call {
            tool: TASK,
            arguments: json!({"name": critic.name, "instructions": instructions(critic)}),
        };
        return Answer::calls("I ask two critics in. ", CRITICS.iter().map(call).collect());
    }
    let rounds: Vec<_> = scene.outcomes.iter().filter(|outcome| outcome.tool == DISCUSS).collect();
    if let Some(failed) = rounds.iter().find(|outcome| outcome.is_error) {
        return Answer::text(format!("They could not discuss: {}", rules::quote(failed.content)));
    }
    match rounds.len() {
        0 => {
            let names: Vec<&str> = CRITICS.iter().map(|critic| critic.name).collect();
            let arguments = json!({"prompt": format!("{SUBJECT}{subject}"), "speakers": names});
            Answer::calls("", vec![Call { tool: DISCUSS, arguments }])
        }
        // Without a prompt the same people go on.
        rounds if rounds < ROUNDS => {
            Answer::calls("Another round. ", vec![Call { tool: DISCUSS, arguments: json!({}) }])
        }
        _ => Answer::text(format!(
            "In two rounds about {subject} the **gourmet** asked how it tastes, and the **gardener** how it grows. Both stay \
             in this chat and remember: open Agents to read what they heard, or to talk to one of them.\n\nI am the demo \
             model: they know these sentences by heart."
        )),
    }
}

fn instructions(Critic { name, view, .. }: &Critic) -> String {
    format!("{PART}{name}. You judge everything by {view}.")
}

/// The reply of a critic; none for any other level.
pub fn speak(request: &ModelRequest) -> Option<Answer> {
    let part = request.system.strip_prefix(PART)?;
    let critic = CRITICS.iter().find(|critic| part.starts_with(critic.name))?;
    let mut subject = None;
    // The number of the critic's answers on the subject, the latest of them, and whether a person asked since.
    let (mut round, mut said, mut alone) = (0, String::new(), false);
    for message in &request.messages {
        match &**message {
            Message::User { content } => {
                let heard = content.text();
                if let Some(named) = heard.lines().find_map(|line| line.strip_prefix(SUBJECT)) {
                    (subject, round, alone) = (Some(reading::cut(named)), 0, false);
                } else {
                    alone = is_of_a_person(&heard);
                }
            }
            Message::Assistant { content, .. } if !alone => {
                round += 1;
                said.clone_from(content);
            }
            Message::Assistant { .. } | Message::Tool { .. } => {}
        }
    }
    let subject = subject.unwrap_or_default();
    Some(Answer::text(if alone {
        critic.to_a_person(&subject, &said)
    } else {
        critic.sentence(&subject, round)
    }))
}

/// Whether a text has words of a person. Other agents speak between marks with their names.
fn is_of_a_person(text: &str) -> bool {
    let mut is_marked = false;
    text.lines().map(str::trim).filter(|line| !line.is_empty()).any(|line| {
        let is_end = line == "</speaker>";
        is_marked = (is_marked || line.starts_with("<speaker name=")) && !is_end;
        !is_marked && !is_end
    })
}

impl Critic {
    /// The critic's words in a round of the discussion.
    fn sentence(&self, subject: &str, round: usize) -> String {
        let known = match subject.eq_ignore_ascii_case("apples") {
            true => self.of_apples.get(round).map(|&sentence| sentence.to_owned()),
            false => self.of_others.get(round).map(|[before, after]| format!("{before}{subject}{after}")),
        };
        known.unwrap_or_else(|| format!("I have said all that I know about {subject}."))
    }

    /// The critic's answer to a person who talks to it; `said` are its latest words on the subject.
    fn to_a_person(&self, subject: &str, said: &str) -> String {
        let Critic { name, view, .. } = self;
        if said.is_empty() {
            return format!("I am the {name}. I judge everything by {view}.");
        }
        format!(
            "You ask me alone, and the main agent does not hear it. Of {subject} I still say: \"{}\"",
            rules::quote(said)
        )
    }
}
