//! Projects, tasks and documents that a person changes and deletes over HTTP. Issue 19, item 12.

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::{Case, Client, Value, call, calls, json, stored, text};

async fn patch(client: &Client, path: &str, body: &Value) -> Reply {
    client.with("content-type", "application/json").send("PATCH", path, body.to_string()).await
}

/// A project of five tasks, each of which waits for the one before it, with one document. Its path.
pub async fn project(case: &Case, name: &str) -> String {
    let new = json!({ "name": name, "description": "A garden", "template_id": "template_software" });
    case.script("make", [call("create_project", new), text("Made.")]).await;
    let says = |context: &str, path: &str| json!({ "content": case.said("Do it", path), "chat_context": { "context_type": context } });
    case.chat_with(&says("project_create", "make")).await;
    let projects = case.client.read("/api/projects").await;
    let id = projects["projects"].as_array().and_then(|all| all.last()).expect("a project")["id"].clone();
    let publish = json!({ "project_id": id, "title": "Brief", "content": "Roses." });
    case.script("publish", [call("publish_context_document", publish), text("There.")]).await;
    case.chat_with(&says("project", "publish")).await;
    format!("/api/projects/{}", id.as_str().expect("an id"))
}

fn path_of(project: &str, part: &str, item: &Value) -> String {
    format!("{project}/{part}/{}", item["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn a_person_changes_a_project_its_tasks_and_its_documents() {
    let case = Case::new().await;
    let project = project(&case, "Garden").await;
    let before = case.client.read(&project).await;
    let renamed =
        patch(&case.client, &project, &json!({ "name": " Orchard " })).await.expect(200).await.json().await;
    assert_eq!((&renamed["name"], &renamed["description"]), (&json!("Orchard"), &json!("A garden")));

    let task = |at: usize| path_of(&project, "tasks", &before["tasks"][at]);
    let blocked = patch(&case.client, &task(1), &json!({ "status": "done" })).await;
    assert_problem(blocked, 409, "project_conflict", None).await;
    let done = json!({ "title": "Measure", "notes": "Eight metres.", "status": "done" });
    let done = patch(&case.client, &task(0), &done).await.expect(200).await.json().await;
    assert_eq!((&done["title"], &done["status"]), (&json!("Measure"), &json!("done")));
    patch(&case.client, &task(1), &json!({ "status": "done" })).await.expect(200).await;

    let document = path_of(&project, "documents", &before["documents"][0]);
    let changed = json!({ "title": "Plan", "content": "# Pears" });
    patch(&case.client, &document, &changed).await.expect(200).await;
    let read = case.client.read(&document).await;
    assert_eq!((&read["title"], &read["content"]), (&json!("Plan"), &json!("# Pears")));
    for (path, body, field) in [
        (&project, json!({ "name": " " }), "name"),
        (&document, json!({ "content": "x".repeat(30_001) }), "content"),
        (&document, json!({ "title": "a\nb" }), "title"),
    ] {
        assert_problem(patch(&case.client, path, &body).await, 400, "invalid_request", Some(field)).await;
    }
    let after = case.client.read(&project).await;
    assert_eq!(after["name"], "Orchard");
    assert_eq!(after["tasks"][0]["notes"], "Eight metres.");
    assert_eq!(after["tasks"][1]["blocked_by"], before["tasks"][1]["blocked_by"]);
    assert_eq!(after["documents"][0]["title"], "Plan");
}

#[tokio::test]
async fn a_deletion_leaves_no_row_and_takes_nothing_of_another_project() {
    let case = Case::new().await;
    let (gone, kept) = (project(&case, "Gone").await, project(&case, "Kept").await);
    let before = case.client.read(&gone).await;
    let others = case.client.read(&kept).await;
    // A task of one project is not found in another one.
    let elsewhere = path_of(&kept, "tasks", &before["tasks"][0]);
    assert_problem(case.client.send("DELETE", &elsewhere, "").await, 404, "project_not_found", None).await;
    let task = path_of(&gone, "tasks", &before["tasks"][0]);
    case.client.send("DELETE", &task, "").await.expect(204).await;
    assert_problem(case.client.send("DELETE", &task, "").await, 404, "project_not_found", None).await;
    case.client
        .send("DELETE", &path_of(&gone, "documents", &before["documents"][0]), "")
        .await
        .expect(204)
        .await;
    let left = case.client.read(&gone).await;
    assert_eq!((left["tasks"].as_array().map(Vec::len), &left["documents"]), (Some(4), &json!([])));

    case.client.send("DELETE", &gone, "").await.expect(204).await;
    assert_problem(case.client.get(&gone).await, 404, "project_not_found", None).await;
    assert_problem(
        patch(&case.client, &gone, &json!({ "name": "Back" })).await,
        404,
        "project_not_found",
        None,
    )
    .await;
    let id = before["id"].as_str().expect("an id");
    let rows = stored::d1("SELECT kind FROM project_items WHERE id = ?1 OR project_id = ?1", &[id]).await;
    assert_eq!(rows, Vec::<Value>::new());
    assert_eq!(case.client.read(&kept).await, others);
    // The agent finds nothing either, and a task that it makes there is refused.
    let new = json!({ "project_id": id, "title": "Late" });
    let late = calls([("create_task", new), ("get_project", json!({ "project_id": id }))]);
    case.script("late", [late, text("It is gone.")]).await;
    let context = json!({ "context_type": "project" });
    let events =
        case.chat_with(&json!({ "content": case.said("Go on", "late"), "chat_context": context })).await;
    let ends: Vec<&Value> = events.iter().filter_map(|event| event.data.get("is_error")).collect();
    assert_eq!(ends, [&json!(true), &json!(true)]);
}
