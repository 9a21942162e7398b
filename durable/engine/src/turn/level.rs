//! One level as a pure state machine: it decides the next step and applies each outcome. It never awaits,
//! reads no clock and draws no random numbers, so the same outcomes lead to the same steps, live and in
//! replay.

mod bound;
mod cut;
mod drafts;
mod earlier;
mod hooked;
mod led;
mod prune;
mod repeats;
mod settled;
mod shape;
mod staged;
mod start;
mod step;
mod transcript;

use std::rc::Rc;

pub(super) use self::bound::{Counted, most_tokens};
use self::cut::Cuts;
pub(super) use self::drafts::Draft;
use self::drafts::Drafts;
pub(super) use self::earlier::{Earlier, Leaving, MAX_SUMMARIES};
pub(super) use self::hooked::Hooked;
pub(crate) use self::prune::fits;
use self::prune::fixed_tokens;
pub use self::prune::request_tokens;
pub(super) use self::shape::Shape;
pub(crate) use self::staged::Staged;
pub(super) use self::start::LevelStart;
pub use self::step::{LevelEnd, Step};
use crate::journal::{AgentLife, ModelOutcome};
use crate::memory::{AgentMemory, Overlay};
use crate::own::OwnCalls;
use crate::profiles::{Limits, Role};
use crate::record::frozen::Opening;
use crate::record::keys::{Digest, LevelPath};
use crate::toolbelt::{OutputSchema, ToolSpec, Toolbelt};
use crate::versions::Versions;
use wire::model::{
    Message, ModelChoice, ModelErrorKind, ModelReply, ModelRequest, ReplyFinish, ToolCall, ToolChoice,
    ToolDefinition,
};
use wire::protocol::Place;

#[derive(Debug)]
enum State {
    Model,
    Tools(Rc<[ToolCall]>),
    /// The level has an answer, which its hooks have not judged.
    Draft {
        text: String,
        finish: ReplyFinish,
    },
    Done(LevelEnd),
}

/// How a level ends at its limit of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtLimit {
    /// The limit is a failure.
    Fails,
    /// The level returns its partial result.
    Returns,
}

/// Whether the level sends less than its messages, because the provider found them too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortening {
    /// It sends them as they are.
    No,
    /// The provider refused the last call as too long; the level repeats it with half of them.
    Again,
    /// It sends half of them.
    Done,
}

/// One run of the loop at one depth.
#[derive(Debug)]
pub struct Level {
    pub(crate) path: LevelPath,
    pub(crate) place: Place,
    /// The levels around this one that count towards the limit of depth.
    pub(crate) nested: u32,
    pub(crate) belt: Toolbelt,
    pub(crate) memory: AgentMemory,
    /// The file versions that this level's own calls have learnt, and those that its agent knew before.
    pub(super) versions: Rc<Versions>,
    /// The life with which the level of an agent began, without the files that its own calls have learnt anew.
    life: Option<Rc<AgentLife>>,
    models: Option<Role>,
    model: Rc<ModelChoice>,
    opening: Option<Rc<Opening>>,
    system: Rc<str>,
    tools: Rc<[ToolDefinition]>,
    messages: Vec<Rc<Message>>,
    own_from: usize,
    /// The turns among the messages before that, and the summary of older ones.
    earlier: Earlier,
    hooked: Hooked,
    drafts: Drafts,
    /// The course that the level follows.
    staged: Option<Box<Staged>>,
    /// The token limit for the messages of a request; prompt and tools come on top.
    message_tokens: u64,
    /// The messages that requests leave out.
    cuts: Cuts,
    /// The newest request whose provider counted it.
    counted: Option<Box<Counted>>,
    iterations: u32,
    schema: Option<Rc<OutputSchema>>,
    shape: Shape,
    at_limit: AtLimit,
    /// How many results missed the schema, and the objection to the last one.
    rejected: u32,
    objection: String,
    shortening: Shortening,
    /// Whether the next reply may, must or must not call. A level that ends only with a call sets `Required`
    /// after a reply in prose.
    tool_choice: ToolChoice,
    limits: Limits,
    own: OwnCalls,
    digest: Digest,
    state: State,
}

impl Level {
    // Long: a member for each part of a level.
    pub(super) fn new(start: LevelStart, limits: Limits) -> Self {
        let LevelStart { path, place, nested, models, model, system, history, instructions, belt, .. } =
            start;
        let LevelStart {
            earlier,
            preface,
            life,
            hooked,
            schema,
            shape,
            opening,
            memory,
            digest,
            own,
            estimates,
            ..
        } = start;
        let known = life.iter().flat_map(|life| &life.known_files);
        let versions = known.map(|(path, file)| (path.clone(), file.version.clone())).collect();
        let at_limit = match opening.as_ref().is_some_and(|opening| opening.spec.partial) {
            true => AtLimit::Returns,
            false => AtLimit::Fails,
        };
        let ends = |spec: &&ToolSpec| own.ends_level(&spec.name);
        let objection = belt.iter().find(ends).map(|spec| format!("{} was never called", spec.name));
        let objection = objection.unwrap_or_default();
        let tool_choice = if shape.unmet().is_some() { ToolChoice::Required } else { ToolChoice::Auto };
        // A model that cannot call gets no tools, so any call that it writes is refused (N-170).
        let belt = if model.calls() { belt } else { Toolbelt::new([]) };
        let tools = belt.definitions(|spec| nested.saturating_add(own.levels(&spec.name)) <= limits.depth);
        let message_tokens = limits.history_tokens.saturating_sub(fixed_tokens(&system, &tools));
        let own_from = history.len();
        let digest = digest.with(&system).with(&instructions.text());
        let mut messages = history;
        messages.extend(preface);
        messages.push(Rc::new(Message::User { content: instructions }));
        Level {
            path,
            place,
            nested,
            belt,
            memory,
            versions: Rc::new(versions),
            life,
            models,
            model,
            opening,
            system,
            tools,
            messages,
            own_from,
            earlier,
            hooked,
            drafts: Drafts::default(),
            staged: None,
            message_tokens,
            cuts: Cuts::new(estimates),
            counted: None,
            iterations: 0,
            schema,
            shape,
            at_limit,
            rejected: 0,
            objection,
            shortening: Shortening::No,
            tool_choice,
            limits,
            own,
            digest,
            state: State::Model,
        }
        .with_summary()
    }

    /// Returns the next step. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        match &self.state {
            _ if self.is_due() => Step::Steer,
            State::Model if self.schema.is_some() && !self.model.calls() => {
                // Only a call ends this level, and its model cannot call: the level ends before it pays for a
                // model call.
                Step::Finish(LevelEnd::SchemaNotSatisfied(
                    "the model of this subtask cannot call tools".to_owned(),
                ))
            }
            State::Model if self.iterations >= self.limits.iterations => {
                Step::Finish(match self.schema.is_some() || self.shape.unmet().is_some() {
                    true => LevelEnd::SchemaNotSatisfied(self.shape.objection(&self.objection)),
                    false if self.at_limit == AtLimit::Returns => LevelEnd::Partial(self.so_far()),
                    false => LevelEnd::IterationLimit(self.limits.iterations),
                })
            }
            State::Model => match self.leaving() {
                Some(leaving) => Step::Summarise(leaving),
                None => Step::CallModel(self.request()),
            },
            State::Tools(calls) => Step::CallTools(Rc::clone(calls)),
            State::Draft { .. } => Step::Judge,
            State::Done(end) => Step::Finish(end.clone()),
        }
    }

    /// The request of the next model call, within the token limit.
    pub(super) fn request(&self) -> ModelRequest {
        ModelRequest {
            turn_from: self.turn_from(),
            model: Rc::clone(&self.model),
            system: Rc::clone(&self.system),
            messages: self.sent(),
            tools: Rc::clone(&self.tools),
            tool_choice: self.tool_choice,
            response_schema: None,
            max_output_tokens: self.limits.bounds_output().then_some(self.limits.output_tokens),
            cache_key: None,
        }
    }

    /// The role whose models the level asks.
    pub(super) fn models(&self) -> Option<Role> {
        self.models
    }

    /// The opening of the level.
    pub(crate) fn opening(&self) -> Option<&Rc<Opening>> {
        self.opening.as_ref()
    }

    /// The key of the next calls that the service makes in the model's place.
    pub(crate) fn wave_key(&self) -> String {
        self.path.step(self.iterations)
    }

    /// Makes calls in the model's place.
    pub(super) fn call(&mut self, calls: &[ToolCall]) {
        self.iterations += 1;
        let (content, tool_calls) = (String::new(), calls.to_vec());
        self.push(Message::Assistant { content, tool_calls, raw: None });
        for call in calls {
            self.digest = self.digest.with(&call.name).with(&call.arguments);
        }
        self.state = State::Tools(calls.iter().cloned().collect());
    }

    /// Takes the outcome of a model call.
    pub fn apply_model(&mut self, outcome: ModelOutcome) {
        self.iterations += 1;
        self.hooked.heard();
        self.heard_steering();
        self.heard_cut();
        let is_draft = matches!(outcome, ModelOutcome::Drafted(_));
        let reply = match outcome {
            ModelOutcome::Failed { error, said }
                if error.kind == ModelErrorKind::ContextTooLong && said.is_empty() && self.shorten() =>
            {
                return;
            }
            ModelOutcome::Failed { error, said } => {
                if !said.is_empty() {
                    self.push(Message::Assistant { content: said, tool_calls: Vec::new(), raw: None });
                }
                self.state = State::Done(LevelEnd::ModelFailed(error));
                return;
            }
            ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply) => *reply,
        };
        self.digest = self.digest.with(&reply.text);
        for call in &reply.tool_calls {
            self.digest = self.digest.with(&call.name).with(&call.arguments);
        }
        let ModelReply { text, tool_calls, finish, raw, .. } = reply;
        let calls: Rc<[ToolCall]> = tool_calls.iter().cloned().collect();
        self.push(Message::Assistant { content: text.clone(), tool_calls, raw });
        if is_draft {
            let is_answer = calls.is_empty() && self.schema.is_none() && self.shape.unmet().is_none();
            self.note_draft(&text, is_answer);
        }
        if self.tool_choice == ToolChoice::Required {
            self.tool_choice = self.usual_choice();
        }
        let must_call = self.schema.is_some() || self.shape.unmet().is_some();
        self.state = match (calls.is_empty(), must_call) {
            (false, _) => State::Tools(calls),
            (true, _) if finish == ReplyFinish::Pause => State::Model,
            (true, false) if is_draft => State::Draft { text, finish },
            (true, false) => {
                self.make_due();
                State::Done(LevelEnd::Text { text, finish })
            }
            (true, true) => self.remind(),
        };
    }

    /// The calls of the round that has not settled.
    pub(crate) fn pending(&self) -> Rc<[ToolCall]> {
        match &self.state {
            State::Tools(calls) => Rc::clone(calls),
            State::Model | State::Draft { .. } | State::Done(_) => Rc::new([]),
        }
    }

    /// Whether the next model call follows the results of a round.
    pub(super) fn has_new_results(&self) -> bool {
        let last = self.messages.iter().rev().nth(self.hooked.comments() + self.steered());
        let is_result = matches!(last.map(Rc::as_ref), Some(Message::Tool { .. }));
        self.shortening != Shortening::Again && (is_result || self.follows_results())
    }

    /// Checks a result: whether the level may end yet, the schema, the rules of the level's opening. None where the level ends
    /// with no call.
    pub(crate) fn checked(&self, payload: &str) -> Option<Result<(), String>> {
        let schema = self.schema.as_deref()?;
        let rules = self.opening.as_ref().and_then(|opening| opening.spec.rules.as_ref());
        let may_end = self.shape.unmet().map_or(Ok(()), Err);
        let checked = may_end.and_then(|()| schema.check(payload));
        Some(checked.and_then(|()| rules.map_or(Ok(()), |rules| rules.check(payload))))
    }

    /// The key of the current step.
    pub(super) fn step_key(&self) -> String {
        let step = match self.state {
            State::Model => self.iterations,
            State::Tools(_) | State::Draft { .. } | State::Done(_) => self.iterations.saturating_sub(1),
        };
        self.path.step(step)
    }

    /// The digest of all that led to the current step; a replay must come to the same digest.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// Consumes the level; returns the memory writes that its parent merges.
    pub(crate) fn into_written(self) -> Overlay {
        self.memory.into_written()
    }

    fn push(&mut self, message: Message) {
        self.messages.push(Rc::new(message));
    }
}

/// The message that answers a call.
pub(super) fn answer(call: &ToolCall, content: String, is_error: bool) -> Message {
    Message::Tool { call_id: call.call_id.clone(), name: call.name.clone(), content, is_error }
}

#[cfg(test)]
mod tests;
