//! Random streams, in any split.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::response_tests::{call, event, fresh, part, stream, text, thought};
use crate::testing::{broken_anywhere, random_data, split_anywhere};

/// Plausible events, in any order.
fn any_event() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just(""), Just("a"), Just("{\"x\":"), Just("1}"), Just("ü🌍"), Just("\"\\")];
    let path = prop_oneof![Just("$.a"), Just("$.a.b"), Just("$.l[0]"), Just("$.l[1]"), Just("x")];
    let reason = prop_oneof![Just("STOP"), Just("MAX_TOKENS"), Just("SAFETY"), Just("OTHER")];
    prop_oneof![
        word.clone().prop_map(|word| part(text(word))),
        word.clone().prop_map(|word| part(thought(word))),
        word.clone().prop_map(|word| part(json!({"text": word, "thoughtSignature": word}))),
        word.clone().prop_map(|word| part(call(word, json!({"x": word})))),
        word.clone().prop_map(|word| part(json!({"functionCall": {"name": word, "willContinue": true}}))),
        (path, word, any::<bool>()).prop_map(|(path, word, more)| {
            let piece = json!({"jsonPath": path, "stringValue": word});
            part(json!({"functionCall": {"partialArgs": [piece], "willContinue": more}}))
        }),
        Just(part(json!({"executableCode": {"code": "1"}}))),
        Just(json!({"usageMetadata": {"promptTokenCount": 1}})),
        Just(json!({"promptFeedback": {"blockReason": "OTHER"}})),
        Just(json!({"error": {"code": 503, "status": "UNAVAILABLE"}})),
        reason.prop_map(|reason| event(json!([]), reason)),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(events in prop::collection::vec(any_event(), 0..12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        split_anywhere(&fresh, &stream(&events), &cuts)?;
    }

    #[test]
    fn broken_streams_never_panic(events in prop::collection::vec(any_event(), 1..6), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        broken_anywhere(&fresh, stream(&events), at, byte)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        random_data(&fresh, &bytes, b"")?;
    }
}
