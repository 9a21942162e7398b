//! The export of a user's data: JSON lines in pages. A cursor is the place where the next page begins, so an export that
//! broke off goes on there, and no state of it is kept. Pure: `routes::account` has the source that reads D1, R2 and the
//! threads' objects.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use wire::protocol::{ApiError, ErrorCode, VERSIONS_RETRY_S};

/// The version of the lines.
pub const FORMAT: u32 = 1;
/// From so many bytes on a page ends. One step more fits into the 128 MB of an isolate many times.
pub const PAGE_BYTES: usize = 1_048_576;
/// The most requests of a page to D1, R2 and objects. The free plan allows 50 in one invocation, and the admission of the
/// caller needs some: <https://developers.cloudflare.com/workers/platform/limits/#subrequests>.
pub const PAGE_REQUESTS: u32 = 45;
/// The most requests of one step: a page of messages, each of them as it was sent, and one of these requests once more.
pub const STEP_REQUESTS: u32 = 1 + MESSAGES + 1;
/// The messages that a step reads.
pub const MESSAGES: u32 = 10;
/// The bytes of a file in one line. A multiple of three, so the pieces' base64 can be put together as it is.
pub const PIECE_BYTES: u64 = 196_608;
/// The kind of the lines of records.
pub const RECORD: &str = "record";
/// The longest cursor: a key of R2 has at most 1,024 bytes, and JSON and base64 may make three times as many of them.
const MAX_CURSOR_BYTES: usize = 4_096;

/// A part of the export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Whose export it is.
    #[default]
    Head,
    /// The rows of tables.
    Rows,
    /// The next thread.
    Threads,
    /// The thread itself.
    Thread,
    Messages,
    /// The rows of the thread's object that no other command tells: history, summaries, plans, agents, the queue.
    Beside,
    /// The newest session of a workflow, and its ended steps.
    Session,
    /// Hooks and standing approvals.
    Rules,
    Files,
}

/// Where an export stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub section: Section,
    /// The thread that is being read; of [`Section::Threads`] the last one that was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// The number of the table or of the folder.
    #[serde(default)]
    pub at: usize,
    /// The key, the cursor or the name after which the section goes on; none at its beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Value>,
    /// The file that is being read: its version and the next byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<(String, u64)>,
}

impl Place {
    /// The beginning of a section.
    pub fn of(section: Section, thread: &str) -> Self {
        Place { section, thread: thread.to_owned(), ..Place::default() }
    }

    /// The beginning of a table or a folder.
    pub fn numbered(self, at: usize) -> Self {
        Place { at, after: Vec::new(), piece: None, ..self }
    }

    /// The same section, after this key.
    pub fn after(&self, after: Vec<Value>) -> Self {
        Place { after, piece: None, ..self.clone() }
    }

    /// The text after which the section goes on.
    pub fn name(&self) -> Option<&str> {
        self.after.first().and_then(Value::as_str)
    }

    /// The cursor that a client gets.
    pub fn cursor(&self) -> String {
        // All members are texts and numbers, so this always serializes.
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// The place that a client's cursor names. It finds no more than the caller's own data, whatever it says.
    pub fn read(cursor: Option<&str>) -> Result<Self, ApiError> {
        let Some(cursor) = cursor else { return Ok(Place::default()) };
        let place = || -> Option<Place> {
            let bytes = BASE64_URL_SAFE_NO_PAD
                .decode(Some(cursor).filter(|text| text.len() <= MAX_CURSOR_BYTES)?)
                .ok()?;
            wire::json::from_str(std::str::from_utf8(&bytes).ok()?).ok()
        };
        place().ok_or_else(wrong_cursor)
    }
}

/// The refusal of a cursor that this service did not give.
fn wrong_cursor() -> ApiError {
    ApiError::field("cursor", "expected the next_cursor of a page of this export")
}

/// Why a thread's object gives no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The thread, or the item, was deleted while the export ran.
    Gone,
    /// The client can mend it, or wait.
    Told(ApiError),
    Failed(String),
}

/// Reads the refusal of a thread's object. A Worker that meets an object of another version has the client wait, because a
/// rollout soon ends.
pub fn refused(status: u16, problem: &Value) -> Refused {
    let [code, detail] = ["code", "detail"].map(|name| problem[name].as_str().unwrap_or_default());
    let differ = ErrorCode::VersionsDiffer;
    match status {
        404 => Refused::Gone,
        // Of all that a command says, the caller's cursor alone can be wrong.
        400 => Refused::Told(wrong_cursor()),
        _ if code == differ.as_str() => {
            Refused::Told(ApiError::new(differ, detail).retry_after(VERSIONS_RETRY_S))
        }
        _ => Refused::Failed(format!("its object answered {status} {code}")),
    }
}

/// The result of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub lines: Vec<Line>,
    /// Where the export goes on; none at its end.
    pub next: Option<Place>,
}

/// A line, which is an object.
pub type Line = Map<String, Value>;

/// A line of this kind with the members of a value.
pub fn line(kind: &str, value: Value) -> Line {
    let mut line = match value {
        Value::Object(members) => members,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    line.insert("kind".to_owned(), kind.into());
    line
}

/// Reads a user's data, step by step.
pub trait Source {
    type Error;

    /// Reads on from a place.
    fn step(&mut self, place: &Place) -> impl Future<Output = Result<Step, Self::Error>>;

    /// How many requests it has made.
    fn requests(&self) -> u32;
}

/// Reads a page. Its last line says where the next one begins, or that the export is complete.
pub async fn page<S: Source>(source: &mut S, place: Place) -> Result<Vec<u8>, S::Error> {
    let mut page = Vec::new();
    let mut next = Some(place);
    while let Some(place) =
        next.take_if(|_| page.len() < PAGE_BYTES && source.requests() + STEP_REQUESTS <= PAGE_REQUESTS)
    {
        let step = match source.step(&place).await {
            Ok(step) => step,
            Err(error) if page.is_empty() => return Err(error),
            // The page keeps its lines. The next page begins here, and fails if this step fails again.
            Err(_) => {
                next = Some(place);
                break;
            }
        };
        for line in step.lines {
            write(&mut page, Value::Object(line));
        }
        next = step.next;
        if next.is_none() {
            write(&mut page, json!({ "kind": "end", "complete": true }));
            return Ok(page);
        }
    }
    let next = next.map(|place| place.cursor());
    write(&mut page, json!({ "kind": "page", "next_cursor": next }));
    Ok(page)
}

fn write(page: &mut Vec<u8>, line: Value) {
    page.extend_from_slice(line.to_string().as_bytes());
    page.push(b'\n');
}

#[cfg(test)]
mod tests;
