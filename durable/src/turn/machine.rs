//! One level as a pure state machine: what comes next, and what an outcome changes. It never awaits, reads no clock
//! and draws no random numbers, so the same outcomes lead to the same steps, live and in replay.

use std::rc::Rc;

use super::keys::{Digest, LevelPath};
use super::prune::prune;
use crate::journal::{ModelOutcome, ToolEnd};
use crate::memory::{AgentMemory, Overlay};
use crate::model::{
    Message, ModelChoice, ModelError, ModelReply, ModelRequest, ReplyFinish, ToolCall, ToolDefinition,
};
use crate::profiles::Limits;
use crate::protocol::Place;
use crate::toolbelt::Toolbelt;

/// What a level wants next.
#[derive(Debug)]
pub(super) enum Step {
    CallModel(ModelRequest),
    CallTools(Rc<[ToolCall]>),
    Finish(LevelEnd),
}

/// How a level ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LevelEnd {
    /// A reply without tool calls: its text is the level's result (N-042).
    Text { text: String, finish: ReplyFinish },
    /// The provider failed, which ends the level (CF-13).
    ModelFailed(ModelError),
    /// The level made all the iterations that it may.
    IterationLimit(u32),
}

#[derive(Debug)]
enum State {
    Model,
    Tools(Rc<[ToolCall]>),
    Done(LevelEnd),
}

/// What a level starts from.
pub(super) struct LevelStart {
    pub(super) path: LevelPath,
    pub(super) place: Place,
    pub(super) model: Rc<ModelChoice>,
    pub(super) system: Rc<str>,
    /// The messages before the level's own.
    pub(super) history: Vec<Rc<Message>>,
    pub(super) instructions: String,
    pub(super) belt: Toolbelt,
    pub(super) memory: AgentMemory,
    pub(super) digest: Digest,
}

/// One run of the loop at one depth.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) path: LevelPath,
    pub(super) place: Place,
    pub(super) belt: Toolbelt,
    pub(super) memory: AgentMemory,
    model: Rc<ModelChoice>,
    system: Rc<str>,
    tools: Rc<[ToolDefinition]>,
    messages: Vec<Rc<Message>>,
    own_from: usize,
    iterations: u32,
    limits: Limits,
    digest: Digest,
    state: State,
}

impl Level {
    pub(super) fn new(start: LevelStart, limits: Limits) -> Self {
        let LevelStart { path, place, model, system, history, instructions, belt, memory, digest } = start;
        let tools = match model.capabilities.tools {
            true => belt.definitions(place.depth < limits.depth),
            false => Rc::new([]),
        };
        let own_from = history.len();
        let digest = digest.with(&system).with(&instructions);
        let mut messages = history;
        messages.push(Rc::new(Message::User { content: instructions }));
        Level {
            path,
            place,
            belt,
            memory,
            model,
            system,
            tools,
            messages,
            own_from,
            iterations: 0,
            limits,
            digest,
            state: State::Model,
        }
    }

    /// What comes next. Asking twice gives the same answer.
    pub(super) fn next(&self) -> Step {
        match &self.state {
            State::Model if self.iterations >= self.limits.iterations => {
                Step::Finish(LevelEnd::IterationLimit(self.limits.iterations))
            }
            State::Model => Step::CallModel(ModelRequest {
                model: Rc::clone(&self.model),
                system: Rc::clone(&self.system),
                messages: prune(&self.messages, self.limits.history_tokens),
                tools: Rc::clone(&self.tools),
            }),
            State::Tools(calls) => Step::CallTools(Rc::clone(calls)),
            State::Done(end) => Step::Finish(end.clone()),
        }
    }

    /// Takes the outcome of a model call.
    pub(super) fn apply_model(&mut self, outcome: ModelOutcome) {
        self.iterations += 1;
        let reply = match outcome {
            ModelOutcome::Failed { error, said } => {
                if !said.is_empty() {
                    self.push(Message::Assistant { content: said, tool_calls: Vec::new(), raw: None });
                }
                self.state = State::Done(LevelEnd::ModelFailed(error));
                return;
            }
            ModelOutcome::Replied(reply) => *reply,
        };
        self.digest = self.digest.with(&reply.text);
        for call in &reply.tool_calls {
            self.digest = self.digest.with(&call.name).with(&call.arguments);
        }
        self.state = match reply.tool_calls.is_empty() {
            true => State::Done(LevelEnd::Text { text: reply.text.clone(), finish: reply.finish }),
            false => State::Tools(reply.tool_calls.iter().cloned().collect()),
        };
        let ModelReply { text, tool_calls, raw, .. } = reply;
        self.push(Message::Assistant { content: text, tool_calls, raw });
    }

    /// Takes the results of a round, one per call, in the model's order (N-050, N-052). The round settles: what its
    /// calls wrote to memory becomes visible.
    pub(super) fn apply_tools(&mut self, results: &[ToolEnd]) {
        let calls = self.pending();
        self.memory.merge(results.iter().map(|result| &result.overlay));
        for (call, result) in calls.iter().zip(results) {
            self.digest = self.digest.with(&result.content);
            self.push(answer(call, result.content.clone(), result.is_error));
        }
        self.state = State::Model;
    }

    /// The calls of the round that has not settled.
    pub(super) fn pending(&self) -> Rc<[ToolCall]> {
        match &self.state {
            State::Tools(calls) => Rc::clone(calls),
            State::Model | State::Done(_) => Rc::new([]),
        }
    }

    /// Whether the level has not called the model yet.
    pub(super) fn is_first_step(&self) -> bool {
        self.iterations == 0
    }

    /// The key of the current step.
    pub(super) fn step_key(&self) -> String {
        let step = match self.state {
            State::Model => self.iterations,
            State::Tools(_) | State::Done(_) => self.iterations.saturating_sub(1),
        };
        self.path.step(step)
    }

    /// What the current step depends on, as a replay must find it again.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// What the level's own calls are told by a child: its overlay.
    pub(super) fn into_written(self) -> Overlay {
        self.memory.into_written()
    }

    /// The level's own messages, from its instructions on.
    pub(super) fn own_messages(&self) -> Vec<Message> {
        self.messages.iter().skip(self.own_from).map(|message| Message::clone(message)).collect()
    }

    fn push(&mut self, message: Message) {
        self.messages.push(Rc::new(message));
    }
}

/// The message that answers a call.
pub(super) fn answer(call: &ToolCall, content: String, is_error: bool) -> Message {
    Message::Tool { call_id: call.call_id.clone(), name: call.name.clone(), content, is_error }
}
