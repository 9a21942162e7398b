//! `websearch`: the fake LLM's server is the web.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Value, call, calls, json, new_id, text};

use super::{agents, heard, result_of, rounds, updates};

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
        "126 days [1].\n\n<sources>\n[1] {}\n[3] {}\n</sources>\n\n<unread>\n[2] {}: {missing}\n</unread>",
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

// A-006 A-023 A-045 A-048: an agent of code discusses with one that a model answers for.
#[tokio::test]
async fn an_agent_of_code_takes_part_in_a_discussion() {
    let case = Case::new().await;
    let site = case.barrier("site");
    // The prompt is the query, in which the fake server finds the site. It has the mark of the script, whose replies go by
    // their place: the critic speaks at once, a page's level has made one call before, the level that answers two.
    let prompt = case.said(&format!("site {site}"), "pages");
    let replies = [text("I doubt it."), text("It says 126 days."), text("126 days [1].")];
    case.script("pages", replies).await;
    let made = [
        ("task", json!({ "name": "scout", "template": "websearch" })),
        ("task", json!({ "name": "critic", "instructions": "Doubt." })),
    ];
    let people = json!({ "prompt": prompt, "speakers": ["scout", "critic"] });
    case.script("meeting", [calls(made), call("discuss", people), text("They disagree.")]).await;
    let thread = new_id();
    let content = case.said("Discuss pears.", "meeting");
    let events = case.chat_with(&json!({ "thread_id": thread, "content": content, "agents": true })).await;
    assert_eq!(
        updates(&events),
        [
            "scout created",
            "critic created",
            "scout speaking",
            "scout silent",
            "critic speaking",
            "critic silent"
        ]
    );
    let result = result_of(&events, "discuss");
    let page = |name: &str| format!("{}/site/{name}?marker={site}", case.llm.url());
    let scout = format!("<speaker name=\"scout\">\n126 days [1].\n\n<sources>\n[1] {}", page("page"));
    assert!(result.starts_with(&scout), "{result}");
    assert!(result.ends_with("\n\n<speaker name=\"critic\">\nI doubt it.\n</speaker>"), "{result}");
    let asked = case.requests("pages").await.requests;
    let critic: Vec<Value> =
        asked.into_iter().map(|request| request.body).filter(|body| heard(body)[0] == "Doubt.").collect();
    assert_eq!(critic.len(), 1, "{critic:?}");
    assert!(critic[0]["messages"].to_string().contains("126 days [1]."), "{}", critic[0]);

    // It is listed, remembers, and goes on elsewhere from its dump.
    let listed = agents(&case.client, &thread).await;
    let codes: Vec<_> = listed.iter().map(|agent| (&agent["name"], &agent["code"])).collect();
    assert_eq!(codes, [(&json!("critic"), &Value::Null), (&json!("scout"), &json!("websearch"))]);
    let kept = rounds(&case.client, &thread, "scout").await;
    assert_eq!(kept.len(), 1);
    let mut dump = case.client.read(&format!("/api/threads/{thread}/agents/scout/dump")).await;
    assert_eq!(dump["code"], "websearch");
    dump["name"] = json!("twin");
    let path = format!("/api/threads/{thread}/agents");
    case.client.post(&path, &dump).await.expect(200).await;
    let twin = agents(&case.client, &thread).await.into_iter().find(|agent| agent["name"] == "twin");
    assert_eq!(twin.expect("the copy")["code"], "websearch");
    dump["name"] = json!("other");
    dump["code"] = json!("write_file");
    assert_problem(case.client.post(&path, &dump).await, 400, "invalid_request", Some("code")).await;
}
