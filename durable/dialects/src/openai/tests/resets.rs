//! Model calls that broke off and were repeated.

use serde_json::{Value, json};

use super::encoding::{encoded, frames, how};
use crate::recorded::turn;
use wire::protocol::{AnswerForm, ChunkKind, Event, FinishReason, Numbered, OpenAiApi, Place, Seq};

const TEXT: ChunkKind = ChunkKind::Text;
const REASONING: ChunkKind = ChunkKind::Reasoning;

fn chunk(kind: ChunkKind, model_call_id: &str, part_id: String, content: &str) -> Event {
    let (model_call_id, content, place) = (model_call_id.to_owned(), content.to_owned(), Place::default());
    Event::Chunk { content, part_id, model_call_id, place, done: false, kind }
}

/// A turn whose model call says these texts, each but the last of which breaks off. Another call says `then`.
fn broken(kind: ChunkKind, texts: &[&[&str]], then: &str) -> Vec<Numbered> {
    let session = turn("text").remove(0).event;
    let mut events = vec![session];
    for (index, text) in texts.iter().enumerate() {
        events.extend(text.iter().map(|piece| chunk(kind, "call", format!("part{index}"), piece)));
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
    events.extend([end, chunk(TEXT, "next", "next".to_owned(), then)]);
    events.push(Event::Done { message_id: "m".to_owned(), finish_reason: FinishReason::Stop, usage: None });
    let numbered = |(index, event)| Numbered { seq: index as Seq + 1, turn_id: "text".to_owned(), event };
    events.into_iter().enumerate().map(numbered).collect()
}

// Issue 45, 15: an answer that hooks judge comes after its model call, and is told as one that comes within.
#[test]
fn a_text_after_its_model_call_is_told() {
    let is_end = |numbered: &Numbered| {
        matches!(&numbered.event, Event::ModelCallUpdate { status: wire::protocol::CallStatus::End, .. })
    };
    let within = turn("text");
    let mut after = within.clone();
    let end = after.iter().position(is_end).unwrap();
    let end = after.remove(end);
    let chunk = after.iter().position(|numbered| matches!(numbered.event, Event::Chunk { .. })).unwrap();
    after.insert(chunk, end);
    after.iter_mut().zip(&within).for_each(|(numbered, before)| numbered.seq = before.seq);
    for api in [OpenAiApi::ChatCompletions, OpenAiApi::Responses] {
        let whole = |events: &[Numbered]| encoded(events, how(api, AnswerForm::Whole, 0)).1;
        assert_eq!(whole(&after), whole(&within));
        let stream = |events: &[Numbered]| encoded(events, how(api, AnswerForm::Stream, 0)).1;
        assert_eq!(stream(&after).matches("delta").count(), stream(&within).matches("delta").count());
    }
}

/// The text of a member of the message.
fn told(events: &[Numbered], form: AnswerForm, member: &str) -> String {
    let body = encoded(events, how(OpenAiApi::ChatCompletions, form, 0)).1;
    if form == AnswerForm::Whole {
        let body: Value = serde_json::from_str(&body).unwrap();
        return body["choices"][0]["message"][member].as_str().unwrap().to_owned();
    }
    let pointer = format!("/choices/0/delta/{member}");
    frames(&body).iter().filter_map(|chunk| chunk.pointer(&pointer)?.as_str()).collect()
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
        let events = broken(TEXT, texts, "");
        assert_eq!(told(&events, AnswerForm::Stream, "content"), streamed, "{texts:?}");
        assert_eq!(told(&events, AnswerForm::Whole, "content"), whole, "{texts:?}");
        let events = broken(REASONING, texts, "Done.");
        // Reasoning that says less is not told again.
        let streamed = streamed.replace("there\n\nHello", "there");
        assert_eq!(told(&events, AnswerForm::Stream, "reasoning_content"), streamed, "{texts:?}");
        assert_eq!(told(&events, AnswerForm::Whole, "reasoning_content"), whole, "{texts:?}");
    }
}

// Issue 22
#[test]
fn a_blank_line_follows_a_text_whose_repetition_said_nothing() {
    let table: [(&[&[&str]], &str, &str); 3] = [
        (&[&["Half of"], &[]], "Half of\n\nDone.", "Done."),
        (&[&["Half of"], &["No"], &[]], "Half of\n\nNo\n\nDone.", "Done."),
        (&[&[], &[]], "Done.", "Done."),
    ];
    for (texts, streamed, whole) in table {
        let events = broken(TEXT, texts, "Done.");
        assert_eq!(told(&events, AnswerForm::Stream, "content"), streamed, "{texts:?}");
        assert_eq!(told(&events, AnswerForm::Whole, "content"), whole, "{texts:?}");
    }
}

// Issue 22
#[test]
fn a_response_leaves_the_items_out_that_broke_off() {
    let events = broken(TEXT, &[&["Hel"], &["Hello"]], "");
    let body = encoded(&events, how(OpenAiApi::Responses, AnswerForm::Stream, 0)).1;
    let frames = frames(&body);
    let done = frames.iter().filter(|frame| frame["type"] == "response.output_item.done");
    let states: Vec<_> = done.map(|frame| (&frame["output_index"], &frame["item"]["status"])).collect();
    assert_eq!(states, [(&json!(0), &json!("incomplete")), (&json!(1), &json!("completed"))]);
    let output = &frames.last().unwrap()["response"]["output"];
    assert_eq!(
        (output.as_array().map(Vec::len), &output[0]["id"]),
        (Some(1), &json!("msg_threadtext0_part1"))
    );
}
