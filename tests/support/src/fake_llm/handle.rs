//! The tests' end of the fake LLM.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::ledger::{Outcome, Record};
use super::script::Script;
use crate::http;

/// A fake LLM somewhere on this machine.
#[derive(Clone, Debug)]
pub struct FakeLlm {
    url: String,
}

/// The requests that it got.
#[derive(Debug, Deserialize)]
pub struct Requests {
    /// In the order of their arrival.
    pub requests: Vec<Record>,
    /// How many of them were under way at once.
    pub peak: usize,
}

impl FakeLlm {
    /// Starts one inside this process.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        tokio::spawn(super::serve(listener));
        Self { url: format!("http://127.0.0.1:{port}") }
    }

    /// The one that `e2e` has started.
    pub fn from_env() -> Self {
        Self { url: crate::env("ESPALIER_FAKE_LLM_URL") }
    }

    /// Its address, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Registers a script.
    pub async fn script(&self, marker: &str, script: Script) {
        let scripts = HashMap::from([(marker, script)]);
        let body = serde_json::to_vec(&scripts).expect("a script is JSON");
        http::send("POST", &format!("{}/_fake/scripts", self.url), &[], body).await.expect(200).await;
    }

    /// Opens a barrier.
    pub async fn release(&self, barrier: &str) {
        let body = json!({ "barrier": barrier }).to_string();
        http::send("POST", &format!("{}/_fake/release", self.url), &[], body).await.expect(200).await;
    }

    /// Puts a document where [`FakeLlm::document_url`] says.
    pub async fn publish(&self, name: &str, document: &Value) {
        http::send("PUT", &self.document_url(name), &[], document.to_string()).await.expect(200).await;
    }

    /// Where a document can be fetched.
    pub fn document_url(&self, name: &str) -> String {
        format!("{}/_fake/documents/{name}", self.url)
    }

    /// How often a document was asked for.
    pub async fn fetches(&self, name: &str) -> usize {
        self.requests(&format!("/_fake/documents/{name}")).await.requests.len()
    }

    /// The requests whose marker begins so.
    pub async fn requests(&self, prefix: &str) -> Requests {
        self.report(&format!("/_fake/requests?marker={prefix}")).await
    }

    /// Returns when so many requests have come.
    pub async fn wait(&self, prefix: &str, count: usize) -> Requests {
        self.report(&format!("/_fake/wait?marker={prefix}&count={count}")).await
    }

    /// Returns when so many requests have ended so.
    pub async fn wait_for(&self, prefix: &str, count: usize, outcome: Outcome) -> Requests {
        let outcome = serde_json::to_value(outcome).expect("an outcome is a word");
        let outcome = outcome.as_str().unwrap_or_default();
        self.report(&format!("/_fake/wait?marker={prefix}&count={count}&outcome={outcome}")).await
    }

    async fn report(&self, path: &str) -> Requests {
        let reply = http::send("GET", &format!("{}{path}", self.url), &[], Vec::new()).await;
        let status = reply.status;
        let report: Value = reply.json().await;
        assert_eq!(status, 200, "the fake LLM waited in vain ({path}): {report:#}");
        serde_json::from_value(report).expect("a report")
    }
}
