//! A server of revision 2026-07-28: without sessions, and strict about what each request says. Its tools:
//!
//! | tool | |
//! |---|---|
//! | `say` | returns its mark, and the header in which it got the mark |
//! | `lies` | returns what its `outputSchema` does not allow |
//! | `again` | asks for a repetition first |
//! | `asks` | asks for input in a form that nobody can fill in |
//! | `order` | asks a person for a size and a name, and returns what it got |

use serde_json::{Value, json};

/// The status and the body of the answer.
pub fn answer(message: &Value, header: impl Fn(&str) -> String) -> (u16, Value) {
    let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
    let meta = &params["_meta"];
    let (version, can) = ("2026-07-28", &meta["io.modelcontextprotocol/clientCapabilities"]);
    let agrees = header("mcp-protocol-version") == version
        && meta["io.modelcontextprotocol/protocolVersion"] == version
        && [json!({}), json!({"elicitation": {"form": {}}})].contains(can)
        && header("mcp-method") == method
        && params["name"].as_str().is_none_or(|name| header("mcp-name") == name)
        && header("mcp-session-id").is_empty();
    if !agrees {
        return (400, error(message, -32020, "the headers and the body differ"));
    }
    match method {
        "server/discover" => {
            result(message, json!({"supportedVersions": [version], "capabilities": {"tools": {}}}))
        }
        "tools/list" => result(message, json!({"tools": tools(), "ttlMs": 0, "cacheScope": "private"})),
        "tools/call" => result(message, called(params, &header("mcp-param-mark"), *can != json!({}))),
        _ => (404, error(message, -32601, "no such method")),
    }
}

fn tools() -> Vec<Value> {
    let properties = json!({"mark": {"type": "string", "x-mcp-header": "Mark"}});
    let tool = |name: &str| {
        json!({
            "name": name, "description": format!("{name} of modern"),
            "inputSchema": {"type": "object", "properties": properties, "required": ["mark"]},
            "outputSchema": {"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]},
            "annotations": {"readOnlyHint": true, "destructiveHint": false},
        })
    };
    let mut tools: Vec<Value> = ["say", "lies", "again", "asks", "order"].map(tool).into();
    let mut odd = tool("odd");
    odd["inputSchema"]["properties"]["mark"]["x-mcp-header"] = json!("no header");
    tools.push(odd);
    tools
}

fn called(params: &Value, in_header: &str, has_forms: bool) -> Value {
    let mark = &params["arguments"]["mark"];
    let structured = json!({"mark": mark, "header": in_header});
    match params["name"].as_str().unwrap_or_default() {
        "lies" => json!({"content": [], "structuredContent": {"mark": 7}}),
        "again" if params["requestState"] != "once" => {
            json!({"resultType": "input_required", "requestState": "once"})
        }
        "asks" => {
            json!({"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}})
        }
        "order" if params["inputResponses"].is_null() && has_forms => {
            let schema = json!({"type": "object", "required": ["size"], "properties": {
                "size": {"type": "string", "title": "Size", "enum": ["small", "large"]},
                "name": {"type": "string", "title": "Name on the box", "description": "As it is spelt", "maxLength": 20},
                "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
                "gift": {"type": "boolean"},
            }});
            let ask = json!({"mode": "form", "message": "What shall I order?", "requestedSchema": schema});
            let requests = json!({"box": {"method": "elicitation/create", "params": ask}});
            json!({"resultType": "input_required", "inputRequests": requests, "requestState": "asked"})
        }
        "order" => {
            let given =
                json!({"mark": mark, "given": params["inputResponses"], "state": params["requestState"]});
            json!({"resultType": "complete", "content": [], "structuredContent": given})
        }
        _ => json!({"resultType": "complete", "content": [], "structuredContent": structured}),
    }
}

fn result(message: &Value, result: Value) -> (u16, Value) {
    (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn error(message: &Value, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}})
}
