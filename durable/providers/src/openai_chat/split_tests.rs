//! Random streams, in any split.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::response_tests::{delta, done, finish, fresh};
use crate::testing::{broken_anywhere, random_data, split_anywhere};

/// Plausible chunks, in any order.
fn chunk() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just(""), Just("a"), Just("{\"x\":"), Just("1}"), Just("ü🌍"), Just("\"\\")];
    let index = prop_oneof![Just(json!(0)), Just(json!(1)), Just(json!(null)), Just(json!(99))];
    prop_oneof![
        (
            word.clone(),
            prop::sample::select(vec!["content", "refusal", "reasoning", "reasoning_content", "x"])
        )
            .prop_map(|(word, name)| delta(json!({name: word}))),
        (index, word.clone(), word.clone(), word).prop_map(|(index, id, name, arguments)| delta(json!({
            "tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]
        }))),
        Just(finish("stop")),
        Just(json!({"choices": [], "usage": {"prompt_tokens": 1}})),
        Just(json!({"reasoning_details": [{"index": 0}]})),
        Just(json!({"error": {"code": 500}})),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(chunks in prop::collection::vec(chunk(), 0..12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let stream = done(&chunks);
        split_anywhere(&fresh, &stream, &cuts)?;
    }

    #[test]
    fn broken_streams_never_panic(chunks in prop::collection::vec(chunk(), 0..6), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        broken_anywhere(&fresh, done(&chunks), at, byte)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        random_data(&fresh, &bytes, b"data: [DONE]\n\n")?;
    }
}
