//! A client of the service: one anonymous user with a cookie of its own, or any other set of header fields.

use bytes::Bytes;
use serde_json::Value;

use crate::http::{self, Reply};
use crate::sse::EventStream;

/// A user's client.
#[derive(Clone, Debug)]
pub struct Client {
    base: String,
    headers: Vec<(String, String)>,
}

impl Client {
    /// A new anonymous user of the main instance.
    pub async fn anonymous() -> Self {
        Self::anonymous_at(&crate::env("ESPALIER_URL")).await
    }

    /// A new anonymous user of another instance.
    pub async fn anonymous_at(base: &str) -> Self {
        let nobody = Self::nobody_at(base);
        let reply = nobody.post("/api/session", &serde_json::json!({})).await.expect(200).await;
        let cookie = reply.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        assert!(cookie.starts_with("espalier_session="), "set-cookie: {}", reply.header("set-cookie"));
        nobody.with("cookie", &cookie)
    }

    /// A client without credentials.
    pub fn nobody_at(base: &str) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), headers: Vec::new() }
    }

    /// The same with one more header field.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The value of a header field that this client sends.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Any request.
    pub async fn send(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Reply {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        http::send(method, &format!("{}{path}", self.base), &headers, body).await.watched()
    }

    /// A request without a body.
    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, Bytes::new()).await
    }

    /// A request with JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.with("content-type", "application/json").send("POST", path, body.to_string()).await
    }

    /// A request with a JSON body that replaces what is there.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.with("content-type", "application/json").send("PUT", path, body.to_string()).await
    }

    /// Starts a turn.
    pub async fn chat(&self, body: &Value) -> EventStream {
        EventStream::open(self.post("/api/chat", body).await).await.following(self, None, 0)
    }

    /// The list of threads, one page of the default size.
    pub async fn threads(&self) -> Vec<Value> {
        let list = self.read("/api/threads").await;
        list["threads"].as_array().unwrap_or_else(|| panic!("no threads: {list}")).clone()
    }

    /// A thread's details.
    pub async fn thread(&self, id: &str) -> Value {
        self.read(&format!("/api/threads/{id}")).await
    }

    /// A thread's messages, from all pages.
    pub async fn messages(&self, thread_id: &str) -> Vec<Value> {
        let path = format!("/api/threads/{thread_id}/messages?limit=200");
        let mut messages = Vec::new();
        let mut page = self.read(&path).await;
        loop {
            let list = page["messages"].as_array().unwrap_or_else(|| panic!("no messages: {page}"));
            messages.extend_from_slice(list);
            // A page ends early after long messages.
            let Some(cursor) = page["next_cursor"].as_str() else { return messages };
            page = self.read(&format!("{path}&cursor={cursor}")).await;
        }
    }

    /// A request with JSON that changes a thread.
    pub async fn patch(&self, thread_id: &str, body: &Value) -> Reply {
        let client = self.with("content-type", "application/json");
        client.send("PATCH", &format!("/api/threads/{thread_id}"), body.to_string()).await
    }

    /// Deletes a thread.
    pub async fn delete(&self, thread_id: &str) {
        self.send("DELETE", &format!("/api/threads/{thread_id}"), Bytes::new()).await.expect(204).await;
    }

    /// Stops the running turn; returns its id, or null.
    pub async fn cancel(&self, thread_id: &str) -> Value {
        let reply = self.post(&format!("/api/threads/{thread_id}/cancel"), &serde_json::json!({})).await;
        reply.expect(200).await.json().await["turn_id"].clone()
    }

    /// Reads a thread's stream after a sequence number; `None` where there is no newer event.
    pub async fn stream(&self, thread_id: &str, after: u64) -> Option<EventStream> {
        let reply = self
            .with("last-event-id", &after.to_string())
            .get(&format!("/api/threads/{thread_id}/stream"))
            .await;
        match reply.status {
            204 => None,
            _ => Some(EventStream::open(reply).await.following(self, Some(thread_id), after)),
        }
    }

    /// JSON that must exist.
    pub async fn read(&self, path: &str) -> Value {
        self.get(path).await.expect(200).await.json().await
    }
}

/// Fails unless this is the problem that the wire promises, in RFC 9457's form.
pub async fn assert_problem(reply: Reply, status: u16, code: &str, field: Option<&str>) {
    let kind = reply.header("content-type").to_owned();
    let got = reply.status;
    let body = reply.text().await;
    assert_eq!(got, status, "expected {status} {code}, got {body}");
    assert!(kind.starts_with("application/problem+json"), "{kind}: {body}");
    let problem: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    assert_eq!(problem["code"], code, "{problem}");
    assert_eq!(problem["status"], status, "{problem}");
    assert_eq!(problem["type"], "about:blank", "{problem}");
    assert_eq!(problem["field"].as_str(), field, "{problem}");
    for prose in ["title", "detail"] {
        assert!(problem[prose].as_str().is_some_and(|text| !text.is_empty()), "no {prose}: {problem}");
    }
}
