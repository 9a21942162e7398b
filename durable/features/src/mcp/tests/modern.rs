//! Servers of revision 2026-07-28: how they are found, what each request says, and what their results ask for.

use super::*;
use crate::mcp::connection::Reply;
use crate::mcp::error::parsed;
use crate::mcp::modern::{check, of_arguments};
use crate::mcp::{Listed, Servers};
use engine::journal::{Answer, Asking};
use engine::ports::{Given, Input, Tool, ToolContext, ToolError, ToolReply};
use engine::versions::{Seen, Versions};
use serde_json::value::to_raw_value;

const MODERN: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "espalier", "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn discovered(asked: &Asked) -> Option<Says> {
    (asked.rpc() == "server/discover").then(|| {
        let result =
            json!({"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}}});
        Says::json(&asked.result(result))
    })
}

/// A server of the newest revision, which answers all other requests by the function.
fn modern(answers: impl Fn(&Asked) -> Says + 'static) -> Case {
    Case::unknown(move |asked| discovered(asked).unwrap_or_else(|| answers(asked)))
}

fn error(asked: &Asked, code: i64, data: Value) -> String {
    json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": code, "message": "no", "data": data}})
        .to_string()
}

fn say(case: &Case) -> Result<Value, McpError> {
    let arguments = to_raw_value(&json!({"text": "hi"})).unwrap();
    match block_on(case.connection().called("say", Vec::new(), &arguments, &Input::default()))? {
        Reply::Result(result) => parsed(&result),
        Reply::Asks(asking) => panic!("{asking:?}"),
    }
}

// Issue 22
#[test]
fn each_request_says_who_asks_and_no_session_is_kept() {
    let case = modern(|asked| Says::json(&asked.result(json!({"content": []}))));
    say(&case).unwrap();
    assert_eq!(case.server.methods(), ["server/discover", "tools/call"], "no session begins, and none ends");
    let call = case.last("tools/call");
    let named = ["mcp-protocol-version", "mcp-method", "mcp-name"].map(|name| call.headers[name].as_str());
    assert_eq!(named, [MODERN, "tools/call", "say"]);
    assert_eq!(call.headers.get("mcp-session-id"), None);
    let mut expected = meta();
    expected["progressToken"] = call.body["id"].clone();
    assert_eq!(call.body["params"]["_meta"], expected);
    assert_eq!(call.body["params"]["arguments"], json!({"text": "hi"}));
    assert_eq!(case.last("server/discover").body["params"], json!({"_meta": meta()}));
}

// Issue 22
#[test]
fn a_server_of_an_earlier_revision_gets_a_session_and_is_remembered() {
    type Refuses = fn(&Asked) -> Says;
    let refusals: [Refuses; 6] = [
        |_| Says::status(404, "text/plain", "nothing here"),
        |_| Says::status(400, "application/json", "{}"),
        |_| Says::status(500, "text/html", "<p>"),
        |asked| Says::status(200, "application/json", &error(asked, -32601, Value::Null)),
        |asked| {
            Says::status(400, "application/json", &error(asked, -32022, json!({"supported": ["2025-11-25"]})))
        },
        |asked| Says::json(&asked.result(json!({"supportedVersions": ["2027-01-01"], "capabilities": {}}))),
    ];
    for refuses in refusals {
        let case = Case::unknown(move |asked| match asked.rpc() {
            "server/discover" => refuses(asked),
            _ => opened(asked).unwrap_or_else(|| Says::json(&asked.result(json!({"content": []})))),
        });
        say(&case).unwrap();
        let first = ["server/discover", "initialize", "notifications/initialized", "tools/call", "Delete"];
        assert_eq!(case.server.methods(), first);
        say(&case).unwrap();
        assert_eq!(case.server.methods().len(), 9, "it is not asked again");
        case.time.now.set(3_600_000);
        say(&case).unwrap();
        assert_eq!(case.server.methods()[9], "server/discover", "an hour later it is");
    }
}

// Issue 22
#[test]
fn a_server_that_is_down_is_not_taken_for_an_earlier_one() {
    for (says, code) in [
        (&(|_: &Asked| Says::Down) as &'static dyn Fn(&Asked) -> Says, "mcp_unreachable"),
        (&|_: &Asked| Says::Hang, "mcp_silent"),
        (&|_: &Asked| Says::status(401, "", ""), "mcp_unauthorized"),
    ] {
        let case = Case::unknown(says);
        assert_eq!(say(&case).unwrap_err().code(), code);
        assert_eq!(case.server.methods(), ["server/discover"]);
    }
}

// Issue 22
#[test]
fn a_moments_failure_does_not_make_a_server_an_earlier_one() {
    for status in [429, 503] {
        let failed = Cell::new(false);
        let case = Case::unknown(move |asked| match (asked.rpc(), failed.replace(true)) {
            ("server/discover", false) => Says::status(status, "text/plain", "later"),
            ("initialize", _) => Says::status(400, "application/json", "{}"),
            _ => discovered(asked).unwrap_or_else(|| Says::json(&asked.result(json!({"content": []})))),
        });
        assert_eq!(say(&case).unwrap_err().code(), "mcp_status");
        say(&case).unwrap();
        let methods = ["server/discover", "initialize", "server/discover", "tools/call"];
        assert_eq!(case.server.methods(), methods, "{status}");
    }
}

// Issue 22
#[test]
fn a_refusal_that_names_our_revision_is_asked_once_more() {
    let refused = Cell::new(false);
    let case = Case::unknown(move |asked| match (asked.rpc(), refused.replace(true)) {
        ("server/discover", false) => {
            Says::status(400, "application/json", &error(asked, -32022, json!({"supported": [MODERN]})))
        }
        _ => discovered(asked).unwrap_or_else(|| Says::json(&asked.result(json!({"content": []})))),
    });
    say(&case).unwrap();
    assert_eq!(case.server.methods(), ["server/discover", "server/discover", "tools/call"]);
}

// Issue 22
#[test]
fn a_server_may_ask_for_a_repetition_and_for_no_input() {
    let case = modern(|asked| {
        let state = asked.body["params"]["requestState"].as_str().map(str::to_owned);
        Says::json(&asked.result(match state.as_deref() {
            None => json!({"resultType": "input_required", "requestState": "one"}),
            Some("one") => json!({"resultType": "input_required", "requestState": "two"}),
            _ => json!({"resultType": "complete", "content": [], "state": state}),
        }))
    });
    assert_eq!(say(&case).unwrap()["state"], "two");
    let ids: Vec<Value> = case.server.asked.borrow().iter().map(|asked| asked.body["id"].clone()).collect();
    assert_eq!(ids, [1, 2, 3, 4].map(Value::from), "each one is a request of its own");

    for result in [
        json!({"resultType": "input_required", "requestState": "again"}),
        json!({"resultType": "input_required", "requestState": "a", "inputRequests": {"a": {"method": "roots/list"}}}),
        json!({"resultType": "input_required"}),
        json!({"resultType": "task", "taskId": "t"}),
    ] {
        let case = modern(move |asked| Says::json(&asked.result(result.clone())));
        assert_eq!(say(&case).unwrap_err().code(), "mcp_protocol");
        assert!(case.server.methods().len() <= 7, "five repetitions at most");
    }
}

// Issue 22
#[test]
fn a_cut_or_abandoned_call_is_neither_resumed_nor_cancelled_by_a_message() {
    let case = modern(|_| Says::Broken("text/event-stream", vec![b"id: 1\ndata: \n\n".to_vec()]));
    assert_eq!(say(&case).unwrap_err().code(), "mcp_cut");
    assert_eq!(case.server.methods(), ["server/discover", "tools/call"]);
    let case = modern(|_| Says::Hang);
    let connection = case.connection();
    block_on(connection.opened()).unwrap();
    let arguments = to_raw_value(&json!({})).unwrap();
    abandoned(connection.called("say", Vec::new(), &arguments, &Input::default()));
    drop(connection);
    assert_eq!(case.server.methods(), ["server/discover", "tools/call"], "the closed reply says it");
}

// Issue 22
#[test]
fn parameters_stand_in_headers_where_a_schema_wants_that() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "inner": {"type": "object", "properties": {"id": {"type": "string", "x-mcp-header": "Inner-Id"}}},
        "plain": {"type": "string"},
    }});
    let of = |arguments: Value| of_arguments(&schema.to_string(), &to_raw_value(&arguments).unwrap());
    let named = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let mut all =
        of(json!({"region": "us-west1", "count": -7, "dry": false, "inner": {"id": "x"}, "plain": "p"}));
    all.sort();
    assert_eq!(
        all,
        named(&[
            ("mcp-param-count", "-7"),
            ("mcp-param-dry", "false"),
            ("mcp-param-inner-id", "x"),
            ("mcp-param-region", "us-west1")
        ])
    );
    assert_eq!(of(json!({"region": null, "plain": "p"})), named(&[]));
    for (text, header) in [
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("a b", "a b"),
    ] {
        assert_eq!(of(json!({"region": text})), named(&[("mcp-param-region", header)]));
    }
    let wants = |property: Value, other: Value| {
        check(json!({"properties": {"a": property, "b": other}}).as_object().unwrap())
    };
    let good = json!({"type": "string", "x-mcp-header": "A"});
    assert_eq!(wants(good.clone(), json!({})), Ok(()));
    for wrong in [
        json!({"type": "string", "x-mcp-header": ""}),
        json!({"type": "string", "x-mcp-header": "a b"}),
        json!({"type": "string", "x-mcp-header": "a\r\nb"}),
        json!({"type": "string", "x-mcp-header": 7}),
        json!({"type": "number", "x-mcp-header": "B"}),
        json!({"type": "object", "x-mcp-header": "B"}),
        json!({"x-mcp-header": "B"}),
        json!({"type": "string", "x-mcp-header": "a"}),
    ] {
        assert!(wants(good.clone(), wrong.clone()).is_err(), "{wrong}");
    }
}

/// Lists the tool of a server, and calls it.
fn called(output_schema: Value, result: Value) -> Result<String, ToolError> {
    let case = modern(move |asked| {
        let tool = json!({"name": "say", "inputSchema": {"type": "object"}, "outputSchema": output_schema});
        Says::json(&asked.result(match asked.rpc() {
            "tools/list" => json!({"tools": [tool]}),
            _ => result.clone(),
        }))
    });
    let (tool, context) = listed(&case);
    block_on(tool.run("{}", context))
}

/// The tool of a server, and the context of a call.
fn listed(case: &Case) -> (Rc<dyn Tool>, ToolContext) {
    let configured = [("docs".to_owned(), Rc::new(server("docs")))].into_iter().collect();
    let servers = Servers::new(McpServers(configured), &case.ports);
    let listed: Listed = block_on(servers.listed(ContextKind::Thread, &ada()));
    let tool = servers.tool(&listed.offers[0].spec).unwrap();
    let context = ToolContext {
        clock: Rc::new(case.time.clone()),
        operation_id: "op".into(),
        time_zone: None,
        workspace_root: None,
        seen: Rc::new(Seen::new(Rc::new(Versions::new()))),
        paid: Rc::default(),
    };
    (tool, context)
}

/// Its names and those of the requests are not in the order of the alphabet.
const NAME: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"]}"#;
const REQUESTS: &str = r#"{
    "who": {"method": "elicitation/create", "params": {"mode": "form", "message": "Your name?", "requestedSchema": NAME}},
    "sure": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}}"#;

/// A server whose tool asks for a name and whether it is sure.
fn curious() -> Case {
    modern(move |asked| {
        let params = &asked.body["params"];
        let result = match (asked.rpc(), params.get("inputResponses")) {
            ("tools/list", _) => json!({"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}),
            (_, None) => {
                json!({"resultType": "input_required", "inputRequests": "REQUESTS", "requestState": "one"})
            }
            (_, Some(given)) => {
                let told = format!("{} {given}", params["requestState"]);
                json!({"resultType": "complete", "content": [{"type": "text", "text": told}]})
            }
        };
        let said = asked.result(result).to_string();
        let said = said.replace("\"REQUESTS\"", &REQUESTS.replace("NAME", NAME));
        Says::status(200, "application/json", &said)
    })
}

fn conversed(tool: &Rc<dyn Tool>, context: ToolContext, input: Input) -> ToolReply {
    block_on(tool.converse("{}", context, input))
}

// Issue 22: elicitation
#[test]
fn a_server_asks_a_person_and_gets_the_answer_with_the_same_request() {
    let case = curious();
    let (tool, context) = listed(&case);
    let asks = || Input { may_ask: true, given: None };
    let ToolReply::Asks(asking) = conversed(&tool, context.clone(), asks()) else { panic!() };
    let schema: Value = serde_json::from_str(NAME).unwrap();
    let told = json!({"form": {"server": "docs", "questions": [
        {"id": "who", "message": "Your name?", "schema": schema, "order": ["name", "age"]},
        {"id": "sure", "message": "Sure?", "schema": {"type": "object"}, "order": []},
    ]}, "state": "one"});
    assert_eq!(json!(&*asking), told);
    let can = &case.last("tools/call").body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*can, json!({"elicitation": {"form": {}}}));
    let filled = json!({"who": {"name": "Ada"}}).to_string();
    for (answer, responses) in [
        (
            Answer::Result { content: filled, is_error: false },
            json!({
                "who": {"action": "accept", "content": {"name": "Ada"}},
                "sure": {"action": "accept", "content": {}},
            }),
        ),
        (Answer::Deny, json!({"who": {"action": "decline"}, "sure": {"action": "decline"}})),
        (Answer::Expired, json!({"who": {"action": "cancel"}, "sure": {"action": "cancel"}})),
    ] {
        let given = Some(Given { asking: Asking::clone(&asking), answer });
        let ToolReply::Ended(said) = conversed(&tool, context.clone(), Input { may_ask: true, given }) else {
            panic!()
        };
        assert!(said.unwrap().contains("\"one\" {"), "the state goes back");
        let params = &case.last("tools/call").body["params"];
        assert_eq!(params["inputResponses"], responses);
        assert_eq!(params["requestState"], "one");
        assert_eq!(params["arguments"], json!({}), "with the same arguments");
    }
}

// Issue 22: a server learns that nobody can answer, and one that asks all the same gets no answer.
#[test]
fn where_nobody_can_answer_a_server_is_told_so() {
    let case = curious();
    let (tool, context) = listed(&case);
    let ToolReply::Ended(Err(ToolError(told))) = conversed(&tool, context.clone(), Input::default()) else {
        panic!()
    };
    assert!(told.contains("asks for input"), "{told}");
    let can = &case.last("tools/call").body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*can, json!({}));
    assert!(block_on(tool.run("{}", context)).is_err());
}

// Issue 22: input of another kind than a form.
#[test]
fn a_server_that_asks_for_something_else_gets_nothing() {
    let form = json!({"message": "?", "requestedSchema": {"type": "object"}});
    let url = json!({"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "1"});
    for (method, params) in [
        ("sampling/createMessage", form.clone()),
        ("roots/list", json!({})),
        ("elicitation/create", url),
        ("elicitation/create", json!({"message": "?"})),
        ("elicitation/create", json!({"message": 7, "requestedSchema": {"type": "object"}})),
    ] {
        let requests = json!({
            "a": {"method": "elicitation/create", "params": form}, "b": {"method": method, "params": params},
        });
        let case = modern(move |asked| {
            Says::json(&asked.result(match asked.rpc() {
                "tools/list" => json!({"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}),
                _ => json!({"resultType": "input_required", "inputRequests": requests}),
            }))
        });
        let (tool, context) = listed(&case);
        let reply = conversed(&tool, context, Input { may_ask: true, given: None });
        let ToolReply::Ended(Err(ToolError(told))) = reply else { panic!("{method}") };
        assert!(told.contains("asks for input"), "{told}");
    }
}

// Issue 22
#[test]
fn structured_results_are_what_the_server_said_they_are() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let result =
        |content: Value| json!({"content": [{"type": "text", "text": "ok"}], "structuredContent": content});
    assert!(called(schema.clone(), result(json!({"n": 1}))).is_ok());
    for wrong in [result(json!({"n": "one"})), result(json!({})), json!({"content": []})] {
        let ToolError(told) = called(schema.clone(), wrong.clone()).unwrap_err();
        assert!(told.contains("not what its outputSchema says"), "{wrong}: {told}");
    }
    // An error needs none, and a schema that cannot be checked checks nothing.
    let ToolError(told) = called(schema, json!({"content": [], "isError": true})).unwrap_err();
    assert!(!told.contains("outputSchema"), "{told}");
    assert!(called(json!({"$ref": "https://elsewhere.example/schema"}), result(json!({}))).is_ok());
}
