//! A wrong configuration: `/api/health` reports all its problems at once, and the Worker goes on. A failure of the
//! service leaves a row.
//!
//! B-035

use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{change_at, d1_at, eventually};
use espalier_test_support::{Client, Value, env, json};

#[tokio::test]
async fn a_wrong_configuration_is_told_and_no_turn_starts() {
    let url = env("ESPALIER_BROKEN_URL");
    let nobody = Client::nobody_at(&url);
    let told = async || {
        let health = nobody.get("/api/health").await.expect(503).await;
        let body: Value = health.json().await;
        assert_eq!(body["status"], "misconfigured");
        let problems = body["problems"].as_array().expect("problems").clone();
        problems.iter().map(|problem| problem.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let problems = told().await;
    let wrong = [
        "LIMITS",
        "SUMMARIES",
        "HOOKS",
        "RETENTION",
        "MCP_SERVERS",
        "SHARES",
        "TITLES",
        "FETCH_ALLOW",
        "BRAVE_API_KEY",
        "MODEL_OPTIONS",
        "MODEL_GUARD",
        "GROQ_BASE_URL",
        "OPENAI_API_KEY",
    ];
    assert_eq!(problems.len(), wrong.len(), "{problems:#?}");
    for (problem, variable) in problems.iter().zip(wrong) {
        assert!(problem.contains(variable), "{variable}: {problem}");
    }

    let client = Client::anonymous_at(&url).await;
    let chat = json!({ "content": "Hello" });
    for _ in 0..2 {
        assert_problem(client.post("/api/chat", &chat).await, 503, "misconfigured", None).await;
    }
    assert_problem(client.get("/api/models").await, 503, "misconfigured", None).await;
    assert_eq!(client.read("/api/threads").await["threads"], json!([]));
    // The Worker still runs.
    assert_eq!(told().await, problems);
}

// B-035: failures in the Worker itself, outside of any thread.
#[tokio::test]
async fn a_failure_in_the_worker_leaves_a_row() {
    const STATE: &str = "ESPALIER_BROKEN_STATE_DIR";
    let bearer = format!("Bearer {}", env("ESPALIER_ADMIN_KEY"));
    let keyed = Client::nobody_at(&env("ESPALIER_BROKEN_URL")).with("authorization", &bearer);
    change_at(STATE, "ALTER TABLE api_keys RENAME TO lost_keys").await;
    assert_problem(keyed.get("/api/threads").await, 500, "internal", None).await;
    let rows = async || {
        let columns = "component, stage, tool_name, code, tenant, user_id, thread_id, turn_id, \
            message LIKE '%no such table%' AS says_why";
        d1_at(STATE, &format!("SELECT {columns} FROM error_log WHERE component = 'worker'"))
            .await
            .into_iter()
            .next()
    };
    let expected = json!({
        "component": "worker", "stage": "looking up an API key", "tool_name": null, "code": "internal",
        "tenant": "", "user_id": "", "thread_id": "", "turn_id": "", "says_why": 1,
    });
    assert_eq!(eventually("the row of the failure", rows).await, expected);
}
