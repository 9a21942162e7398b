//! The tree of turns in the object: which turn follows which, and the path that is the conversation.

use std::collections::BTreeSet;

use worker::SqlStorageValue;

use super::StoreError;
use super::path::{self, Path, Tree, seq};
use super::sql::{Store, int, unsigned};
use super::turn::TurnStatus;
use wire::protocol::{Seq, StoredMessage, TurnVersion};

/// The ends of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub newest: Seq,
    /// The turn with which the path ends.
    pub of_path: Seq,
    /// The state of the newest turn.
    pub status: TurnStatus,
}

impl Store {
    /// The tree of the thread's turns.
    pub fn tree(&self) -> Result<Tree, StoreError> {
        let rows = self.remembered(path::SELECT_TREE)?;
        let apart = rows.iter().map(|row| Ok((seq(row.int(0)?)?, seq(row.int(1)?)?)));
        Ok(Tree(apart.collect::<Result<_, StoreError>>()?))
    }

    /// The newest turn with its state, and the turn with which the path ends.
    pub fn ends(&self) -> Result<Ends, StoreError> {
        let Some(mut row) = self.remembered(path::SELECT_ENDS)?.first().cloned() else {
            return Err(StoreError("the thread has no ends".to_owned()));
        };
        let status = row.maybe_text(2).map_or(TurnStatus::Done, |status| TurnStatus::from_column(&status));
        Ok(Ends { newest: seq(row.int(0)?)?, of_path: seq(row.int(1)?)?, status })
    }

    /// The path that is the conversation.
    pub fn path(&self) -> Result<Path, StoreError> {
        Ok(self.tree()?.path(self.ends()?.of_path))
    }

    /// The turn that a turn follows.
    pub fn parent(&self, turn: Seq) -> Result<Seq, StoreError> {
        match self.row(path::SELECT_PARENT, [int(turn)])? {
            Some(row) => seq(row.int(0)?),
            None => Err(StoreError(format!("no turn begins with event {turn}"))),
        }
    }

    /// How often the path was chosen after the newest turn, up to `most`.
    pub fn choices(&self, most: u64) -> Result<u64, StoreError> {
        let row = self.row(path::COUNT_CHOICES, [int(most)])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }

    /// The user's message of the newest turn that follows a turn.
    pub fn newest_question_after(&self, turn: Seq) -> Result<Option<String>, StoreError> {
        self.row(path::SELECT_QUESTION_AFTER, [int(turn)])?.map(|mut row| row.text(0)).transpose()
    }

    /// How many turns follow a turn.
    pub fn children(&self, turn: Seq) -> Result<usize, StoreError> {
        let row = self.row(path::COUNT_CHILDREN, [int(turn)])?;
        let count = row.and_then(|row| row.maybe_int(0)).unwrap_or(0);
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// The number of the newest turn among the versions of its place, from 1.
    pub fn version_of_newest(&self) -> Result<usize, StoreError> {
        self.children(self.parent(self.ends()?.newest)?)
    }

    /// The turn of a message. The answer of the open turn has no row yet.
    pub fn turn_of_message(&self, id: &str) -> Result<Option<Seq>, StoreError> {
        let query = "SELECT seq_first FROM turns WHERE turn_id = (SELECT turn_id FROM messages WHERE id = ?1)
            UNION ALL SELECT seq_first FROM (SELECT * FROM turns ORDER BY seq_first DESC LIMIT 1)
            WHERE assistant_message_id = ?1 LIMIT 1";
        self.row(query, [id.into()])?.map(|row| seq(row.int(0)?)).transpose()
    }

    /// The turn that has this id, or a message with it.
    pub fn turn_named(&self, id: &str) -> Result<Option<Seq>, StoreError> {
        match self.turn(id)? {
            Some(turn) => Ok(Some(turn.seq_first)),
            None => self.turn_of_message(id),
        }
    }

    /// The imported turn with which a history ends: the beginning of the conversation where it has none.
    pub fn imported(&self, history: &[String]) -> Result<Option<Seq>, StoreError> {
        let [.., question, answer] = history else { return Ok(Some(path::NO_TURN)) };
        let round = [question.as_str().into(), answer.as_str().into()];
        self.row(path::SELECT_IMPORTED, round)?.map(|row| seq(row.int(0)?)).transpose()
    }

    /// A turn that has its end, unless a version of the service that stored no versions has deleted its messages.
    pub fn turn_with_answer(&self, turn_id: &str) -> Result<Option<Seq>, StoreError> {
        let query =
            "SELECT seq_first FROM turns JOIN messages ON id = assistant_message_id WHERE turns.turn_id = ?1";
        self.row(query, [turn_id.into()])?.map(|row| seq(row.int(0)?)).transpose()
    }

    /// The newest turn below a turn, or that turn itself.
    pub fn newest_below(&self, turn: Seq) -> Result<Seq, StoreError> {
        let before = match self.tree()?.newest_below(turn) {
            Some(before) => int(before),
            None => SqlStorageValue::Null,
        };
        let query = "SELECT max(seq_first) FROM turns WHERE ?1 IS NULL OR seq_first < ?1";
        let row = self.row(query, [before])?;
        row.and_then(|row| row.maybe_int(0)).map_or(Ok(turn), seq)
    }

    /// The id of a turn.
    pub fn turn_id(&self, turn: Seq) -> Result<Option<String>, StoreError> {
        let row = self.row("SELECT turn_id FROM turns WHERE seq_first = ?1", [int(turn)])?;
        row.map(|mut row| row.text(0)).transpose()
    }

    /// Ends the path with a turn; none: with the newest, whichever that is.
    pub fn end_path(&self, turn: Option<Seq>) -> Result<(), StoreError> {
        self.run("UPDATE meta SET path_seq = ?1", [turn.map_or(SqlStorageValue::Null, int)])
    }

    /// The messages that are on one of two paths alone.
    pub fn moved(&self, before: &Path, after: &Path) -> Result<Vec<String>, StoreError> {
        let rows = self.rows(&path::select_moved(), [before.json().into(), after.json().into()])?;
        rows.into_iter().map(|mut row| row.text(0)).collect()
    }

    /// The versions of the turns on a page of messages, where they have several.
    pub fn versions_on(
        &self,
        path: &Path,
        page: &[StoredMessage],
        whole: bool,
    ) -> Result<Vec<TurnVersion>, StoreError> {
        let turn_ids: BTreeSet<&str> = page.iter().map(|message| message.turn_id.as_str()).collect();
        let query = "SELECT min(seq_first), max(seq_first) FROM turns WHERE turn_id IN (
            SELECT value FROM json_each(?1))";
        let Some(ends) = self.row(query, [serde_json::to_string(&turn_ids)?.into()])? else {
            return Ok(Vec::new());
        };
        let (Some(first), Some(last)) = (ends.maybe_int(0), ends.maybe_int(1)) else { return Ok(Vec::new()) };
        // A turn follows an older one. On a path the turns of a page follow each other.
        let from = if whole { path::NO_TURN } else { self.parent(seq(first)?)? };
        let bindings = [path.json().into(), int(from), SqlStorageValue::Integer(last)];
        let rows = self.rows(&path::select_siblings(), bindings)?;
        let siblings = rows.into_iter().map(|mut row| {
            let version = TurnVersion {
                turn_id: row.text(1)?,
                parent_turn_id: row.maybe_text(2),
                question_of: row.text(3)?,
                on_path: row.int(4)? != 0,
            };
            Ok((seq(row.int(0)?)?, version))
        });
        Ok(path::versions_of_page(&siblings.collect::<Result<Vec<_>, StoreError>>()?, &turn_ids, whole))
    }
}
