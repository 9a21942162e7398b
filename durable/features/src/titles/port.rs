//! The needs of this feature: a thread's object, and the quotas of its tenant.

use futures::future::LocalBoxFuture;

use super::{Call, EndedCall, Exchange, Wish};
use wire::store::StoreError;

/// Whether the quotas have room for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Reserved,
    Refused,
}

/// A change of a thread, of which all is written or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change<'a> {
    /// The wish as it is from now on, and in how many milliseconds somebody looks at it again; none: it is over.
    pub wish: Option<(&'a Wish, u64)>,
    /// A call that has ended, for the index and the quotas.
    pub told: Option<EndedCall>,
    /// The thread's title.
    pub title: Option<String>,
}

/// A thread whose title a model makes.
pub trait Naming {
    /// The thread's wish; none where it wishes no title, or is deleted.
    fn wish(&self) -> Result<Option<Wish>, StoreError>;
    /// The thread's title now; none where it is deleted.
    fn title(&self) -> Result<Option<String>, StoreError>;
    /// The messages of a turn that has ended; none where they are gone.
    fn exchange(&self, turn_id: &str) -> Result<Option<Exchange>, StoreError>;
    /// An id for a call. Ids sort by their time.
    fn new_id(&self) -> String;
    /// Writes a change.
    fn write(&self, change: Change<'_>) -> Result<(), StoreError>;
    /// Completes when all that was written is on disk.
    fn written(&self) -> LocalBoxFuture<'_, Result<(), StoreError>>;
    /// Reserves the amounts of a call in the quotas. Asking twice for the same call reserves once.
    fn reserve<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<Verdict, StoreError>>;
    /// Gives back the reservation of a call that is not made.
    fn release<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<(), StoreError>>;
}
