//! Random streams, in any split.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::response_tests::{added, call, delta, done, fresh, message, thought, whole};
use crate::testing::{broken_anywhere, random_data, split_anywhere};

/// Plausible events, in any order.
fn event() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just(""), Just("a"), Just("{\"x\":"), Just("1}"), Just("ü🌍"), Just("\"\\")];
    let index = 0..3_u64;
    let kinds =
        vec!["output_text", "refusal", "reasoning_text", "reasoning_summary_text", "function_call_arguments"];
    prop_oneof![
        (index.clone(), word.clone()).prop_map(|(index, word)| added(index, call(word, word, word, ""))),
        (index.clone(), word.clone()).prop_map(|(index, word)| done(index, call(word, word, word, word))),
        (index.clone(), word.clone()).prop_map(|(index, word)| done(index, message(word))),
        (index.clone(), word.clone()).prop_map(|(index, word)| done(index, thought(json!(word)))),
        (prop::sample::select(kinds), index, word.clone())
            .prop_map(|(kind, index, word)| delta(kind, index, word)),
        Just(json!({"type": "response.reasoning_summary_part.added", "summary_index": 1})),
        Just(json!({"type": "error", "code": "server_error"})),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(events in prop::collection::vec(event(), 0..12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        split_anywhere(&fresh, &whole(&events), &cuts)?;
    }

    #[test]
    fn broken_streams_never_panic(events in prop::collection::vec(event(), 0..6), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        broken_anywhere(&fresh, whole(&events), at, byte)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        random_data(&fresh, &bytes, b"")?;
    }
}
