//! Query strings. An empty value is the same as none: `?cursor=` asks for the first page.

use std::borrow::Cow;

use engine::journal::fault_of_name;
use uuid::Uuid;
use wire::protocol::{ApiError, line};

const DEFAULT_LIMIT: u32 = 50;
pub const MAX_LIMIT: u32 = 200;
/// The longest text that a search takes, in characters.
pub const MAX_WANTED_CHARS: usize = 200;
/// The largest sequence number: the largest integer that JavaScript represents exactly.
pub const MAX_SEQ: u64 = (1 << 53) - 1;

/// The part of a list that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub cursor: Option<String>,
}

/// The `limit` and `cursor` of a list.
pub fn page(query: &str) -> Result<Page, ApiError> {
    let limit = match value(query, "limit") {
        None => DEFAULT_LIMIT,
        Some(text) => match digits(&text).and_then(|limit| u32::try_from(limit).ok()) {
            Some(limit) if (1..=MAX_LIMIT).contains(&limit) => limit,
            _ => return Err(ApiError::field("limit", format!("expected an integer from 1 to {MAX_LIMIT}"))),
        },
    };
    Ok(Page { limit, cursor: cursor(query) })
}

/// The `cursor` of a list whose pages have as much as fits.
pub fn cursor(query: &str) -> Option<String> {
    value(query, "cursor").map(Cow::into_owned)
}

/// The `receipt` of an erasure.
pub fn receipt(query: &str) -> Option<Cow<'_, str>> {
    value(query, "receipt")
}

/// The `thread_id` of a list that may have what belongs to one thread alone.
pub fn thread(query: &str) -> Result<Option<Uuid>, ApiError> {
    let id = value(query, "thread_id").map(|id| Uuid::try_parse(&id)).transpose();
    id.map_err(|_| ApiError::field("thread_id", "expected the id of a thread"))
}

/// Whether a list of messages has those of all `versions`, and not of the path alone.
pub fn all_versions(query: &str) -> Result<bool, ApiError> {
    match value(query, "versions").as_deref() {
        None => Ok(false),
        Some("all") => Ok(true),
        Some(_) => Err(ApiError::field("versions", "expected `all`, or none")),
    }
}

/// The number of `days`, including today.
pub fn days(query: &str, default: u32, most: u32) -> Result<u32, ApiError> {
    match value(query, "days") {
        None => Ok(default),
        Some(text) => match digits(&text).and_then(|days| u32::try_from(days).ok()) {
            Some(days) if (1..=most).contains(&days) => Ok(days),
            _ => Err(ApiError::field("days", format!("expected an integer from 1 to {most}"))),
        },
    }
}

/// The text to search for, trimmed; none where it is blank.
pub fn wanted(query: &str) -> Result<Option<String>, ApiError> {
    let words = value(query, "q").map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
    match &words {
        Some(words) if words.chars().nth(MAX_WANTED_CHARS).is_some() => {
            Err(ApiError::field("q", format!("expected at most {MAX_WANTED_CHARS} characters")))
        }
        _ => Ok(words),
    }
}

/// The `name` of a document.
pub fn name(query: &str) -> Result<String, ApiError> {
    line("name", &value(query, "name").unwrap_or_default())
}

/// The name that an agent is restored `as`; none: that of its dump.
pub fn restored_as(query: &str) -> Result<Option<String>, ApiError> {
    let Some(name) = value(query, "as") else { return Ok(None) };
    match fault_of_name(&name) {
        Some(fault) => Err(ApiError::field("as", fault)),
        None => Ok(Some(name.into_owned())),
    }
}

/// The event after which a stream goes on; 0 is the beginning. The header wins, because a browser that reconnects sends
/// it along with the URL that it first used. Both must be numbers.
pub fn after(query: &str, last_event_id: Option<&str>) -> Result<u64, ApiError> {
    let header = last_event_id.filter(|text| !text.is_empty()).map(Cow::Borrowed);
    let in_header = header.map(|text| event(&text, "Last-Event-ID")).transpose()?;
    let in_query = value(query, "after").map(|text| event(&text, "after")).transpose()?;
    Ok(in_header.or(in_query).unwrap_or(0))
}

/// Whether a response is wanted as a `stream`, and the event that it is `starting_after`.
pub fn response(query: &str) -> Result<(bool, Option<u64>), ApiError> {
    let after = value(query, "starting_after").map(|text| event(&text, "starting_after")).transpose()?;
    match value(query, "stream").as_deref() {
        None | Some("false") => Ok((false, after)),
        Some("true") => Ok((true, after)),
        Some(_) => Err(ApiError::field("stream", "expected true or false")),
    }
}

fn event(text: &str, field: &str) -> Result<u64, ApiError> {
    match digits(text) {
        Some(seq) if seq <= MAX_SEQ => Ok(seq),
        _ => Err(ApiError::field(field, "expected the number of an event")),
    }
}

/// A number of digits alone: `u64::from_str` accepts a sign as well.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The first value of a parameter that is not empty.
pub fn value<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find_map(|(key, value)| (key == name && !value.is_empty()).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::{MAX_SEQ, Page, after, all_versions, name, page, response, restored_as, wanted};

    //
    #[test]
    fn an_agent_is_restored_under_a_name_that_it_may_have() {
        for (query, expected) in [
            ("", Ok(None)),
            ("as=", Ok(None)),
            ("as=critic-2", Ok(Some("critic-2".to_owned()))),
            ("as=main", Err(Some("as".to_owned()))),
            ("as=Critic", Err(Some("as".to_owned()))),
        ] {
            assert_eq!(restored_as(query).map_err(|error| error.field.clone()), expected, "{query}");
        }
    }

    #[test]
    fn limit_and_cursor_are_read() {
        let table = [
            ("", 50, None),
            ("limit=&cursor=", 50, None),
            ("limit=1", 1, None),
            ("limit=200&cursor=abc", 200, Some("abc")),
            ("cursor=a%2Bb%20c&other=1", 50, Some("a+b c")),
            ("limit=7&limit=8", 7, None),
        ];
        for (query, limit, cursor) in table {
            let expected = Page { limit, cursor: cursor.map(str::to_owned) };
            assert_eq!(page(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn a_bad_limit_is_named() {
        for limit in ["0", "201", "-1", "+5", "1.0", "ten", " 5", "99999999999999999999", "0x10", "٣"] {
            let error = page(&format!("limit={limit}")).unwrap_err();
            assert_eq!(error.field.as_deref(), Some("limit"), "{limit}");
        }
    }

    #[test]
    fn versions_are_all_or_those_of_the_path() {
        for (query, expected) in [("", false), ("versions=", false), ("versions=all", true)] {
            assert_eq!(all_versions(query), Ok(expected), "{query}");
        }
        for query in ["versions=ALL", "versions=some", "versions=%20"] {
            assert_eq!(all_versions(query).unwrap_err().field.as_deref(), Some("versions"), "{query}");
        }
    }

    #[test]
    fn a_search_text_is_trimmed_and_bounded() {
        let table = [
            ("", None),
            ("q=", None),
            ("q=%20%09", None),
            ("q=+a%25b_+", Some("a%b_")),
            ("q=x&q=y", Some("x")),
        ];
        for (query, expected) in table {
            assert_eq!(wanted(query), Ok(expected.map(str::to_owned)), "{query}");
        }
        assert_eq!(wanted(&format!("q={}", "%C3%A4".repeat(200))), Ok(Some("ä".repeat(200))));
        let error = wanted(&format!("q={}", "%C3%A4".repeat(201))).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("q"));
    }

    #[test]
    fn a_document_needs_a_name() {
        assert_eq!(name("name=a%20b.md").as_deref(), Ok("a b.md"));
        let (whole, more) = (format!("name={}", "a".repeat(200)), format!("name={}", "a".repeat(201)));
        assert!(name(&whole).is_ok());
        for query in ["", "name=", "name=%20", "name=a%0Ab", "name=a%00b", &more] {
            assert_eq!(name(query).unwrap_err().field.as_deref(), Some("name"), "{query}");
        }
    }

    // Issue 22
    #[test]
    fn a_response_may_be_streamed_after_an_event() {
        for (query, expected) in [
            ("", Ok((false, None))),
            ("stream=&starting_after=", Ok((false, None))),
            ("stream=true&starting_after=0", Ok((true, Some(0)))),
            ("stream=false&include[]=x&starting_after=9007199254740991", Ok((false, Some(MAX_SEQ)))),
            ("starting_after=9007199254740992", Err("starting_after")),
            ("starting_after=x", Err("starting_after")),
            ("stream=1", Err("stream")),
        ] {
            let found = response(query).map_err(|error| error.field.clone().unwrap_or_default());
            assert_eq!(found, expected.map_err(str::to_owned), "{query}");
        }
    }

    #[test]
    fn a_stream_goes_on_after_the_header_or_the_query() {
        let table = [
            ("", None, Ok(0)),
            ("after=17", None, Ok(17)),
            ("after=17", Some("42"), Ok(42)),
            ("after=17", Some(""), Ok(17)),
            ("after=", None, Ok(0)),
            ("after=9007199254740991", None, Ok(9_007_199_254_740_991)),
            ("after=9007199254740992", None, Err("after")),
            ("after=-1", None, Err("after")),
            ("after=1e3", None, Err("after")),
            ("after=x", Some("3"), Err("after")),
            ("", Some("3\r\nX: y"), Err("Last-Event-ID")),
            ("", Some("abc"), Err("Last-Event-ID")),
            ("", Some(" 3"), Err("Last-Event-ID")),
            ("", Some("3, 4"), Err("Last-Event-ID")),
        ];
        for (query, header, expected) in table {
            let found = after(query, header).map_err(|error| error.field.clone().unwrap_or_default());
            assert_eq!(found, expected.map_err(str::to_owned), "{query} {header:?}");
        }
    }
}
