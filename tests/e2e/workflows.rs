//! Step workflows: definitions, sessions that a client carries out by tokens, and sessions on which turns work.
//! Issue 21.

mod external;
mod judged;
mod notices;
mod service;

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, env, json};

/// Notes that are long enough.
pub const NOTES: &str = "The step was done as its instructions say, and this is what came of it.";

/// A step whose model plays the script of its id.
pub fn step(case: &Case, id: &str) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "instructions": case.said(&format!("Do {id}."), id) })
}

/// Writes a workflow of these steps under a new id, and returns the id.
pub async fn workflow(case: &Case, steps: &[Value]) -> String {
    workflow_with(case, json!({ "name": "A procedure", "steps": steps })).await
}

pub async fn workflow_with(case: &Case, definition: Value) -> String {
    let id = format!("w-{}", espalier_test_support::new_id());
    case.client.put(&format!("/api/workflows/{id}"), &definition).await.expect(200).await;
    id
}

fn plain(name: &str) -> Value {
    json!({ "name": name, "steps": [{ "id": "a", "title": "A", "instructions": "Do it." }] })
}

async fn ids(client: &Client) -> Vec<(String, bool)> {
    let list = client.read("/api/workflows").await;
    assert_eq!(list["max"], 100);
    let workflows = list["workflows"].as_array().cloned().unwrap_or_default();
    let id =
        |one: &Value| (one["workflow_id"].as_str().unwrap_or_default().to_owned(), one["built_in"] == true);
    workflows.iter().map(id).collect()
}

// W-011: definitions in versions, beside those that come with the service.
#[tokio::test]
async fn a_user_has_workflows_of_their_own() {
    let client = Client::anonymous().await;
    let built_in = ["research-report", "code-review", "incident-checklist"].map(|id| (id.to_owned(), true));
    assert_eq!(ids(&client).await, built_in);
    let example = client.read("/api/workflows/code-review").await;
    assert_eq!(
        (&example["built_in"], &example["version"], &example["steps"]),
        (&json!(true), &json!(1), &json!(5))
    );
    assert_eq!(example["definition"]["steps"][0]["id"], "understand");

    let put = async |name: &str| {
        client.put("/api/workflows/mine", &plain(name)).await.expect(200).await.json().await
    };
    let first = put("One").await;
    assert_eq!(
        (&first["version"], &first["name"], &first["built_in"]),
        (&json!(1), &json!("One"), &json!(false))
    );
    assert_eq!(put("One").await, first, "a repetition changes nothing");
    assert_eq!(put("Two").await["version"], 2);
    assert_eq!(client.read("/api/workflows/mine").await["definition"], plain("Two"));
    assert_eq!(ids(&client).await[0], ("mine".to_owned(), false));

    // A copy of an example under its own id stands in its place, until it is deleted.
    client.put("/api/workflows/code-review", &plain("Ours")).await.expect(200).await;
    assert_eq!(client.read("/api/workflows/code-review").await["name"], "Ours");
    assert_eq!(ids(&client).await.len(), 4);
    for id in ["code-review", "mine"] {
        client.send("DELETE", &format!("/api/workflows/{id}"), "").await.expect(204).await;
    }
    assert_eq!(ids(&client).await, built_in);
    for (method, id) in [("DELETE", "mine"), ("DELETE", "code-review"), ("GET", "mine"), ("GET", "%20")] {
        let reply = client.send(method, &format!("/api/workflows/{id}"), "").await;
        assert_problem(reply, 404, "workflow_not_found", None).await;
    }
}

#[tokio::test]
async fn a_wrong_definition_is_refused_at_its_member() {
    let client = Client::anonymous().await;
    let put = async |id: &str, body: &Value| client.put(&format!("/api/workflows/{id}"), body).await;
    let mut twice = plain("One");
    twice["steps"] = json!([twice["steps"][0], twice["steps"][0]]);
    assert_problem(put("a", &twice).await, 400, "invalid_request", Some("steps[1].id")).await;
    assert_problem(put("a", &json!({ "name": "A" })).await, 400, "invalid_request", Some("steps")).await;
    assert_problem(put("A", &plain("One")).await, 400, "invalid_request", Some("workflow")).await;
    let mut long = plain("One");
    long["comment"] = json!("x".repeat(64 << 10));
    assert_problem(put("a", &long).await, 413, "body_too_large", None).await;
    assert_eq!(ids(&client).await.len(), 3, "nothing is kept");
}

// A user's limit; a deletion frees a place.
#[tokio::test]
async fn a_user_has_at_most_a_hundred_workflows() {
    let client = Client::anonymous().await;
    let put = async |at: usize| client.put(&format!("/api/workflows/w{at}"), &plain("One")).await;
    for at in 0..100 {
        put(at).await.expect(200).await;
    }
    assert_problem(put(100).await, 409, "too_many_workflows", None).await;
    put(7).await.expect(200).await;
    client.send("DELETE", "/api/workflows/w7", "").await.expect(204).await;
    put(100).await.expect(200).await;
    assert_eq!(ids(&client).await.len(), 103);
}

#[tokio::test]
async fn health_says_whether_clients_may_carry_out_sessions() {
    let health = Client::nobody_at(&env("ESPALIER_URL")).read("/api/health").await;
    assert_eq!(health["external_sessions"], true);
}
