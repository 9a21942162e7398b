//! The spans of turns, the variables, and what is sent. Issue 23, 10

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use engine::journal::CallRecord;
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use futures::stream::empty;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use wire::http::{Http, HttpReply, HttpRequest, Unreachable};
use wire::protocol::{StoredMessage, TreeNode};

use super::{Config, Finished, export, send};

fn config(more: &[(&str, &str)]) -> Result<Option<Config>, String> {
    let vars: BTreeMap<&str, &str> = more.iter().copied().collect();
    Config::from_env(|name| vars.get(name).map(|value| (*value).to_owned()))
}

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel.example/in?key=1");

/// A turn with a subtask that calls a tool, which fails.
fn message(finish_reason: &str) -> StoredMessage {
    let usage = json!({ "input_tokens": 100, "cached_tokens": 20, "output_tokens": 7 });
    let model = |id: &str, parent: Value, started_ms: u64| {
        json!({ "id": id, "parent_id": parent, "model": "big-1",
        "started_ms": started_ms, "duration_ms": 100, "usage": usage, "cost_usd": 0.5, "finish_reason": "tool_calls" })
    };
    let read = json!({
        "id": "m", "turn_id": "t", "role": "assistant", "content": "A secret answer", "created_at": 5_000,
        "finish_reason": finish_reason, "stop": { "code": "budget_exceeded", "message": "secret" },
        "usage": { "llm_calls": 2, "tool_calls": 2, "subtasks": 1, "input_tokens": 200, "cached_tokens": 40,
            "output_tokens": 14, "cost_usd": 1.0, "by_model": {} },
        "execution_tree": {
            "version": 1,
            "nodes": [
                { "id": "sub", "parent_id": null, "name": "run_subtask", "title": "A secret title",
                    "args_preview": "secret", "started_ms": 150, "duration_ms": 700 },
                { "id": "calc", "parent_id": "sub", "name": "calculate", "args_preview": "{\"expression\":\"secret\"}",
                    "result_preview": "secret", "is_error": true, "started_ms": 300, "duration_ms": 5 },
            ],
            "model_calls": [model("m1", json!(null), 10), model("m2", json!("sub"), 200)],
        },
    });
    serde_json::from_value(read).unwrap()
}

/// The rows of these model calls, of which the second was lost once.
fn calls() -> Vec<CallRecord> {
    let call = |id: &str, outcome: &str| CallRecord::Model {
        id: id.to_owned(),
        provider: "gemini".to_owned(),
        model: "big-1".to_owned(),
        operation_type: "chat".to_owned(),
        profile: String::new(),
        input_tokens: 100,
        cached_tokens: 20,
        output_tokens: 7,
        cost_usd: None,
        first_byte_ms: None,
        duration_ms: 100,
        retries: 0,
        outcome: outcome.to_owned(),
    };
    vec![
        call("m1_0", "ok"),
        call("m2_1", "interrupted"),
        call("m2_2", "provider_overloaded"),
        call("m2_x", "ok"),
    ]
}

fn finished<'a>(message: &'a StoredMessage, calls: &'a [CallRecord], began_at: Option<u64>) -> Finished<'a> {
    Finished { tenant: "acme", thread_id: "thread", context_type: "thread", began_at, message, calls }
}

fn exported(config: &Config, turns: &[Finished<'_>]) -> Value {
    serde_json::from_slice(&export(config, turns).unwrap()).unwrap()
}

/// The spans, each name with its attributes by their keys.
fn spans(exported: &Value) -> Vec<Value> {
    exported["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn attribute(span: &Value, key: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone()).unwrap_or_default()
}

// Long: the spans of one turn, compared in many ways.
#[test]
fn a_turn_is_a_tree_of_spans() {
    let (message, calls) = (message("stop"), calls());
    let config = config(&[ENDPOINT]).unwrap().unwrap();
    let told = exported(&config, &[finished(&message, &calls, Some(1_000))]);
    assert_eq!(told["resourceSpans"][0]["schemaUrl"], "https://opentelemetry.io/schemas/1.41.0");
    let spans = spans(&told);
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    let expected = [
        "invoke_agent espalier",
        "chat big-1",
        "chat big-1",
        "execute_tool run_subtask",
        "execute_tool calculate",
    ];
    assert_eq!(names, expected);
    let [root, first, second, subtask, tool] = &spans[..] else { panic!("{spans:?}") };

    // One trace; ids of the lengths that the protocol wants; each parent is there.
    let traces: BTreeSet<_> = spans.iter().map(|span| span["traceId"].as_str().unwrap()).collect();
    let ids: BTreeSet<_> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!((traces.len(), traces.first().map(|id| id.len())), (1, Some(32)));
    assert!(ids.len() == 5 && ids.iter().all(|id| id.len() == 16), "{ids:?}");
    let parents = spans.iter().map(|span| span["parentSpanId"].clone()).collect::<Vec<_>>();
    let above = |span: &Value| span["spanId"].clone();
    assert_eq!(parents, [Value::Null, above(root), above(subtask), above(root), above(subtask)]);

    // Times are texts of nanoseconds.
    let times = |span: &Value| (span["startTimeUnixNano"].clone(), span["endTimeUnixNano"].clone());
    assert_eq!(times(root), (json!("1000000000"), json!("5000000000")));
    assert_eq!(times(second), (json!("1200000000"), json!("1300000000")));
    assert_eq!(
        (root["kind"].as_u64(), first["kind"].as_u64(), tool["kind"].as_u64()),
        (Some(1), Some(3), Some(1))
    );

    for span in &spans {
        assert_eq!(attribute(span, "gen_ai.conversation.id"), json!({ "stringValue": "thread" }));
    }
    assert_eq!(attribute(root, "gen_ai.usage.input_tokens"), json!({ "intValue": "200" }));
    assert_eq!(attribute(root, "espalier.cost_usd"), json!({ "doubleValue": 1.0 }));
    let providers = [root, first].map(|span| attribute(span, "gen_ai.provider.name")["stringValue"].clone());
    assert_eq!(providers, ["gcp.gemini", "gcp.gemini"]);
    let reasons = json!({ "arrayValue": { "values": [{ "stringValue": "tool_calls" }] } });
    assert_eq!(attribute(first, "gen_ai.response.finish_reasons"), reasons);
    assert_eq!(attribute(second, "gen_ai.response.finish_reasons"), json!(null), "there was no response");
    let errors: Vec<Value> =
        spans.iter().map(|span| attribute(span, "error.type")["stringValue"].clone()).collect();
    assert_eq!(
        errors,
        [json!(null), json!(null), json!("provider_overloaded"), json!(null), json!("tool_error")]
    );
    assert_eq!((root.get("status"), &tool["status"]), (None, &json!({ "code": 2 })));

    // The same turn has the same ids, another one has others.
    assert_eq!(exported(&config, &[finished(&message, &calls, Some(1_000))]), told);
    let another = StoredMessage { id: "other".to_owned(), ..message.clone() };
    let both = exported(&config, &[finished(&message, &calls, None), finished(&another, &calls, None)]);
    let ids: BTreeSet<_> =
        self::spans(&both).iter().map(|span| span["spanId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 10);
}

#[test]
fn a_name_that_no_tool_can_have_and_a_parent_that_is_cut_off_are_not_told() {
    let told = |change: &dyn Fn(&mut TreeNode)| {
        let mut message = message("stop");
        message.execution_tree.iter_mut().flat_map(|tree| &mut tree.nodes).for_each(change);
        let (config, calls) = (config(&[ENDPOINT]).unwrap().unwrap(), calls());
        spans(&exported(&config, &[finished(&message, &calls, None)]))
    };
    let longest = "x".repeat(64);
    for (name, shown) in [
        ("docs__read-file.v2", "docs__read-file.v2"),
        (&*longest, &*longest),
        (&*format!("{longest}x"), "_OTHER"),
        ("the user's name is Ada", "_OTHER"),
        ("", "_OTHER"),
    ] {
        let spans = told(&|node| node.name = name.to_owned());
        let tool = spans.last().unwrap();
        assert_eq!(attribute(tool, "gen_ai.tool.name"), json!({ "stringValue": shown }));
        assert_eq!(tool["name"], format!("execute_tool {shown}"));
    }
    // The node of the subtask is lost: what was below it is below the turn.
    let spans = told(&|node| node.id = node.id.replace("sub", "another"));
    let parents: Vec<_> = spans[1..].iter().map(|span| &span["parentSpanId"]).collect();
    assert!(parents.iter().all(|parent| **parent == spans[0]["spanId"]), "{parents:?}");
}

#[test]
fn content_is_told_only_where_the_operator_wants_it() {
    let (message, calls) = (message("stop"), calls());
    let of = |more: &[(&str, &str)]| {
        let config = config(&[&[ENDPOINT], more].concat()).unwrap().unwrap();
        exported(&config, &[finished(&message, &calls, None)])
    };
    let told = of(&[]);
    assert!(!told.to_string().contains("secret"), "{told}");
    let told = of(&[("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")]);
    let tool = spans(&told).pop().unwrap();
    assert_eq!(attribute(&tool, "gen_ai.tool.call.result"), json!({ "stringValue": "secret" }));
    assert!(
        !told.to_string().contains("secret title") && !told.to_string().contains("secret answer"),
        "{told}"
    );
}

#[test]
fn a_turn_that_did_not_end_well_is_an_error_and_times_stay_within_it() {
    let calls = calls();
    let config = config(&[ENDPOINT, ("OTEL_SERVICE_NAME", "chat")]).unwrap().unwrap();
    for (reason, error) in [("budget", "budget_exceeded"), ("error", "budget_exceeded"), ("cancelled", "")] {
        let message = message(reason);
        let told = exported(&config, &[finished(&message, &calls, Some(4_950))]);
        let spans = spans(&told);
        assert_eq!(attribute(&spans[0], "error.type")["stringValue"].as_str().unwrap_or_default(), error);
        let ends: BTreeSet<_> =
            spans.iter().map(|span| span["endTimeUnixNano"].as_str().unwrap().len()).collect();
        assert_eq!(ends, BTreeSet::from([10]), "no call ends after its turn");
        assert_eq!(told["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "chat");
    }
    // A turn without its beginning began when its calls did; one without calls has no length.
    let message = message("stop");
    let start = |message: &StoredMessage| {
        spans(&exported(&config, &[finished(message, &calls, None)]))[0]["startTimeUnixNano"].clone()
    };
    assert_eq!(start(&message), json!("4150000000"));
    assert_eq!(start(&StoredMessage { execution_tree: None, ..message }), json!("5000000000"));
}

#[test]
fn variables_are_read_or_refused() {
    assert_eq!(config(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(None));
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20abc, x-team = a ,");
    let read = config(&[ENDPOINT, headers]).unwrap().unwrap();
    assert_eq!(read.url(), "https://otel.example/in/v1/traces?key=1");
    let named = [("authorization", "Basic abc"), ("x-team", "a")];
    assert_eq!(read.headers(), named.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(!format!("{read:?}").contains("abc"), "a header is a secret");
    let many = |count: usize| (0..count).map(|at| format!("h{at}=1,")).collect::<String>();
    assert!(config(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_HEADERS", &many(16))]).is_ok());
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "otel.example"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://otel.example"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ab"),
        ("OTEL_EXPORTER_OTLP_HEADERS", &many(17)),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "yes"),
    ] {
        let problem = config(&[ENDPOINT, (name, value)]).unwrap_err();
        assert!(problem.contains(name) && !problem.contains("%0d"), "{problem}");
    }
}

/// A collector that gives this answer.
struct Collector(Result<u16, Unreachable>, RefCell<Vec<Rc<HttpRequest>>>);

impl Http for Collector {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        self.1.borrow_mut().push(request);
        let answer = self.0;
        let reply = |status| HttpReply { status, headers: Vec::new().into(), body: empty().boxed_local() };
        async move { answer.map(reply) }.boxed_local()
    }
}

#[test]
fn a_collector_takes_spans_or_refuses_them() {
    let (message, calls) = (message("stop"), calls());
    let config = config(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=1")]).unwrap().unwrap();
    let said = |status: u16| Err(format!("the collector answered with status {status}"));
    for (answer, told) in [
        (Ok(200), Ok(None)),
        (Ok(503), said(503)),
        (Ok(429), said(429)),
        (Ok(504), said(504)),
        (Ok(302), said(302)),
        // It will never take them.
        (Ok(400), Ok(said(400).err())),
        (Ok(401), Ok(said(401).err())),
        (Ok(408), Ok(said(408).err())),
        (Ok(500), Ok(said(500).err())),
        (Ok(501), Ok(said(501).err())),
        (Err(Unreachable), Err("the collector could not be reached".to_owned())),
    ] {
        let collector = Collector(answer, RefCell::default());
        let turns = [finished(&message, &calls, None)];
        assert_eq!(block_on(send(&collector, &config, &turns)), told);
        let requests = collector.1.borrow();
        assert_eq!(requests[0].named, [("x-key".to_owned(), "1".to_owned())]);
        assert_eq!(requests[0].headers, [("content-type", "application/json".to_owned())]);
    }
}
