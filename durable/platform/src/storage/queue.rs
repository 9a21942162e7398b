//! The messages that wait for their turn: `queued_messages`.

use wire::protocol::{MessageQueue, QueuedMessage, StopNote};

use super::rows::COUNT_QUEUE_EVENTS;
use super::sql::{Store, int, unsigned};
use super::turn::{Reason, TurnRow};
use super::{StoreError, schema};

/// A message of the queue, with all that its turn needs.
pub struct QueuedRow {
    pub id: String,
    pub payload: String,
    pub attempts: u64,
}

/// The table of the queue: most threads never have one.
pub const QUEUE: &str = "queued_messages";

/// A message as the queue keeps it.
pub struct Queueable<'a> {
    pub id: &'a str,
    pub payload: String,
    pub words: String,
    pub attachments: Vec<String>,
}

impl Store {
    /// Puts a message at the end of the queue. Returns whether it is there: a full queue takes no more.
    pub fn put_queued(&self, message: &Queueable<'_>, most: usize, now: u64) -> Result<bool, StoreError> {
        self.make_table(QUEUE, schema::CREATE_QUEUE)?;
        let bindings = [
            message.id.into(),
            message.payload.as_str().into(),
            message.words.as_str().into(),
            serde_json::to_string(&message.attachments)?.into(),
            int(now),
            int(most as u64),
        ];
        Ok(self.row(schema::PUT_QUEUED, bindings)?.is_some())
    }

    /// The queue as clients see it.
    pub fn queue(&self) -> Result<MessageQueue, StoreError> {
        let mut queue = MessageQueue::default();
        if !self.has_table(QUEUE)? {
            return Ok(queue);
        }
        for mut row in self.rows(schema::SELECT_QUEUE, [])? {
            let failure = row.maybe_text(4);
            queue.messages.push(QueuedMessage {
                id: row.text(0)?,
                content: row.text(1)?,
                attachments: wire::json::from_str(&row.text(2)?)?,
                created_at: unsigned(row.int(3)?),
                failure: failure.map(|failure| wire::json::from_str(&failure)).transpose()?,
            });
        }
        queue.held = !queue.messages.is_empty() && self.timer(Reason::Messages)?.is_none();
        Ok(queue)
    }

    /// How many events of an open turn tell the queue. Reads the events of the turn.
    pub fn queue_events(&self, turn: &TurnRow) -> Result<u64, StoreError> {
        let row = self.row(COUNT_QUEUE_EVENTS, [int(turn.seq_first)])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }

    /// How many messages wait.
    pub fn queued(&self) -> Result<u32, StoreError> {
        if !self.has_table(QUEUE)? {
            return Ok(0);
        }
        let row = self.row("SELECT count(*) FROM queued_messages", [])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// A message of the queue.
    pub fn queued_message(&self, id: &str) -> Result<Option<QueuedRow>, StoreError> {
        if !self.has_table(QUEUE)? {
            return Ok(None);
        }
        let query = "SELECT id, payload, attempts FROM queued_messages WHERE id = ?1";
        self.row(query, [id.into()])?.map(queued_of).transpose()
    }

    /// The message whose turn comes next.
    pub fn next_queued(&self) -> Result<Option<QueuedRow>, StoreError> {
        if !self.has_table(QUEUE)? {
            return Ok(None);
        }
        self.row(schema::SELECT_NEXT, [])?.map(queued_of).transpose()
    }

    /// Gives a message other words. It counts as one that was never refused.
    pub fn edit_queued(&self, message: &Queueable<'_>) -> Result<(), StoreError> {
        let query =
            "UPDATE queued_messages SET payload = ?2, words = ?3, attempts = 0, failure = NULL WHERE id = ?1";
        self.run(query, [message.id.into(), message.payload.as_str().into(), message.words.as_str().into()])
    }

    /// Takes a message out of the queue. Returns whether it was there. A queue that is empty has no timer.
    pub fn take_queued(&self, id: &str) -> Result<bool, StoreError> {
        if !self.has_table(QUEUE)? {
            return Ok(false);
        }
        let taken = self.row(schema::TAKE_QUEUED, [id.into()])?.is_some();
        if taken && self.queued()? == 0 {
            self.clear_timer(Reason::Messages)?;
        }
        Ok(taken)
    }

    /// Takes a message out of the queue for good: a repeated request does not bring it back.
    pub fn remove_queued(&self, id: &str, most: usize) -> Result<(), StoreError> {
        if self.take_queued(id)? {
            self.run(schema::PUT_REMOVED, [id.into()])?;
            self.run(schema::TRIM_REMOVED, [int(most as u64)])?;
        }
        Ok(())
    }

    /// Whether a message was taken out of the queue for good.
    pub fn was_removed(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.has_table(QUEUE)? && self.row(schema::IS_REMOVED, [id.into()])?.is_some())
    }

    /// Lets the queue go on from this time on, if it has messages. Earlier refusals count no more.
    pub fn let_queue_go_on(&self, now: u64) -> Result<(), StoreError> {
        if self.queued()? == 0 {
            return Ok(());
        }
        let fresh = "UPDATE queued_messages SET attempts = 0, failure = NULL WHERE attempts > 0 OR failure IS NOT NULL";
        self.run(fresh, [])?;
        self.set_timer(Reason::Messages, now)
    }

    /// Counts that the turn of a message could not start, and when it is tried again.
    pub fn put_off_queued(&self, id: &str, attempts: u64, again_at: u64) -> Result<(), StoreError> {
        self.run("UPDATE queued_messages SET attempts = ?2 WHERE id = ?1", [id.into(), int(attempts)])?;
        self.set_timer(Reason::Messages, again_at)
    }

    /// Stores why the turn of a message was refused, and holds the queue.
    pub fn fail_queued(&self, id: &str, failure: &StopNote) -> Result<(), StoreError> {
        let failure = serde_json::to_string(failure)?;
        self.run("UPDATE queued_messages SET failure = ?2 WHERE id = ?1", [id.into(), failure.into()])?;
        self.clear_timer(Reason::Messages)
    }
}

fn queued_of(mut row: super::sql::Row) -> Result<QueuedRow, StoreError> {
    Ok(QueuedRow { id: row.text(0)?, payload: row.text(1)?, attempts: unsigned(row.int(2)?) })
}
