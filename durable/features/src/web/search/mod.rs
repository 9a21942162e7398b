//! `web_search`: searches the web with the configured service.

pub mod brave;
pub mod google;
mod searxng;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use url::form_urlencoded::byte_serialize;

use super::client::{Client, Patience, Silence};
use super::is_data;
pub use brave::Brave;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;
pub use google::Google;
pub use searxng::Searxng;
use wire::http::HttpRequest;

/// The longest query: Brave takes no more.
const MAX_QUERY_CHARS: usize = 400;
/// The default and the most results: Google returns at most ten at once.
const RESULTS: usize = 5;
const MAX_RESULTS: usize = 10;
/// The limits of a result, in characters, and of all results, in bytes.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SNIPPET_CHARS: usize = 500;
const MAX_URL_BYTES: usize = 2_048;
pub const MAX_TOLD_BYTES: usize = 20_000;
/// The most bytes of a service's reply.
const MAX_ANSWER_BYTES: usize = 2 << 20;

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

/// A search service, sans I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    Brave(Brave),
    Google(Google),
    Searxng(Searxng),
}

impl Service {
    fn request(&self, query: &str, count: usize) -> HttpRequest {
        match self {
            Service::Brave(service) => service.request(query, count),
            Service::Google(service) => service.request(query, count),
            Service::Searxng(service) => service.request(query),
        }
    }

    /// The results of a reply; none if the reply does not match the service's documentation.
    fn hits(&self, body: &[u8]) -> Option<Vec<Hit>> {
        match self {
            Service::Brave(_) => brave::hits(body),
            Service::Google(_) => google::hits(body),
            Service::Searxng(_) => searxng::hits(body),
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    count: Option<NonZeroUsize>,
}

pub fn spec() -> ToolSpec {
    super::declared("web_search")
}

pub struct WebSearch {
    pub spec: ToolSpec,
    pub client: Client,
    pub service: Rc<Service>,
}

impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn addresses(&self, result: &str) -> Vec<String> {
        addresses(result)
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (client, service) = (self.client.clone(), Rc::clone(&self.service));
        let arguments = arguments::read(&self.spec, json);
        async move {
            let Arguments { query, count } = arguments?;
            let (query, count) = (query.trim(), count.map_or(RESULTS, NonZeroUsize::get).min(MAX_RESULTS));
            if query.is_empty() || query.chars().nth(MAX_QUERY_CHARS).is_some() {
                return Err(ToolError::new(format!("the query must have 1 to {MAX_QUERY_CHARS} characters")));
            }
            let mut patience = Patience::new(&context.clock);
            let asked = client.ask(service.request(query, count), MAX_ANSWER_BYTES, &mut patience).await;
            let hits = read(&service, asked)?;
            Ok(tell(query, &hits, count))
        }
        .boxed_local()
    }
}

/// Replaces the service's own error text, which may repeat the key.
fn read(service: &Service, asked: Result<(u16, Vec<u8>), Silence>) -> Result<Vec<Hit>, ToolError> {
    let nonsense = "the search service answered with something other than results; try again later";
    let why = match asked {
        Ok((200..300, body)) => return service.hits(&body).ok_or_else(|| ToolError::new(nonsense)),
        Ok((400 | 422, _)) => "the search service did not understand the query; make it simpler",
        Ok((401..=403, _)) => "the search service takes no requests of this deployment; go on without it",
        Ok((429, _)) => "the search service takes no more requests for now; try again later",
        Ok(_) | Err(Silence::Unreachable) => {
            "the search service does not work at the moment; try again later"
        }
        Err(Silence::TooLate) => "the search service did not answer in time; try again",
        Err(Silence::TooLarge) => nonsense,
    };
    Err(ToolError::new(why))
}

fn tell(query: &str, hits: &[Hit], count: usize) -> String {
    let readable = |hit: &&Hit| {
        let is_web = hit.url.starts_with("https://") || hit.url.starts_with("http://");
        is_web && hit.url.len() <= MAX_URL_BYTES && !hit.url.contains(|c: char| c.is_control() || c == ' ')
    };
    let mut told = format!("Results for {query:?}. {}\n", is_data("search"));
    let nothing = told.len();
    for (number, hit) in hits.iter().filter(readable).take(count).enumerate() {
        let (title, snippet) = (cut(&hit.title, MAX_TITLE_CHARS), cut(&hit.snippet, MAX_SNIPPET_CHARS));
        let mut result = format!("\n{}. {title}\n   {}\n", number + 1, hit.url);
        if !snippet.is_empty() {
            // Writing to a string never fails.
            let _ = writeln!(result, "   {snippet}");
        }
        if told.len() + result.len() > MAX_TOLD_BYTES {
            break;
        }
        told.push_str(&result);
    }
    if told.len() == nothing {
        return format!("Nothing was found for {query:?}.");
    }
    told
}

/// The addresses in a text that [`tell`] wrote: of each result the line after its title, which is one line.
fn addresses(told: &str) -> Vec<String> {
    let results = told.split("\n\n").skip(1);
    let mut found: Vec<String> = Vec::new();
    for address in results.filter_map(|result| result.lines().nth(1)?.strip_prefix("   ")) {
        if found.iter().all(|known| known != address) {
            found.push(address.to_owned());
        }
    }
    found
}

/// One line of bounded length.
fn cut(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// A query string: names as they are, values escaped.
fn query_string(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", byte_serialize(value.as_bytes()).collect::<String>()));
    pairs.collect::<Vec<_>>().join("&")
}
