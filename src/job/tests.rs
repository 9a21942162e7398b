//! The wait after failures, and the row. The tests of each job have the loop, by `testing`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{json, to_string};

use super::{Job, wait_ms};
use crate::{account::erasure, retention};

#[test]
fn the_wait_after_failures_grows_to_ten_minutes() {
    let waits = [1, 2, 3, 9, 10, 11, u32::MAX].map(wait_ms);
    assert_eq!(waits, [2_000, 4_000, 8_000, 512_000, 600_000, 600_000, 600_000]);
}

/// Reads a row with a stage, and gives the stage.
fn kept<S: DeserializeOwned + Serialize>(stage: &str) -> S {
    let removed = r#"{"llm_usage":2,"threads":7}"#;
    let row = json!({"started_at": 1, "stage": stage, "removed": removed, "lease": 2, "lease_until": 3, "failures": 4});
    let job: Job<S> = wire::json::from_str(&row.to_string()).unwrap();
    assert_eq!([to_string(&job.stage).unwrap(), to_string(&job.removed).unwrap()], [stage, removed]);
    assert_eq!([job.started_at, job.lease, job.lease_until, job.failures.into()], [1, 2, 3, 4]);
    job.stage
}

// Issue 23, 4
#[test]
fn the_columns_of_a_row_are_read_and_written_as_they_are() {
    assert_eq!(kept::<erasure::Stage>(r#"{"sweep":0,"part":"threads","at":0}"#), Default::default());
    assert_eq!(kept::<retention::Stage>(r#"{"part":"visitors","steps":0}"#), Default::default());
    kept::<erasure::Stage>(r#"{"sweep":1,"part":"rows","at":3,"after":"t6","expired":true}"#);
    kept::<retention::Stage>(r#"{"part":"model_calls","after":["acme","key:ada","c1"],"steps":3}"#);
}
