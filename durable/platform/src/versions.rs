//! Versions of turns: where a turn that starts stands among the turns of its thread, and the choice of another path.
//! A version takes no turn away.

use std::rc::Rc;

use uuid::Uuid;
use worker::Response;

use crate::storage::StoreError;
use crate::storage::outgoing::{DELETED_AGAIN_MS, News, Outgoing, ThreadRow};
use crate::storage::path::{MAX_CHOICES, MAX_VERSIONS, NO_TURN, Path, Tree, check_choices};
use crate::storage::rows::Fresh;
use crate::storage::thread::ThreadMeta;
use wire::protocol::{ApiError, ChatRequest, ErrorCode, Event, Owner, Seq};
use wire::title::title_of;

use super::storage::thread::{is_unnamed, title};
use super::thread::Thread;

/// The place of a turn that is about to start.
pub struct Standing {
    /// The turn that it follows, unless that is the newest.
    pub apart: Option<Seq>,
    /// The conversation before it.
    pub path: Path,
    /// The path that it leaves; none where it goes on with it.
    pub left: Option<Path>,
    /// A person chose the path. The turn ends the path from now on.
    pub was_chosen: bool,
}

impl Thread {
    /// Where the turn of a request stands: behind the path's end, or beside the turn of the message that it names.
    /// Refuses a message that is not in the thread, and one version too many.
    pub fn standing(&self, request: &ChatRequest) -> Result<Standing, ApiError> {
        let is_new = !self.store.exists()?;
        let named = request.replaces_message_id.map(|id| match is_new {
            true => Ok(None),
            false => self.store.turn_of_message(&id.to_string()),
        });
        let beside = match named.transpose()? {
            None => None,
            Some(Some(turn)) => Some(turn),
            Some(None) => {
                let detail = "there is no message with this id in this thread";
                return Err(ApiError::field("replaces_message_id", detail));
            }
        };
        if is_new {
            let path = Tree::default().path(NO_TURN);
            return Ok(Standing { apart: None, path, left: None, was_chosen: false });
        }
        let ends = self.store.ends()?;
        let parent = match beside {
            None => ends.of_path,
            Some(turn) => self.store.parent(turn)?,
        };
        if beside.is_some() && self.store.children(parent)? >= MAX_VERSIONS {
            let detail = format!("this message has {MAX_VERSIONS} versions, and there can be no more");
            return Err(ApiError::new(ErrorCode::TooManyVersions, detail));
        }
        let tree = self.store.tree()?;
        Ok(Standing {
            apart: (parent != ends.newest).then_some(parent),
            path: tree.path(parent),
            left: (parent != ends.of_path).then(|| tree.path(ends.of_path)),
            was_chosen: ends.of_path != ends.newest,
        })
    }

    /// The thread's title once the conversation begins with this message. A title is the words of the first message until
    /// somebody renames the thread.
    pub fn retitled(&self, present: &str, left: &Path, first: &str) -> Result<Option<String>, StoreError> {
        let before = self.store.first_words(left)?;
        let is_unnamed = before.is_some_and(|words| is_unnamed(present, &words));
        Ok(Some(title(first)).filter(|title| is_unnamed && title != present))
    }

    /// Posts that the path changed: to D1 now, and again when any older batch must have ended.
    pub fn post_path(&self, thread: &ThreadMeta, moved: &[String], now: u64) -> Result<(), StoreError> {
        for news in News::path_changed(moved) {
            let changed = Outgoing::new(&thread.owner, thread.thread_id.as_str(), news);
            self.store.post(&changed, now)?;
            self.store.post(&changed, now + DELETED_AGAIN_MS)?;
        }
        Ok(())
    }

    /// Makes the path go through a turn, to the newest turn below it, and answers with the thread's details. Refused
    /// while a turn has no end: that turn is the path's.
    pub async fn choose(self: &Rc<Self>, owner: &Owner, turn_id: Uuid) -> Result<Response, ApiError> {
        self.found(owner)?;
        {
            // A request that is being admitted stands at the end of the path that it saw.
            let _alone = self.admitting.lock().await;
            let thread = self.found(owner)?;
            if let Some(open) = self.store.open_turn()? {
                let detail = format!("the turn {} is running", open.turn_id);
                return Err(ApiError::new(ErrorCode::TurnInProgress, detail));
            }
            let Some(turn) = self.store.turn_with_answer(&turn_id.to_string())? else {
                let detail = "there is no turn with this id in this thread";
                return Err(ApiError::field("current_turn_id", detail));
            };
            self.choose_path(thread, self.store.newest_below(turn)?)?;
        }
        self.tell_index().await;
        self.detail(owner)
    }

    /// Ends the path with a turn.
    fn choose_path(&self, mut thread: ThreadMeta, end: Seq) -> Result<(), ApiError> {
        let (ends, tree, now) = (self.store.ends()?, self.store.tree()?, self.clock.now_ms());
        if end == ends.of_path {
            return Ok(());
        }
        check_choices(self.store.choices(MAX_CHOICES)?)?;
        let (before, after) = (tree.path(ends.of_path), tree.path(end));
        let turn_id = self.store.turn_id(end)?.unwrap_or_default();
        let first = self.store.first_words(&after)?.unwrap_or_default();
        let retitled = self.retitled(&thread.title, &before, &first)?;
        let numbers = self.numbers()?;
        let reserved = numbers.reserved();
        let written: Result<(), StoreError> = self.store.transaction(|| {
            if let Some(reserve) = numbers.due(1) {
                self.store.reserve(reserve)?;
                numbers.set_reserved(reserve);
            }
            let seq = numbers.draw();
            let event = Fresh::new(seq, format!("path:{seq}"), Event::PathChanged)?;
            self.store.insert_events(&turn_id, &[], &[event])?;
            self.store.end_path((end != ends.newest).then_some(end))?;
            let moved = self.store.moved(&before, &after)?;
            self.post_path(&thread, &moved, now)?;
            if let Some(title) = retitled {
                self.store.rename(&title)?;
                let updated_at = self.store.newest_message()?.map_or(thread.created_at, |(_, at)| at);
                thread.title.clone_from(&title);
                let row = ThreadRow { title, created_at: thread.created_at, updated_at, state: None };
                let renamed =
                    Outgoing::new(&thread.owner, thread.thread_id.as_str(), News::Renamed { thread: row });
                self.store.post(&renamed, now)?;
            }
            self.store.arm(now)
        });
        written.inspect_err(|_| numbers.set_reserved(reserved))?;
        Ok(())
    }
}

/// The title of a thread where it changes with this message: because the conversation begins with another one, or because
/// an earlier version took the title from the first message as it was.
pub fn changed_title(
    present: &str,
    thread: &Thread,
    standing: &Standing,
    message: &str,
) -> Result<Option<String>, StoreError> {
    let own = standing.left.is_none().then_some(&standing.path);
    let Some(left) = standing.left.as_ref().or_else(|| own.filter(|_| title_of(present) != present)) else {
        return Ok(None);
    };
    let first = thread.store.first_words(&standing.path)?;
    thread.retitled(present, left, first.as_deref().unwrap_or(message))
}
