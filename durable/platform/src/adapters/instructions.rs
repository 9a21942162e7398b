//! The custom instructions of a turn: those of its user, and of the project that its request is about. Entry 0 freezes
//! them in the system prompt.
//!
//! A thread asks D1 at most once a minute, while the quotas admit the turn. It keeps what its last turn began with, and
//! uses that where D1 does not answer: so an outage changes no answer, and holds up a turn once a minute.

use worker::Env;

use super::Retrieved;
pub use super::known_instructions::Read;
use super::known_instructions::Texts;
use crate::admission::TurnRequest;
use crate::storage::StoreError;
use crate::thread::Thread;
use bindings::d1::BINDING;
use bindings::env::is_bound;
use features::instructions::section;
use features::instructions::store::D1Instructions;
use wire::protocol::{InstructionsOf, Owner, TreeInstructions};

/// How long a thread uses what it read without asking again, in milliseconds.
const FRESH_MS: u64 = 60_000;

impl Read {
    /// The part of the system prompt.
    pub fn section(&self) -> String {
        section(&self.texts)
    }

    /// Their entries in the tree.
    pub fn in_tree(&self) -> Vec<TreeInstructions> {
        self.texts.iter().map(|(of, text)| TreeInstructions::new(*of, text)).collect()
    }
}

impl Thread {
    /// The instructions with which the turn of a request begins.
    pub async fn instructions(&self, ask: &TurnRequest<'_>) -> Read {
        if !is_bound(&self.env, BINDING) {
            return Read::default();
        }
        let entity = ask.chat.request.chat_context.as_ref().and_then(|context| context.entity_id.as_deref());
        let (project, now) = (entity.unwrap_or_default(), self.clock.now_ms());
        let known = self.known_instructions.0.borrow().clone();
        let is_fresh = |read: &Read| read.project == project && now < read.at.saturating_add(FRESH_MS);
        if let Some(read) = known.filter(is_fresh) {
            return Read { failure: None, ..read };
        }
        let read = match self.within_patience(look(&self.env, ask.owner, entity)).await {
            Ok(texts) => Read { texts, is_news: true, ..Read::default() },
            Err(error) => Read { texts: self.kept(project), failure: Some(error), ..Read::default() },
        };
        let read = Read { project: project.to_owned(), at: now, ..read };
        self.known_instructions.0.replace(Some(read.clone()));
        read
    }

    /// The instructions that the last turn began with: those of the user alone where it was about another project.
    fn kept(&self, project: &str) -> Texts {
        let kept = self.store.kept_instructions().and_then(|kept| {
            let Some((of, json)) = kept else { return Ok(Vec::new()) };
            let mut texts: Texts = wire::json::from_str(&json)?;
            texts.retain(|(about, _)| *about == InstructionsOf::User || of == project);
            Ok(texts)
        });
        kept.unwrap_or_else(|StoreError(error)| {
            worker::console_error!("kept instructions: {error}");
            Vec::new()
        })
    }

    /// Keeps the instructions of a turn that starts. Belongs into the transaction of the start. A thread without any writes
    /// nothing.
    pub fn keep_instructions(&self, retrieved: &Retrieved) -> Result<(), StoreError> {
        let Read { project, texts, is_news, .. } = &retrieved.instructions;
        if !is_news {
            return Ok(());
        }
        let json = serde_json::to_string(texts)?;
        match self.store.kept_instructions()? {
            None if texts.is_empty() => Ok(()),
            Some((of, kept)) if of == *project && kept == json => Ok(()),
            _ => self.store.keep_instructions(project, &json),
        }
    }
}

async fn look(env: &Env, owner: &Owner, project: Option<&str>) -> Result<Texts, String> {
    let found = D1Instructions::new(env, owner).of_turn(project).await;
    found.map_err(|error| error.0)
}
