//! Models: what a deployment offers, and who answers.
//!
//! N-170

// A helper may fail as its test does; clippy allows that in `#[test]` functions only.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, env, json, text};

#[tokio::test]
async fn what_a_deployment_offers() {
    let list = Client::anonymous().await.read("/api/models").await;
    let model = |provider: &str, name: &str| {
        json!({
            "id": format!("{provider}:{name}"), "provider": provider, "model": name,
            "capabilities": {
                "tools": name != "fake-4", "parallel_tool_calls": true, "reasoning": false,
                "structured_output": false, "vision": false,
            },
            "price": null,
        })
    };
    let expected = json!({
        "roles": { "primary": ["openai:fake-1"], "secondary": ["openai:fake-2", "other:fake-3"] },
        "models": [
            model("openai", "fake-1"), model("openai", "fake-2"), model("other", "fake-3"),
            model("other", "fake-4"),
        ],
    });
    assert_eq!(list, expected);

    let demo = Client::anonymous_at(&env("ESPALIER_DEMO_URL")).await.read("/api/models").await;
    assert_eq!(demo["roles"], json!({ "primary": ["demo:demo"] }));
    assert_eq!(demo["models"][0]["price"], json!({ "input": 0.0, "cached": 0.0, "output": 0.0 }));

    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    assert_problem(nobody.get("/api/models").await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn a_request_may_name_a_role_or_a_model_of_the_list() {
    for (named, provider, model) in [
        (Value::Null, "openai", "fake-1"),
        (json!("primary"), "openai", "fake-1"),
        (json!("secondary"), "openai", "fake-2"),
        (json!("other:fake-3"), "other", "fake-3"),
        (json!("other:fake-4"), "other", "fake-4"),
    ] {
        let case = Case::new().await;
        case.script("", [text("Here.")]).await;
        let mut body = case.says("Who are you?");
        body["model"] = named;
        let events = case.chat_with(&body).await;
        let session = first(&events, "session");
        assert_eq!((session.text("provider"), session.text("model")), (provider, model));
        let requests = case.requests("").await.requests;
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].body["model"], model);
        let key = if provider == "other" { "Bearer other-key" } else { "Bearer test-key" };
        assert_eq!(requests[0].headers["authorization"], key);
        assert_eq!(requests[0].tools().is_empty(), model == "fake-4", "N-170");
    }
}

#[tokio::test]
async fn any_other_model_is_refused_and_starts_nothing() {
    let case = Case::new().await;
    for named in ["", "fake-1", "speed", "openai:fake-9", "other:fake-1", "demo:demo", " primary"] {
        let mut body = case.says("Hello");
        body["model"] = json!(named);
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some("model")).await;
    }
    assert!(case.all_requests().await.requests.is_empty());
    assert_eq!(case.client.read("/api/threads").await["threads"], json!([]));
}
