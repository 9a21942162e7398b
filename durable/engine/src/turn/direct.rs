//! A turn whose message asks for a call. The service makes it in place of the root's model, and answers with its result. It
//! asks no model, so nothing falls back to one.

use super::called::make_calls;
use super::level::Level;
use super::{Halt, Turn};
use crate::journal::{DirectCall, TurnStop, Work};
use crate::record::keys::work;
use wire::model::{Message, ToolCall};

/// The call that a turn's message asks for.
pub(super) struct Direct<'a> {
    turn: &'a Turn,
    call: &'a DirectCall,
}

impl<'a> Direct<'a> {
    /// The call in whose turn the service answers in place of this level's model; none where the model answers.
    pub(super) fn at(turn: &'a Turn, level: &Level) -> Option<Self> {
        let call = turn.spec.setting.direct.as_ref().filter(|_| work(&level.step_key()) == Work::Root)?;
        Some(Direct { turn, call })
    }

    /// Begins a turn with the call that its message asks for, or else in its mode.
    pub(super) async fn begin(turn: &'a Turn, root: &mut Level) -> Result<(), Halt> {
        match Direct::at(turn, root) {
            Some(call) => call.make(root).await,
            None => turn.parts.mode.begin(turn, root).await,
        }
    }

    /// Makes the call. Its failure is that of the turn.
    async fn make(&self, root: &mut Level) -> Result<(), Halt> {
        let DirectCall { tool, arguments } = self.call;
        let call_id = format!("direct_{}", root.wave_key());
        let call = ToolCall { call_id, name: tool.clone(), arguments: arguments.clone() };
        let ends = make_calls(self.turn, root, vec![call]).await?;
        match ends.into_iter().find(|end| end.is_error) {
            Some(end) => {
                self.turn.stop(TurnStop::Call { message: end.content })?;
                Err(Halt::Stopped)
            }
            None => Ok(()),
        }
    }

    /// The answer: what a person reads of the call's result.
    pub(super) fn answer(&self, root: &Level) -> String {
        let result = root.own_messages().into_iter().rev().find_map(|message| match message {
            Message::Tool { content, .. } => Some(content),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        let result = result.unwrap_or_default();
        let tool = root.belt.find(&self.call.tool).and_then(|spec| self.turn.ports.tools.find(spec));
        tool.map_or_else(|| result.clone(), |tool| tool.result_in_words(&result))
    }
}
