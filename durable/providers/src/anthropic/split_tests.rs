//! Random streams, in any split.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::response_tests::{block, delta, fresh, input, start, stop, stream, text_delta, tool_use};
use crate::testing::{broken_anywhere, random_data, split_anywhere};

/// Plausible events, in any order.
fn event() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just(""), Just("a"), Just("{\"x\":"), Just("1}"), Just("ü🌍"), Just("\"\\")];
    let index = 0..3_u64;
    prop_oneof![
        Just(start()),
        (index.clone(), word.clone())
            .prop_map(|(index, word)| block(index, json!({"type": "text", "text": word}))),
        (index.clone(), word.clone()).prop_map(|(index, word)| tool_use(index, word, word)),
        (index.clone(), word.clone()).prop_map(|(index, word)| block(
            index,
            json!({"type": "thinking", "thinking": word, "signature": word})
        )),
        (index.clone(), word.clone()).prop_map(|(index, word)| text_delta(index, word)),
        (index.clone(), word.clone()).prop_map(|(index, word)| input(index, word)),
        (index, word, prop::sample::select(vec!["thinking", "signature", "content"]))
            .prop_map(|(index, word, member)| delta(index, &format!("{member}_delta"), member, word)),
        Just(json!({"type": "ping"})),
        Just(json!({"type": "error", "error": {"type": "overloaded_error"}})),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(events in prop::collection::vec(event(), 0..12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let stream = stream(&[&[start()][..], &events, &stop("end_turn")].concat());
        split_anywhere(&fresh, &stream, &cuts)?;
    }

    #[test]
    fn broken_streams_never_panic(events in prop::collection::vec(event(), 0..6), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let stream = stream(&[&[start()][..], &events, &stop("end_turn")].concat());
        broken_anywhere(&fresh, stream, at, byte)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        random_data(&fresh, &bytes, b"")?;
    }
}
