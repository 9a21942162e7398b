//! SearXNG, on an instance of the operator: <https://docs.searxng.org/dev/search_api.html>. Its `settings.yml` must
//! allow the format `json`.

use serde::Deserialize;

use super::{Hit, query_string};
use wire::http::HttpRequest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searxng {
    /// The part of the address before `/search`.
    pub url: String,
}

impl Searxng {
    pub fn request(&self, query: &str) -> HttpRequest {
        let parameters = query_string(&[("q", query), ("format", "json")]);
        let headers = vec![("accept", "application/json".to_owned())];
        HttpRequest::get(format!("{}/search?{parameters}", self.url.trim_end_matches('/')), headers)
    }
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: String,
    title: String,
    #[serde(default)]
    content: Option<String>,
}

pub fn hits(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = wire::json::from_slice(body).ok()?;
    let hit = |Found { url, title, content }| Hit { title, url, snippet: content.unwrap_or_default() };
    Some(answer.results.into_iter().map(hit).collect())
}
