use super::*;
use ChunkKind::{Reasoning, Text};
use wire::protocol::CUT_MARK;

fn text(part: &str, kind: ChunkKind, parent: Option<&str>, text: &str) -> PartChange {
    PartChange::Text {
        part_id: part.to_owned(),
        model_call_id: part.chars().take(1).collect(),
        kind,
        place: Place { parent_id: parent.map(str::to_owned), depth: u32::from(parent.is_some()) },
        text: text.to_owned(),
    }
}

fn called(id: &str) -> PartChange {
    PartChange::Called { tool_call_id: id.to_owned(), place: Place::default(), args: None }
}

/// Each part as its first letter and its text or id; a `!` stands for the mark of a cut.
fn lines(shown: &Shown) -> Vec<String> {
    let line = |part: MessagePart| {
        let inside = part.parent_id().map(|id| format!(" in {id}")).unwrap_or_default();
        match part {
            MessagePart::Text { text, cut, .. } => {
                assert_eq!(text.ends_with(CUT_MARK), cut);
                format!("t {}{inside}", text.replace(CUT_MARK, "!"))
            }
            MessagePart::Reasoning { text, cut, .. } => {
                assert_eq!(text.ends_with(CUT_MARK), cut);
                format!("r {}{inside}", text.replace(CUT_MARK, "!"))
            }
            MessagePart::Call { tool_call_id, .. } => format!("c {tool_call_id}{inside}"),
            MessagePart::Summary { text } => format!("s {}", text.unwrap_or_default()),
        }
    };
    shown.parts().into_iter().map(line).collect()
}

#[test]
fn pieces_of_a_part_are_joined_whatever_stands_between_them() {
    let mut shown = Shown::default();
    shown.add([
        text("a0", Reasoning, None, "Hm"),
        text("b0", Text, Some("call"), "In"),
        text("a0", Reasoning, None, "."),
        text("a1", Text, None, ""),
        text("a2", Text, None, "So."),
        called("call"),
        text("b0", Text, Some("call"), "side."),
        called("call"),
    ]);
    assert_eq!(lines(&shown), ["r Hm.", "t Inside. in call", "t So.", "c call"]);
}

// Issue 19, item 3.
#[test]
fn a_later_summary_takes_the_place_of_the_one_before() {
    let summary = |text: Option<&str>| PartChange::Summary { text: text.map(str::to_owned) };
    let mut shown = Shown::default();
    shown.add([summary(Some("one")), text("a0", Text, None, "So."), summary(Some("two"))]);
    assert!(!shown.has_left_out());
    shown.add([summary(None), called("call"), summary(None)]);
    shown.add([PartChange::Reset { model_call_id: "a".to_owned() }]);
    assert!(shown.has_left_out());
    assert_eq!(lines(&shown), ["s two", "s ", "c call"], "a reset drops no note");
}

#[test]
fn a_reset_drops_the_parts_of_its_model_call_alone() {
    let reset = || PartChange::Reset { model_call_id: "b".to_owned() };
    let told = [
        (1, text("a0", Text, None, "kept")),
        (2, text("b0", Reasoning, None, "lost")),
        (3, text("b1", Text, None, "lost")),
        (9, text("b2", Text, None, "again")),
        (4, called("call")),
        (8, reset()),
    ];
    // The rows of the log may come in another order than their numbers.
    assert_eq!(lines(&Shown::read(told.to_vec())), ["t kept", "c call", "t again"]);
    let mut whole = Shown::default();
    whole.add([reset(), text("b0", Text, None, &"x".repeat(KEPT_BYTES)), reset()]);
    assert_eq!(whole, Shown::default(), "its room is free again");
}

#[test]
fn parts_that_only_repeat_the_content_are_left_out() {
    let of = |told: &[PartChange], content: &str| {
        let mut shown = Shown::default();
        shown.add(told.to_vec());
        shown.parts_beside(content).len()
    };
    let plain = text("a0", Text, None, "Hello.");
    assert_eq!(of(std::slice::from_ref(&plain), "Hello."), 0);
    assert_eq!(
        of(std::slice::from_ref(&plain), "Hello. And more."),
        1,
        "the content of a turn that failed may have more"
    );
    assert_eq!(of(&[text("a0", Reasoning, None, "Hello.")], "Hello."), 1);
    assert_eq!(of(&[text("a0", Text, Some("call"), "Hello.")], "Hello."), 1);
    assert_eq!(of(&[plain, called("call")], "Hello."), 2);
}

#[test]
fn text_and_reasoning_are_kept_up_to_their_limits() {
    let room = KEPT_BYTES - PART_BYTES;
    for kind in [Text, Reasoning] {
        let mut shown = Shown::default();
        shown.add([text("a0", kind, None, &"x".repeat(room - 2)), text("a0", kind, None, "yy")]);
        assert!(lines(&shown)[0].ends_with("xyy"), "all of it fits");
        shown.add([text("a0", kind, None, "z")]);
        assert!(lines(&shown)[0].ends_with("xyy!"), "the next byte is left out");

        let mut shown = Shown::default();
        shown.add([text("a0", kind, None, &"x".repeat(room - 1)), text("a0", kind, None, "ü")]);
        assert!(lines(&shown)[0].ends_with("x!"), "no character is split");
        shown.add([text("a1", kind, None, "a further part")]);
        let other = if kind == Text { Reasoning } else { Text };
        shown.add([text("a2", other, None, "of the other kind"), called("call")]);
        assert_eq!(shown.parts().len(), 3);
    }
    // A part without room leaves its mark at the one before it.
    let mut shown = Shown::default();
    shown.add([text("a0", Text, None, &"x".repeat(room - 10)), text("a1", Text, None, "none")]);
    assert!(lines(&shown)[0].ends_with("x!"));
}

#[test]
fn the_number_of_parts_is_bounded() {
    let mut shown = Shown::default();
    for number in 0..20_000 {
        shown.add([text(&format!("a{number}"), Text, None, "x")]);
    }
    assert_eq!(shown.parts().len(), KEPT_BYTES / (PART_BYTES + 1));
}

// Issue 19, item 1.
#[test]
fn the_sources_of_calls_are_kept_up_to_their_limit() {
    let sources = |shown: &Shown| -> Vec<usize> {
        let calls = shown.parts().into_iter().map(|part| match part {
            MessagePart::Call { sources, .. } => sources.len(),
            other => panic!("{other:?}"),
        });
        calls.collect()
    };
    let found = |id: &str, titles: Vec<String>| PartChange::Ended {
        tool_call_id: id.to_owned(),
        result: None,
        sources: titles.into_iter().map(|title| Source { title }).collect(),
    };
    let title = "x".repeat(420);
    let most = SOURCES_BYTES / (420 + PART_BYTES);
    let mut shown = Shown::default();
    shown.add([called("a"), called("b"), called("c")]);
    shown.add([found("b", vec![title.clone(); most]), found("nowhere", vec![title.clone()])]);
    assert_eq!(sources(&shown), [0, most, 0], "up to the limit, at their call");
    shown.add([found("b", vec![title.clone()]), found("a", vec![title.clone(), String::new()])]);
    assert_eq!(sources(&shown), [0, most, 0], "a call ends once, and the next source finds no room");
    let mut shown = Shown::default();
    shown.add([called("a"), called("b"), called("c")]);
    shown.add([found("b", vec![title.clone(); most - 1]), found("c", vec![title.clone(), title])]);
    assert_eq!(sources(&shown), [0, most - 1, 1]);
}

/// The characters of the arguments and of the result of each call.
fn details(shown: &Shown) -> Vec<(usize, usize)> {
    let chars = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    let calls = shown.parts().into_iter().filter_map(|part| match part {
        MessagePart::Call { args, result, .. } => Some((chars(&args), chars(&result))),
        _ => None,
    });
    calls.collect()
}

/// The start of a call with this argument, or its end with this result.
fn updated(id: &str, status: CallStatus, text: String) -> Option<PartChange> {
    let (args, result) = match status {
        CallStatus::Start => (Some(serde_json::Value::String(text)), None),
        CallStatus::End => (None, Some(text)),
    };
    PartChange::event(&Event::ToolCallUpdate {
        tool_call_id: id.to_owned(),
        name: "fetch_page".to_owned(),
        status,
        started_ms: None,
        args,
        result,
        is_error: false,
        duration_ms: None,
        usage: None,
        decision: None,
        cost_usd: None,
        sources: Vec::new(),
        awaits: None,
        expires_at: None,
        place: Place::default(),
    })
}

/// Calls with so many characters of arguments and of results.
fn played(calls: &[(&str, usize, usize)]) -> Shown {
    let mut shown = Shown::default();
    for (id, args, result) in calls {
        shown.add(updated(id, CallStatus::Start, "ü".repeat(*args)));
        shown.add(updated(id, CallStatus::End, "ü".repeat(*result)));
    }
    shown
}

// Issue 19, item 1.
#[test]
fn the_arguments_and_results_of_calls_are_kept_up_to_their_limit() {
    // Two quotation marks stand around these arguments.
    let short = played(&[("a", LONG_ARGS - 2, PREVIEW_CHARS), ("b", LONG_ARGS - 1, PREVIEW_CHARS + 1)]);
    assert_eq!(
        details(&short),
        [(0, 0), (LONG_ARGS + 1, PREVIEW_CHARS + 1)],
        "the tree has the short ones whole"
    );
    let long = played(&[("a", DETAIL_CHARS - 2, DETAIL_CHARS), ("b", DETAIL_CHARS - 1, DETAIL_CHARS + 1)]);
    assert_eq!(details(&long), [(DETAIL_CHARS, DETAIL_CHARS); 2]);
    let texts: Vec<String> = long
        .parts()
        .into_iter()
        .flat_map(|part| match part {
            MessagePart::Call { args, result, .. } => [args.unwrap(), result.unwrap()],
            other => panic!("{other:?}"),
        })
        .collect();
    let ends: String = texts.iter().filter_map(|text| text.chars().last()).collect();
    assert_eq!(ends, "\"ü……", "cut just beyond the limit");

    let most = DETAILS_BYTES / (2 * DETAIL_CHARS);
    let ids: Vec<String> = (0..=most).map(|number| number.to_string()).collect();
    let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), 0, DETAIL_CHARS)).collect();
    let mut shown = played(&calls);
    let kept = details(&shown);
    assert!(kept[..most].iter().all(|(_, result)| *result == DETAIL_CHARS) && kept[most].1 == 0, "{kept:?}");
    // The room that is left.
    let left = DETAILS_BYTES % (2 * DETAIL_CHARS);
    shown.add([called("b"), called("c")].into_iter().chain(updated("b", CallStatus::End, "x".repeat(left))));
    shown.add(updated("c", CallStatus::End, "x".repeat(PREVIEW_CHARS + 1)));
    assert_eq!(details(&shown)[most + 1..], [(0, left), (0, 0)]);
}

// Issue 19, item 1: the result of a subtask is the last text of its level.
#[test]
fn a_result_that_repeats_a_text_is_not_kept_twice() {
    let ended = |text: &str| PartChange::Ended {
        tool_call_id: "call".to_owned(),
        result: Some(format!("{text}…")),
        sources: Vec::new(),
    };
    let of = |result: &str| {
        let mut shown = Shown::default();
        let said = text("a0", Text, Some("call"), "First. And more.");
        shown.add([called("call"), text("b0", Text, Some("call"), "Before."), said, ended(result)]);
        match shown.parts().into_iter().next() {
            Some(MessagePart::Call { result, .. }) => result,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((of("First."), of("Before.").as_deref()), (None, Some("Before.…")));
}
