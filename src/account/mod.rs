//! All that is stored of one user, as a whole: the list of it (`kinds`), its export and its erasure. Both walk the same
//! list, so what one of them knows the other cannot forget.
//!
//! `src/account/kinds.rs` lists the kinds of stored data: each table of D1 with each of its columns, and each folder
//! of R2. The export reads that list (`export.rs`: pages and cursors, pure; `routes/account/export.rs`: the source).
//! Of what a thread's object stores, some has a command that lists it (messages, sessions, hooks). The other tables
//! are in a list of the object's own (`storage/export_rows.rs`), by which one command gives their rows page by page.
//!
//! The erasure walks the same list (`erasure.rs`, pure; `routes/account/erasure.rs`). It is a job of one row of D1,
//! whose stage says what is next; each step deletes a bounded part and may be repeated. `src/job.rs` has what it
//! shares with the retention: the row, the lease, the wait after a failure and the one loop that drives a job step by
//! step (`routes/job.rs`: the values for D1, and the request that has an object delete its thread). A driver owns a
//! job by a lease, and each deletion of rows names the lease, so a driver that comes late deletes nothing of the next
//! life. A thread whose object fails is kept in the stage, and is the last that the job deletes. The job's second
//! sweep begins when no credential that an isolate remembers can serve any more. `drive` takes a budget of requests;
//! the request that begins a job calls it, each question about the progress, and each refused request of a user whom a
//! token names. A token's user has no row that could be revoked, so the Worker looks for a job where it verifies a
//! signature, which it does once a minute for a token. While D1 does not answer, only a token that was verified within
//! the hour goes on.

pub mod erasure;
pub mod export;
pub mod kinds;
pub mod store;
