//! A form that another server puts to our turn, while a client of ours waits for that turn.

use espalier_test_support::{FakeMcp, Value, call, env, json, new_id, text};

use super::keyed_at;
use super::raw::{chat, none, result};
use crate::mcp::{marked, said};

// Issue 22, 3
#[tokio::test]
async fn the_user_of_a_client_fills_in_the_form_of_another_server() {
    let filled = json!({ "size": "large", "name": "Ada", "count": 2, "gift": true });
    for (answer, given) in [
        (json!({ "action": "accept", "content": filled }), json!({ "action": "accept", "content": filled })),
        (json!({ "action": "decline" }), json!({ "action": "decline" })),
    ] {
        let ((case, _), mark) = (keyed_at(&env("ESPALIER_MCP_URL")).await, new_id());
        let (name, arguments) = marked("modern__order", &mark);
        case.script("", [call(&name, arguments), text("Done.")]).await;
        let can = json!({ "elicitation": {} });
        let mut params = chat(&case, "Work");
        let asked = result(&case.client, &can, "tools/call", params.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let requests: Vec<_> = asked["inputRequests"].as_object().expect("questions").iter().collect();
        let [(key, request)] = requests[..] else { panic!("{asked}") };
        assert_eq!(request["params"]["message"], "modern asks: What shall I order?");
        assert_eq!(request["params"]["requestedSchema"]["required"], json!(["size"]));

        params["requestState"] = asked["requestState"].clone();
        for (wrong, told) in [(json!({ "size": "medium" }), "content.box"), (json!({}), "content.box")] {
            params["inputResponses"] = json!({ key: { "action": "accept", "content": wrong } });
            let refused = result(&case.client, &can, "tools/call", params.clone()).await;
            assert_eq!(refused["isError"], true, "{refused}");
            assert!(refused["content"][0]["text"].as_str().expect("a text").contains(told), "{refused}");
        }
        params["inputResponses"] = json!({ key: answer });
        let done = result(&case.client, &can, "tools/call", params.clone()).await;
        assert_eq!(done["structuredContent"]["answer"], "Done.", "{done}");
        let told = case.requests("").await.requests[1].results();
        let content: Value = serde_json::from_str(&said(&told[0])).expect("JSON");
        assert_eq!(content, json!({ "mark": mark, "given": { "box": given }, "state": "asked" }));
        let asked = FakeMcp::from_env().requests().await;
        assert_eq!(asked.iter().filter(|asked| asked["mark"] == json!(mark)).count(), 2);
    }
}

// Issue 22, 3: a client that shows no forms is asked nothing, and the server is told so.
#[tokio::test]
async fn a_client_without_forms_is_not_asked() {
    let ((case, _), mark) = (keyed_at(&env("ESPALIER_MCP_URL")).await, new_id());
    let (name, arguments) = marked("modern__order", &mark);
    case.script("", [call(&name, arguments), text("Done.")]).await;
    let done = result(&case.client, &none(), "tools/call", chat(&case, "Work")).await;
    assert_eq!(done["structuredContent"]["answer"], "Done.", "{done}");
    let told = case.requests("").await.requests[1].results();
    let content: Value = serde_json::from_str(&said(&told[0])).expect("JSON");
    assert_eq!(content, json!({ "mark": mark, "given": null, "state": null }));
}
