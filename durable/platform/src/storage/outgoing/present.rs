//! The state of a thread at the moment when its news are told, which may be late and after later news.

use std::collections::BTreeSet;

use wire::protocol::ThreadState;

use super::{News, Outgoing};

/// The thread as it is when its news are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Present {
    pub title: String,
    /// The state of its newest turn; none where that is over.
    pub state: Option<ThreadState>,
    /// Those of the messages in question that the thread has.
    pub messages: BTreeSet<String>,
    /// Those of them that are beside the path.
    pub beside: BTreeSet<String>,
    /// The path, as ranges of turns.
    pub path: String,
}

/// The most messages of one row of the outbox about a new path, so that the row stays short.
const MOVED_AT_ONCE: usize = 1_000;

impl News {
    /// The news that these messages came to the path or left it. The rest of them is known when they are told.
    pub fn path_changed(moved: &[String]) -> impl Iterator<Item = News> {
        // A path without moved messages still decides about memories.
        let chunks = moved.chunks(MOVED_AT_ONCE).chain(moved.is_empty().then_some(moved));
        chunks.map(|ids| News::PathChanged {
            messages: ids.iter().map(|id| (id.clone(), false)).collect(),
            path: String::new(),
        })
    }
}

impl Outgoing {
    /// The messages that the present must tell of.
    pub fn message_ids(&self) -> impl Iterator<Item = &str> {
        let (message, moved) = match &self.news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => {
                (Some(message.id.as_str()), None)
            }
            News::PathChanged { messages, .. } => (None, Some(messages.keys())),
            _ => (None, None),
        };
        message.into_iter().chain(moved.into_iter().flatten().map(String::as_str))
    }

    /// The message that these news bring.
    fn message_id(&self) -> Option<&str> {
        match &self.news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => Some(&message.id),
            _ => None,
        }
    }

    /// The same news for a delivery now: with the thread's present title, state and path, and without its message if the
    /// thread has deleted it.
    pub fn told_now(mut self, present: &Present) -> Self {
        let id = self.message_id();
        let deleted = id.is_some_and(|id| !present.messages.contains(id));
        self.beside = id.is_some_and(|id| present.beside.contains(id));
        match &mut self.news {
            News::TurnStarted { thread, .. } | News::TurnEnded { thread, .. } | News::Renamed { thread } => {
                present.title.clone_into(&mut thread.title);
                thread.state = present.state;
            }
            News::PathChanged { messages, path } => {
                messages.iter_mut().for_each(|(id, beside)| *beside = present.beside.contains(id));
                present.path.clone_into(path);
            }
            _ => {}
        }
        match self.news {
            News::TurnStarted { thread, .. } if deleted => {
                Outgoing { news: News::Renamed { thread }, ..self }
            }
            News::TurnEnded { calls, .. } if deleted => {
                let news = News::Spent { calls: calls.without_content() };
                Outgoing { news, ..self }
            }
            _ => self,
        }
    }
}
