//! Tests of the judges: the violations that they must find, and the cases that they must accept.

use espalier_test_support::{Event, Value, json};

use crate::journeys;
use crate::ledger::{Death, Ledger};
use crate::script::{self, Shape};
use crate::view::View;

const MARKER: &str = "parallel#7";

/// A ledger in its first life, with a first call of the model.
fn called() -> Ledger {
    let ledger = Ledger::default();
    ledger.ordered(7, "a");
    let life = ledger.born();
    ledger.model_called(life, MARKER, 0);
    ledger
}

fn verdict(ledger: &Ledger) -> String {
    ledger.violations().join("; ")
}

#[test]
fn a_model_call_may_be_made_again_only_after_a_death() {
    let ledger = called();
    ledger.model_called(1, MARKER, 0);
    assert!(verdict(&ledger).contains("no death excuses it"));

    let ledger = called();
    ledger.killed();
    let life = ledger.born();
    ledger.model_called(life, MARKER, 0);
    assert_eq!(verdict(&ledger), "");
    let counts = ledger.counts();
    assert_eq!((counts.model_repeated, counts.under_way, counts.kills_over), (1, 1, 0));
    // The same death excuses it once.
    ledger.model_called(life, MARKER, 0);
    assert!(verdict(&ledger).contains("no death excuses it"));
}

#[test]
fn no_death_excuses_a_repetition_of_a_journaled_call() {
    type Evidence = fn(&Ledger);
    let evidence: [(Evidence, &str); 3] = [
        (|ledger| assert_eq!(ledger.model_called(1, MARKER, 1), 0), "the step after it was asked"),
        (|ledger| ledger.effect(1, "op", "record_again", "parallel#7.0.2"), "its tools had run"),
        (|ledger| ledger.model_journaled(7, MARKER, 0), "a client had seen its end"),
    ];
    for (happens, why) in evidence {
        let ledger = called();
        happens(&ledger);
        ledger.killed();
        let life = ledger.born();
        ledger.model_called(life, MARKER, 0);
        assert!(verdict(&ledger).contains(why), "{why}: {}", verdict(&ledger));
    }
}

#[test]
fn a_provider_that_refused_may_be_asked_again() {
    let ledger = called();
    ledger.model_refused(MARKER, 0, 0);
    ledger.model_called(1, MARKER, 0);
    assert_eq!(verdict(&ledger), "");
}

#[test]
fn a_side_effect_may_be_repeated_if_it_is_idempotent_and_was_cut_off() {
    let again = |tool: &str, seal: bool, dies: bool| {
        let ledger = called();
        ledger.effect(1, "op", tool, "parallel#7.0.2");
        if seal {
            ledger.seal(7, "op");
        }
        if dies {
            ledger.struck(Death::Abort, Some(7));
        }
        ledger.effect(1, "op", tool, "parallel#7.0.2");
        verdict(&ledger)
    };
    assert_eq!(again("record_again", false, true), "");
    assert!(again("record_again", false, false).contains("no death excuses it"));
    assert!(again("record_again", true, true).contains("a client had seen its end"));
    assert!(again("record_once", false, true).contains("not idempotent ran twice"));
}

// Issue 19, 4
#[test]
fn a_continuation_that_runs_a_finished_call_is_found() {
    let ledger = called();
    ledger.effect(1, "op", "record_again", "parallel#7.0.2");
    ledger.forget(7);
    ledger.killed();
    let life = ledger.born();
    ledger.effect(life, "op of another turn", "record_again", "parallel#7.0.2");
    assert!(verdict(&ledger).contains("a turn made a call again"), "{}", verdict(&ledger));
}

#[test]
fn a_continuation_makes_the_calls_that_it_knows_nothing_of() {
    let labels = |results: &[&str]| {
        let messages: Vec<Value> =
            results.iter().map(|content| json!({ "role": "tool", "content": content })).collect();
        let step =
            script::continued("limited#7", script::CONTINUED_STEP, &json!({ "messages": messages })).unwrap();
        let label = |call: &espalier_test_support::fake_llm::Call| {
            call.arguments["label"].as_str().map(str::to_owned)
        };
        step.calls.iter().filter_map(label).collect::<Vec<_>>()
    };
    let within =
        "It had this so far: record_once({\"label\":\"limited/a#7.0.0\"}) limited/a#7.0.1 limited/a#7.0.2";
    assert_eq!(labels(&["The call was not made. Enough.", within]), ["limited#7.0.0", "limited/a#7.0.3"]);
    assert_eq!(labels(&["marked limited#7.0.0", within]), ["limited/a#7.0.3"]);
    assert_eq!(
        labels(&["its result is unknown", "stopped"]).len(),
        4,
        "nothing is known of the subtask's calls"
    );
    assert!(script::continued("parallel#7", 2, &json!({ "messages": [] })).is_none());
}

#[test]
fn an_abort_excuses_the_turns_of_its_own_thread_alone() {
    let struck = |thread: &str| {
        let ledger = called();
        ledger.ordered(6, thread);
        // The abort struck the turn before this one, which took its place.
        ledger.struck(Death::Abort, Some(6));
        ledger.model_called(1, MARKER, 0);
        verdict(&ledger)
    };
    assert_eq!(struck("a"), "");
    assert!(struck("b").contains("no death excuses it"));
}

// Issue 41: on a slow machine kills met each attempt to take a turn up.
#[test]
fn a_turn_is_on_hold_only_after_deaths_that_cut_off_two_attempts() {
    let problem =
        json!({ "code": "turn_on_hold", "detail": format!("the turn {} cannot go on", script::turn_id(7)) });
    assert_eq!(script::turn_on_hold(problem.to_string().as_bytes()), Some(7));
    let other = json!({ "code": "misconfigured", "detail": script::turn_id(7) });
    assert_eq!(script::turn_on_hold(other.to_string().as_bytes()), None);
    let ledger = called();
    ledger.ordered(6, "b");
    ledger.killed();
    ledger.killed();
    ledger.struck(Death::Abort, Some(6));
    ledger.on_hold(7);
    assert!(verdict(&ledger).contains("turn 7 was on hold after 2 deaths"));
    let ledger = called();
    (0..3).for_each(|_| ledger.killed());
    ledger.on_hold(7);
    assert_eq!((verdict(&ledger), ledger.counts().holds), (String::new(), 1));
    let life = ledger.born();
    ledger.model_called(life, MARKER, 0);
    ledger.on_hold(7);
    assert!(verdict(&ledger).contains("turn 7 was on hold after 0 deaths"));
}

#[test]
fn the_id_of_a_model_call_gives_its_marker_and_step() {
    let called = |id: &str| script::called(Shape::Whole, 7, id);
    assert_eq!(called("model_af_1"), Some(("whole#7".to_owned(), 1)));
    assert_eq!(called("model_af_0.1-0"), Some(("whole/a#7".to_owned(), 0)));
    assert_eq!(called("model_af_0.1-0.0-1"), Some(("whole/a/c#7".to_owned(), 1)));
    assert_eq!(called("model_af_0.0-0"), None, "the first call is no subtask");
    let called = |id: &str| script::called(Shape::Plans, 7, id);
    assert_eq!(called("model_af_0.0-plan-0"), Some(("plans/p#7".to_owned(), 0)));
    assert_eq!(called("model_af_0.0-w0.1-0"), Some(("plans/b#7".to_owned(), 0)));
    assert_eq!(called("model_af_0.0-w1.0-1"), Some(("plans/c#7".to_owned(), 1)));
    assert_eq!(called("model_af_0.0-w1.1-0"), None, "its second wave has one step");
}

// Issue 19, 3
#[test]
fn a_summary_is_the_same_for_the_same_question_and_is_asked_for_once() {
    let request = |system: &str, question: &str| {
        let message = |role: &str, content: &str| json!({ "role": role, "content": content });
        json!({ "messages": [message("system", system), message("user", question)] })
    };
    let asks = |question: &str| {
        script::summary(&request("You summarise the earlier part of a conversation between …", question))
    };
    let summary = asks("<messages>\n[[fake:long#7]]").unwrap().concat();
    assert_eq!(asks("<messages>\n[[fake:long#7]]").unwrap().concat(), summary);
    assert_ne!(asks("<messages>\n[[fake:long#8]]").unwrap().concat(), summary);
    assert_eq!(script::summary(&request("You help.", "You summarise")), None);
    let told = request("You help.", &format!("<conversation_summary>\n{summary}\n</conversation_summary>"));
    assert_eq!(script::used_summary(&told), Some(summary.clone()));
    let said = |body: &Value| script::reply_to("long#7", 1, body).unwrap().text.concat();
    assert_ne!(said(&told), said(&request("You help.", "Go on.")));

    let ledger = Ledger::default();
    ledger.summary_used(&summary);
    assert!(verdict(&ledger).contains("no model wrote"));
    let ledger = Ledger::default();
    assert_eq!((ledger.summary_asked(&summary), ledger.summary_asked(&summary)), (0, 1));
    ledger.summary_used(&summary);
    ledger.summary_seen(&summary);
    assert_eq!(verdict(&ledger), "");
    ledger.summary_asked(&summary);
    assert!(verdict(&ledger).contains("a client had seen it"));
}

fn event(seq: u64, kind: &str, data: Value) -> Event {
    Event { seq, kind: kind.to_owned(), data }
}

fn view(events: &[Event], cursor: u64) -> View {
    let mut view = View::default();
    events.iter().for_each(|event| view.take(event.clone(), cursor));
    view
}

#[test]
fn a_view_is_compared_as_a_client_reads_it() {
    let chunk = |seq, text: &str| event(seq, "chunk", json!({ "model_call_id": "m", "content": text }));
    let reset = event(4, "model_call_reset", json!({ "model_call_id": "m" }));
    let done = event(9, "done", json!({}));
    let uncut = view(&[reset.clone(), chunk(5, "b"), done.clone()], 0);

    let same = view(&[chunk(2, "a"), reset.clone(), chunk(5, "b"), done.clone()], 0).compare(&uncut);
    assert!(same.other.is_empty() && same.missing.is_empty(), "the reset parts are dropped");
    let stale = view(&[chunk(2, "a"), chunk(5, "b"), done.clone()], 0).compare(&uncut);
    assert_eq!((stale.other.len(), stale.missing.len()), (1, 1), "a chunk too many, the reset missing");
    let hole = view(&[reset.clone(), done.clone()], 0).compare(&uncut);
    assert_eq!((hole.other.len(), hole.missing.len()), (0, 1));
    let other = view(&[reset, chunk(5, "c"), done], 0).compare(&uncut);
    assert_eq!((other.other.len(), other.missing.len()), (1, 0));
}

#[test]
fn repeated_events_and_taken_numbers_are_counted() {
    let first = event(3, "done", json!({}));
    assert_eq!(view(std::slice::from_ref(&first), 3).duplicates, 1);
    assert_eq!(view(std::slice::from_ref(&first), 2).duplicates, 0);
    assert_eq!(view(&[first.clone(), event(3, "error", json!({}))], 0).conflicts, 1);
    assert_eq!(view(&[first.clone(), first], 0).conflicts, 0);
}

#[test]
fn a_wrong_answer_to_the_model_is_found() {
    let call = |id: &str, name: &str, label: &str| json!({ "id": id, "function": { "name": name, "arguments": json!({ "label": label }).to_string() } });
    let result = |id: &str, content: &str| json!({ "role": "tool", "tool_call_id": id, "content": content });
    let told = |content: &str| {
        let calls =
            [call("a", "ui_pick", "asks#7.0.1"), call("b", "ui_pick", "asks#6.0.1"), call("c", "once", "x")];
        let assistant = json!({ "role": "assistant", "tool_calls": calls });
        let body = json!({ "messages": [assistant, result("a", content), result("b", "unknown")] });
        script::untrue("asks#7", &body)
    };
    assert_eq!(told("picked asks#7.0.1"), Vec::<String>::new(), "another turn may have been stopped");
    assert_eq!(told("unknown").len(), 1);
}

// Issue 20, section 3: a hook that fails open is a violation.
#[test]
fn a_guarded_call_must_be_blocked() {
    let request = |told: &str| {
        let call = script::reply("guarded#7", 0).unwrap().calls.remove(0);
        let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
        json!({ "messages": [
            { "role": "assistant", "tool_calls": [{ "id": "c", "type": "function", "function": function }] },
            { "role": "tool", "tool_call_id": "c", "content": told },
        ] })
    };
    for blocked in ["not today", "it gave no verdict: its model failed (provider_overloaded)"] {
        let told = format!("Error: blocked by hook guard: {blocked}");
        assert_eq!(script::untrue("guarded#7", &request(&told)), Vec::<String>::new());
    }
    assert_eq!(script::untrue("guarded#7", &request("Error: there is no such key")).len(), 1);
    // The call of another turn may have been stopped.
    assert_eq!(script::untrue("guarded#8", &request("stopped")), Vec::<String>::new());
    let called = |id: &str| script::called(Shape::Guarded, 7, id);
    assert_eq!(called("model_af_0.0h0-hook-0"), Some(("guarded/judge#7".to_owned(), 0)));
    assert_eq!(called("model_af_1.0h0-hook-1"), Some(("guarded/mute#7".to_owned(), 1)));
}

// Issue 20, section 2: each agent has heard what was said, once and in order.
#[test]
fn a_transcript_must_have_what_was_said() {
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    let said = |who: &str| {
        let last = (0..).map_while(|step| script::reply(&format!("talks/{who}#7"), step)).last();
        last.unwrap().text.concat().trim_end().to_owned()
    };
    let request = |questions: &[&str]| {
        let mut messages = vec![message("system", "You speak. [[speaker:talks/b#7]]")];
        for (index, question) in questions.iter().enumerate() {
            if index > 0 {
                messages.push(message("assistant", "b 0. "));
                messages.push(message("assistant", &said(&format!("b{index}"))));
            }
            messages.push(message("user", question));
        }
        json!({ "messages": messages })
    };
    let of_a = |text: &str| format!("<speaker name=\"a-7\">\n{text}\n</speaker>");
    let first = format!("Apples?\n\n{}", of_a(&said("a2")));
    let whole = request(&[&first, &of_a(&said("a3"))]);
    assert_eq!(script::talk::place(&whole), Some(("talks/b2#7".to_owned(), 0)));
    let heard = [("talks/a2#7", 1), ("talks/b1#7", 1), ("talks/a3#7", 0)];
    let heard = heard.map(|(marker, step)| (marker.to_owned(), step)).to_vec();
    assert_eq!(script::talk::judged(&whole), (Vec::new(), heard));
    let failed = format!("Apples?\n\n{}", of_a("[I could not answer: provider_overloaded: it is busy]"));
    assert_eq!(script::talk::judged(&request(&[&failed])).0, Vec::<String>::new());
    let twice = format!("{first}\n\n{}", of_a(&said("a2")));
    for question in ["Apples?", &of_a("Something else."), "It is your turn to speak.", &twice] {
        assert_eq!(script::talk::judged(&request(&[question])).0.len(), 1, "{question}");
    }
    let called = |id: &str| script::called(Shape::Talks, 7, id);
    assert_eq!(called("model_af_1.0-d1.0-1"), Some(("talks/b1#7".to_owned(), 1)));
    assert_eq!(called("model_af_3.1-d0.0-0"), Some(("talks/c1#7".to_owned(), 0)));
    assert_eq!(called("model_af_1.0-d0.0-0.0h0-hook-0"), Some(("talks/a2/judge#7".to_owned(), 0)));
}

// Issue 21: the reply of a session's turn goes by the step that its request names, in a turn that goes on as well.
#[test]
fn a_request_of_a_session_names_its_step() {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    let body = |messages: Vec<Value>| json!({ "messages": messages });
    let at_first = vec![user("Do your part. [[fake:steps#7]]"), user("Step 1 of 3: Part 1\n\nDo it.")];
    let place = |messages: &[Value]| script::talk::place(&body(messages.to_vec()));
    assert_eq!(place(&at_first), Some(("steps/s1#7".to_owned(), 0)));
    let later =
        vec![at_first[0].clone(), user("Step 1 of 3: Part 1"), said("Notes."), user("Step 2 of 3: Part 2")];
    assert_eq!(place(&later), Some(("steps/s2#7".to_owned(), 0)));
    let again = [&later[..], &[said("")]].concat();
    assert_eq!(place(&again), Some(("steps/s2#7".to_owned(), 1)));
    let names = |messages: &[Value]| {
        let (marker, step) = place(messages).unwrap();
        let reply = script::reply_to(&marker, step, &body(messages.to_vec())).unwrap();
        reply.calls.into_iter().map(|call| call.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&at_first), ["record_once", "record_again", "complete_step"]);
    assert_eq!(names(&again), ["__step_output__"]);
    let done = [&later[..3], &[user("All steps of the procedure are done. Tell the user.")]].concat();
    assert_eq!(names(&done), Vec::<String>::new());
}

// Issue 46, 1: a request after a verdict shows that the journal has it, so a repetition has no excuse.
#[test]
fn a_request_after_a_verdict_shows_it() {
    let early = "verifier/early#7";
    assert_eq!(journeys::journaled_level("verifier/a#7", 1).as_deref(), Some(early));
    assert_eq!(journeys::journaled_level("verifier/a#7", 0), None);
    assert_eq!(journeys::journaled_level("restore/again#7", 1), None);
    let ledger = Ledger::default();
    ledger.ordered(7, "a");
    let life = ledger.born();
    ledger.model_called(life, early, 0);
    ledger.model_heard(early, 0);
    ledger.killed();
    ledger.model_called(ledger.born(), early, 0);
    assert_eq!(verdict(&ledger), format!("{early}: step 0 was asked again although a request had shown it"));
}
