//! Dividing, the limits of what is read, and the pauses between.

use std::cell::Cell;

use serde_json::{Value, json};

use super::*;
use crate::{ai_sdk, openai};
use wire::pace::{Pause, STRETCH, at_once, no_pause};
use wire::protocol::OpenAiApi;

/// The outcome of work, and its pauses.
fn paced<T>(work: impl AsyncFnOnce(&Pace<'_>) -> T) -> (T, usize) {
    let pauses = Cell::new(0);
    let pause = || {
        pauses.set(pauses.get() + 1);
        no_pause()
    };
    let done = at_once(work(&Pace::new(&pause))).unwrap();
    (done, pauses.get())
}

/// The pieces of a list or an object, as text: `name=piece`.
fn divided(json: &str) -> Result<Vec<String>, ErrorCode> {
    let mut found = Vec::new();
    let kind = if json.trim_start().starts_with('{') { Kind::Object } else { Kind::Array };
    let divided = paced(async |pace| {
        divide(json.as_bytes(), kind, pace, &mut |name, piece| {
            found.push([from_utf8(name).unwrap(), "=", piece.text()].concat());
            Ok(())
        })
        .await
    });
    divided.0.map(|()| found).map_err(|error| error.code)
}

// Issue 42, H2
#[test]
fn a_container_is_divided_at_its_own_commas() {
    for (json, pieces) in [
        ("[]", &[][..]),
        (" [ \n ] ", &[]),
        ("{}", &[]),
        ("[1]", &["=1"]),
        (r#"[ 1 , "a,]\"\\" ,[2,[3]],{"x":{}} ]"#, &["=1", r#"="a,]\"\\""#, "=[2,[3]]", r#"={"x":{}}"#]),
        (r#"{"a":1, "b:,}" : {"c":[1,2]} }"#, &[r#""a"=1"#, r#""b:,}"={"c":[1,2]}"#]),
        // A piece that nobody reads is not checked beyond its brackets.
        ("[nope, [1 2]]", &["=nope", "=[1 2]"]),
    ] {
        assert_eq!(divided(json).unwrap(), pieces, "{json}");
    }
    for broken in [
        "",
        " ",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[,]",
        "[1}",
        "[1]]",
        "[1] x",
        "[1]\"x\"",
        "[\"a",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{1}",
        "[\"a\":1]",
        "[[1]",
    ] {
        assert_eq!(divided(broken), Err(ErrorCode::InvalidJson), "{broken:?}");
    }
    let deep = |levels: usize| divided(&["[".repeat(levels), "]".repeat(levels)].concat());
    assert_eq!((deep(MAX_JSON_DEPTH).is_ok(), deep(MAX_JSON_DEPTH + 1)), (true, Err(ErrorCode::InvalidJson)));
}

// Issue 42, H2: at each limit, and just beyond it.
#[test]
fn a_piece_and_a_list_have_limits() {
    let piece = |json: &str| {
        let list = format!("[{json}]");
        let (newest, _) = paced(async |pace| Newest::divide(list.as_bytes(), pace).await);
        newest.unwrap().back().next().unwrap().1.is_too_much()
    };
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert_eq!((piece(&text(MAX_PIECE)), piece(&text(MAX_PIECE + 1))), (false, true));
    let wide = |values: usize| json!(vec![0; values - 1]).to_string();
    assert_eq!((piece(&wide(MAX_JSON_VALUES)), piece(&wide(MAX_JSON_VALUES + 1))), (false, true));
    let kept = |count: usize| {
        let list = json!((0..count).collect::<Vec<_>>()).to_string();
        let (newest, _) = paced(async |pace| Newest::divide(list.as_bytes(), pace).await);
        let newest = newest.unwrap();
        let ends = [newest.iter().next().unwrap().0, newest.back().last().unwrap().0];
        (newest.count, newest.iter().count(), ends)
    };
    assert_eq!(kept(MAX_MESSAGES), (MAX_MESSAGES, MAX_MESSAGES, [0, 0]));
    assert_eq!(kept(MAX_MESSAGES + 1), (MAX_MESSAGES + 1, MAX_MESSAGES, [1, 1]));
}

// Issue 42, H2: at each limit, and just beyond it.
#[test]
fn the_members_beside_the_list_have_limits() {
    let refusal = |body: String| {
        let (members, _) =
            paced(async |pace| Members::divide(body.as_bytes(), "messages", pace).await.map(drop));
        members.err().map(|error| error.field.clone().unwrap_or_else(|| error.code.as_str().to_owned()))
    };
    let rest =
        |bytes: usize| json!({ "a": "x".repeat(bytes / 2 - 2), "b": "x".repeat(bytes / 2 - 2) }).to_string();
    assert_eq!((refusal(rest(MAX_REST)), refusal(rest(MAX_REST + 2)).as_deref()), (None, Some("b")));
    let wide = |values: usize| json!({ "tools": vec![0; values - 1] }).to_string();
    assert_eq!(refusal(wide(MAX_JSON_VALUES)), None);
    assert_eq!(refusal(wide(MAX_JSON_VALUES + 1)).as_deref(), Some("tools"));
    let name = |bytes: usize| json!({ "n".repeat(bytes - 2): 1 }).to_string();
    assert_eq!(refusal(name(MAX_MEMBER_NAME)), None);
    assert_eq!(refusal(name(MAX_MEMBER_NAME + 1)).as_deref(), Some("invalid_request"));
    // The list is not among them, whatever its size.
    assert_eq!(refusal(json!({ "messages": vec![0; MAX_REST] }).to_string()), None);
    // A member that is no JSON is refused although nobody may ask for it.
    assert_eq!(refusal(r#"{"stream": nope}"#.to_owned()).as_deref(), Some("stream"));
    assert_eq!(refusal("{:1}".to_owned()).as_deref(), Some("invalid_json"));
}

/// The bodies of a client with these older messages, for each dialect, and their outcomes: the characters of the history or
/// the member of the refusal.
fn outcomes(older: &str, newest: &str) -> [(Result<usize, String>, usize); 2] {
    let field = |error: ApiError| error.field.clone().unwrap_or_else(|| error.code.as_str().to_owned());
    let chars = |history: Vec<String>| history.iter().map(|text| text.chars().count()).sum();
    let body = format!(r#"{{"messages":[{older}{{"role":"user","content":"{newest}"}}]}}"#);
    let chat = paced(async |pace| {
        let sent =
            openai::Sent::parse(body.as_bytes(), OpenAiApi::ChatCompletions, pace, &|_| Ok(None)).await;
        sent.map_err(field).map(|sent| match sent.wants {
            openai::Wants::Turn { history, .. } => chars(history),
            openai::Wants::Answers { .. } => panic!(),
        })
    });
    let parts = |text: &str| format!(r#""id":"u","parts":[{{"type":"text","text":"{text}"}}]"#);
    let older = older.replace(r#""content":"#, r#""id":"m","parts":"#);
    let body = format!(r#"{{"id":"c","messages":[{older}{{"role":"user",{}}}]}}"#, parts(newest));
    let sdk = paced(async |pace| {
        let sent = ai_sdk::Sent::parse(body.as_bytes(), pace).await;
        sent.map_err(field).map(|sent| match sent.wants {
            ai_sdk::Wants::Turn { history, .. } => chars(history),
            ai_sdk::Wants::Answers { .. } => panic!(),
        })
    });
    [chat, sdk]
}

const BODY: usize = 16 << 20;

// Issue 42, H2: 480 000 messages took 2.9 s and 16 MB of escapes 1.7 s, in one go.
#[test]
fn others_run_while_a_large_body_is_read() {
    let messages = r#"{"role":"user","content":[]},"#.repeat(480_000);
    let escapes = format!(r#"{{"role":"assistant","content":"{}"}},"#, r"\u0041".repeat(BODY / 6));
    let arrays = format!(r#"{{"role":"assistant","content":[{}0]}},"#, "[],".repeat(BODY / 3));
    for (older, scans) in [(messages, 2), (escapes, 3), (arrays, 3)] {
        for (found, pauses) in outcomes(&older, "Hello") {
            // No history: there is no question, or no answer that is short enough.
            assert_eq!(found, Ok(0));
            assert!(pauses >= scans * older.len() / STRETCH, "{pauses} pauses");
        }
    }
    // As the message itself they are refused.
    let [chat, sdk] = outcomes("", &r"\u0041".repeat(BODY / 6));
    assert_eq!((chat.0, sdk.0), (Err("messages[0]".to_owned()), Err("messages[0].parts".to_owned())));
    assert!(chat.1.min(sdk.1) >= 2 * BODY / STRETCH, "{} and {} pauses", chat.1, sdk.1);
    // A small body has no pause.
    assert_eq!(outcomes("", "Hello"), [(Ok(0), 0), (Ok(0), 0)]);
}

// The work may end at each of its pauses, and says why.
#[test]
fn work_that_takes_too_long_is_refused_wherever_it_is() {
    let older = r#"{"role":"user","content":[{"type":"text","text":"x"}]},"#.repeat(80_000);
    let body = format!(r#"{{"messages":[{older}{{"role":"user","content":"Hello"}}]}}"#);
    let parse = |most: usize| {
        let pauses = Cell::new(0);
        let pause = || -> Pause {
            pauses.set(pauses.get() + 1);
            let late = pauses.get() > most;
            Box::pin(
                async move { if late { Err(ApiError::new(ErrorCode::Overloaded, "late")) } else { Ok(()) } },
            )
        };
        let pace = Pace::new(&pause);
        let parsed =
            at_once(openai::Sent::parse(body.as_bytes(), OpenAiApi::ChatCompletions, &pace, &|_| Ok(None)))
                .unwrap();
        (parsed.map(drop), pauses.get())
    };
    let (parsed, all) = parse(usize::MAX);
    assert!(parsed.is_ok() && all > 3, "{all} pauses");
    for most in 0..all {
        let error = parse(most).0.unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::Overloaded, None), "{most}");
    }
}

// Issue 42, M5: the answers of a request at their limit, and just beyond it. The newest ones count.
#[test]
fn the_answers_of_a_request_have_a_limit_of_bytes() {
    let given = |count: usize, bytes: usize| {
        let parts: Vec<Value> = (0..count)
            .map(|at| {
                let mut part = json!({ "type": "tool-a", "toolCallId": at.to_string(), "state": "output-available", "output": "" });
                part["output"] = json!("x".repeat(bytes - part.to_string().len()));
                part
            })
            .collect();
        let body = json!({ "id": "c", "messages": [{ "id": "m", "role": "assistant", "parts": parts }] })
            .to_string();
        let (sent, _) = paced(async |pace| ai_sdk::Sent::parse(body.as_bytes(), pace).await);
        let ai_sdk::Wants::Answers { answers, .. } = sent.unwrap().wants else { panic!() };
        answers.into_iter().map(|answer| answer.id).collect::<Vec<_>>()
    };
    assert_eq!(given(4, MAX_PIECE / 4), ["0", "1", "2", "3"]);
    assert_eq!(given(4, MAX_PIECE / 4 + 1), ["1", "2", "3"]);
    // The same of OpenAI's.
    let given = |bytes: usize| {
        let turn = uuid::Uuid::nil().to_string();
        let id = |at: &str| crate::ids::of_call("call", &turn, &turn, 0, at);
        let messages: Vec<Value> = ["a", "b", "c"]
            .map(|at| {
                let mut message = json!({ "role": "tool", "tool_call_id": id(at), "content": "" });
                message["content"] = json!("x".repeat(bytes - message.to_string().len()));
                message
            })
            .into();
        let body = json!({ "messages": messages }).to_string();
        let parsed = paced(async |pace| {
            openai::Sent::parse(body.as_bytes(), OpenAiApi::ChatCompletions, pace, &|_| Ok(None)).await
        });
        let openai::Wants::Answers { answers, .. } = parsed.0.unwrap().wants else { panic!() };
        answers.len()
    };
    assert_eq!((given(MAX_PIECE / 3), given(MAX_PIECE / 3 + 1)), (3, 2));
}
