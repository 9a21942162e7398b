//! The body of `POST /api/chat`: an accepted body reads the same when it is written again.

#![no_main]

use wire::protocol::ChatRequest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(request) = ChatRequest::parse(data) else { return };
    let written = serde_json::to_vec(&request).unwrap();
    // The service accepts these members, ignores them, and does not pass them on.
    let expected = ChatRequest { agent_mode: None, tools: None, ..request };
    assert_eq!(ChatRequest::parse(&written).unwrap(), expected);
});
