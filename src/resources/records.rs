//! The records of turns.

use super::words::*;

#[cfg(target_arch = "wasm32")]
use crate::routes::records;
#[cfg(test)]
use wire::protocol::RecordList;

routes! {
    /// Returns the record of a turn that has ended, in JSON lines: its journal, from which each request and each result of
    /// all its levels can be rebuilt. Without the scope `admin` it has digests in the place of the words of the operator's
    /// hooks. The answer is 404 `record_not_kept` where none is kept. See docs/records.md.
    Get "/api/threads/{}/turns/{}/record" => Record(id, turn), Needs(Read), Nothing, Reads,
        |r| records::get(r.call, r.caller, id, turn),
        |row| row.of_record().answers(200, "The record, in JSON lines.", Some(Content::Lines));
    /// Lists the records of a thread, newest turn first. R2 has these records. The answer is 404 `record_not_kept` where
    /// the deployment keeps none. See docs/records.md.
    Get "/api/threads/{}/records" => Records(id), Needs(Read), Nothing, Reads,
        |r| records::list(r.call, r.caller.owner()?, id),
        |row| row.of_record().pages().gives::<RecordList>(200);
}

#[cfg(test)]
impl Contract {
    /// A route of a thread's records.
    fn of_record(self) -> Self {
        self.in_thread().refuses(&[E::RecordNotKept])
    }
}
