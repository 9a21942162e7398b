//! Turns that wait for the client, or for a person at it.

use serde_json::{Value, json};

use super::client::{Client, frames};
use super::encoding::{call, encoded, numbered, part, session, texts, whole};
use crate::Encode;
use crate::ai_sdk::Encoder;
use crate::recorded::{turn, turns};
use wire::protocol::{AgentState, CallStatus, Decision, Event, Numbered, Place, Seq};

/// The places at which a turn is parked: how many of its events come before.
fn parkings(events: &[Numbered]) -> Vec<usize> {
    let waits =
        |event: &Numbered| matches!(event.event, Event::AgentState { state: AgentState::WaitingOnUser, .. });
    (1..=events.len()).filter(|at| waits(&events[at - 1])).collect()
}

// Issue 22
#[test]
fn a_client_that_answers_a_parked_turn_reads_on_where_it_was() {
    let mut seen = 0;
    for (name, events) in turns() {
        let mut known = 0;
        let mut client = Client::default();
        for parked in parkings(&events) {
            seen += 1;
            client = client.read(&frames(&encoded(&events[..parked], known, true)));
            assert_eq!((client.finish.as_deref(), client.is_done), (Some("tool-calls"), true), "{name}");
            let waits =
                |part: &Value| part["state"] == "approval-requested" || part["state"] == "input-available";
            assert!(client.parts.iter().any(waits), "{name}");
            assert!(!client.sends(), "{name}: it would send again and again until somebody answers");
            known = client.metadata["seq"].as_u64().unwrap();
            client = client.answers();
            assert!(client.sends(), "{name}: {:#?}", client.parts);
        }
        client = client.read(&frames(&encoded(&events, known, false)));
        assert!(!client.sends(), "{name}: no call waits for it: {:#?}", client.parts);
        let expected = whole(&events);
        assert_eq!(texts(&client), texts(&expected), "{name}");
        let states = |client: &Client| {
            let tools = client.parts.iter().filter(|part| part["toolCallId"].is_string());
            tools
                .map(|part| (part["type"].clone(), part["state"].clone(), part["output"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(states(&client), states(&expected), "{name}");
        assert_eq!(client.metadata, expected.metadata, "{name}");
    }
    assert!(seen >= 7, "{seen}");
}

#[test]
fn a_clients_tool_that_has_its_result_does_not_run_again_in_a_replay() {
    let events = turn("client-tool");
    let first = events.first().unwrap().seq;
    let runs = |events: &[Numbered], past: Seq| {
        let (mut encoder, mut out) = (Encoder::new(0, past), Vec::new());
        events.iter().for_each(|event| encoder.encode(event, 0, &mut out).unwrap());
        let told = frames(&out);
        let available = told.iter().flatten().filter(|frame| frame["type"] == "tool-input-available");
        let runs = available.filter(|frame| frame["toolName"] == "getWeather").count();
        (runs, Client::default().read(&told).parts)
    };
    let ends = |event: &Numbered| match &event.event {
        Event::ToolCallUpdate { status: CallStatus::End, name, .. } => name == "ui_get_weather",
        _ => false,
    };
    let ended = events.iter().find(|event| ends(event)).unwrap().seq;
    let (once, expected) = runs(&events, 0);
    assert_eq!(once, 1);
    for past in first..=events.last().unwrap().seq {
        let (again, parts) = runs(&events, past);
        assert_eq!((again, &parts), (usize::from(past < ended), &expected), "{past}");
    }
    // The turn is parked, and the client that ran the tool is gone.
    let parked = parkings(&events)[0];
    assert_eq!(runs(&events[..parked], events[parked - 1].seq).0, 1);
}

#[test]
fn a_part_is_the_services_once_a_person_has_decided() {
    let decided = |name: &str, kind: &str, by_client: bool| {
        let mut events = turn(name);
        for numbered in &mut events {
            if let Event::ApprovalRequest { by_client: carried_out, .. } = &mut numbered.event {
                *carried_out = by_client;
            }
        }
        let asked = parkings(&events).into_iter().next_back().unwrap();
        let (before, after) =
            (Client::default().read(&frames(&encoded(&events[..asked], 0, true))), whole(&events));
        let own = |client: &Client| part(client, kind)["providerExecuted"].clone();
        (part(&before, kind)["input"].is_object(), own(&before), own(&after))
    };
    let (theirs, ours) = (Value::Null, json!(true));
    for (name, kind, by_client, expected) in [
        ("approval", "tool-write", false, &ours),
        ("approval", "tool-write", true, &theirs),
        ("denial", "tool-write", false, &ours),
        ("denial", "tool-write", true, &ours),
        ("limit", "tool-raise_limit", false, &ours),
    ] {
        assert_eq!(
            decided(name, kind, by_client),
            (true, theirs.clone(), expected.clone()),
            "{name} {by_client}"
        );
    }
}

// A form has no part that a response could belong to.
#[test]
fn the_decision_on_a_form_is_not_told() {
    let resolved = Event::ApprovalResolved {
        approval_id: "approval".to_owned(),
        tool_call_id: "call-0".to_owned(),
        decision: Decision::Approve,
        place: Place::default(),
    };
    let start = call(2, CallStatus::Start, Place::default(), Vec::new());
    let events = [session(Vec::new()), start, numbered(3, resolved)];
    let told = frames(&encoded(&events, 0, false));
    assert_eq!(told.last().unwrap().as_ref().unwrap()["type"], "tool-input-available");
}
