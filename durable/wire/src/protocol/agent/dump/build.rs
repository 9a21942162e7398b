//! Makes a dump of agents that may remember more than a dump has. The oldest rounds are left out, across all agents.

use serde::Serialize;

use super::{
    AgentDump, AgentMessage, MAX_DUMP_VALUES, MAX_ROUND_BYTES, MAX_ROUND_MESSAGES, MAX_ROUNDS, is_whole,
};
use crate::protocol::request::{MAX_JSON_VALUES, size};
use crate::protocol::{ApiError, ErrorCode};

/// The most bytes and values around the parts of an agent: the names of its lists, and commas.
const AROUND: usize = 64;

/// A dump that takes rounds from the newest to the oldest, as long as it has room. Each dump that it gives can be restored.
pub struct DumpBuilder {
    /// Each agent without its own agents, with the place of its maker, which stands before it; none for the first.
    agents: Vec<(Option<usize>, AgentDump)>,
    /// The bytes, values, rounds and messages for which there is room.
    room: [usize; 4],
    is_cut: bool,
}

impl DumpBuilder {
    /// A dump of these agents without rounds, of at most so many bytes. Each stands behind its maker. The oldest texts that
    /// they heard are left out where there is no room for all. An error: there is no room for the agents themselves.
    pub fn new(mut agents: Vec<(Option<usize>, AgentDump)>, max_bytes: usize) -> Result<Self, ApiError> {
        let heard: Vec<Vec<String>> =
            agents.iter_mut().map(|(_, agent)| std::mem::take(&mut agent.heard)).collect();
        let (mut bytes, mut values) = (0, 0);
        for (_, agent) in &agents {
            let json = json_of(agent)?;
            bytes += json.len() + AROUND;
            values += size(json.as_bytes()).1 + AROUND;
        }
        let beside = max_bytes.checked_sub(bytes).zip(MAX_JSON_VALUES.checked_sub(values));
        let Some((bytes, beside)) = beside else {
            let detail = format!("the agents have more than {max_bytes} bytes beside what they remember");
            return Err(ApiError::new(ErrorCode::InvalidRequest, detail));
        };
        let mut dump = DumpBuilder { agents, room: [bytes, beside, 0, 0], is_cut: false };
        for (index, heard) in heard.into_iter().enumerate() {
            dump.hear(index, heard)?;
        }
        let [bytes, beside, ..] = dump.room;
        dump.room = [bytes, beside + MAX_DUMP_VALUES - MAX_JSON_VALUES, MAX_ROUNDS, MAX_ROUND_MESSAGES];
        Ok(dump)
    }

    /// Gives an agent the newest of the texts that it heard.
    fn hear(&mut self, agent: usize, heard: Vec<String>) -> Result<(), ApiError> {
        let mut newest = Vec::new();
        for text in heard.into_iter().rev() {
            let bytes = json_of(&text)?.len() + 1;
            if !self.takes([bytes, 1, 0, 0]) {
                break;
            }
            newest.push(text);
        }
        newest.reverse();
        if let Some((_, agent)) = self.agents.get_mut(agent) {
            agent.heard = newest;
        }
        Ok(())
    }

    /// Adds a round of the agent at this place, which is older than all that were added. False: there is no room for it, nor
    /// for any older one.
    pub fn add(&mut self, agent: usize, round: Vec<AgentMessage>) -> Result<bool, ApiError> {
        let round = if is_whole(&round) { round } else { words_alone(round) };
        if round.is_empty() {
            return Ok(true);
        }
        let json = json_of(&round)?;
        let size = [json.len() + 1, size(json.as_bytes()).1, 1, round.len()];
        if json.len() > MAX_ROUND_BYTES || !self.takes(size) {
            self.is_cut = true;
            return Ok(false);
        }
        if let Some((_, agent)) = self.agents.get_mut(agent) {
            agent.rounds.push(round);
        }
        Ok(true)
    }

    /// Notes that older rounds are left out.
    pub fn mark_cut(&mut self) {
        self.is_cut = true;
    }

    /// Takes so much of the room. False: there is less.
    fn takes(&mut self, size: [usize; 4]) -> bool {
        let fits = self.room.iter().zip(size).all(|(room, size)| size <= *room);
        if fits {
            self.room.iter_mut().zip(size).for_each(|(room, size)| *room -= size);
        }
        self.is_cut |= !fits;
        fits
    }

    /// The dump of the first agent, with the others below their makers.
    pub fn whole(mut self) -> Option<AgentDump> {
        while let Some((maker, mut dump)) = self.agents.pop() {
            dump.rounds.reverse();
            dump.agents.reverse();
            match maker.and_then(|maker| self.agents.get_mut(maker)) {
                Some((_, maker)) => maker.agents.push(dump),
                None => return Some(AgentDump { cut: self.is_cut, ..dump }),
            }
        }
        None
    }
}

/// A round without calls and results, from its first question on. A turn that was stopped may leave calls without results,
/// which a dump does not take.
fn words_alone(round: Vec<AgentMessage>) -> Vec<AgentMessage> {
    let words = round.into_iter().filter_map(|message| match message {
        AgentMessage::Tool { .. } => None,
        AgentMessage::Assistant { content, .. } if content.is_empty() => None,
        AgentMessage::Assistant { content, .. } => {
            Some(AgentMessage::Assistant { content, tool_calls: Vec::new() })
        }
        AgentMessage::User { content } => Some(AgentMessage::User { content }),
    });
    words.skip_while(|message| !matches!(message, AgentMessage::User { .. })).collect()
}

fn json_of<T: Serialize>(part: &T) -> Result<String, ApiError> {
    serde_json::to_string(part)
        .map_err(|error| ApiError::new(ErrorCode::Internal, format!("writing a dump: {error}")))
}
