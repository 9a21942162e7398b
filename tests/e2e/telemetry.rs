//! Turns as spans of OpenTelemetry, told to a strict collector of ours that refuses the first export.
//!
//! Issue 23, 10

use std::collections::{BTreeMap, BTreeSet};

use espalier_test_support::case::first;
use espalier_test_support::fake_llm::Outcome;
use espalier_test_support::stored::eventually;
use espalier_test_support::{Case, Client, Value, call, calls, env, json, text};

/// Where `OTEL_EXPORTER_OTLP_ENDPOINT` of the instance leads (`variables.rs`).
const COLLECTOR: &str = "/_fake/hooks/otlp/v1/traces";

/// Each export, and whether the collector took it.
async fn exports(case: &Case) -> Vec<(Value, bool)> {
    let requests = case.llm.requests(COLLECTOR).await.requests;
    requests.into_iter().map(|record| (record.body, record.outcome == Outcome::Finished)).collect()
}

/// The spans of an export. Panics where it is not what the protocol wants.
fn spans(export: &Value) -> Vec<BTreeMap<String, Value>> {
    let only = |value: &Value, member: &str| {
        let list = value[member].as_array().unwrap_or_else(|| panic!("no {member}: {value}"));
        assert_eq!(list.len(), 1, "{member}");
        list[0].clone()
    };
    let scope = only(&only(export, "resourceSpans"), "scopeSpans");
    let spans: Vec<BTreeMap<String, Value>> = serde_json::from_value(scope["spans"].clone()).expect("spans");
    let known: BTreeSet<&str> = [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ]
    .into();
    let is_hex = |value: &Value, digits: usize| {
        value.as_str().is_some_and(|id| id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    for span in &spans {
        assert!(span.keys().all(|member| known.contains(member.as_str())), "{span:?}");
        assert!(is_hex(&span["traceId"], 32) && is_hex(&span["spanId"], 16), "{span:?}");
        assert!(span.get("parentSpanId").is_none_or(|id| is_hex(id, 16)), "{span:?}");
        let time = |member: &str| span[member].as_str().and_then(|text| text.parse::<u64>().ok());
        let (start, end) = (time("startTimeUnixNano"), time("endTimeUnixNano"));
        assert!(start.is_some_and(|start| start > 1_700_000_000_000_000_000) && start <= end, "{span:?}");
        for attribute in span["attributes"].as_array().expect("attributes") {
            let value = attribute["value"].as_object().expect("a value");
            let is_value = |(kind, value): (&String, &Value)| match kind.as_str() {
                "stringValue" => value.is_string(),
                "intValue" => value.as_str().is_some_and(|text| text.parse::<i64>().is_ok()),
                "doubleValue" => value.is_number(),
                "arrayValue" => value["values"].is_array(),
                _ => false,
            };
            assert!(value.len() == 1 && value.iter().all(is_value), "{attribute}");
        }
    }
    spans
}

fn attribute(span: &BTreeMap<String, Value>, key: &str) -> Value {
    let all = span["attributes"].as_array().expect("attributes").iter();
    let mut found = all.filter(|one| one["key"] == key).filter_map(|one| one["value"].as_object());
    found.next().and_then(|value| value.values().next().cloned()).unwrap_or_default()
}

// Long: one turn, whose spans are compared in many ways.
#[tokio::test]
async fn a_finished_turn_reaches_the_collector_at_least_once_and_without_its_words() {
    let client = Client::anonymous_at(&env("ESPALIER_VISITORS_URL")).await;
    let case = Case::of(client.with("cf-connecting-ip", "203.0.113.77"));
    case.script("", [calls([case.subtask("A private title", "a")]), text("A private answer.")]).await;
    case.script("a", [call("calculate", json!({ "expression": "6*7" })), text("42.")]).await;
    let events = case.chat("A private question").await;
    let turn = first(&events, "session").text("turn_id").to_owned();
    let of_turn = |spans: &[BTreeMap<String, Value>]| -> Option<Value> {
        let root = spans.iter().find(|span| attribute(span, "espalier.turn_id") == turn.as_str())?;
        Some(root["traceId"].clone())
    };
    let told = eventually("the collector took the turn", || async {
        let taken = exports(&case).await.into_iter().filter(|(_, taken)| *taken);
        taken.map(|(export, _)| export).find(|export| of_turn(&spans(export)).is_some())
    })
    .await;
    let trace = of_turn(&spans(&told));
    let mut mine = spans(&told);
    mine.retain(|span| Some(&span["traceId"]) == trace.as_ref());
    let names: Vec<_> = mine.iter().map(|span| span["name"].as_str().unwrap_or_default()).collect();
    let model = mine[1]["name"].clone();
    let model = model.as_str().expect("a name");
    assert!(model.starts_with("chat "), "{model}");
    let expected = [
        "invoke_agent espalier",
        model,
        model,
        model,
        model,
        "execute_tool run_subtask",
        "execute_tool calculate",
    ];
    assert_eq!(names, expected);
    let id_of = |name: &str| mine.iter().find(|span| span["name"] == name).map(|span| span["spanId"].clone());
    let parents = |name: &str| -> Vec<Option<Value>> {
        let named = mine.iter().filter(|span| span["name"] == name);
        named.map(|span| span.get("parentSpanId").cloned()).collect()
    };
    let (root, subtask) = (id_of("invoke_agent espalier"), id_of("execute_tool run_subtask"));
    assert_eq!(parents("execute_tool calculate"), std::slice::from_ref(&subtask));
    assert_eq!(parents("execute_tool run_subtask"), std::slice::from_ref(&root));
    let of_models: BTreeSet<String> = parents(model).iter().map(|id| format!("{id:?}")).collect();
    assert_eq!(of_models, [&root, &subtask].map(|id| format!("{id:?}")).into());
    for call in mine.iter().filter(|span| span["name"] == model) {
        let told = ["gen_ai.operation.name", "gen_ai.provider.name", "espalier.operation_type"];
        let told = told.map(|key| attribute(call, key));
        let work = if call.get("parentSpanId") == root.as_ref() { "chat" } else { "subtask" };
        assert_eq!(told, ["chat", "openai", work]);
    }
    let words = told.to_string();
    for word in ["private", "6*7", "42."] {
        assert!(!words.contains(word), "{word} is in {words}");
    }

    // The first export of the instance was refused. Its turn came again, with the same ids.
    let ids = |export: &Value| -> BTreeSet<String> {
        spans(export).iter().map(|span| format!("{}{}", span["traceId"], span["spanId"])).collect()
    };
    eventually("the refused turn came again", || async {
        let all = exports(&case).await;
        let (refused, is_taken) = all.first()?;
        assert!(!is_taken, "the collector refuses the first one");
        let refused = ids(refused);
        let taken: BTreeSet<String> =
            all.iter().filter(|(_, taken)| *taken).flat_map(|(export, _)| ids(export)).collect();
        refused.is_subset(&taken).then_some(())
    })
    .await;
}
