//! Documents of collections in other character sets, as tables and as JSON.
//!
//! Issue 44

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::{Client, Value, json};

async fn collection(client: &Client) -> String {
    let made = client.post("/api/collections", &json!({ "name": "C" })).await.expect(201).await.json().await;
    made["id"].as_str().unwrap_or_else(|| panic!("no id: {made}")).to_owned()
}

async fn post(client: &Client, id: &str, name: &str, kind: &str, body: Vec<u8>) -> Reply {
    let path = format!("/api/collections/{id}/documents?name={name}");
    client.with("content-type", kind).send("POST", &path, body).await
}

/// The heading and the text of each passage that a search finds.
async fn found(client: &Client, id: &str, query: &str) -> Vec<(String, String)> {
    let list = client.read(&format!("/api/collections/{id}/search?q={query}")).await;
    let text = |passage: &Value, member: &str| passage[member].as_str().unwrap_or_default().to_owned();
    let passages = list["results"].as_array().unwrap_or_else(|| panic!("no results: {list}"));
    passages.iter().map(|passage| (text(passage, "heading"), text(passage, "text"))).collect()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[tokio::test]
async fn a_table_in_utf_16_is_found_by_its_rows() {
    let client = Client::anonymous().await;
    let id = collection(&client).await;
    let rows: Vec<String> = (0..200).map(|n| format!("{n};\"Birnbaum {n}\nan der Südwand\"")).collect();
    let table = format!("\u{feff}Nummer;Sorte\r\n{}\r\n999;Zwetschge\r\n", rows.join("\r\n"));
    let added = post(&client, &id, "baum.csv", "text/csv", utf16(&table, u16::to_le_bytes)).await;
    let document = added.expect(201).await.json().await;
    assert_eq!(document["media_type"], "text/csv");
    assert!(document["chunks"].as_u64().is_some_and(|chunks| chunks > 3), "{document}");
    let passages = found(&client, &id, "zwetschge").await;
    let [(heading, text)] = &passages[..] else { panic!("{passages:?}") };
    assert!(
        heading.is_empty() && text.starts_with("Nummer;Sorte\n") && text.ends_with("\n999;Zwetschge"),
        "{text}"
    );
    assert!(text.contains(";\"Birnbaum 199\nan der Südwand\"\n"), "{text}");
}

#[tokio::test]
async fn documents_are_read_in_the_character_sets_that_they_name() {
    let client = Client::anonymous().await;
    let id = collection(&client).await;
    for (number, (kind, body)) in [
        ("text/plain; charset=ISO-8859-1", b"quittenm\xfcs one".to_vec()),
        ("text/markdown; charset=\"windows-1252\"", b"quittenm\xfcs \x96 \x80 5".to_vec()),
        ("text/plain; charset=utf-16", utf16("quittenmüs three", u16::to_le_bytes)),
        ("text/plain; charset=utf-16be", utf16("quittenmüs four", u16::to_be_bytes)),
        ("text/html", b"<meta charset=latin1><p>quittenm\xfcs five".to_vec()),
        ("text/plain; charset=utf-8", b"\xef\xbb\xbfquittenm\xc3\xbcs six".to_vec()),
    ]
    .into_iter()
    .enumerate()
    {
        post(&client, &id, "a", kind, body).await.expect(201).await;
        assert_eq!(found(&client, &id, "quittenm%C3%BCs").await.len(), number + 1, "{kind}");
    }
    let texts: Vec<String> = found(&client, &id, "5").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["quittenmüs – € 5"]);
    for (kind, body, status, code) in [
        ("text/plain; charset=shift_jis", b"a".to_vec(), 415, "unsupported_media_type"),
        ("text/plain", b"caf\xe9".to_vec(), 400, "invalid_request"),
        ("text/plain; charset=utf-8", b"caf\xe9".to_vec(), 400, "invalid_request"),
        ("text/plain; charset=latin1", vec![0xe9; 600_000], 413, "body_too_large"),
    ] {
        assert_problem(post(&client, &id, "a", kind, body).await, status, code, None).await;
    }
}

#[tokio::test]
async fn json_is_found_by_its_values_with_their_path() {
    let client = Client::anonymous().await;
    let id = collection(&client).await;
    let people: Vec<Value> = (0..40)
        .map(|n| json!({ "name": format!("Gärtner {n}"), "note": "schneidet Bäume ".repeat(12) }))
        .collect();
    let document = json!({ "garden": { "people": people, "opened": "im Frühling" } });
    // As Python writes it.
    let ascii = document.to_string().replace('ä', "\\u00e4").replace('ü', "\\u00fc");
    let added = post(&client, &id, "a.json", "application/json", ascii.into_bytes()).await;
    assert_eq!(added.expect(201).await.json().await["media_type"], "application/json");
    let passages = found(&client, &id, "fr%C3%BChling").await;
    assert!(passages[0].1.contains("opened: im Frühling"), "{passages:?}");
    let of_39 = found(&client, &id, "g%C3%A4rtner+39").await;
    let (heading, text) = &of_39[0];
    assert!(heading == "garden > people" && text.contains("[39]:\n name: Gärtner 39\n"), "{heading}: {text}");

    let reply = post(&client, &id, "b", "application/json", b"{\"a\": 1,\n\"b\" 2}".to_vec()).await;
    let problem = reply.expect(400).await.json().await;
    assert_eq!(problem["code"], "invalid_request");
    assert_eq!(problem["detail"], "the document is not JSON from line 2, column 5 on");
    assert_eq!(client.read(&format!("/api/collections/{id}")).await["documents"], 1);
}
