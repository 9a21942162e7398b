//! The wait after failures, and the row. Each job's own tests have the loop, by `testing`.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Job, wait_ms};
use crate::{account::erasure, retention};

#[test]
fn the_wait_after_failures_grows_to_ten_minutes() {
    let waits = [1, 2, 3, 9, 10, 11, u32::MAX].map(wait_ms);
    assert_eq!(waits, [2_000, 4_000, 8_000, 512_000, 600_000, 600_000, 600_000]);
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

// Issue 23, 4
#[test]
fn the_columns_of_a_row_are_read_and_written_as_they_are() {
    let row = |stage: &str, removed: &str| {
        json!({
            "tenant": "acme", "started_at": 1, "stage": stage, "removed": removed, "lease": 2, "lease_until": 3,
            "failures": 4,
        })
        .to_string()
    };
    let removed = r#"{"llm_usage":2,"threads":7}"#;
    let erasure = r#"{"sweep":1,"part":"threads","at":0,"after":"t6","expired":true}"#;
    let retention = r#"{"part":"model_calls","after":["acme","key:ada","c1"],"steps":3}"#;
    let job: Job<erasure::Stage> = wire::json::from_str(&row(erasure, removed)).unwrap();
    assert_eq!((text(&job.stage), text(&job.removed)), (erasure.to_owned(), removed.to_owned()));
    let job: Job<retention::Stage> = wire::json::from_str(&row(retention, removed)).unwrap();
    assert_eq!((text(&job.stage), text(&job.removed)), (retention.to_owned(), removed.to_owned()));
    let removed = BTreeMap::from([("llm_usage".to_owned(), 2), ("threads".to_owned(), 7)]);
    let stage = job.stage.clone();
    assert_eq!(job, Job { started_at: 1, stage, removed, lease: 2, lease_until: 3, failures: 4 });
    for stage in ["", "{", "[]", "null"] {
        assert!(wire::json::from_str::<Job<erasure::Stage>>(&row(stage, "{}")).is_err(), "{stage}");
    }
    assert_eq!(text(&erasure::Stage::default()), r#"{"sweep":0,"part":"threads","at":0}"#);
    assert_eq!(text(&retention::Stage::default()), r#"{"part":"visitors","steps":0}"#);
}
