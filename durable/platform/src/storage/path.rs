//! The tree of a thread's turns, and the path through it that is the conversation. Pure.
//!
//! A turn is named by the number of its first event, so turns are ordered by their beginnings. A turn follows the turn
//! before it in this order, unless its row names another one: it stands apart then. So a thread without versions has no
//! row for its tree, and a path is a few ranges of turns.
//!
//! A thread's turns are a tree, and its conversation is one path through it (`storage/path.rs`, pure). A turn follows
//! the turn that began before it, unless its row names another (`parent_seq`). So a thread without versions writes no
//! row for its tree. The path ends with the newest turn, unless a person chose another one since (`meta.path_seq`). A
//! path is a few ranges of turns, and each statement that reads a conversation takes these ranges: history, lists,
//! drafts, the first words for the title. A plan has a row for each turn that changed it, so another version of that
//! turn finds the plan as it was before.
//!
//! D1 has a mark on messages and memories that are beside their path. News of a path (`path_changed`) name the
//! messages that moved; the mark is read from the object when the news leave, and they leave twice, as those of a
//! deletion do. So late news cannot bring an old path back. A turn of the same thread asks the object for its path and
//! not D1, because D1 may not have heard of it yet.

use std::collections::BTreeSet;

use serde_json::json;

use super::StoreError;
use wire::protocol::{ApiError, ErrorCode, Seq, TurnVersion};

/// The most versions of a turn, the first one included: a picker shows one after another, and each page of messages
/// names all of them.
pub const MAX_VERSIONS: usize = 50;

/// The most choices of a path after the newest turn: each leaves an event in the thread's log, until later turns take its
/// place. A person who looks through fifty versions of twenty messages makes as many.
pub const MAX_CHOICES: u64 = 1_000;

/// Counts the choices after the newest turn, up to `?1`: no other event comes while no turn runs.
pub const COUNT_CHOICES: &str = "SELECT count(*) FROM (SELECT 1 FROM events
    WHERE seq_first > (SELECT seq_last FROM turns ORDER BY seq_first DESC LIMIT 1) LIMIT ?1)";

/// The seconds after which a client whose choice was refused asks again: a turn may have begun by then.
const RETRY_S: u64 = 60;

/// Refuses another choice after so many.
pub fn check_choices(choices: u64) -> Result<(), ApiError> {
    if choices < MAX_CHOICES {
        return Ok(());
    }
    let detail =
        format!("the path has changed {MAX_CHOICES} times since the last turn: send a message first");
    Err(ApiError::new(ErrorCode::RateLimited, detail).retry_after(RETRY_S))
}

/// The parent of the first turns.
pub const NO_TURN: Seq = 0;

/// The turns that stand apart, each with the turn that it follows ([`NO_TURN`] where it begins the conversation), in the
/// order of their beginnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub Vec<(Seq, Seq)>);

/// The turns from the beginning of a conversation to its end, as ranges of turns: the first and the last of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<(Seq, Seq)>);

impl Tree {
    /// The path that ends with a turn.
    pub fn path(&self, last: Seq) -> Path {
        let (mut ranges, mut last, mut apart) = (Vec::new(), last, self.0.as_slice());
        while last > NO_TURN {
            let until = apart.partition_point(|(turn, _)| *turn <= last);
            let Some(((turn, parent), before)) = apart.get(..until).and_then(<[_]>::split_last) else {
                ranges.push((NO_TURN + 1, last));
                break;
            };
            ranges.push((*turn, last));
            // A parent is older than its child, so the walk ends.
            (last, apart) = ((*parent).min(turn - 1), before);
        }
        ranges.reverse();
        Path(ranges)
    }

    /// The number before which the newest turn below a turn is the last one; none where that is the newest turn of all.
    /// The newest turn below a turn ends a path, because a child is newer than its parent.
    pub fn newest_below(&self, turn: Seq) -> Option<Seq> {
        let after = self.0.partition_point(|(apart, _)| *apart <= turn);
        let apart = self.0.get(after..).unwrap_or_default();
        let ends = apart.iter().skip(1).map(|(turn, _)| Some(*turn)).chain([None]);
        let first = (turn, apart.first().map(|(turn, _)| *turn));
        let mut below = vec![first];
        for ((turn, parent), end) in apart.iter().zip(ends) {
            let holds =
                |(from, end): &(Seq, Option<Seq>)| from <= parent && end.is_none_or(|end| *parent < end);
            if below.iter().any(holds) {
                below.push((*turn, end));
            }
        }
        below.last().and_then(|(_, end)| *end)
    }
}

impl Path {
    /// The path as the statements take it: a JSON array of ranges.
    pub fn json(&self) -> String {
        json!(self.0).to_string()
    }

    /// Whether a turn is on the path.
    #[cfg(test)]
    pub fn has(&self, turn: Seq) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&turn))
    }
}

/// The versions that a page of messages tells of, of those that were found, each with the turn that it follows. `whole`:
/// the list has all turns, so that each page has the versions of its own turns; otherwise it has those beside its turns.
pub fn versions_of_page(
    found: &[(Seq, TurnVersion)],
    page: &BTreeSet<&str>,
    whole: bool,
) -> Vec<TurnVersion> {
    let on_page = |version: &TurnVersion| page.contains(version.turn_id.as_str());
    let groups = found.chunk_by(|(one, _), (other, _)| one == other);
    let told = groups.flat_map(|group| {
        let beside = group.len() > 1 && group.iter().any(|(_, version)| on_page(version));
        group.iter().filter(move |(_, version)| if whole { on_page(version) } else { beside })
    });
    told.map(|(_, version)| version.clone()).collect()
}

/// The turns that stand apart, for [`Tree`].
pub const SELECT_TREE: &str =
    "SELECT seq_first, parent_seq FROM turns WHERE parent_seq IS NOT NULL ORDER BY seq_first";

/// The newest turn, and the turn with which the path ends, both [`NO_TURN`] where there is none; and the newest turn's status.
pub const SELECT_ENDS: &str = "
SELECT newest, coalesce((SELECT path_seq FROM meta), newest), (SELECT status FROM turns WHERE seq_first = newest) FROM (
  SELECT coalesce(max(seq_first), 0) AS newest FROM turns)";

/// The turn that a turn follows.
pub const SELECT_PARENT: &str = "
SELECT coalesce(parent_seq, (SELECT max(before.seq_first) FROM turns before WHERE before.seq_first < ?1), 0)
FROM turns WHERE seq_first = ?1";

/// How many turns follow a turn: those that stand apart, and the next one, unless it does.
pub const COUNT_CHILDREN: &str = "
SELECT (SELECT count(*) FROM turns WHERE parent_seq = ?1)
  + (SELECT count(*) FROM turns WHERE parent_seq IS NULL
    AND seq_first = (SELECT min(seq_first) FROM turns WHERE seq_first > ?1))";

/// The user's message of the newest turn that follows a turn.
pub const SELECT_QUESTION_AFTER: &str = "
SELECT messages.id FROM turns JOIN messages ON messages.turn_id = turns.turn_id AND role = 'user'
WHERE parent_seq = ?1 OR (parent_seq IS NULL AND seq_first = (SELECT min(seq_first) FROM turns WHERE seq_first > ?1))
ORDER BY seq_first DESC LIMIT 1";

/// The newest imported turn with this question and this answer. It has no event, so the rows of its messages are neighbours.
pub const SELECT_IMPORTED: &str = "
SELECT seq_first FROM turns JOIN messages asked ON asked.row = seq_first
JOIN messages answer ON answer.id = assistant_message_id AND answer.row = seq_first + 1
WHERE asked.content = ?1 AND answer.content = ?2 ORDER BY seq_first DESC LIMIT 1";

/// A condition on `seq_first`: the turn is on the path of this parameter. The path must be there as `path`, see
/// [`PATH`](path_of).
pub const ON_PATH: &str = "EXISTS (SELECT 1 FROM path WHERE seq_first BETWEEN first AND last)";

/// A table `path` of the ranges in a parameter, such as `?1`.
pub fn path_of(name: &str, parameter: &str) -> String {
    format!(
        "{name} AS MATERIALIZED (
            SELECT value ->> 0 AS first, value ->> 1 AS last FROM json_each({parameter}))"
    )
}

/// The siblings of all turns that follow a turn from `?2` on and before `?3`. Of these points only the turns stand here
/// that have messages: a version that stored no versions has deleted those of others.
pub fn select_siblings() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path},
        points AS (
          SELECT DISTINCT parent_seq AS point FROM turns
          WHERE parent_seq IS NOT NULL AND parent_seq >= ?2 AND parent_seq < ?3),
        children AS (
          SELECT point, turn_id, seq_first, assistant_message_id FROM points JOIN turns ON parent_seq = point
          UNION ALL
          SELECT point, turn_id, seq_first, assistant_message_id FROM points JOIN turns
            ON seq_first = (SELECT min(seq_first) FROM turns WHERE seq_first > point) WHERE parent_seq IS NULL),
        asked AS (
          SELECT point, children.turn_id, seq_first, coalesce(
            (SELECT content FROM messages WHERE row = seq_first AND messages.turn_id = children.turn_id
              AND role = 'user'),
            (SELECT question.content FROM messages answer JOIN messages question
              ON question.row = (SELECT max(row) FROM messages WHERE row < answer.row)
              WHERE answer.id = assistant_message_id AND question.turn_id = answer.turn_id)) AS question
          FROM children)
        SELECT point, turn_id, (SELECT parent.turn_id FROM turns parent WHERE parent.seq_first = point),
          first_value(turn_id) OVER (PARTITION BY point, question ORDER BY seq_first), {ON_PATH}
        FROM asked WHERE question IS NOT NULL ORDER BY point, seq_first"
    )
}

/// The messages whose turns are on one of two paths alone.
pub fn select_moved() -> String {
    let (before, after) = (path_of("before", "?1"), path_of("after", "?2"));
    format!(
        "WITH {before}, {after} SELECT id FROM messages JOIN turns USING (turn_id)
        WHERE EXISTS (SELECT 1 FROM before WHERE seq_first BETWEEN first AND last)
          <> EXISTS (SELECT 1 FROM after WHERE seq_first BETWEEN first AND last)
        ORDER BY row"
    )
}

/// Those of the messages `?2`, a JSON array of ids, that are there, and whether each is beside the path of `?1`.
pub fn select_here() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path} SELECT messages.id, seq_first IS NOT NULL AND NOT {ON_PATH} FROM json_each(?2)
        JOIN messages ON messages.id = value LEFT JOIN turns USING (turn_id)"
    )
}

/// The plan that waits for the user's word on the path of `?1`. A plan is as the newest turn of the path left it.
pub fn select_draft() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path},
        here AS (SELECT number, id, plans.status, payload FROM plans JOIN turns USING (turn_id) WHERE {ON_PATH})
        SELECT payload FROM here WHERE status = 'pending_review'
          AND NOT EXISTS (SELECT 1 FROM here later WHERE later.id = here.id AND later.number > here.number)
        ORDER BY number DESC LIMIT 1"
    )
}

/// The newest turns with a history on the path of `?1`, between the rows `?2` and `?3`, which are no part of them: at most
/// `?4`.
pub fn newest_turns() -> String {
    turns_between("ORDER BY row DESC")
}

/// The oldest ones.
pub fn oldest_turns() -> String {
    turns_between("ORDER BY row")
}

fn turns_between(order: &str) -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path} SELECT row, turn_id, history FROM messages JOIN turns USING (turn_id)
        WHERE row > ?2 AND row < ?3 AND history IS NOT NULL AND {ON_PATH} {order} LIMIT ?4"
    )
}

/// The summary that covers most of the path of `?1` up to the row `?2`. The turns before a turn are the same on each path
/// that has it, so a summary holds where the last turn that it covers is on the path.
pub fn select_summary() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path} SELECT covers, turn_id, text, model FROM summaries JOIN turns USING (turn_id)
        WHERE covers <= ?2 AND {ON_PATH} ORDER BY covers DESC LIMIT 1"
    )
}

/// Reads a row number as SQLite has it.
pub fn seq(value: i64) -> Result<Seq, StoreError> {
    Seq::try_from(value).map_err(|_| StoreError(format!("{value} is no number of an event")))
}

#[cfg(test)]
mod tests;
