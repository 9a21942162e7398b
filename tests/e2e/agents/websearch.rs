//! `websearch`: the fake LLM's server is the web.

use espalier_test_support::case::first;
use espalier_test_support::{Case, Value, call, json, new_id, text};

use super::{heard, result_of};

// A-006 A-022 A-023 A-025 A-109: the service searches, a level reads each page, and one answers with the sources.
#[tokio::test]
async fn a_search_of_the_web_reads_its_pages() {
    let case = Case::new().await;
    // The replies by their place: a page's level has made one call before it speaks, the level that answers two.
    let replies = [text("never"), text("They keep for 126 days."), text("126 days [1].")];
    case.script("pages", replies).await;
    let site = case.barrier("site");
    let question = case.said("How long do pears keep?", "pages");
    let ask = json!({ "query": format!("site {site}"), "question": question });
    case.script("search", [call("websearch", ask), text("126 days.")]).await;
    let thread = new_id();
    let body = json!({ "thread_id": thread, "content": case.said("Find it.", "search"), "agents": true });
    let events = case.chat_with(&body).await;
    let page = |name: &str| format!("{}/site/{name}?marker={site}", case.llm.url());
    let missing = format!("the page did not come: {} answered with status 404", page("missing"));
    let expected = format!(
        "126 days [1].\n\nSources:\n[1] {}\n[3] {}\n\nCould not be used:\n[2] {}: {missing}",
        page("page"),
        page("latin"),
        page("missing")
    );
    assert_eq!(result_of(&events, "websearch"), expected);
    let asked: Vec<Value> =
        case.llm.requests(&site).await.requests.into_iter().map(|request| request.body).collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    let read = case.requests("pages").await.requests;
    assert_eq!(read.len(), 3, "two pages, and the answer");
    let answers =
        read.iter().map(|request| heard(&request.body)).find(|heard| heard.len() > 5).expect("the answer");
    let digest =
        |number: usize, name: &str| format!("Page {number}: {}\n\nThey keep for 126 days.", page(name));
    assert_eq!(answers[5..], [digest(1, "page"), format!("Error: {missing}"), digest(3, "latin")]);
    let usage = &first(&events, "done").data["usage"];
    assert_eq!((&usage["subtasks"], &usage["llm_calls"]), (&json!(4), &json!(2 + 3)));
    // The stored tree has the calls within, each with its label.
    let message = case.client.messages(&thread).await.pop().expect("an answer");
    let nodes = message["execution_tree"]["nodes"].as_array().cloned().unwrap_or_default();
    let titles: Vec<_> = nodes.iter().filter_map(|node| node["title"].as_str()).collect();
    let label = |name: &str| page(name).chars().take(80).chain(['…']).collect::<String>();
    assert_eq!(titles, [label("page"), label("missing"), label("latin")]);

    // Without agents there is no such call.
    case.script("plain", [text("Hello.")]).await;
    case.chat_with(&json!({ "content": case.said("Hello.", "plain") })).await;
    assert!(!case.requests("plain").await.requests[0].body["tools"].to_string().contains("websearch"));
}
