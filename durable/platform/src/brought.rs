//! Threads of clients that keep their conversation themselves: the import of a conversation that a client brings, and the
//! end of a thread that stands in no list.

use std::rc::Rc;

use crate::storage::StoreError;
use crate::storage::import_rows::ImportedRound;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::{ERASED, Reason};
use wire::protocol::{ApiError, ChatCommand, Dialect, OpenAi, OpenAiApi, Owner};

use super::admission::TurnRequest;
use super::deletion::DeletedBy;
use super::ids::new_id;
use super::storage::thread::title;
use super::thread::Thread;

/// How long an unlisted thread stays after its last message, or the last answer to one of its calls.
const KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long the end of an unlisted thread waits where D1 does not say whether its user was erased.
const ASK_AGAIN_MS: u64 = 60_000;

impl Thread {
    /// Makes the thread of a conversation that a client brings. Each question with its answer is a turn without events, so
    /// it is pruned, summarised and read like any. D1 does not hear of these turns: a search does not find them.
    pub fn import(&self, ask: &TurnRequest<'_>) -> Result<ThreadMeta, ApiError> {
        let (now, numbers) = (self.clock.now_ms(), self.numbers()?);
        let first = ask.chat.history.first().map(String::as_str).unwrap_or_default();
        let thread = ThreadMeta {
            owner: ask.owner.clone(),
            thread_id: ask.thread_id.to_string(),
            title: title(first),
            created_at: now,
            request_seq: None,
        };
        let (rounds, _) = ask.chat.history.as_chunks::<2>();
        let rounds = rounds.iter().map(|[question, answer]| ImportedRound {
            turn_id: new_id(now),
            ids: [new_id(now), new_id(now)],
            rows: [numbers.draw(), numbers.draw()],
            texts: [question, answer],
        });
        let rounds: Vec<_> = rounds.collect();
        self.store.transaction(|| {
            self.store.create(&thread, numbers.next())?;
            self.store.insert_rounds(&rounds, now)?;
            self.keep_unlisted(ask.chat.unlisted, now)?;
            self.store.arm(now)
        })?;
        Ok(thread)
    }

    /// Puts the words of the user that no answer follows before the message, where no turn before it has them: the thread
    /// is new, or the message follows the answer before these words (`follows`).
    pub fn begin_with(&self, owner: &Owner, chat: &mut ChatCommand) -> Result<(), ApiError> {
        let Some(unanswered) = chat.unanswered.take() else { return Ok(()) };
        if chat.follows.is_none() && self.owned_by(owner)?.is_some() {
            return Ok(());
        }
        chat.request.content.put_before(unanswered);
        chat.request.content.check().map_err(|error| {
            let member = match chat.dialect {
                Some(Dialect::OpenAi(OpenAi { api: OpenAiApi::Responses, .. })) => "input",
                _ => "messages",
            };
            let detail = format!("what the user said since the last answer is one message: {}", error.detail);
            ApiError::field(member, detail)
        })
    }

    /// Sets the end of a new unlisted thread, or puts off that of an old one, whichever client uses it. A listed thread has
    /// none.
    pub fn keep_unlisted(&self, is_new: bool, now: u64) -> Result<(), StoreError> {
        let is_kept = match self.store.timer(Reason::Erase)? {
            Some(at) => at != ERASED,
            None => is_new,
        };
        if is_kept { self.store.set_timer(Reason::Erase, now + KEPT_MS) } else { Ok(()) }
    }

    /// Deletes the thread. The timer goes with it; where that fails, the alarm comes again.
    pub async fn erase(self: &Rc<Self>) {
        if let Err(error) = self.erase_now().await {
            worker::console_error!("erasing a thread: {error}");
        }
    }

    async fn erase_now(self: &Rc<Self>) -> Result<(), ApiError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else {
            // It was deleted already: its timer would come for ever.
            self.store.clear_timer(Reason::Erase)?;
            return Ok(self.store.arm(self.clock.now_ms())?);
        };
        let is_erased = match self.store.timer(Reason::Erase)? {
            Some(ERASED) => true,
            // Its open turn has usage, of which D1 would hear after an erasure.
            _ if self.store.open_turn()?.is_some() => {
                // Where D1 does not answer, the alarm asks again.
                self.store.set_timer(Reason::Erase, self.clock.now_ms() + ASK_AGAIN_MS)?;
                self.was_erased().await?
            }
            _ => false,
        };
        let by = if is_erased { DeletedBy::Erasure } else { DeletedBy::Service };
        self.delete(&thread.owner, by).await.map(drop)
    }
}
