//! Reads a dump that a client sent.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    AgentDump, AgentMessage, MAX_DUMP_AGENTS, MAX_DUMP_VALUES, MAX_ROUND_BYTES, MAX_ROUND_MESSAGES,
    MAX_ROUNDS, is_whole,
};
use crate::model::Message;
use crate::pace::{Pace, reading};
use crate::protocol::request::{MAX_JSON_VALUES, check_size, read_sized, size};
use crate::protocol::{ApiError, ErrorCode, path, words};

/// A dump that a client sent, the rounds of its agents apart.
#[derive(Debug, PartialEq)]
pub struct SentDump {
    /// The dump without rounds.
    pub dump: AgentDump,
    /// The rounds of each agent as its rows have them: a round is the JSON of its [`Message`]s. An agent stands before its
    /// own agents.
    pub rounds: Vec<Vec<String>>,
}

/// The rounds of a dump, of which nothing was read yet.
#[derive(Deserialize)]
struct Rounds<'a> {
    #[serde(borrow, default)]
    rounds: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    agents: Vec<Rounds<'a>>,
}

impl Rounds<'_> {
    /// The number of values in them.
    fn values(&self) -> usize {
        let own: usize = self.rounds.iter().map(|round| size(round.get().as_bytes()).1).sum();
        own + self.agents.iter().map(Rounds::values).sum::<usize>()
    }
}

/// The unread rounds of an agent, with the path of the agent in the body.
struct Unread<'a> {
    place: String,
    rounds: Vec<Vec<&'a RawValue>>,
}

impl SentDump {
    /// Reads and checks a body, message by message, with pauses. Each call in a round must have its result, because models
    /// refuse anything else. Images and files have the rules of a chat message. Its text may be longer than one: an agent's
    /// question has all that it heard.
    pub async fn parse(body: &[u8], pace: &Pace<'_>) -> Result<SentDump, ApiError> {
        pace.before(reading(body.len(), 0)).await?;
        check_size(body, MAX_DUMP_VALUES)?;
        check_rest(body, pace).await?;
        pace.before(reading(body.len(), MAX_JSON_VALUES)).await?;
        let sent: AgentDump<&RawValue> = read_sized(body)?;
        let mut unread = Vec::new();
        let dump = without_rounds(sent, String::new(), &mut unread);
        check_count(&unread)?;
        let mut rounds = Vec::new();
        for Unread { place, rounds: sent } in &unread {
            let mut own = Vec::new();
            for (number, round) in sent.iter().enumerate() {
                own.push(read_round(place, number, round, pace).await?);
            }
            rounds.push(own);
        }
        Ok(SentDump { dump, rounds })
    }
}

/// Takes the rounds out of a dump, an agent's before those of its own agents. `place`: the path of the dump in the body.
fn without_rounds<'a>(
    sent: AgentDump<&'a RawValue>,
    place: String,
    unread: &mut Vec<Unread<'a>>,
) -> AgentDump {
    let AgentDump { name, instructions, code, tools, servers, denied, heard, speakers, listeners, .. } = sent;
    let AgentDump { hooks, rounds, agents, cut, .. } = sent;
    let below = |number: usize| format!("{place}agents[{number}].");
    let places: Vec<String> = (0..agents.len()).map(below).collect();
    unread.push(Unread { place, rounds });
    let agents = agents.into_iter().zip(places);
    let agents = agents.map(|(agent, place)| without_rounds(agent, place, unread)).collect();
    let rounds = Vec::new();
    AgentDump {
        name,
        instructions,
        code,
        tools,
        servers,
        denied,
        heard,
        speakers,
        listeners,
        hooks,
        rounds,
        agents,
        cut,
    }
}

/// Refuses a dump that has more values beside its rounds than other bodies have.
async fn check_rest(body: &[u8], pace: &Pace<'_>) -> Result<(), ApiError> {
    let (_, values) = size(body);
    if values <= MAX_JSON_VALUES {
        return Ok(());
    }
    pace.before(reading(body.len(), 0)).await?;
    let rounds: Rounds<'_> = read_sized(body)?;
    match values.saturating_sub(rounds.values()) > MAX_JSON_VALUES {
        true => {
            let detail = format!("the dump has more than {MAX_JSON_VALUES} values beside its rounds");
            Err(ApiError::new(ErrorCode::InvalidRequest, detail))
        }
        false => Ok(()),
    }
}

/// Reads and checks the messages of a round. Returns them as the row of the round.
async fn read_round(
    agent: &str,
    number: usize,
    sent: &[&RawValue],
    pace: &Pace<'_>,
) -> Result<String, ApiError> {
    let mut round = Vec::new();
    for (place, json) in sent.iter().enumerate() {
        round.push(read_message(&format!("{agent}rounds[{number}][{place}]"), json.get(), pace).await?);
    }
    let field = format!("{agent}rounds.{number}");
    if !is_whole(&round) {
        let detail = "expected a user's message first, and each call with its result after it";
        return Err(ApiError::field(field, detail));
    }
    let round: Vec<Message> = round.into_iter().map(Message::from).collect();
    match serde_json::to_string(&round) {
        Ok(text) if text.len() <= MAX_ROUND_BYTES => Ok(text),
        Ok(_) => Err(ApiError::field(field, format!("a round has at most {MAX_ROUND_BYTES} bytes"))),
        Err(error) => Err(ApiError::new(ErrorCode::Internal, format!("writing a round: {error}"))),
    }
}

async fn read_message(place: &str, json: &str, pace: &Pace<'_>) -> Result<AgentMessage, ApiError> {
    pace.before(json.len()).await?;
    let (_, values) = size(json.as_bytes());
    if values > MAX_JSON_VALUES {
        return Err(ApiError::field(place, format!("a message has at most {MAX_JSON_VALUES} values")));
    }
    pace.before(reading(json.len(), values)).await?;
    let message = crate::json::from_str(json).map_err(|error| {
        let within = match path::of_error(json.as_bytes(), &error).as_str() {
            "." => place.to_owned(),
            path => format!("{place}.{path}"),
        };
        words::refusal(&within, &error)
    })?;
    if let AgentMessage::User { content } = &message {
        let field = format!("{place}.user.content");
        content.check_parts().map_err(|error| error.renamed("content", &field))?;
    }
    Ok(message)
}

/// Refuses more agents than a thread has, and more rounds, or more messages in them, than an agent remembers.
fn check_count(agents: &[Unread<'_>]) -> Result<(), ApiError> {
    if agents.len() > MAX_DUMP_AGENTS {
        return Err(ApiError::field("agents", format!("a dump has at most {MAX_DUMP_AGENTS} agents in all")));
    }
    let rounds: usize = agents.iter().map(|agent| agent.rounds.len()).sum();
    let messages: usize = agents.iter().flat_map(|agent| &agent.rounds).map(Vec::len).sum();
    match rounds <= MAX_ROUNDS && messages <= MAX_ROUND_MESSAGES {
        true => Ok(()),
        false => {
            let detail = format!("at most {MAX_ROUNDS} rounds with {MAX_ROUND_MESSAGES} messages in all");
            Err(ApiError::field("rounds", detail))
        }
    }
}
