//! Google Programmable Search: <https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list>.

use serde::Deserialize;

use super::{Hit, query_string};
use wire::http::HttpRequest;
use wire::redact::Secret;

/// The address of the service.
pub const URL: &str = "https://www.googleapis.com/customsearch/v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Google {
    pub url: String,
    pub key: Secret,
    /// The id of the search engine.
    pub cx: String,
}

impl Google {
    pub fn request(&self, query: &str, count: usize) -> HttpRequest {
        let count = count.to_string();
        let parameters =
            query_string(&[("key", self.key.reveal()), ("cx", &self.cx), ("q", query), ("num", &count)]);
        let headers = vec![("accept", "application/json".to_owned())];
        HttpRequest::get(format!("{}?{parameters}", self.url), headers)
    }
}

#[derive(Deserialize)]
struct Answer {
    /// `customsearch#search`
    kind: String,
    /// Absent without results.
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    title: String,
    link: String,
    #[serde(default)]
    snippet: String,
}

pub fn hits(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = wire::json::from_slice(body).ok()?;
    let hit = |Item { title, link, snippet }| Hit { title, url: link, snippet };
    (answer.kind == "customsearch#search").then(|| answer.items.into_iter().map(hit).collect())
}
