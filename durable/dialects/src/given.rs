//! Parts of requests that several dialects have.

use std::collections::VecDeque;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::by_id::ById;
use crate::names;
use wire::protocol::ApiError;

/// The most answers of a request, the newest ones. A turn has fewer calls in all.
pub const MAX_ANSWERS: usize = 512;
/// The most messages of a list that count, the newest ones. A list of 16 MiB could have millions, each with a place here.
pub const MAX_MESSAGES: usize = 4_096;
/// The most members of a request. The libraries know about forty.
const MAX_MEMBERS: usize = 128;
/// The most characters of a conversation that a new thread imports, its newest ones: it travels with each request that
/// names a thread.
pub const MAX_IMPORTED: usize = 200_000;
/// The most values of a member or of a message, which become a tree. A body of 16 MiB could have millions, and their tree
/// more bytes than an isolate has: the size of a text is no such danger.
pub const MAX_VALUES: usize = 100_000;
/// The most bytes of one result. The service cuts the results of tools far below that.
const MAX_RESULT: usize = 1 << 20;
/// The model that stands for the deployment's own choice.
pub const DEFAULT_MODEL: &str = "espalier";

/// A part of a message, of any type. Plain JSON: a type with so many members would be as much code as all the rest.
pub type Part = Map<String, Value>;

/// The end of a list of messages, each with its place in the list. A message is read when it is asked for, and older ones
/// are skipped while the body is parsed.
#[derive(Default)]
pub struct Newest<'a> {
    messages: VecDeque<&'a RawValue>,
    count: usize,
}

impl<'a> Newest<'a> {
    /// The messages, the newest one first.
    pub fn back(&self) -> Back<'_, 'a> {
        Back { list: self, passed: 0 }
    }
}

/// The messages of a list, the newest one first.
#[derive(Clone)]
pub struct Back<'l, 'a> {
    list: &'l Newest<'a>,
    passed: usize,
}

impl<'a> Iterator for Back<'_, 'a> {
    type Item = (usize, &'a RawValue);

    fn next(&mut self) -> Option<Self::Item> {
        let Newest { messages, count } = self.list;
        self.passed += 1;
        let message = messages.get(messages.len().checked_sub(self.passed)?)?;
        Some((count - self.passed, message))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Newest<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Newest::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Newest<'a> {
    type Value = Newest<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut list: S) -> Result<Newest<'a>, S::Error> {
        while let Some(message) = list.next_element()? {
            if self.messages.len() == MAX_MESSAGES {
                self.messages.pop_front();
            }
            self.messages.push_back(message);
            self.count += 1;
        }
        Ok(self)
    }
}

/// The members of an object, each to be read when it is asked for. Of two with one name the last one counts.
#[derive(Default)]
pub struct Members<'a>(pub ById<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Members::default())
    }
}

impl<'a> Members<'a> {
    /// A member; none where it is null, or has too many values.
    pub fn get(&self, name: &str) -> Option<Value> {
        let raw = self.0.get(name).filter(|raw| !is_wide(raw.get()));
        let value = raw.and_then(|raw| wire::json::from_str(raw.get()).ok());
        value.filter(|value: &Value| !value.is_null())
    }

    /// Refuses a member that has too many values. `list`: the member whose elements are read one by one.
    pub fn check(&self, list: &str) -> Result<(), ApiError> {
        match self.0.iter().find(|(name, raw)| *name != list && is_wide(raw.get())) {
            Some((name, _)) => Err(ApiError::field(name, too_wide())),
            None => Ok(()),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::field(name, "expected a text")),
        }
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> Result<String, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::field(name, REQUIRED))
    }

    /// A list of messages, of which the end is kept.
    pub fn list(&self, name: &str) -> Result<Newest<'a>, ApiError> {
        let raw = self.0.get(name).ok_or_else(|| ApiError::field(name, REQUIRED))?;
        wire::json::from_str(raw.get()).map_err(|_| ApiError::field(name, "expected an array"))
    }
}

/// Why a member that has too many values is refused.
pub fn too_wide() -> String {
    format!("expected at most {MAX_VALUES} values")
}

/// Whether JSON has more than [`MAX_VALUES`] values. Counts the signs before them, outside of texts. A value has a byte at
/// least, so most messages are too short to be read for this.
pub fn is_wide(json: &str) -> bool {
    if json.len() <= MAX_VALUES {
        return false;
    }
    let (mut values, mut in_text, mut escaped) = (1_usize, false, false);
    for &byte in json.as_bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > MAX_VALUES
}

/// A member is missing.
pub const REQUIRED: &str = "this member is required";

impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
    type Value = Members<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Members<'a>, A::Error> {
        while let Some((name, value)) = members.next_entry::<String, _>()? {
            self.0.insert(&name, value);
            if self.0.len() > MAX_MEMBERS {
                return Err(Error::custom(format_args!("a request has at most {MAX_MEMBERS} members")));
            }
        }
        Ok(self)
    }
}

/// The conversation before a message: a question and an answer in turn, and at the end the question that no answer
/// follows. `earlier` gives its messages from the end, each whether the user said it, and its text.
pub fn history(
    earlier: &mut dyn FnMut() -> Result<Option<(bool, String)>, ApiError>,
) -> Result<Vec<String>, ApiError> {
    // Neighbours of one author are one message.
    let (mut texts, mut chars) = (Vec::<(bool, String)>::new(), 0);
    while let Some((is_user, mut words)) = earlier()? {
        chars += words.chars().count();
        let is_last = chars > MAX_IMPORTED;
        if is_last {
            // A new thread refuses a question that is so long: it must not go unread.
            if !is_user || texts.iter().any(|(of_user, _)| !of_user) {
                break;
            }
            words = words.chars().take(MAX_IMPORTED).collect();
        }
        match texts.last_mut() {
            _ if words.trim().is_empty() => {}
            Some((of_user, text)) if *of_user == is_user => *text = [&*words, "\n\n", text].concat(),
            _ => texts.push((is_user, words)),
        }
        if is_last {
            break;
        }
    }
    // It begins with a question.
    if texts.last().is_some_and(|(is_user, _)| !is_user) {
        texts.pop();
    }
    let mut conversation = Vec::new();
    while let Some((_, text)) = texts.pop() {
        conversation.push(text);
    }
    Ok(conversation)
}

/// Takes the question off that no answer follows.
pub fn unanswered(history: &mut Vec<String>) -> Option<String> {
    if history.len() % 2 == 1 { history.pop() } else { None }
}

/// The texts of a message, with a blank line between two.
#[derive(Default)]
pub struct Words(pub String);

impl Words {
    pub fn add(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        self.0.push_str(if self.0.is_empty() { "" } else { "\n\n" });
        self.0.push_str(text);
    }
}

/// A member that is a text.
pub fn text<'a>(part: &'a Part, name: &str) -> Option<&'a str> {
    part.get(name).and_then(Value::as_str)
}

/// The result of a client's tool, if it is not too long.
pub fn bounded(content: String) -> Result<String, String> {
    match content.len() > MAX_RESULT {
        true => Err(format!("a tool's output has at most {MAX_RESULT} bytes")),
        false => Ok(content),
    }
}

/// Our name for a client's tool.
pub fn named(name: &str) -> Result<String, &'static str> {
    let ours = Some(name).filter(|name| !name.is_empty()).and_then(names::ours);
    ours.ok_or("a name has letters, digits and signs of ASCII")
}

/// A member; null where there is none.
pub fn at<'a>(json: &'a Value, name: &str) -> &'a Value {
    json.get(name).unwrap_or(&Value::Null)
}
