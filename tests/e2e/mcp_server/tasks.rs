//! The extension for tasks: `chat` is a task, which is its turn.

use espalier_test_support::fake_llm::Outcome;
use espalier_test_support::stored::eventually;
use espalier_test_support::{Client, Value, deltas, env, json};

use super::raw::{ask, chat, none, refusal, result};
use super::{destroys, keyed, keyed_at};

fn tasks() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

// Long: the life of a task.
#[tokio::test]
async fn a_chat_is_a_task_for_a_client_that_has_them() {
    let url = env("ESPALIER_MCP_URL");
    let ((case, _), (stranger, _)) = (keyed_at(&url).await, keyed_at(&url).await);
    let step = destroys(&case).await;
    let created = result(&case.client, &tasks(), "tools/call", step["params"].clone()).await;
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let id = created["taskId"].as_str().expect("an id").to_owned();
    let task = json!({ "taskId": id });
    let state = async |client: &Client, capabilities: &Value| {
        result(client, capabilities, "tasks/get", task.clone()).await
    };
    let waiting = eventually("the task asks", || async {
        Some(state(&case.client, &tasks()).await).filter(|task| task["status"] == "input_required")
    })
    .await;
    assert_eq!((&waiting["resultType"], &waiting["taskId"]), (&json!("complete"), &json!(id)));
    let (question, _) =
        waiting["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    let unable = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let told = state(&case.client, &unable).await;
    assert_eq!((&told["status"], told["statusMessage"].is_string()), (&json!("working"), true), "{told}");

    // Another user, a client without tasks, an id of nothing.
    let approve = json!({ question: { "action": "accept", "content": { "decision": "approve" } } });
    let update = json!({ "taskId": id, "inputResponses": approve });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = if method == "tasks/update" { update.clone() } else { task.clone() };
        assert_eq!(
            refusal(ask(&stranger.client, &tasks(), method, params.clone()).await).await,
            (200, -32602),
            "{method}"
        );
        assert_eq!(
            refusal(ask(&case.client, &none(), method, params).await).await,
            (400, -32021),
            "{method}"
        );
        let (thread, _) = id.split_at("task_".len() + 32);
        for wrong in [format!("{thread}{}0", "0".repeat(32)), format!("{id}1"), "task_1".to_owned()] {
            let params = json!({ "taskId": wrong, "inputResponses": {} });
            assert_eq!(
                refusal(ask(&case.client, &tasks(), method, params).await).await,
                (200, -32602),
                "{method} {wrong}"
            );
        }
    }
    let wrong = json!({ "taskId": id, "inputResponses": 7 });
    assert_eq!(refusal(ask(&case.client, &tasks(), "tasks/update", wrong).await).await, (200, -32602));
    assert_eq!(state(&case.client, &tasks()).await["status"], "input_required");

    let taken = result(&case.client, &tasks(), "tasks/update", update.clone()).await;
    assert_eq!((&taken["resultType"], taken.get("taskId")), (&json!("complete"), None));
    let done = eventually("the task is done", || async {
        Some(state(&case.client, &tasks()).await).filter(|task| task["status"] == "completed")
    })
    .await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is destroyed.");
    assert_eq!(done["createdAt"], created["createdAt"]);
    // Late answers and cancellations change nothing.
    for (method, params) in [("tasks/update", update), ("tasks/cancel", task.clone())] {
        assert_eq!(result(&case.client, &tasks(), method, params).await["resultType"], "complete");
    }
    assert_eq!(state(&case.client, &tasks()).await, done);
}

#[tokio::test]
async fn a_task_is_cancelled() {
    let (case, _) = keyed().await;
    let barrier = case.barrier("held");
    case.script("", [deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let created = result(&case.client, &tasks(), "tools/call", chat(&case, "What is it?")).await;
    let task = json!({ "taskId": created["taskId"] });
    // A turn that is cancelled before it asks its model makes no call at all.
    case.llm.wait(&case.marker(""), 1).await;
    result(&case.client, &tasks(), "tasks/cancel", task.clone()).await;
    let ended = result(&case.client, &tasks(), "tasks/get", task).await;
    assert_eq!((&ended["status"], &ended["result"]), (&json!("cancelled"), &Value::Null));
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
}
