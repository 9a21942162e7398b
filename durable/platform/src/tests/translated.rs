//! Streams in a dialect behind a reader. Issue 22

use std::collections::BTreeMap;

use super::*;
use crate::translated::{CutOff, collected, translated};
use dialects::Translation;
use futures::stream;
use wire::protocol::{AnswerForm, Dialect, FinishReason, OpenAi, OpenAiApi};

/// The writes of a stream whose reader gives these, and what the reader was left with.
fn read(writes: Vec<Result<&[u8], StoreError>>) -> (Vec<Result<String, CutOff>>, bool) {
    let (gone, is_gone) = (Rc::new(()), Rc::new(Cell::new(false)));
    let guard = Rc::clone(&gone);
    let writes: Vec<_> = writes.into_iter().map(|write| write.map(<[u8]>::to_vec)).collect();
    let writes = stream::iter(writes).inspect(move |_| drop(Rc::clone(&guard))).boxed_local();
    let clock = Rc::new(FakeClock::default()) as Rc<dyn Clock>;
    let mut stream = translated(writes, Translation::new(Dialect::AiSdk, 0, 0), clock);
    let mut read = Vec::new();
    let mut pool = LocalPool::new();
    while let Some(write) = pool.run_until(stream.next()) {
        read.push(write.map(|bytes| String::from_utf8(bytes).unwrap()));
        is_gone.set(Rc::strong_count(&gone) == 1);
    }
    (read, is_gone.get())
}

fn frames(events: &[(Seq, Event)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (seq, event) in events {
        crate::sse::encode(&mut bytes, *seq, "turn", &EventJson::new(event.clone()).unwrap());
    }
    bytes
}

fn done() -> Event {
    Event::Done { message_id: "m".to_owned(), finish_reason: FinishReason::Stop, usage: None }
}

#[test]
fn events_are_translated_however_they_are_cut_into_writes() {
    let bytes = frames(&[(1, chunk("a", "x")), (2, chunk("a", "y")), (3, done())]);
    let whole: String = read(vec![Ok(&bytes)]).0.into_iter().map(Result::unwrap).collect();
    assert!(whole.contains(r#""delta":"y""#) && whole.ends_with("data: [DONE]\n\n"), "{whole}");
    for at in 0..bytes.len() {
        let (writes, _) = read(vec![Ok(&bytes[..at]), Ok(&bytes[at..])]);
        assert_eq!(writes.into_iter().map(Result::unwrap).collect::<String>(), whole, "cut at {at}");
    }
}

#[test]
fn a_reader_is_left_at_the_end_of_the_turn() {
    let (writes, is_gone) =
        read(vec![Ok(&frames(&[(1, chunk("a", "x"))])), Ok(&frames(&[(2, done())])), Ok(b": \n\n")]);
    assert_eq!((writes.len(), is_gone), (2, true), "nothing comes after the end");
}

#[test]
fn silence_stays_silence_and_a_heartbeat_one() {
    let quiet = frames(&[(2, Event::PathChanged)]);
    let (writes, _) = read(vec![
        Ok(&frames(&[(1, chunk("a", "x"))])),
        Ok(&quiet),
        Ok(b": \n\n"),
        Ok(&frames(&[(3, done())])),
    ]);
    let writes: Vec<String> = writes.into_iter().map(Result::unwrap).collect();
    assert_eq!((writes.len(), writes[1].as_str()), (3, ": \n\n"));
}

#[test]
fn a_stream_that_cannot_be_read_breaks_off() {
    let lost = || Err(StoreError("lost".to_owned()));
    let (writes, is_gone) = read(vec![Ok(&frames(&[(1, chunk("a", "x"))])), lost()]);
    assert!(matches!(writes.last(), Some(Err(CutOff::Log(_)))) && is_gone);
    let (writes, _) = read(vec![Ok(b"event: done\ndata: {}\n\n")]);
    assert!(matches!(writes.last(), Some(Err(CutOff::Dialect(_)))));
    // The log of a turn whose run was lost ends without the turn's end.
    let (writes, _) = read(vec![Ok(&frames(&[(1, chunk("a", "x"))]))]);
    assert!(matches!(writes.last(), Some(Ok(text)) if text.contains(r#""type":"error""#)));
}

// Issue 22
#[test]
fn an_answer_in_json_is_collected_to_its_end() {
    let (api, form) = (OpenAiApi::ChatCompletions, AnswerForm::Whole);
    let how = OpenAi { api, form, usage: false, background: false, segment: 0, after: None };
    let session = Event::Session {
        thread_id: "t".to_owned(),
        user_message_id: "q".to_owned(),
        assistant_message_id: "a".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        limits: None,
        replaces_message_id: None,
        client_names: BTreeMap::new(),
        resumed: None,
        messages: Vec::new(),
    };
    let read = |writes: Vec<Result<Vec<u8>, StoreError>>| {
        let writes = stream::iter(writes).boxed_local();
        let clock = Rc::new(FakeClock::default()) as Rc<dyn Clock>;
        let collected = collected(writes, Translation::new(Dialect::OpenAi(how), 0, 0), clock);
        LocalPool::new().run_until(collected)
    };
    let begin = frames(&[(1, session), (2, chunk("a", "x"))]);
    let (status, (name, value), body) =
        read(vec![Ok(begin.clone()), Ok(b": \n\n".to_vec()), Ok(frames(&[(3, done())]))]).unwrap();
    let body = String::from_utf8(body).unwrap();
    assert_eq!((status, name, value), (200, "x-should-retry", "false"));
    assert!(body.starts_with('{') && body.contains(r#""content":"x""#), "{body}");
    // The log of a turn whose run was lost ends without the turn's end.
    let (status, _, body) = read(vec![Ok(begin.clone())]).unwrap();
    assert_eq!(status, 500, "{}", String::from_utf8_lossy(&body));
    let lost = read(vec![Ok(begin), Err(StoreError("lost".to_owned()))]);
    assert!(matches!(lost, Err(CutOff::Log(_))));
}
