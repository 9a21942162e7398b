//! Model calls that broke off and were repeated.

use serde_json::{Value, json};

use super::encoding::{encoded, frames, how};
use crate::recorded::turn;
use wire::protocol::{AnswerForm, ChunkKind, Event, FinishReason, Numbered, OpenAiApi, Place, Seq};

/// A turn whose model call says these texts, each but the last of which breaks off.
fn broken(texts: &[&[&str]]) -> Vec<Numbered> {
    let session = turn("text").remove(0).event;
    let mut events = vec![session];
    for (index, text) in texts.iter().enumerate() {
        for piece in *text {
            events.push(Event::Chunk {
                content: (*piece).to_owned(),
                part_id: format!("part{index}"),
                model_call_id: "call".to_owned(),
                place: Place::default(),
                done: false,
                kind: ChunkKind::Text,
            });
        }
        let (model_call_id, place) = ("call".to_owned(), Place::default());
        if index + 1 < texts.len() {
            events.push(Event::ModelCallReset { model_call_id, place, reason: "lost".to_owned() });
        }
    }
    let end = turn("text").into_iter().find(|event| {
        matches!(&event.event, Event::ModelCallUpdate { status: wire::protocol::CallStatus::End, .. })
    });
    let mut end = end.unwrap().event;
    if let Event::ModelCallUpdate { model_call_id, .. } = &mut end {
        "call".clone_into(model_call_id);
    }
    events.push(end);
    events.push(Event::Done { message_id: "m".to_owned(), finish_reason: FinishReason::Stop, usage: None });
    let numbered = |(index, event)| Numbered { seq: index as Seq + 1, turn_id: "text".to_owned(), event };
    events.into_iter().enumerate().map(numbered).collect()
}

fn text(events: &[Numbered], form: AnswerForm) -> String {
    let body = encoded(events, how(OpenAiApi::ChatCompletions, form, 0)).1;
    if form == AnswerForm::Whole {
        let body: Value = serde_json::from_str(&body).unwrap();
        return body["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    }
    let deltas = frames(&body);
    let deltas = deltas.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/content")?.as_str());
    deltas.collect()
}

// Issue 22
#[test]
fn a_completion_keeps_the_text_that_the_client_has() {
    let table: [(&[&[&str]], &str, &str); 7] = [
        (&[&["Hel", "lo"], &["Hello", " there."]], "Hello there.", "Hello there."),
        (&[&["Hello"], &["Hel", "lo"]], "Hello", "Hello"),
        (&[&["Hello"], &["Hell", "ish."]], "Hello\n\nHellish.", "Hellish."),
        (&[&["Hello there"], &["Hello"]], "Hello there\n\nHello", "Hello"),
        (&[&["Hello"], &["He"], &["Hello", "!"]], "Hello!", "Hello!"),
        (&[&[], &["Hello"]], "Hello", "Hello"),
        (&[&["Hello"], &["No", "."], &["No", ". Yes."]], "Hello\n\nNo. Yes.", "No. Yes."),
    ];
    for (texts, streamed, whole) in table {
        let events = broken(texts);
        assert_eq!(text(&events, AnswerForm::Stream), streamed, "{texts:?}");
        assert_eq!(text(&events, AnswerForm::Whole), whole, "{texts:?}");
    }
}

// Issue 22
#[test]
fn a_response_leaves_the_items_out_that_broke_off() {
    let events = broken(&[&["Hel"], &["Hello"]]);
    let body = encoded(&events, how(OpenAiApi::Responses, AnswerForm::Stream, 0)).1;
    let frames = frames(&body);
    let done = frames.iter().filter(|frame| frame["type"] == "response.output_item.done");
    let states: Vec<_> = done.map(|frame| (&frame["output_index"], &frame["item"]["status"])).collect();
    assert_eq!(states, [(&json!(0), &json!("incomplete")), (&json!(1), &json!("completed"))]);
    let output = &frames.last().unwrap()["response"]["output"];
    assert_eq!((output.as_array().map(Vec::len), &output[0]["id"]), (Some(1), &json!("msg_part1")));
}
