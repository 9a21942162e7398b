//! Brave Search: <https://api-dashboard.search.brave.com/api-reference/web/search/get>.

use serde::Deserialize;

use super::{Hit, query_string};
use crate::reader::one_line;
use wire::http::HttpRequest;
use wire::redact::Secret;

/// The address of the service.
pub const URL: &str = "https://api.search.brave.com/res/v1/web/search";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brave {
    pub url: String,
    pub key: Secret,
}

impl Brave {
    pub fn request(&self, query: &str, count: usize) -> HttpRequest {
        let parameters =
            query_string(&[("q", query), ("count", &count.to_string()), ("text_decorations", "false")]);
        let headers = vec![
            ("accept", "application/json".to_owned()),
            ("x-subscription-token", self.key.reveal().to_owned()),
        ];
        HttpRequest::get(format!("{}?{parameters}", self.url), headers)
    }
}

#[derive(Deserialize)]
struct Answer {
    /// Absent without results; `query` is always present.
    web: Option<Web>,
    #[serde(rename = "query")]
    _query: serde::de::IgnoredAny,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    title: String,
    url: String,
    #[serde(default)]
    description: Option<String>,
}

pub fn hits(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = wire::json::from_slice(body).ok()?;
    let hit = |Found { title, url, description }| Hit {
        // Title and description may contain HTML.
        title: one_line(&title),
        url,
        snippet: one_line(&description.unwrap_or_default()),
    };
    Some(answer.web.map(|web| web.results.into_iter().map(hit).collect()).unwrap_or_default())
}
