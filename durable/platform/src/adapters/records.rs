//! Records on the platform. The journal of a turn that has ended stays in its object until R2 has taken the record, and
//! goes then. R2 neither holds up the news for D1 nor another turn: the two duties know of each other only to set the
//! alarm once.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::future::{Either, select};
use futures::stream::unfold;
use futures::{Stream, StreamExt, pin_mut};
use uuid::Uuid;
use worker::{ByteStream, Env, Response, ResponseBody};

use crate::duties::driver::{After, Batch, Duty};
use crate::respond::{internal, json_response, lines_response, streamed_lines};
use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::{Reason, TurnRow, TurnStatus};
use crate::thread::Thread;
use engine::journal::{Entry, Fact, History, TurnEnd};
use features::records::format::{Header, end_line, history_lines};
use features::records::store::{R2Records, TYPE, turn_id};
use features::records::{Redactor, is_withheld, kept, key, record, redacted, too_many};
use wire::protocol::{ApiError, ErrorCode, Owner, RecordEntry, RecordList};

use crate::log::Ending;

/// How long R2 may take for a record before it counts as refused.
const R2_MS: u64 = 30_000;

/// The variable `RECORD_TURNS`.
struct Kept(u32);

/// The line with which the journal of an ended turn closes; none where turns get no record.
pub fn ending(thread: &Thread) -> Option<Ending> {
    let line: Ending = |end: &TurnEnd| Ok(end_line(end)?);
    (thread.kept_records() > 0 && R2Records::new(&thread.env, String::new()).is_some()).then_some(line)
}

/// Deletes the records of deleted threads.
pub async fn delete_of_threads(env: &Env, rows: &[Outgoing]) -> Result<(), StoreError> {
    let roots = rows.iter().filter_map(|row| match &row.news {
        News::ThreadDeleted { records_root, .. } => records_root.as_deref(),
        _ => None,
    });
    for root in roots.collect::<BTreeSet<&str>>() {
        let Some(records) = R2Records::new(env, root.to_owned()) else { return Ok(()) };
        records.delete_all().await.map_err(refused)?;
    }
    Ok(())
}

fn refused(error: worker::Error) -> StoreError {
    StoreError(format!("R2: {error}"))
}

fn not_kept() -> ApiError {
    ApiError::new(ErrorCode::RecordNotKept, "no record of this is kept")
}

/// A record without the words of the operator's hooks, as it comes from R2.
fn without_words(record: ByteStream) -> impl Stream<Item = worker::Result<Vec<u8>>> {
    let state = Some((record, Redactor::default()));
    unfold(state, |state| async {
        let (mut record, mut redactor) = state?;
        match record.next().await {
            Some(Ok(bytes)) => Some((Ok(redactor.push(&bytes)), Some((record, redactor)))),
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Ok(redactor.finish()), None)),
        }
    })
}

/// The records of ended turns that R2 has not taken.
pub struct Records<'t> {
    thread: &'t Rc<Thread>,
    /// The record that is on its way: its turn, and the store.
    sent: Option<(String, R2Records)>,
}

impl<'t> Records<'t> {
    pub fn new(thread: &'t Rc<Thread>) -> Self {
        Records { thread, sent: None }
    }
}

impl Duty for Records<'_> {
    const REASON: Reason = Reason::Records;
    type Content = (ThreadMeta, TurnRow);

    /// The record of the oldest turn. Journals that nobody wants are forgotten.
    fn next(&mut self) -> Result<Option<(Batch, Self::Content)>, StoreError> {
        let Thread { store, clock, duties, .. } = self.thread.as_ref();
        while let Some(turn) = store.ended_journal()?
            && let Some(thread) = store.meta()?.and_then(|meta| meta.thread)
        {
            let Some(records) = self.thread.records_of(&thread) else {
                store.forget_journal(&turn.turn_id)?;
                continue;
            };
            let waits = store.timer(Reason::Records)?.is_some_and(|at| at > clock.now_ms());
            if waits {
                self.thread.drop_oldest()?;
            }
            let attempts = duties.refusals(Reason::Records).max(u32::from(waits));
            self.sent = Some((turn.turn_id.clone(), records));
            return Ok(Some((Batch { ids: vec![turn.seq_first], attempts }, (thread, turn))));
        }
        Ok(None)
    }

    async fn deliver(&mut self, (thread, turn): Self::Content) -> Result<(), StoreError> {
        let Some((_, records)) = &self.sent else { return Ok(()) };
        let journal = self.thread.store.journal_text(&turn.turn_id)?;
        let name = key::name(turn.seq_first, &turn.turn_id, is_withheld(&journal));
        let text = self.thread.record_text(&thread, &turn, &journal)?;
        drop(journal);
        let put = records.put(&name, text);
        pin_mut!(put);
        match select(put, self.thread.clock.sleep(R2_MS)).await {
            Either::Left((answer, _)) => answer.map_err(refused)?,
            Either::Right(_) => return Err(StoreError("R2 did not answer".to_owned())),
        }
        let keep = self.thread.kept_records();
        if self.thread.store.turn_count()? > u64::from(keep)
            && let Err(error) = records.keep(keep).await
        {
            // The next record removes what is left.
            worker::console_error!("older records stay: R2: {error}");
        }
        Ok(())
    }

    fn took(&mut self, _: &Batch) -> Result<(), StoreError> {
        let Thread { store, duties, .. } = self.thread.as_ref();
        if let Some((turn_id, _)) = self.sent.take() {
            store.forget_journal(&turn_id)?;
        }
        duties.count(Reason::Records, 0);
        match store.timer(Reason::Records)? {
            Some(_) => store.clear_timer(Reason::Records),
            None => Ok(()),
        }
    }

    /// The first refusal of an outage is reported.
    fn refused(&mut self, batch: &Batch, error: &StoreError) -> Result<After, StoreError> {
        worker::console_error!("a record is refused: {error}");
        self.thread.duties.count(Reason::Records, batch.attempts.saturating_add(1));
        if self.thread.store.timer(Reason::Records)?.is_none() {
            self.thread.report("records", "r2", "record_refused", &error.to_string())?;
        }
        self.thread.drop_oldest()?;
        Ok(After::Again)
    }

    /// R2 may have taken the record after the deletion of all records.
    async fn gone(&mut self) -> Result<(), StoreError> {
        match &self.sent {
            Some((_, records)) => records.delete_all().await.map_err(refused),
            None => Ok(()),
        }
    }

    /// The drain of the outbox sets the alarm when it is over.
    fn rest(&mut self, any: bool) -> Result<(), StoreError> {
        let Thread { store, clock, duties, .. } = self.thread.as_ref();
        if any && !duties.is_under_way(Reason::Outbox) { store.arm(clock.now_ms()) } else { Ok(()) }
    }
}

impl Thread {
    /// The number of turns that have a record. A wrong variable, which the health report names, keeps none.
    fn kept_records(&self) -> u32 {
        let kept = self.deployment.once(|var| kept(var).map(Kept));
        kept.map_or_else(
            |error| {
                worker::console_error!("no turn gets a record: {error}");
                0
            },
            |kept| kept.0,
        )
    }

    /// The records of this thread; none where the deployment keeps none.
    fn records_of(&self, thread: &ThreadMeta) -> Option<R2Records> {
        let id = Uuid::try_parse(&thread.thread_id).ok().filter(|_| self.kept_records() > 0)?;
        R2Records::new(&self.env, thread.owner.records_root(id))
    }

    /// Drops the oldest journals that wait, where there is no room for all of them.
    fn drop_oldest(&self) -> Result<(), StoreError> {
        let waiting = self.store.waiting_journals()?;
        let many = too_many(&waiting.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>());
        for (turn_id, _) in waiting.iter().take(many) {
            let why =
                format!("the record of turn {turn_id} is dropped: R2 takes none, and the room is used up");
            self.store.transaction(|| {
                self.store.forget_journal(turn_id)?;
                self.post_failure(("records", "r2"), turn_id, "record_dropped", &why)
            })?;
        }
        Ok(())
    }

    /// The record of a turn whose journal is still here.
    fn record_text(&self, thread: &ThreadMeta, turn: &TurnRow, journal: &str) -> Result<String, StoreError> {
        // A journal that cannot be read is kept as it is.
        let first = wire::json::values::<Entry>(journal).next().and_then(Result::ok);
        let spec = first.and_then(|entry| match entry.fact {
            Fact::Started(spec) => Some(spec),
            _ => None,
        });
        let history = match &spec {
            Some(spec) => self.frozen_history(&self.store.tree()?.path(turn.seq_first), spec)?,
            None => History::default(),
        };
        let limits = spec.map(|spec| spec.limits);
        let before_gap = history.before_gap;
        let header = Header { before_gap, ..Header::of(&thread.thread_id, &turn.turn_id, limits) };
        Ok(record(header, &history_lines(&history)?, journal))
    }

    /// The record of a turn that has ended. `whole`: with the words of the operator's hooks.
    pub async fn record(
        self: &Rc<Self>,
        owner: &Owner,
        turn_id: Uuid,
        whole: bool,
    ) -> Result<Response, ApiError> {
        let thread = self.found(owner)?;
        let records = self.records_of(&thread).ok_or_else(not_kept)?;
        let turn = self.store.turn(&turn_id.to_string())?;
        let turn = turn.filter(|turn| turn.status == TurnStatus::Done).ok_or_else(not_kept)?;
        if self.store.has_journal(&turn.turn_id)? {
            let journal = self.store.journal_text(&turn.turn_id)?;
            if is_withheld(&journal) {
                return Err(not_kept());
            }
            let text = self.record_text(&thread, &turn, &journal)?.into_bytes();
            let text = if whole { text } else { redacted(&text) };
            return lines_response(TYPE, ResponseBody::Body(text));
        }
        let found = records.get(&key::name(turn.seq_first, &turn.turn_id, false)).await;
        let found = found.map_err(|error| internal(&error))?.ok_or_else(not_kept)?;
        let body = found.body().ok_or_else(not_kept)?;
        if whole {
            return lines_response(TYPE, body.response_body().map_err(|error| internal(&error))?);
        }
        streamed_lines(TYPE, without_words(body.stream().map_err(|error| internal(&error))?))
    }

    /// The records that R2 has, newest turn first.
    pub async fn records(
        self: &Rc<Self>,
        owner: &Owner,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Response, ApiError> {
        let thread = self.found(owner)?;
        if cursor.is_some_and(|cursor| !key::is_name(cursor)) {
            return Err(ApiError::field("cursor", "expected the `next_cursor` of a page"));
        }
        let records = self.records_of(&thread).ok_or_else(not_kept)?;
        let (page, more) = records.list(cursor, limit).await.map_err(|error| internal(&error))?;
        let next_cursor = page.last().filter(|_| more).map(|(name, ..)| name.clone());
        let entry = |(name, bytes, created_at): (String, u64, u64)| RecordEntry {
            turn_id: turn_id(&name),
            bytes,
            created_at,
        };
        let read = page.into_iter().filter(|(name, ..)| !key::is_withheld(name));
        json_response(&RecordList { records: read.map(entry).collect(), next_cursor })
    }
}
