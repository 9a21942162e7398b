//! The thread's agents in a turn's record: those that earlier turns left, and the turn's own changes of them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::copied::Copied;
use crate::journal::{
    Agent, AgentChange, AgentLife, AgentRow, AgentSetting, MAIN, MAX_HEARD_BYTES, MAX_TRANSCRIPT_BYTES,
    People, Round,
};
use wire::model::Message;
use wire::protocol::Hook;

/// The words to an agent in the place of rounds that it does not remember.
const FORGOTTEN: &str = "[Your oldest exchanges are not kept any more and stand here no longer.]";
/// The words in front of what an agent has heard, where older texts were left out.
const MISSED: &str = "[Older messages to you were left out.]";
/// The words to an agent that is asked without having heard anything new.
const YOUR_TURN: &str = "It is your turn to speak.";

/// The agents of the thread as they stand now. `main` is one of them.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    known: BTreeMap<String, Known>,
    /// Agents of earlier turns that this turn ended.
    ended: Vec<Agent>,
    /// How many rounds this turn brought.
    rounds: usize,
    pub(crate) copied: Copied,
}

#[derive(Clone, Debug)]
struct Known {
    agent: Agent,
    /// An earlier turn left it.
    is_kept: bool,
    is_changed: bool,
    /// The rounds that earlier turns left; none before they are read.
    recalled: Option<Vec<Kept>>,
    /// Older rounds are not kept any more.
    cut: bool,
    /// The rounds of this turn.
    own: Vec<Kept>,
    life: AgentLife,
    is_life_changed: bool,
}

/// A round, and its bytes as JSON.
#[derive(Clone, Debug)]
struct Kept {
    messages: Rc<[Rc<Message>]>,
    bytes: usize,
    /// How many rounds of this turn came before it, of all agents; none for a round of an earlier turn.
    number: Option<usize>,
}

impl Kept {
    fn measured(round: &Round, number: Option<usize>) -> Kept {
        let bytes = serde_json::to_vec(round).map_or(usize::MAX, |json| json.len());
        Kept { messages: round.iter().cloned().map(Rc::new).collect(), bytes, number }
    }

    fn round(&self) -> Round {
        self.messages.iter().map(|message| Message::clone(message)).collect()
    }
}

fn bytes_of<'a>(rounds: impl IntoIterator<Item = &'a Kept>) -> usize {
    rounds.into_iter().fold(0, |bytes, round| bytes.saturating_add(round.bytes))
}

impl Known {
    fn new(agent: Agent, is_kept: bool) -> Known {
        Known {
            agent,
            is_kept,
            is_changed: false,
            recalled: None,
            cut: false,
            own: Vec::new(),
            life: AgentLife::default(),
            is_life_changed: false,
        }
    }

    /// The newest rounds that an agent remembers, oldest first, and whether older ones are left out.
    fn rounds(&self) -> (Vec<&Kept>, bool) {
        let (mut newest, mut bytes) = (Vec::new(), 0_usize);
        let mut all = self.recalled.iter().flatten().chain(&self.own).rev().peekable();
        while let Some(round) = all
            .next_if(|round| newest.is_empty() || bytes.saturating_add(round.bytes) <= MAX_TRANSCRIPT_BYTES)
        {
            bytes = bytes.saturating_add(round.bytes);
            newest.push(round);
        }
        let cut = self.cut || all.peek().is_some();
        newest.reverse();
        (newest, cut)
    }
}

impl Agents {
    /// The agents with which a turn begins.
    pub(crate) fn new(setting: Option<&AgentSetting>) -> Agents {
        let kept = setting.map(|setting| setting.kept.as_slice()).unwrap_or_default();
        let known = kept.iter().map(|agent| (agent.name.clone(), Known::new(agent.clone(), true)));
        Agents { known: known.collect(), ended: Vec::new(), rounds: 0, copied: Copied::default() }
    }

    /// The agent of this name, `main` included.
    pub(crate) fn get(&self, name: &str) -> Option<&Agent> {
        self.known.get(name).map(|known| &known.agent)
    }

    /// The number of agents, without `main`.
    pub(crate) fn count(&self) -> usize {
        self.known.len() - usize::from(self.known.contains_key(MAIN))
    }

    /// The names of the agents that an agent made.
    pub(crate) fn made_by<'a>(&'a self, maker: &'a str) -> impl Iterator<Item = &'a str> {
        let is_one = move |known: &&Known| {
            known.agent.name != MAIN && known.agent.parent.as_deref().unwrap_or(MAIN) == maker
        };
        self.known.values().filter(is_one).map(|known| known.agent.name.as_str())
    }

    /// An agent and all that it made, with theirs: the deepest first.
    pub(crate) fn below(&self, name: &str) -> Vec<String> {
        let own = self.made_by(name).flat_map(|made| self.below(made));
        own.chain([name.to_owned()]).collect()
    }

    /// The life of an agent as it is now. That of `main` stands in the turn's setting, because `main` answers once a turn.
    pub(crate) fn life(&self, name: &str) -> AgentLife {
        self.known.get(name).map(|known| known.life.clone()).unwrap_or_default()
    }

    /// The lives that the turn changed, by the ids of their agents.
    pub(crate) fn lives(&self) -> Vec<(String, AgentLife)> {
        let changed = self.known.values().filter(|known| known.is_life_changed);
        changed.map(|known| (known.agent.id.clone(), known.life.clone())).collect()
    }

    /// The people of an agent's next discussion.
    pub(crate) fn interlocutors(&self, name: &str) -> People {
        self.get(name).map(|agent| agent.interlocutors.clone()).unwrap_or_default()
    }

    /// The id of an agent whose rounds of earlier turns are still to be read.
    pub(crate) fn unread(&self, name: &str) -> Option<String> {
        let known = self.known.get(name).filter(|known| known.is_kept && known.recalled.is_none())?;
        Some(known.agent.id.clone())
    }

    /// The messages that an agent remembers.
    pub(crate) fn transcript(&self, name: &str) -> Vec<Rc<Message>> {
        let Some(known) = self.known.get(name) else { return Vec::new() };
        let (rounds, cut) = known.rounds();
        let told = cut.then(|| Rc::new(Message::User { content: FORGOTTEN.into() }));
        told.into_iter()
            .chain(rounds.into_iter().flat_map(|round| round.messages.iter().map(Rc::clone)))
            .collect()
    }

    /// The rounds that an agent remembers, for a copy of it.
    pub(crate) fn copy(&self, name: &str) -> Vec<Round> {
        let known = self.known.get(name);
        known.map(|known| known.rounds().0.into_iter().map(Kept::round).collect()).unwrap_or_default()
    }

    /// The bytes of the rounds that a copy of an agent gets.
    pub(crate) fn copy_bytes(&self, name: &str) -> usize {
        self.known.get(name).map_or(0, |known| bytes_of(known.rounds().0))
    }

    /// The agents as they stand now, `main` included where it has a row.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Agent> {
        self.known.values().map(|known| &known.agent)
    }

    /// The rounds of an agent as far as they are known, each with its number among the rounds of this turn; none for those of
    /// earlier turns. Oldest first. The flag says that older ones are left out.
    pub(crate) fn numbered_rounds(&self, name: &str) -> (Vec<(Option<usize>, Round)>, bool) {
        let Some(known) = self.known.get(name) else { return (Vec::new(), false) };
        let all = known.recalled.iter().flatten().chain(&known.own);
        (all.map(|round| (round.number, round.round())).collect(), known.cut)
    }

    /// All that an agent heard since it last answered, as the message with which it is asked.
    pub(crate) fn question(&self, name: &str) -> String {
        let Some(agent) = self.get(name).filter(|agent| !agent.heard.is_empty()) else {
            return YOUR_TURN.to_owned();
        };
        let missed = agent.missed.then(|| MISSED.to_owned());
        missed.into_iter().chain(agent.heard.iter().cloned()).collect::<Vec<_>>().join("\n\n")
    }

    pub(crate) fn apply(&mut self, changes: &[AgentChange]) {
        for change in changes {
            match change {
                AgentChange::Made { agent, rounds, life } => {
                    self.made(agent, rounds);
                    self.lives_on(&agent.name, life.as_deref());
                }
                AgentChange::Recalled { name, rounds, cut, life } => {
                    if let Some(known) = self.known.get_mut(name) {
                        known.recalled =
                            Some(rounds.iter().map(|round| Kept::measured(round, None)).collect());
                        known.cut = *cut;
                        known.life = life.as_deref().cloned().unwrap_or_default();
                    }
                }
                AgentChange::Met { name, people } => self.met(name, people.clone()),
                AgentChange::Heard { names, text } => names.iter().for_each(|name| self.hears(name, text)),
                AgentChange::Spoke { name, messages, life } => {
                    let round = self.numbered(messages);
                    if let Some(known) = self.changing(name) {
                        known.own.push(round);
                        known.agent.heard.clear();
                        known.agent.missed = false;
                    }
                    self.lives_on(name, life.as_deref());
                }
                AgentChange::Hooked { name, hook } => {
                    if let Some(known) = self.changing(name) {
                        known.agent.hooks.push(Hook::clone(hook));
                    }
                }
                AgentChange::Ended { name } => self.ended(name),
            }
        }
    }

    /// Takes the life of an agent, where a change has one.
    fn lives_on(&mut self, name: &str, life: Option<&AgentLife>) {
        if let Some((known, life)) = self.known.get_mut(name).zip(life) {
            (known.life, known.is_life_changed) = (life.clone(), true);
        }
    }

    fn changing(&mut self, name: &str) -> Option<&mut Known> {
        let known = self.known.get_mut(name)?;
        known.is_changed = true;
        Some(known)
    }

    /// A round of this turn.
    fn numbered(&mut self, round: &Round) -> Kept {
        let number = self.rounds;
        self.rounds += 1;
        Kept::measured(round, Some(number))
    }

    fn made(&mut self, agent: &Agent, rounds: &[Round]) {
        let mut known = Known::new(agent.clone(), false);
        known.own = rounds.iter().map(|round| self.numbered(round)).collect();
        self.copied.add(bytes_of(&known.own));
        known.is_changed = true;
        let maker = agent.parent.as_deref().unwrap_or(MAIN).to_owned();
        self.met(&maker, People { speakers: vec![agent.name.clone()], listeners: Vec::new() });
        self.known.insert(agent.name.clone(), known);
    }

    /// Sets the people of an agent's next discussion.
    fn met(&mut self, name: &str, people: People) {
        if name == MAIN && !self.known.contains_key(MAIN) {
            let main = Agent { id: MAIN.to_owned(), name: MAIN.to_owned(), ..Agent::default() };
            self.known.insert(MAIN.to_owned(), Known::new(main, false));
        }
        if let Some(known) = self.changing(name) {
            known.agent.interlocutors = people;
        }
    }

    fn hears(&mut self, name: &str, text: &str) {
        let Some(known) = self.changing(name) else { return };
        let Agent { heard, missed, .. } = &mut known.agent;
        heard.push(crate::journal::shortened(text, MAX_HEARD_BYTES));
        let mut bytes: usize = heard.iter().map(String::len).sum();
        while bytes > MAX_HEARD_BYTES {
            bytes -= heard.remove(0).len();
            *missed = true;
        }
    }

    fn ended(&mut self, name: &str) {
        let Some(known) = self.known.remove(name) else { return };
        let maker = known.agent.parent.clone().unwrap_or_else(|| MAIN.to_owned());
        if let Some(maker) = self.changing(&maker) {
            maker.agent.interlocutors.retain(|other| other != name);
        }
        if known.is_kept {
            self.ended.push(known.agent);
        }
    }

    /// The agents that the turn made, changed or ended.
    pub(crate) fn rows(&self) -> Vec<AgentRow> {
        let ended = self.ended.iter().cloned();
        let ended = ended.map(|agent| AgentRow { agent, has_ended: true, rounds: Vec::new() });
        let changed = self.known.values().filter(|known| known.is_changed);
        let changed = changed.map(|known| AgentRow {
            agent: known.agent.clone(),
            has_ended: false,
            rounds: known.own.iter().map(Kept::round).collect(),
        });
        ended.chain(changed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(kept: &[(&str, Option<&str>)]) -> Agents {
        let agent = |(name, parent): &(&str, Option<&str>)| Agent {
            id: format!("id-{name}"),
            name: (*name).to_owned(),
            parent: parent.map(str::to_owned),
            ..Agent::default()
        };
        Agents::new(Some(&AgentSetting { kept: kept.iter().map(agent).collect(), ..AgentSetting::default() }))
    }

    fn said(name: &str, bytes: usize) -> AgentChange {
        let messages = vec![Message::User { content: "x".repeat(bytes).as_str().into() }];
        AgentChange::Spoke { name: name.to_owned(), messages, life: None }
    }

    fn around() -> usize {
        serde_json::to_vec(&vec![Message::User { content: "".into() }]).unwrap().len()
    }

    // Issue 20, 2: at most 500,000 bytes; the oldest whole rounds go, and the agent is told.
    #[test]
    fn an_agent_forgets_its_oldest_rounds_and_is_told() {
        let mut fits = agents(&[("a", None)]);
        let half = MAX_TRANSCRIPT_BYTES / 2 - around();
        fits.apply(&[said("a", half), said("a", half)]);
        assert_eq!(fits.transcript("a").len(), 2);
        let mut beyond = agents(&[("a", None)]);
        beyond.apply(&[said("a", half + 1), said("a", half)]);
        let told = Rc::new(Message::User { content: FORGOTTEN.into() });
        let left = beyond.transcript("a");
        assert_eq!((left.len(), &left[0]), (2, &told));
        assert_eq!(beyond.copy("a").len(), 1, "a copy has what is remembered");
        assert_eq!(beyond.rows()[0].rounds.len(), 2, "the thread's rows have all of them");
        // The newest round stays, whatever its length.
        beyond.apply(&[said("a", 2 * MAX_TRANSCRIPT_BYTES)]);
        assert_eq!(beyond.transcript("a").len(), 2);
        let mut cut = agents(&[("a", None)]);
        cut.apply(&[AgentChange::Recalled {
            name: "a".to_owned(),
            rounds: Vec::new(),
            cut: true,
            life: None,
        }]);
        assert_eq!(cut.transcript("a"), [told]);
    }

    #[test]
    fn an_agent_hears_at_most_so_much_before_it_answers() {
        let mut agents = agents(&[("a", None)]);
        let heard = |text: String| AgentChange::Heard { names: vec!["a".to_owned()], text };
        let half = "x".repeat(MAX_HEARD_BYTES / 2);
        agents.apply(&[heard("first".to_owned()), heard(half.clone())]);
        assert_eq!(agents.question("a"), format!("first\n\n{half}"));
        agents.apply(&[heard(half.clone())]);
        assert_eq!(agents.question("a"), format!("{MISSED}\n\n{half}\n\n{half}"));
        agents.apply(&[heard("y".repeat(MAX_HEARD_BYTES + 1))]);
        let question = agents.question("a");
        assert!(question.len() <= MISSED.len() + 2 + MAX_HEARD_BYTES && question.ends_with("y\n[shortened]"));
        agents.apply(&[said("a", 1)]);
        assert_eq!(agents.question("a"), YOUR_TURN);
    }

    //
    #[test]
    fn an_agent_ends_with_all_that_it_made() {
        let mut agents =
            agents(&[("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("a")), ("e", None)]);
        assert_eq!(agents.below("a"), ["c", "b", "d", "a"]);
        assert_eq!(agents.made_by(MAIN).collect::<Vec<_>>(), ["a", "e"]);
        let ended: Vec<_> = agents.below("a").into_iter().map(|name| AgentChange::Ended { name }).collect();
        agents.apply(&ended);
        assert_eq!(agents.count(), 1);
        let rows = agents.rows();
        let ended: Vec<_> =
            rows.iter().filter(|row| row.has_ended).map(|row| row.agent.name.as_str()).collect();
        assert_eq!(ended, ["c", "b", "d", "a"]);
    }
}
