//! Dumps of agents with the agents below them, and of `main`; the calls by which agents dump and restore agents. Issue 45, 5
//! and 14.

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Value, call, calls, json, new_id, text};

use super::{agents, heard, result_of, says};

/// A thread in which `lead` has made `hand` and `foot`, and speaks with `hand`. Returns its id.
async fn with_a_tree(case: &Case) -> String {
    let hand = case.said("Dig.", "hand");
    case.script("hand", [text("Dug.")]).await;
    let make = calls([
        ("task", json!({ "name": "hand", "instructions": "You dig.", "prompt": hand })),
        ("task", json!({ "name": "foot", "instructions": "You walk." })),
    ]);
    let people = json!({ "prompt": case.said("And?", "hand"), "speakers": ["hand"], "listeners": ["foot"] });
    case.script("lead", [make, call("discuss", people), text("It digs.")]).await;
    let lead = json!({ "name": "lead", "instructions": "You lead.", "prompt": case.said("Begin.", "lead") });
    case.script("tree", [call("task", lead), text("Begun.")]).await;
    let thread = new_id();
    let body = json!({ "thread_id": thread, "content": case.said("Go.", "tree"), "agents": true });
    case.chat_with(&body).await;
    thread
}

/// A thread of one turn without agents.
async fn plain(case: &Case) -> String {
    case.script("plain", [text("Hello.")]).await;
    let thread = new_id();
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Hello.", "plain") })).await;
    thread
}

fn at(thread: &str) -> String {
    format!("/api/threads/{thread}/agents")
}

async fn dump(case: &Case, thread: &str, name: &str) -> Value {
    case.client.read(&format!("{}/{name}/dump", at(thread))).await
}

async fn parents(case: &Case, thread: &str) -> Vec<(String, Value)> {
    let all = agents(&case.client, thread).await;
    all.iter()
        .map(|agent| (agent["name"].as_str().unwrap_or_default().to_owned(), agent["parent"].clone()))
        .collect()
}

/// A dump without what its agents heard: each restored agent hears one text more.
fn without_heard(dump: &Value) -> Value {
    let mut dump = dump.clone();
    if let Some(members) = dump.as_object_mut() {
        members.remove("heard");
    }
    for agent in dump["agents"].as_array_mut().into_iter().flatten() {
        *agent = without_heard(agent);
    }
    dump
}

// dump, restore elsewhere, compare.
#[tokio::test]
async fn an_agent_is_dumped_and_restored_with_the_agents_below_it() {
    let case = Case::new().await;
    let thread = with_a_tree(&case).await;
    let whole = dump(&case, &thread, "lead").await;
    assert_eq!((&whole["speakers"], &whole["listeners"]), (&json!(["hand"]), &json!(["foot"])));
    let below: Vec<_> =
        whole["agents"].as_array().expect("agents").iter().map(|agent| &agent["name"]).collect();
    assert_eq!(below, ["foot", "hand"]);
    let told = whole["agents"][0]["heard"].as_array().expect("texts");
    assert!(told.len() == 2 && told[1] == says("hand", "Dug."), "{told:?}");
    assert_eq!(whole["agents"][1]["rounds"].as_array().map(Vec::len), Some(2));
    assert_eq!(whole.get("cut"), None);

    let other = plain(&case).await;
    let list: Value =
        case.client.post(&format!("{}?as=boss", at(&other)), &whole).await.expect(200).await.json().await;
    assert_eq!(list["agents"].as_array().map(Vec::len), Some(3));
    let expected = [("boss", Value::Null), ("foot", json!("boss")), ("hand", json!("boss"))];
    assert_eq!(parents(&case, &other).await, expected.map(|(name, parent)| (name.to_owned(), parent)));
    let again = dump(&case, &other, "boss").await;
    let mut named = without_heard(&whole);
    named["name"] = json!("boss");
    assert_eq!(without_heard(&again), named);
    for agent in [&again, &again["agents"][0], &again["agents"][1]] {
        let last = agent["heard"].as_array().and_then(|heard| heard.last()).and_then(Value::as_str);
        assert!(last.is_some_and(|text| text.starts_with("[You were restored")), "{agent}");
    }

    // All or nobody: one name of the three is taken there, and two after it.
    let there = at(&other);
    let refused = case.client.post(&there, &whole).await;
    let problem: Value = refused.expect(409).await.json().await;
    assert_eq!(problem["code"], "agent_exists");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("foot, hand")), "{problem}");
    assert_eq!(agents(&case.client, &other).await.len(), 3);
    for wrong in ["main", "Not%20A%20Name"] {
        let refused = case.client.post(&format!("{there}?as={wrong}"), &whole).await;
        assert_problem(refused, 400, "invalid_request", Some("as")).await;
    }
    let mut raw = whole.clone();
    raw["agents"][1]["rounds"][0][1]["assistant"]["raw"] = json!({});
    let place = "agents[1].rounds[0][1].assistant.raw";
    assert_problem(case.client.post(&there, &raw).await, 400, "invalid_request", Some(place)).await;
}

// `main` is the conversation. It is restored as another agent, which remembers it.
#[tokio::test]
async fn main_is_dumped_and_restored_under_another_name() {
    let case = Case::new().await;
    let thread = with_a_tree(&case).await;
    let whole = dump(&case, &thread, "main").await;
    let list = case.client.read(&at(&thread)).await;
    assert_eq!((&whole["name"], &whole["instructions"]), (&json!("main"), &list["main"]["instructions"]));
    assert_eq!(whole["speakers"], json!(["lead"]));
    assert_eq!(whole["agents"][0]["agents"].as_array().map(Vec::len), Some(2));
    let round = whole["rounds"][0].as_array().expect("a round");
    assert!(round[0]["user"]["content"].as_str().is_some_and(|text| text.starts_with("Go.")), "{round:?}");
    assert_eq!(round.last().expect("an answer")["assistant"]["content"], "Begun.");

    let other = plain(&case).await;
    let refused: Value = case.client.post(&at(&other), &whole).await.expect(409).await.json().await;
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("main")), "{refused}");
    case.client.post(&format!("{}?as=past", at(&other)), &whole).await.expect(200).await;
    let expected =
        [("foot", json!("lead")), ("hand", json!("lead")), ("lead", json!("past")), ("past", Value::Null)];
    let mut found = parents(&case, &other).await;
    found.sort_by(|(one, _), (another, _)| one.cmp(another));
    assert_eq!(found, expected.map(|(name, parent)| (name.to_owned(), parent)));
    case.script("past", [text("We began.")]).await;
    let body =
        json!({ "thread_id": other, "content": case.said("What did we do?", "past"), "agent": "past" });
    case.chat_with(&body).await;
    let asked = heard(&case.requests("past").await.requests[0].body);
    assert!(asked.iter().any(|text| text == "Begun."), "{asked:?}");

    // A thread without agents has a main agent too.
    let alone = dump(&case, &plain(&case).await, "main").await;
    assert_eq!((alone["rounds"].as_array().map(Vec::len), alone.get("agents")), (Some(1), None));
}

// what does not fit into a dump goes from its oldest end, and what is left can be restored. A thread has 16 agents.
#[tokio::test]
async fn a_dump_is_cut_and_a_thread_has_so_many_agents() {
    let case = Case::new().await;
    let thread = plain(&case).await;
    let round = |letter: &str| json!([{ "user": { "content": letter.repeat(400_000) } }]);
    let small = |name: String| json!({ "name": name, "instructions": "Be brief." });
    for (name, letter) in [("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("e", "e")] {
        let dump = json!({ "name": name, "instructions": "Be brief.", "rounds": [round(letter)] });
        case.client.post(&at(&thread), &dump).await.expect(200).await;
    }
    let whole = dump(&case, &thread, "main").await;
    assert_eq!(whole["cut"], true);
    let count = |agent: &Value| agent["rounds"].as_array().map_or(0, Vec::len);
    let kept: Vec<usize> = whole["agents"].as_array().expect("agents").iter().map(count).collect();
    assert_eq!((kept, count(&whole)), (vec![0, 1, 1, 1, 1], 1), "the oldest is gone");
    let other = plain(&case).await;
    case.client.post(&format!("{}?as=past", at(&other)), &whole).await.expect(200).await;
    assert_eq!(agents(&case.client, &other).await.len(), 6);

    // At the limit, and just beyond it.
    let many = |count: usize| {
        let below: Vec<Value> = (1..count).map(|number| small(format!("n{number}"))).collect();
        json!({ "name": "n0", "instructions": "Be brief.", "agents": below })
    };
    let beyond = case.client.post(&at(&other), &many(11)).await;
    assert_problem(beyond, 409, "agent_exists", None).await;
    case.client.post(&at(&other), &many(10)).await.expect(200).await;
    assert_eq!(agents(&case.client, &other).await.len(), 16);
    assert_problem(case.client.post(&at(&other), &many(18)).await, 400, "invalid_request", Some("agents"))
        .await;
}

// the model lists, dumps and restores its own agents, by files of the workspace.
#[tokio::test]
async fn agents_are_listed_dumped_and_restored_by_calls() {
    let case = Case::new().await;
    let thread = with_a_tree(&case).await;
    let steps = [
        call("list_agents", json!({})),
        call("dump_agent", json!({ "name": "lead", "path": "agents/lead.json" })),
        call("restore_agent", json!({ "path": "agents/lead.json", "as": "twin" })),
        call("terminate", json!({ "name": "lead" })),
        call("restore_agent", json!({ "path": "agents/lead.json", "as": "twin" })),
        text("Done."),
    ];
    case.script("calls", steps).await;
    let body = json!({ "thread_id": thread, "content": case.said("Move it.", "calls"), "agents": true });
    let events = case.chat_with(&body).await;
    let listed: Value = serde_json::from_str(&result_of(&events, "list_agents")).expect("a list");
    assert_eq!((&listed["agents"][0]["name"], &listed["speakers"]), (&json!("lead"), &json!(["lead"])));
    assert!(result_of(&events, "dump_agent").starts_with("lead is dumped: wrote "));
    let requests = case.requests("calls").await.requests;
    let told = [3, 5].map(|index| requests[index].results().join("\n"));
    assert!(told[0].contains("these names are taken: foot, hand"), "{told:?}");
    assert_eq!(told[1], "restored: twin, foot, hand");
    let expected = [("foot", json!("twin")), ("hand", json!("twin")), ("twin", Value::Null)];
    let mut found = parents(&case, &thread).await;
    found.sort_by(|(one, _), (another, _)| one.cmp(another));
    assert_eq!(found, expected.map(|(name, parent)| (name.to_owned(), parent)));
    // A person can take the file elsewhere.
    let file: Value = case.client.read(&format!("/api/threads/{thread}/files/agents/lead.json")).await;
    let other = plain(&case).await;
    case.client.post(&at(&other), &file).await.expect(200).await;
    assert_eq!(agents(&case.client, &other).await.len(), 3);
    // Without agents there is none of the calls.
    let offered = case.requests("plain").await.requests[0].tools().join(" ");
    assert!(!offered.contains("_agent"), "{offered}");
}

//
#[tokio::test]
async fn a_new_agent_gets_copies_of_agents() {
    let case = Case::new().await;
    let thread = with_a_tree(&case).await;
    let chief = json!({ "name": "chief", "instructions": "You rule.", "agents": ["lead"] });
    let none = json!({ "name": "other", "instructions": "You rule.", "agents": ["nobody"] });
    case.script("copies", [call("task", chief), call("task", none), text("Done.")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Copy it.", "copies"), "agents": true });
    case.chat_with(&body).await;
    let requests = case.requests("copies").await.requests;
    let told = [1, 2].map(|index| requests[index].results().join("\n"));
    assert!(told[0].contains("chief_lead, a copy of lead"), "{told:?}");
    assert!(told[1].contains("you have no agent \"nobody\""), "{told:?}");
    let mut found = parents(&case, &thread).await;
    found.sort_by(|(one, _), (another, _)| one.cmp(another));
    let expected = [
        ("chief", Value::Null),
        ("chief_foot", json!("chief_lead")),
        ("chief_hand", json!("chief_lead")),
        ("chief_lead", json!("chief")),
        ("foot", json!("lead")),
        ("hand", json!("lead")),
        ("lead", Value::Null),
    ];
    assert_eq!(found, expected.map(|(name, parent)| (name.to_owned(), parent)));
    let (copy, original) = (dump(&case, &thread, "chief_lead").await, dump(&case, &thread, "lead").await);
    assert_eq!((&copy["rounds"], &copy["speakers"]), (&original["rounds"], &json!(["chief_hand"])));
}
