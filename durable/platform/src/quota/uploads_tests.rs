use serde_json::json;

use super::tests::{DAY, Memory, NOW, quotas};
use super::*;

fn need(bytes: u64, embeddings: u64) -> Stored {
    Stored { bytes, embeddings }
}

struct Uploads {
    limits: Quotas,
    shelf: Memory,
}

impl Uploads {
    fn new(limits: serde_json::Value) -> Self {
        Uploads { limits: quotas(limits), shelf: Memory::default() }
    }

    fn reserve(&mut self, key: &str, need: Stored, now: u64) -> Verdict {
        let rules = self.limits.upload_rules("anonymous:ada", true, Some("1.2.3.4"));
        let ask = UploadAsk { key: key.to_owned(), rules, need };
        reserve_upload(&mut self.shelf, &ask, now).unwrap()
    }

    fn settle(&mut self, key: &str, used: Stored, now: u64) {
        settle_upload(&mut self.shelf, key, used, now).unwrap();
    }
}

// Each upload fits alone, and both together do not. The second is refused before anything is stored or embedded.
#[test]
fn uploads_that_come_together_cannot_pass_one_count() {
    let mut uploads =
        Uploads::new(json!({ "user": { "stored_bytes_per_day": 100, "embeddings_per_day": 10 } }));
    assert_eq!(uploads.reserve("a", need(60, 6), NOW), Ok(()));
    let rest_of_day = DAY / 2_000;
    let stored = Err(Refusal::Stored { limit: 100, retry_after_s: rest_of_day });
    assert_eq!(uploads.reserve("b", need(41, 0), NOW), stored);
    let embedded = Err(Refusal::Embedded { limit: 10, retry_after_s: rest_of_day });
    assert_eq!(uploads.reserve("b", need(40, 5), NOW), embedded);
    assert_eq!(uploads.reserve("b", need(40, 4), NOW), Ok(()), "at the limit");
    assert_eq!(uploads.reserve("c", need(1, 0), NOW), stored, "just beyond it");
    assert_eq!(uploads.reserve("c", need(0, 0), NOW), Ok(()));
    // A failed upload gives all its amounts back, a successful one those that it did not need.
    uploads.settle("a", need(0, 0), NOW);
    assert_eq!(uploads.reserve("d", need(60, 6), NOW), Ok(()));
    uploads.settle("d", need(50, 6), NOW);
    assert_eq!(uploads.reserve("e", need(11, 0), NOW), stored);
    assert_eq!(uploads.reserve("e", need(10, 0), NOW), Ok(()));
}

#[test]
fn an_upload_is_counted_once_and_may_turn_out_larger() {
    let mut uploads =
        Uploads::new(json!({ "user": { "stored_bytes_per_day": 100, "embeddings_per_day": 10 } }));
    for _ in 0..3 {
        assert_eq!(uploads.reserve("a", need(60, 0), NOW), Ok(()));
    }
    // The service knows the pieces of a PDF after it has read it.
    assert_eq!(uploads.reserve("a", need(60, 10), NOW), Ok(()));
    assert!(uploads.reserve("b", need(0, 1), NOW).is_err());
    assert!(uploads.reserve("a", need(60, 11), NOW).is_err());
    for _ in 0..3 {
        uploads.settle("a", need(60, 4), NOW);
    }
    assert!(uploads.reserve("b", need(0, 7), NOW).is_err());
    assert_eq!(uploads.reserve("b", need(40, 6), NOW), Ok(()));
    uploads.settle("unknown", need(9, 9), NOW);
}

#[test]
fn all_accounts_or_none_are_charged() {
    let mut uploads = Uploads::new(json!({
        "user": { "stored_bytes_per_day": 50 }, "tenant": { "embeddings_per_day": 3 },
        "anonymous": { "stored_bytes_per_day": 90 }, "address": { "stored_bytes_per_day": 80 },
    }));
    assert_eq!(uploads.limits.upload_rules("key:ada", false, Some("1.2.3.4")).len(), 2);
    assert!(!uploads.limits.limits_turns() && !uploads.limits.is_empty());
    assert_eq!(uploads.limits.rules("key:ada", true, None), []);
    for (bytes, embeddings) in [(51, 0), (1, 4)] {
        assert!(uploads.reserve("a", need(bytes, embeddings), NOW).is_err());
        assert!(uploads.shelf.0.is_empty());
    }
    assert_eq!(uploads.reserve("a", need(50, 3), NOW), Ok(()));
    // A visitor who comes back as another one is still at this address.
    let rules = uploads.limits.upload_rules("anonymous:bob", true, Some("1.2.3.4"));
    let ask = UploadAsk { key: "b".to_owned(), rules, need: need(31, 0) };
    let refused = reserve_upload(&mut uploads.shelf, &ask, NOW).unwrap();
    assert!(matches!(refused, Err(Refusal::Stored { limit: 80, .. })), "{refused:?}");
}

#[test]
fn each_day_is_new() {
    let mut uploads = Uploads::new(json!({ "user": { "stored_bytes_per_day": 100 } }));
    assert_eq!(uploads.reserve("a", need(100, 0), NOW), Ok(()));
    let midnight = NOW + DAY / 2;
    assert!(uploads.reserve("b", need(1, 0), midnight - 1).is_err());
    assert_eq!(uploads.reserve("b", need(100, 0), midnight), Ok(()));
    // The upload of the day before ended after midnight: it does not count for this day.
    uploads.settle("a", need(0, 0), midnight);
    assert!(uploads.reserve("c", need(1, 0), midnight).is_err());
    uploads.shelf.forget_old(midnight + DAY);
    assert!(uploads.shelf.0.is_empty(), "rows of a day that is over are forgotten");
}

#[test]
fn a_refused_upload_says_when_to_come_back() {
    for refusal in
        [Refusal::Stored { limit: 9, retry_after_s: 60 }, Refusal::Embedded { limit: 9, retry_after_s: 60 }]
    {
        let error = ApiError::from(refusal);
        assert_eq!((error.code, error.retry_after_s), (ErrorCode::QuotaExceeded, Some(60)));
        assert!(error.detail.starts_with("9 "), "{}", error.detail);
    }
}

#[test]
fn production_limits_uploads() {
    let wrangler = include_str!("../../../../wrangler.toml");
    let (_, production) = wrangler.split_once("[env.production.vars]").unwrap();
    let (_, json) = production.split_once("QUOTAS = '''").unwrap();
    let (json, _) = json.split_once("'''").unwrap();
    let limits = Quotas::from_env(|_| Some(json.to_owned())).unwrap();
    for quota in limits.all() {
        assert!(quota.stored_bytes_per_day.is_some() && quota.embeddings_per_day.is_some(), "{quota:?}");
    }
    assert_eq!(limits.upload_rules("anonymous:ada", true, Some("::1")).len(), 4);
}

// Issue 42, M1: an empty file has a key, a row in lists and an entry of its deletion.
#[test]
fn something_small_counts_as_its_row() {
    for (bytes, counts) in [(0, LEAST_BYTES), (LEAST_BYTES, LEAST_BYTES), (LEAST_BYTES + 1, LEAST_BYTES + 1)]
    {
        assert_eq!(Stored::from_bytes(bytes), need(counts, 0), "{bytes}");
    }
}
