//! A body while it comes: its size, its part of the isolate's budget, and its time. Pure; `call` has the bytes and the clock.

use std::ops::Deref;
use std::rc::Rc;

use futures::channel::oneshot::Receiver;
use wire::pace::{BYTE_READ, Pace};
use wire::protocol::{ApiError, ErrorCode};
use wire::surrogates::replace_lone;

use super::BoundedBody;
use super::budget::{Budget, Permit};

/// The time that each body has, and each MiB of it beside that, in milliseconds: a line of 8 Mbit/s is fast enough.
const BASE_MS: u64 = 10_000;
const MIB_MS: u64 = 1_000;
const MIB: usize = 1 << 20;
/// How long a permit counts beyond the time of its body, should nothing drop it, and how long once the body was read: by
/// then a request has its answer, or waits for one without its body.
const LOST_MS: u64 = 5_000;
const HELD_MS: u64 = 60_000;
/// The first bytes that a body without a length takes of the budget. It takes as many again as it has, up to a MiB.
const FIRST_BYTES: usize = 64 << 10;

/// The bytes that are searched for lone surrogates without a pause.
const SEARCHED: usize = 256 << 10;

/// A body that is being read.
pub struct Reading {
    body: BoundedBody,
    permit: Permit,
    began_at: u64,
}

/// A body that was read, with its part of the budget.
#[derive(Default)]
pub struct HeldBody {
    bytes: Vec<u8>,
    permit: Permit,
}

impl Reading {
    /// Begins a body of at most so many bytes. One whose length is declared is refused before anything of it is read.
    pub fn begin(
        budget: &Rc<Budget>,
        user: String,
        most: usize,
        content_length: Option<&str>,
        now: u64,
    ) -> Result<Self, ApiError> {
        let body = BoundedBody::declared(most, content_length)?;
        let mut permit = Permit::new(budget, user);
        permit.grow(body.declared.unwrap_or(0), now)?;
        let reading = Reading { body, permit, began_at: now };
        reading.permit.count_until(reading.ends_at() + LOST_MS);
        Ok(reading)
    }

    /// When the body must have come.
    fn ends_at(&self) -> u64 {
        let mebibytes = u64::try_from(self.permit.bytes().div_ceil(MIB)).unwrap_or(u64::MAX);
        self.began_at + BASE_MS + MIB_MS * mebibytes
    }

    /// Completes when nothing of the request is held any more ([`Permit::outlives_client`]).
    pub fn outlives_client(&mut self) -> Option<Receiver<()>> {
        self.permit.outlives_client()
    }

    /// How many milliseconds are left; refused where none are.
    pub fn time_left(&self, now: u64) -> Result<u64, ApiError> {
        match self.ends_at().checked_sub(now) {
            None | Some(0) => {
                let seconds = (self.ends_at() - self.began_at) / 1_000;
                let detail =
                    format!("the request did not come within {seconds} s: send it again on a faster line");
                Err(ApiError::new(ErrorCode::RequestTimeout, detail))
            }
            Some(left) => Ok(left),
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: Vec<u8>, now: u64) -> Result<(), ApiError> {
        let bytes = self.body.with(&piece)?;
        while bytes > self.permit.bytes() {
            let held = self.permit.bytes();
            self.permit.grow(held + held.clamp(FIRST_BYTES, MIB), now)?;
            self.permit.count_until(self.ends_at() + LOST_MS);
        }
        self.time_left(now)?;
        self.body.push(piece, self.permit.bytes())
    }

    /// The whole body.
    pub fn end(self, now: u64) -> HeldBody {
        self.permit.count_until(now + HELD_MS);
        HeldBody { bytes: self.body.into_bytes(), permit: self.permit }
    }
}

impl HeldBody {
    /// A body of JSON, in which each lone surrogate reads as U+FFFD. A client that sends its history again would fail for ever
    /// with a text that was cut between two surrogates.
    pub async fn without_lone_surrogates(mut self, pace: &Pace<'_>) -> Result<Self, ApiError> {
        let mut at = 0;
        while at < self.bytes.len() {
            pace.before(SEARCHED * BYTE_READ).await?;
            at = replace_lone(&mut self.bytes, at, SEARCHED);
        }
        Ok(self)
    }

    /// The bytes, and the permit to hold them.
    pub fn into_parts(self) -> (Vec<u8>, Permit) {
        (self.bytes, self.permit)
    }
}

impl From<Vec<u8>> for HeldBody {
    /// A body that the service wrote itself.
    fn from(bytes: Vec<u8>) -> Self {
        HeldBody { bytes, ..HeldBody::default() }
    }
}

impl Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{MAX_BODY_BYTES, MAX_CHAT_BYTES};

    fn begun(budget: &Rc<Budget>, user: &str, length: Option<usize>) -> Result<Reading, &'static str> {
        let length = length.map(|bytes| bytes.to_string());
        let begun = Reading::begin(budget, user.to_owned(), MAX_CHAT_BYTES, length.as_deref(), 1_000);
        begun.map_err(|error| error.code.as_str())
    }

    /// The end of a body whose pieces of a MiB come at these times.
    fn read(length: Option<usize>, times: &[u64]) -> Result<usize, &'static str> {
        let mut reading = begun(&Rc::default(), "a", length)?;
        for time in times {
            reading.push(vec![b'x'; MIB], 1_000 + time).map_err(|error| error.code.as_str())?;
        }
        Ok(reading.end(1_000).len())
    }

    // Issue 42, H2: at the limit, and just beyond it.
    #[test]
    fn a_body_has_ten_seconds_and_one_for_each_mebibyte() {
        const LATE: Result<usize, &str> = Err("request_timeout");
        for (length, times, expected) in [
            (Some(MIB), &[10_999][..], Ok(MIB)),
            (Some(MIB), &[11_000], LATE),
            (Some(MIB + 1), &[11_999], Ok(MIB)),
            (Some(2 * MIB), &[0, 11_999], Ok(2 * MIB)),
            (Some(2 * MIB), &[0, 12_000], LATE),
            (Some(MAX_CHAT_BYTES), &[25_999], Ok(MIB)),
            (Some(MAX_CHAT_BYTES), &[26_000], LATE),
            // Without a length a body has the time of the bytes that it has.
            (None, &[10_999], Ok(MIB)),
            (None, &[11_000], LATE),
            (None, &[10_999, 11_999], Ok(2 * MIB)),
            (None, &[10_999, 12_000], LATE),
            // A length that was too small costs nothing but its time.
            (Some(1), &[10_999, 11_999], Ok(2 * MIB)),
        ] {
            assert_eq!(read(length, times), expected, "{length:?} {times:?}");
        }
        let idle = begun(&Rc::default(), "a", None).unwrap();
        assert_eq!((idle.time_left(1_000), idle.time_left(10_999)), (Ok(10_000), Ok(1)));
        let late = idle.time_left(11_000).unwrap_err();
        assert_eq!((late.code.status(), late.detail.contains("within 10 s")), (408, true), "{}", late.detail);
        assert!(idle.time_left(u64::MAX).is_err());
    }

    // Issue 42, H2
    #[test]
    fn a_declared_length_is_refused_before_anything_is_read() {
        let budget = Rc::default();
        let first = begun(&budget, "a", Some(MAX_CHAT_BYTES)).unwrap();
        let refused = |user, length| begun(&budget, user, Some(length)).err();
        assert_eq!(refused("b", MAX_CHAT_BYTES + 1), Some("body_too_large"));
        assert_eq!(refused("b", MAX_CHAT_BYTES), Some("overloaded"));
        assert_eq!(refused("a", MAX_BODY_BYTES + 1), Some("rate_limited"));
        assert_eq!(refused("b", MAX_BODY_BYTES), None);
        drop(first);
        assert_eq!(refused("b", MAX_CHAT_BYTES), None);
    }

    // Issue 42, H2
    #[test]
    fn a_body_without_a_length_takes_its_part_as_it_comes() {
        let budget = Rc::default();
        let mut reading = begun(&budget, "a", None).unwrap();
        let mut held = Vec::new();
        for bytes in [0, 1, FIRST_BYTES, 2 * FIRST_BYTES, MIB, 1, MIB] {
            reading.push(vec![b'x'; bytes], 1_000).unwrap();
            held.push(reading.permit.bytes() >> 16);
        }
        assert_eq!(held, [0, 1, 2, 4, 32, 32, 48], "in 64 KiB");
        // Another one is refused when it needs more than there is.
        let mut other = begun(&budget, "b", None).unwrap();
        let refusal = (0..).find_map(|_| other.push(vec![b'x'; MIB], 1_000).err()).unwrap();
        assert_eq!((refusal.code, other.permit.bytes()), (ErrorCode::BodyTooLarge, MAX_CHAT_BYTES));
        let mut third = begun(&budget, "c", None).unwrap();
        let refusal = (0..).find_map(|_| third.push(vec![b'x'; MIB], 1_000).err()).unwrap();
        assert_eq!((refusal.code, third.permit.bytes()), (ErrorCode::Overloaded, MIB));
    }

    // Issue 42, H2: the part of the budget is held as long as the body.
    #[test]
    fn a_body_that_was_read_is_held() {
        let budget = Rc::default();
        let mut reading = begun(&budget, "a", Some(MAX_CHAT_BYTES)).unwrap();
        reading.push(b"{}".to_vec(), 1_000).unwrap();
        let mut body = reading.end(1_000);
        assert_eq!(&*body, b"{}");
        let refused = || begun(&budget, "b", Some(MAX_CHAT_BYTES)).err();
        assert_eq!(refused(), Some("overloaded"));
        let taken = std::mem::take(&mut body);
        assert_eq!((refused(), body.len()), (Some("overloaded"), 0));
        let (bytes, permit) = taken.into_parts();
        assert_eq!((bytes.len(), refused()), (2, Some("overloaded")));
        drop(permit);
        assert_eq!(refused(), None);
    }

    // Issue 42, H2: the platform forgets a request whose client has gone.
    #[test]
    fn a_body_that_is_forgotten_counts_for_a_time_alone() {
        let budget = Rc::default();
        let at = |now| {
            let begun = Reading::begin(&budget, "b".to_owned(), MAX_CHAT_BYTES, Some("16777216"), now);
            begun.err().map(|error| error.code)
        };
        let forgotten = begun(&budget, "a", Some(MAX_CHAT_BYTES)).unwrap();
        assert_eq!((at(31_999), at(32_000)), (Some(ErrorCode::Overloaded), None));
        let read = begun(&budget, "a", Some(MAX_CHAT_BYTES)).unwrap().end(2_000);
        assert_eq!((at(61_999), at(62_000)), (Some(ErrorCode::Overloaded), None));
        drop((forgotten, read));
    }
}
