//! The memory that an isolate gives the bodies which it holds. An isolate has 128 MB, and everybody's turns share it. A
//! body gets its bytes before it is read, by its `content-length`, or else as they come. Pure.
//!
//! A permit returns its bytes when it is dropped. The platform may forget a request whose client has gone, and then nothing
//! drops its permit. So a permit counts for a time alone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot::{self, Receiver, Sender};
use wire::protocol::{ApiError, ErrorCode};

/// The most bytes of all bodies that an isolate holds. The largest body fits, beside smaller ones.
pub const MAX_HELD_BYTES: usize = 24 << 20;
/// The part of it that only small bodies may take: large ones that come slowly refuse no message.
const FOR_SMALL_BYTES: usize = 4 << 20;
/// The largest body that counts as small.
const SMALL_BYTES: usize = 64 << 10;
/// A user may send one body at a time that is larger than this, the limit of most routes.
const LARGE_BYTES: usize = super::MAX_BODY_BYTES;
/// After how many seconds a refused request may come again: the largest body mostly comes faster.
const RETRY_S: u64 = 5;

/// The bytes of an isolate that bodies hold.
#[derive(Default)]
pub struct Budget {
    held: RefCell<Vec<Held>>,
    permits: Cell<u64>,
}

/// The bytes of a permit, as the budget knows them.
struct Held {
    permit: u64,
    user: String,
    bytes: usize,
    /// When they count no more.
    until: u64,
}

/// The bytes of one body. It ends what [`Permit::outlives_client`] gave when it is dropped.
#[derive(Default)]
pub struct Permit {
    budget: Rc<Budget>,
    number: u64,
    bytes: usize,
    ends: Option<Sender<()>>,
}

impl Permit {
    /// A permit of this user that has no bytes yet.
    pub fn new(budget: &Rc<Budget>, user: String) -> Self {
        let number = budget.permits.get() + 1;
        budget.permits.set(number);
        budget.held.borrow_mut().push(Held { permit: number, user, bytes: 0, until: u64::MAX });
        Permit { budget: Rc::clone(budget), number, bytes: 0, ends: None }
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more bytes, so that it has so many. A refusal changes nothing.
    pub fn grow(&mut self, bytes: usize, now: u64) -> Result<(), ApiError> {
        let mut held = self.budget.held.borrow_mut();
        held.retain(|other| other.until > now || other.permit == self.number);
        let Some(at) = held.iter().position(|held| held.permit == self.number) else { return Err(full()) };
        let mut own = held.swap_remove(at);
        let is_large = |held: &Held| held.bytes > LARGE_BYTES && held.user == own.user;
        let others: usize = held.iter().map(|held| held.bytes).sum();
        let most = if bytes <= SMALL_BYTES { MAX_HELD_BYTES } else { MAX_HELD_BYTES - FOR_SMALL_BYTES };
        let refusal = match bytes {
            _ if bytes <= own.bytes => None,
            _ if bytes > LARGE_BYTES && held.iter().any(is_large) => {
                let detail = "another large request of yours is on its way: send one after the other";
                Some(ApiError::new(ErrorCode::RateLimited, detail).retry_after(RETRY_S))
            }
            _ if others + bytes > most => Some(full()),
            _ => None,
        };
        if refusal.is_none() {
            own.bytes = own.bytes.max(bytes);
            self.bytes = own.bytes;
        }
        held.push(own);
        refusal.map_or(Ok(()), Err)
    }

    /// Sets when its bytes count no more, should nothing drop it.
    pub fn count_until(&self, until: u64) {
        let mut held = self.budget.held.borrow_mut();
        if let Some(own) = held.iter_mut().find(|held| held.permit == self.number) {
            own.until = until;
        }
    }

    /// Completes when the permit is dropped. Given once, for a permit that is not small: the platform shall not forget its
    /// request before, or its bytes would stay in memory.
    pub fn outlives_client(&mut self) -> Option<Receiver<()>> {
        if self.bytes <= SMALL_BYTES || self.ends.is_some() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.ends = Some(sender);
        Some(receiver)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.budget.held.borrow_mut().retain(|held| held.permit != self.number);
    }
}

fn full() -> ApiError {
    let detail = "the service is reading too many large requests: send this one again in a moment";
    ApiError::new(ErrorCode::Overloaded, detail).retry_after(RETRY_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(budget: &Rc<Budget>, user: &str, bytes: usize) -> Result<Permit, (&'static str, Option<u64>)> {
        let mut permit = Permit::new(budget, user.to_owned());
        match permit.grow(bytes, 0) {
            Ok(()) => Ok(permit),
            Err(error) => Err((error.code.as_str(), error.retry_after_s)),
        }
    }

    fn held(budget: &Budget) -> usize {
        budget.held.borrow().iter().map(|held| held.bytes).sum()
    }

    const FULL: Option<(&str, Option<u64>)> = Some(("overloaded", Some(RETRY_S)));
    const LARGEST: usize = super::super::MAX_CHAT_BYTES;

    // Issue 42, H2: at the limit, and just beyond it.
    #[test]
    fn all_bodies_have_a_limit_together() {
        let budget = Rc::default();
        let of = |user: &str, bytes| taken(&budget, user, bytes);
        let first = of("a", LARGEST).unwrap();
        let rest = MAX_HELD_BYTES - FOR_SMALL_BYTES - LARGEST;
        assert_eq!(of("b", rest + 1).err(), FULL);
        let second = of("b", rest).unwrap();
        assert_eq!(of("c", SMALL_BYTES + 1).err(), FULL);
        // Small ones have a part of their own.
        let small: Vec<_> =
            (0..FOR_SMALL_BYTES / SMALL_BYTES).map(|_| of("c", SMALL_BYTES).unwrap()).collect();
        assert_eq!(held(&budget), MAX_HELD_BYTES);
        assert_eq!(of("d", 1).err(), FULL);
        assert!(of("d", 0).is_ok(), "a request without a body");
        drop(small);
        assert!(of("d", 1).is_ok());
        drop(first);
        assert!(of("c", LARGEST).is_ok());
        drop(second);
        assert_eq!(budget.held.borrow().len(), 0, "everything is returned");
    }

    // Issue 42, H2: at the limit, and just beyond it.
    #[test]
    fn a_user_sends_one_large_body_at_a_time() {
        let budget = Rc::default();
        let of = |user: &str, bytes| taken(&budget, user, bytes);
        let large = of("a", LARGE_BYTES + 1).unwrap();
        let other = of("a", LARGE_BYTES).unwrap();
        assert_eq!(of("a", LARGE_BYTES + 1).err(), Some(("rate_limited", Some(RETRY_S))));
        let of_another = of("b", LARGE_BYTES + 1).unwrap();
        drop(large);
        assert!(of("a", LARGE_BYTES + 1).is_ok());
        assert_eq!(of("b", LARGE_BYTES + 1).err().map(|(code, _)| code), Some("rate_limited"));
        drop((other, of_another));
        assert_eq!(budget.held.borrow().len(), 0);
    }

    #[test]
    fn a_permit_grows_and_a_refusal_leaves_it_as_it_was() {
        let budget = Rc::default();
        let mut permit = Permit::new(&budget, "a".to_owned());
        for bytes in [0, 1, SMALL_BYTES, LARGE_BYTES, LARGE_BYTES + 1, LARGEST, 5] {
            permit.grow(bytes, 0).unwrap();
            assert!(permit.bytes() >= bytes);
        }
        assert_eq!((permit.bytes(), held(&budget)), (LARGEST, LARGEST));
        assert!(permit.grow(MAX_HELD_BYTES, 0).is_err());
        assert_eq!((permit.bytes(), held(&budget)), (LARGEST, LARGEST));
        // A second one grows into a large one while the first is there.
        let mut second = Permit::new(&budget, "a".to_owned());
        second.grow(LARGE_BYTES, 0).unwrap();
        assert_eq!(second.grow(LARGE_BYTES + 1, 0).unwrap_err().code, ErrorCode::RateLimited);
        assert_eq!(held(&budget), LARGEST + LARGE_BYTES);
    }

    // The platform forgets requests whose clients have gone: their permits are never dropped.
    #[test]
    fn a_permit_that_is_forgotten_counts_for_a_time_alone() {
        let budget = Rc::default();
        let mut lost = taken(&budget, "a", LARGEST).unwrap();
        lost.count_until(100);
        let mut next = Permit::new(&budget, "a".to_owned());
        assert_eq!(next.grow(LARGEST, 99).unwrap_err().code, ErrorCode::RateLimited);
        assert_eq!(next.grow(LARGEST, 100), Ok(()));
        assert_eq!((budget.held.borrow().len(), held(&budget)), (1, LARGEST));
        // It may come back all the same, and changes nothing any more.
        lost.count_until(1_000);
        assert_eq!(budget.held.borrow().len(), 1);
        assert_eq!(lost.grow(LARGEST + 1, 101).unwrap_err().code, ErrorCode::Overloaded);
        drop(lost);
        assert_eq!(held(&budget), LARGEST);
    }

    #[test]
    fn a_request_with_more_than_a_small_body_is_not_forgotten() {
        let budget = Rc::default();
        let mut permit = taken(&budget, "a", SMALL_BYTES).unwrap();
        assert!(permit.outlives_client().is_none());
        permit.grow(SMALL_BYTES + 1, 0).unwrap();
        let mut ends = permit.outlives_client().unwrap();
        assert!(permit.outlives_client().is_none(), "once");
        assert_eq!(ends.try_recv(), Ok(None));
        drop(permit);
        assert!(ends.try_recv().is_err(), "it is over");
    }
}
