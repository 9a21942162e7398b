//! Collections that are also searched by meaning, and PDFs in them: real D1, and stand-ins for the bindings of Workers
//! AI and Vectorize, which exist at Cloudflare only (`tests/workers_ai`).
//!
//! N-031 N-175

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::stored::{change_at, d1_at, eventually};
use espalier_test_support::{Case, Client, Value, env, json, text};

async fn somebody() -> Client {
    Client::anonymous_at(&env("ESPALIER_AI_URL")).await
}

async fn collection(client: &Client) -> String {
    let made =
        client.post("/api/collections", &json!({ "name": "Cars" })).await.expect(201).await.json().await;
    made["id"].as_str().unwrap_or_else(|| panic!("no id: {made}")).to_owned()
}

async fn post(client: &Client, collection: &str, body: &str) -> Reply {
    let path = format!("/api/collections/{collection}/documents?name=a.md");
    client.with("content-type", "text/markdown").send("POST", &path, body.to_owned()).await
}

async fn add(client: &Client, collection: &str, body: &str) -> String {
    let added = post(client, collection, body).await.expect(201).await.json().await;
    added["id"].as_str().unwrap_or_else(|| panic!("no id: {added}")).to_owned()
}

async fn found(client: &Client, collection: &str, query: &str) -> Vec<(String, f64)> {
    let list = client.read(&format!("/api/collections/{collection}/search?q={query}")).await;
    let of = |result: &Value| {
        (result["text"].as_str().unwrap_or_default().to_owned(), result["score"].as_f64().unwrap_or_default())
    };
    list["results"].as_array().unwrap_or_else(|| panic!("no results: {list}")).iter().map(of).collect()
}

fn texts(found: &[(String, f64)]) -> Vec<&str> {
    found.iter().map(|(text, _)| text.as_str()).collect()
}

const ENGINE: &str = "The automobile needs gasoline.";
const HEALTH: &str = "A physician sees patients.";

// N-031
#[tokio::test]
async fn a_text_of_the_same_meaning_is_found_without_a_common_word() {
    let client = somebody().await;
    let id = collection(&client).await;
    let document = add(&client, &id, &format!("# Engine\n\n{ENGINE}\n\n# Health\n\n{HEALTH}\n")).await;
    assert_eq!(found(&client, &id, "doctor").await, [(HEALTH.to_owned(), 1.0)]);
    // The text has two directions of meaning, and the question has one of them.
    assert_eq!(found(&client, &id, "car").await, [(ENGINE.to_owned(), 0.707)]);
    // Its words and its meaning find the same passage, which comes once.
    assert_eq!(texts(&found(&client, &id, "gasoline").await), [ENGINE]);
    // The nearest piece is no result if it is not near enough.
    assert_eq!(found(&client, &id, "espalier").await, []);

    // The model gets the passage.
    let case = Case::of(client.clone());
    case.script("", [text("Fill it up.")]).await;
    case.chat_with(&json!({ "content": case.said("Car?", ""), "collections": [id] })).await;
    let sent = case.requests("").await.requests[0].body.to_string();
    assert!(sent.contains(ENGINE) && !sent.contains(HEALTH), "{sent}");

    // No other user finds it. After its deletion no user finds it at all.
    let other = somebody().await;
    let theirs = collection(&other).await;
    assert_eq!(found(&other, &theirs, "car").await, []);
    client.send("DELETE", &format!("/api/collections/{id}/documents/{document}"), "").await.expect(204).await;
    assert_eq!(found(&client, &id, "car").await, []);
    add(&client, &id, ENGINE).await;
    let of_another = collection(&client).await;
    assert_eq!(found(&client, &of_another, "car").await, [], "each collection by itself");
    client.send("DELETE", &format!("/api/collections/{id}"), "").await.expect(204).await;
    let gone = client.get(&format!("/api/collections/{id}/search?q=car")).await;
    assert_problem(gone, 404, "collection_not_found", None).await;
}

// A document that cannot be embedded is refused as a whole. A question that cannot be embedded is searched by its
// words.
#[tokio::test]
async fn a_failing_embedding_model_costs_only_the_search_by_meaning() {
    let client = somebody().await;
    let id = collection(&client).await;
    let refused = post(&client, &id, &format!("{ENGINE}\n\nThis is unembeddable.")).await;
    assert_problem(refused, 500, "internal", None).await;
    let documents = client.read(&format!("/api/collections/{id}/documents")).await;
    assert_eq!(documents["documents"], json!([]), "nothing of it is left");
    assert_eq!(found(&client, &id, "gasoline").await, []);
    add(&client, &id, ENGINE).await;
    assert_eq!(texts(&found(&client, &id, "unembeddable+gasoline").await), [ENGINE]);
    assert_eq!(found(&client, &id, "unembeddable+car").await, []);
}

// The document has more pieces than the model embeds at once. All of them are found, and all are deleted.
#[tokio::test]
async fn a_document_of_many_pieces() {
    let client = somebody().await;
    let id = collection(&client).await;
    let section =
        |at: usize| format!("# Part {at}\n\nOf {}.\n\n", if at == 205 { "petrol" } else { "nothing" });
    let body: String = (1..=210).map(section).collect();
    let document = add(&client, &id, &body).await;
    assert_eq!(texts(&found(&client, &id, "fuel").await), ["Of petrol."]);
    client.send("DELETE", &format!("/api/collections/{id}/documents/{document}"), "").await.expect(204).await;
    assert_eq!(found(&client, &id, "fuel").await, []);
}

// Issue 23, 4: where the vectors cannot be deleted the document stays, because nothing else knows them.
#[tokio::test]
async fn vectors_go_before_their_document() {
    let client = somebody().await;
    let id = collection(&client).await;
    let [first, second] = [add(&client, &id, ENGINE).await, add(&client, &id, HEALTH).await];
    let count = async |document: &str| client.read(&format!("/api/_vectors/{document}")).await;
    let refusing = format!("/api/_refusing/{first}");
    client.send("PUT", &refusing, "").await.expect(200).await;
    for path in [format!("/api/collections/{id}/documents/{first}"), format!("/api/collections/{id}")] {
        assert_problem(client.send("DELETE", &path, "").await, 500, "internal", None).await;
        assert_eq!(texts(&found(&client, &id, "gasoline").await), [ENGINE], "{path}");
        assert_eq!(count(&first).await, json!(1));
    }
    client.send("DELETE", &refusing, "").await.expect(200).await;
    client.send("DELETE", &format!("/api/collections/{id}"), "").await.expect(204).await;
    assert_eq!((count(&first).await, count(&second).await), (json!(0), json!(0)));
}

// More documents than are deleted at once.
#[tokio::test]
async fn a_large_collection_goes_with_all_its_vectors() {
    let client = somebody().await;
    let id = collection(&client).await;
    let mut documents = Vec::new();
    for at in 0..21 {
        documents.push(add(&client, &id, &format!("# Part {at}\n\n{ENGINE}")).await);
    }
    client.send("DELETE", &format!("/api/collections/{id}"), "").await.expect(204).await;
    for document in documents {
        assert_eq!(client.read(&format!("/api/_vectors/{document}")).await, json!(0));
    }
}

const STATE: &str = "ESPALIER_AI_STATE_DIR";

/// Leaves of a document what a kill between its vectors and its row leaves, so many milliseconds ago.
async fn break_off(document: &str, ago_ms: u64) {
    let sql = format!(
        "DELETE FROM chunks WHERE document_id = '{document}';
        UPDATE documents SET collection_id = '', name = '', media_type = '', bytes = 0,
        created_at = created_at - {ago_ms} WHERE id = '{document}'"
    );
    change_at(STATE, &sql).await;
}

// Issue 46: the vectors of an upload that broke off go with a later upload. One may still be under way for an hour.
#[tokio::test]
async fn an_upload_that_broke_off_leaves_no_vectors() {
    let client = somebody().await;
    let id = collection(&client).await;
    let [old, young] = [add(&client, &id, ENGINE).await, add(&client, &id, ENGINE).await];
    break_off(&old, 3_700_000).await;
    break_off(&young, 3_500_000).await;
    let count = async |document: &str| client.read(&format!("/api/_vectors/{document}")).await;
    assert_eq!((count(&old).await, count(&young).await), (json!(1), json!(1)));
    assert_eq!(client.read(&format!("/api/collections/{id}/documents")).await["documents"], json!([]));
    assert_eq!(found(&client, &id, "car").await, []);
    let refused = post(&client, &id, "This is unembeddable.").await;
    assert_problem(refused, 500, "internal", None).await;
    assert_eq!((count(&old).await, count(&young).await), (json!(0), json!(1)));
    let rows = format!("SELECT id FROM documents WHERE collection_id = '' AND id >= '{old}'");
    assert_eq!(d1_at(STATE, &rows).await, [json!({ "id": young })], "the refused one left no row");
}

// Issue 23, 4: an erasure deletes the vectors of its user, and no others.
#[tokio::test]
async fn an_erasure_deletes_the_vectors() {
    let (client, neighbour) = (somebody().await, somebody().await);
    let (own, theirs) = (collection(&client).await, collection(&neighbour).await);
    let documents = [add(&client, &own, ENGINE).await, add(&client, &own, HEALTH).await];
    break_off(&documents[1], 0).await;
    let kept = add(&neighbour, &theirs, ENGINE).await;
    let count = async |document: &str| client.read(&format!("/api/_vectors/{document}")).await;
    assert_eq!((count(&documents[0]).await, count(&kept).await), (json!(1), json!(1)));
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user").to_owned();
    let confirmed = json!({ "confirm": "erase" }).to_string();
    let asking = client.with("content-type", "application/json");
    let begun = asking.send("DELETE", "/api/me", confirmed).await.expect(202).await.json().await;
    // The second sweep need not wait.
    let sql = format!(
        "UPDATE erasures SET started_at = started_at - 90000, lease_until = 0 WHERE user_id = 'anonymous:{user}'"
    );
    change_at(STATE, &sql).await;
    let progress = format!("/api/me/erasure?receipt={}", begun["receipt"].as_str().expect("a receipt"));
    eventually("the erasure ends", || async {
        let progress = neighbour.read(&progress).await;
        (!progress["ended_at"].is_null()).then_some(())
    })
    .await;
    for document in &documents {
        assert_eq!(count(document).await, json!(0));
    }
    assert_eq!(count(&kept).await, json!(1));
    assert_eq!(texts(&found(&neighbour, &theirs, "car").await), [ENGINE]);
}

// N-175
#[tokio::test]
async fn a_pdf_is_read_where_workers_ai_is_bound() {
    let client = somebody().await;
    let id = collection(&client).await;
    let post = async |body: &str| {
        let path = format!("/api/collections/{id}/documents?name=pears.pdf");
        client.with("content-type", "application/pdf").send("POST", &path, body.to_owned()).await
    };
    let added =
        post("%PDF-1.7\n%# Pears\n%\n%They keep for 126 days.\n").await.expect(201).await.json().await;
    assert_eq!(added["media_type"], "application/pdf");
    assert_eq!(texts(&found(&client, &id, "126").await), ["They keep for 126 days."]);
    for (body, status, code) in [
        ("They keep for 126 days.", 400, "invalid_request"),
        ("%PDF-1.7\n% encrypted", 400, "invalid_request"),
        ("%PDF-1.7\n%  \n", 400, "invalid_request"),
        ("%PDF-1.7\n% away", 500, "internal"),
    ] {
        assert_problem(post(body).await, status, code, None).await;
    }
    let documents = client.read(&format!("/api/collections/{id}/documents")).await;
    assert_eq!(documents["documents"].as_array().map(Vec::len), Some(1), "the refused document is not there");
}

// Of documents that come together only as many are embedded as the day has embeddings. A question counts as one too.
#[tokio::test]
async fn embeddings_per_day_are_limited() {
    let client = somebody().await;
    let id = collection(&client).await;
    let body: String = (1..=60).map(|at| format!("# Part {at}\n\nOf nothing.\n\n")).collect();
    let replies = futures::future::join_all((0..8).map(|_| post(&client, &id, &body))).await;
    let mut added = 0;
    for reply in replies {
        match reply.status {
            201 => added += 1,
            _ => assert_problem(reply, 429, "quota_exceeded", None).await,
        }
    }
    assert_eq!(added, 4, "of 250 embeddings, 60 each");
    assert_eq!(client.read(&format!("/api/collections/{id}")).await["documents"], 4);
    for _ in 0..10 {
        found(&client, &id, "nothing").await;
    }
    let over = client.get(&format!("/api/collections/{id}/search?q=nothing")).await;
    assert!(over.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    assert_problem(over, 429, "quota_exceeded", None).await;
}
