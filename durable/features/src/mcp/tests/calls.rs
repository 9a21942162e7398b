//! One request and its possible outcomes.

use super::*;
use crate::mcp::message::VERSIONS;
use crate::mcp::reply::MAX_BYTES;

fn call(connection: &Connection) -> Result<Value, McpError> {
    let result = block_on(connection.call("tools/call", &json!({"name": "t", "arguments": {}})))?;
    Ok(serde_json::from_str(result.get()).unwrap())
}

fn event(id: &str, data: &Value) -> String {
    format!("id: {id}\ndata: {data}\n\n")
}

// A-085
#[test]
fn a_session_is_opened_once_and_ended_with_the_connection() {
    let case = Case::opening(|asked| Says::json(&asked.result(json!({"ok": asked.body["params"]["name"]}))));
    let connection = case.connection();
    for _ in 0..2 {
        assert_eq!(call(&connection).unwrap(), json!({"ok": "t"}));
    }
    drop(connection);
    let methods = case.server.methods();
    let first = ["initialize", "notifications/initialized", "tools/call", "tools/call", "Delete"];
    assert_eq!(methods, first);
    let asked = case.server.asked.borrow();
    assert_eq!(asked[0].body["params"]["protocolVersion"], VERSIONS[0]);
    assert_eq!(asked[0].body["params"]["capabilities"], json!({}), "nothing is offered to servers");
    assert!(!asked[0].headers.contains_key("mcp-session-id"));
    for later in &asked[1..] {
        assert_eq!(later.headers["mcp-session-id"], "s-1");
        assert_eq!(later.headers["mcp-protocol-version"], "2025-11-25");
    }
    let ids: Vec<_> = [0, 2, 3].iter().map(|at| asked[*at].body["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), Some(2), Some(3)], "no id is used twice");
    assert!(asked.iter().all(|asked| asked.headers["accept"].contains("text/event-stream")));
}

#[test]
fn two_calls_open_one_session() {
    let case = Case::opening(|asked| Says::json(&asked.result(json!({}))));
    let connection = case.connection();
    let nothing = json!({});
    let both = futures::future::join(connection.call("a", &nothing), connection.call("b", &nothing));
    assert!(matches!(block_on(both), (Ok(_), Ok(_))));
    assert_eq!(case.server.methods().iter().filter(|method| *method == "initialize").count(), 1);
}

#[test]
fn revisions_are_negotiated() {
    for (theirs, taken) in [
        ("2025-11-25", true),
        ("2025-06-18", true),
        ("2025-03-26", true),
        ("2024-11-05", false),
        ("2026-07-28", false),
    ] {
        let case = Case::new(move |asked| match asked.rpc() {
            "initialize" => Says::json(&asked.result(json!({"protocolVersion": theirs, "capabilities": {}}))),
            _ => Says::json(&asked.result(json!({}))),
        });
        let result = call(&case.connection());
        assert_eq!(result.is_ok(), taken, "{theirs}: {result:?}");
        if taken {
            let headers = case.last("tools/call").headers;
            assert_eq!(headers["mcp-protocol-version"], theirs);
            assert!(!headers.contains_key("mcp-session-id"), "a server may keep no sessions");
        } else {
            assert!(result.unwrap_err().explained("docs").contains(theirs));
        }
    }
}

#[test]
fn session_ids_are_checked() {
    for bad in ["", "a b", "ü", "x\n"] {
        let case = Case::new(move |asked| match opened(asked) {
            Some(Says::Reply { status, content_type, body, session: Some(_) }) => {
                Says::Reply { status, content_type, body, session: Some(bad) }
            }
            says => says.unwrap_or(Says::Down),
        });
        assert!(matches!(call(&case.connection()), Err(McpError::NotMcp(_))), "{bad:?}");
    }
}

#[test]
fn an_event_stream_says_the_same_as_json() {
    let case = Case::opening(|asked| {
        let noise = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}});
        let other = json!({"jsonrpc": "2.0", "id": 999, "result": {"not": "ours"}});
        let body = [
            ": hello\n\nid: 0\ndata:\n\n".to_owned(),
            event("1", &noise),
            event("2", &other),
            event("3", &asked.result(json!({"ok": 1}))),
            event("4", &json!("never read")),
        ];
        // Byte by byte.
        let body = body.concat().bytes().map(|byte| vec![byte]).collect();
        Says::Reply { status: 200, content_type: "Text/Event-Stream;charset=utf-8", session: None, body }
    });
    assert_eq!(call(&case.connection()).unwrap(), json!({"ok": 1}));
}

// Issue 44: the result came after its effect, so it is not thrown away.
#[test]
fn a_lone_surrogate_in_a_result_is_read() {
    let case = Case::opening(|asked| {
        let body = asked.result(json!({"text": "cut HERE"})).to_string().replace("HERE", r"\ud83d");
        Says::Reply {
            status: 200,
            content_type: "application/json",
            session: None,
            body: vec![body.into_bytes()],
        }
    });
    assert_eq!(call(&case.connection()).unwrap(), json!({"text": "cut \u{fffd}"}));
}

#[test]
fn errors_are_told() {
    let error = json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no such city"}});
    let case = Case::opening(move |_| Says::json(&error));
    let told = call(&case.connection()).unwrap_err().explained("docs");
    assert_eq!(told, "the MCP server docs refused the call: no such city (error -32602)");

    for (says, part) in [
        (Says::status(200, "text/html", "<p>"), "neither JSON nor an event stream"),
        (Says::status(200, "application/json", "{"), "not JSON-RPC"),
        (Says::status(200, "application/json", "[]"), "not JSON-RPC"),
        (Says::stream("data: no\n\n"), "not JSON-RPC"),
        (Says::status(500, "text/plain", "it broke"), "answered 500: it broke"),
        (Says::status(302, "", ""), "answered 302; go on without it"),
        (Says::status(403, "", ""), "refuses this service's credentials"),
        (Says::Down, "could not be reached"),
        (Says::stream("data:\n\n"), "closed the connection early; the result is unknown"),
        (Says::Broken("application/json", vec![b"{".to_vec()]), "closed the connection early"),
    ] {
        let says = RefCell::new(Some(says));
        let case = Case::opening(move |_| says.take().unwrap());
        let told = call(&case.connection()).unwrap_err().explained("docs");
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_lost_session_is_opened_anew_once() {
    for status in [404, 400] {
        let lost = Cell::new(1);
        let case = Case::opening(move |asked| match lost.replace(0) {
            0 => Says::json(&asked.result(json!({"ok": 1}))),
            _ => Says::status(status, "text/plain", "which session?"),
        });
        assert_eq!(call(&case.connection()).unwrap(), json!({"ok": 1}));
        let methods = case.server.methods();
        let initialized = methods.iter().filter(|method| *method == "initialize").count();
        assert_eq!((initialized, methods[2].as_str()), (2, "tools/call"), "{methods:?}");
        let asked = case.server.asked.borrow();
        assert!(
            !asked[3].headers.contains_key("mcp-session-id"),
            "a new session begins without the old one's id"
        );
    }
    let case = Case::opening(|_| Says::status(404, "", ""));
    assert_eq!(call(&case.connection()), Err(McpError::SessionLost(404)));
    assert_eq!(case.server.methods().iter().filter(|method| *method == "tools/call").count(), 2);
}

#[test]
fn a_reply_that_was_cut_is_read_on_from_where_it_broke() {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}});
    let case = Case::opening(move |asked| match (asked.method, asked.headers.get("last-event-id")) {
        (Method::Get, Some(after)) if after == "a" => Says::stream(&event("b", &progress)),
        (Method::Get, Some(after)) if after == "b" => {
            Says::stream(&event("c", &json!({"jsonrpc": "2.0", "id": 2, "result": {"ok": 1}})))
        }
        (Method::Get, after) => panic!("{after:?}"),
        // An event without its blank line did not arrive.
        _ => Says::Broken(
            "text/event-stream",
            vec![b"id: a\nretry: 700\ndata:\n\nid: never\ndata: {".to_vec()],
        ),
    });
    assert_eq!(call(&case.connection()).unwrap(), json!({"ok": 1}));
    assert_eq!(case.time.now_ms(), 700 + 1_000, "it waits as long as the server asks, else a second");
    let methods = case.server.methods();
    assert_eq!(methods.iter().filter(|method| *method == "tools/call").count(), 1, "it is not made again");
    let asked = case.server.asked.borrow();
    let resumed = asked.iter().find(|asked| asked.method == Method::Get).unwrap();
    assert_eq!((resumed.headers["accept"].as_str(), resumed.text.as_str()), ("text/event-stream", ""));
    assert_eq!(resumed.headers["mcp-session-id"], "s-1");
}

#[test]
fn resumptions_are_bounded() {
    let case = Case::opening(|_| Says::stream("id: a\nretry: 99999999\ndata:\n\n"));
    assert_eq!(call(&case.connection()), Err(McpError::Cut));
    assert_eq!(case.server.methods().iter().filter(|method| *method == "Get").count(), 5);
    assert_eq!(case.time.now_ms(), 5 * 30_000, "no server makes us wait longer");

    let case = Case::opening(|asked| match asked.method {
        Method::Get => Says::status(405, "", ""),
        _ => Says::stream("id: a\ndata:\n\n"),
    });
    assert_eq!(call(&case.connection()), Err(McpError::Cut), "a server may have no such thing");
}

#[test]
fn requests_of_servers_are_answered_and_bounded() {
    let asks = |count: usize| {
        let ask = |at| {
            let method = if at == 0 { "ping" } else { "sampling/createMessage" };
            event("x", &json!({"jsonrpc": "2.0", "id": format!("q{at}"), "method": method, "params": {}}))
        };
        (0..count).map(ask).collect::<String>()
    };
    let case =
        Case::opening(move |asked| Says::stream(&(asks(16) + &event("y", &asked.result(json!({"ok": 1}))))));
    assert_eq!(call(&case.connection()).unwrap(), json!({"ok": 1}));
    case.server.methods();
    let asked = case.server.asked.borrow();
    let answers: Vec<&Asked> = asked.iter().filter(|asked| asked.body["id"].is_string()).collect();
    assert_eq!(answers.len(), 16);
    assert_eq!(answers[0].body, json!({"jsonrpc": "2.0", "id": "q0", "result": {}}));
    assert_eq!(answers[1].body["error"]["code"], -32601);

    let case = Case::opening(move |_| Says::stream(&asks(17)));
    assert!(matches!(call(&case.connection()), Err(McpError::NotMcp(_))));
}

#[test]
fn an_abandoned_call_is_cancelled() {
    let case = Case::opening(|_| Says::Hang);
    let connection = case.connection();
    block_on(connection.opened()).map(drop).unwrap();
    let nothing = json!({});
    abandoned(connection.call("tools/call", &nothing));
    assert_eq!(case.server.methods().last().map(String::as_str), Some("notifications/cancelled"));
    assert_eq!(case.last("notifications/cancelled").body["params"]["requestId"], 2);
    assert_eq!(case.last("notifications/cancelled").headers["mcp-session-id"], "s-1");

    assert_eq!(call(&connection), Err(McpError::Silent(30_000, None)));
    case.server.methods();
    assert_eq!(case.last("notifications/cancelled").body["params"]["requestId"], 3);

    let case = Case::opening(|asked| Says::json(&asked.result(json!({}))));
    call(&case.connection()).unwrap();
    assert!(
        !case.server.methods().contains(&"notifications/cancelled".to_owned()),
        "an answered call is over"
    );
}

#[test]
fn progress_keeps_a_call_alive() {
    let case = Case::opening(|_| Says::Hang);
    let (connection, time) = (case.connection(), case.time.clone());
    assert!(block_on(connection.opened()).is_ok());
    let progress = |at: u64| json!({"method": "notifications/progress", "params": {"progressToken": 7, "progress": at, "total": 3, "message": "half"}});
    let reads = futures::stream::unfold(0_u64, move |at| {
        let clock = time.clone();
        async move {
            if at == 3 {
                return std::future::pending().await;
            }
            // Each piece arrives shortly before the timeout.
            clock.sleep(20_000).await;
            Some((Ok(event("x", &progress(at + 1)).into_bytes()), at + 1))
        }
    });
    let reply =
        HttpReply { status: 200, headers: headers("text/event-stream", None), body: reads.boxed_local() };
    let silent = block_on(connection.read(None, 7, reply)).map(drop).unwrap_err();
    assert_eq!(silent, McpError::Silent(30_000, Some("3 of 3, half".to_owned())));
    assert_eq!(case.time.now_ms(), 3 * 20_000 + 30_000);
    assert!(silent.explained("docs").contains("its last progress was 3 of 3, half"));
}

// Servers that send gigabytes.
#[test]
fn answers_are_bounded() {
    let padded = |length: usize| {
        let frame = json!({"jsonrpc": "2.0", "id": 2, "result": ""}).to_string();
        let text = "x".repeat(length - frame.len());
        json!({"jsonrpc": "2.0", "id": 2, "result": text}).to_string()
    };
    for (length, fits) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
        let body = padded(length);
        assert_eq!(body.len(), length);
        let case = Case::opening(move |_| Says::status(200, "application/json", &body));
        assert_eq!(call(&case.connection()).is_ok(), fits);
    }
    let endless = format!("data: {}\n\n", "x".repeat(1 << 20));
    let noise = event("1", &json!({"method": "notifications/message", "params": {}}));
    for body in [endless, ":\n".repeat(3 << 20), noise.repeat(10_001)] {
        let case = Case::opening(move |_| Says::stream(&body));
        let failure = call(&case.connection()).unwrap_err();
        assert!(matches!(failure, McpError::TooLarge | McpError::NotMcp(_)), "{failure:?}");
        assert!(case.server.asked.borrow().len() < 10);
    }
}
