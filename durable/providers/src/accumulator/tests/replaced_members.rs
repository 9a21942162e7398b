//! Issue 44: no optional member of a stream loses a word. The table is generated: each member of each event, at every depth,
//! is replaced by a value of each JSON type, and removed. The streams are the recorded ones of the codec, and some of our
//! own. A member that carries words loses its own words at most.

use std::collections::HashSet;

use serde_json::Value;

use crate::anthropic::Anthropic;
use crate::codec::{Codec, Decoder};
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing::{self, Outcome, decode, recorded, request};
use crate::workers_ai::WorkersAi;
use wire::model::ModelEvent;

mod streams;

/// The values that replace a member. None removes it.
const VALUES: [Option<&str>; 13] = [
    None,
    Some("null"),
    Some("false"),
    Some("true"),
    Some("0"),
    Some("-1"),
    Some("1e308"),
    Some("\"\""),
    Some("\"x\""),
    Some("[]"),
    Some("[{}]"),
    Some("{}"),
    Some("{\"x\":1}"),
];

/// The longest string and list of a recorded stream here, and how many events of one shape follow each other: the table has
/// each shape once, and the time of a test is bounded.
const MAX_STRING: usize = 60;
const MAX_LIST: usize = 3;
const MAX_RUN: usize = 2;

/// One of so many changed events is read byte by byte too. It is no divisor of the number of values, so each value has its
/// turn.
const BYTEWISE: usize = 3;

/// A codec, and what its members mean.
struct Table {
    codec: Box<dyn Codec>,
    own: &'static [&'static str],
    recorded: &'static [&'static str],
    /// The names of the members that carry text, reasoning, or the name and arguments of a call.
    carrying: Vec<&'static str>,
    /// The members without which the reply cannot be understood, each with its reason. `*` stands for any index.
    required: &'static [(&'static str, &'static str)],
    /// The members whose word tells the kind of a part: another word is another kind, and any other value none.
    kinds: &'static [&'static str],
}

/// A stream as its events.
struct Recording {
    name: String,
    events: Vec<Event>,
    outcome: Outcome,
    /// The lengths of text and reasoning before each event, and at the end.
    told: Vec<(usize, usize)>,
}

struct Event {
    /// The lines before the data.
    head: String,
    /// The data if it is an object.
    data: Option<Value>,
    /// The whole event.
    text: String,
}

/// The member at a path of an event.
struct Place<'a> {
    event: usize,
    path: &'a str,
    /// The path with `*` for each index.
    pattern: &'a str,
}

impl Event {
    fn parse(text: &str) -> Self {
        let (head, data) = text.split_once("data: {").map_or((text, None), |(head, rest)| {
            (head, serde_json::from_str(&format!("{{{}", rest.trim_end())).ok())
        });
        let data = data.map(shortened);
        let text = match &data {
            Some(data) => format!("{head}data: {data}\n\n"),
            None => format!("{}\n\n", text.trim_end()),
        };
        Event { head: head.to_owned(), data, text }
    }

    /// The kind of the event; its members where the API has no kinds.
    fn shape(&self) -> String {
        let Some(data) = &self.data else { return self.text.clone() };
        let kind = |path| data.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if kind("/type").is_empty() {
            return members_of(data, "").iter().map(|path| pattern(path)).collect();
        }
        format!("{}{:?}", self.head, ["/type", "/content_block/type", "/delta/type", "/item/type"].map(kind))
    }
}

fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => text.chars().take(MAX_STRING).collect::<String>().into(),
        Value::Array(list) => list.into_iter().take(MAX_LIST).map(shortened).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, shortened(value))).collect())
        }
        other => other,
    }
}

/// The pointers of all members of a value, at every depth.
fn members_of(value: &Value, path: &str) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(list) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => vec![],
    };
    let own = |path: &str| value.is_object().then(|| path.to_owned());
    inner
        .into_iter()
        .map(|(name, value)| (format!("{path}/{name}"), value))
        .flat_map(|(path, value)| own(&path).into_iter().chain(members_of(value, &path)).collect::<Vec<_>>())
        .collect()
}

fn pattern(path: &str) -> String {
    let is_index = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    path.split('/').map(|part| if is_index(part) { "*" } else { part }).collect::<Vec<_>>().join("/")
}

/// The texts and numbers below a value that a carrying member has, or stands above.
fn carried(value: &Value, is_below: bool, carrying: &[&str]) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let inner = members
                .iter()
                .map(|(name, value)| carried(value, is_below || carrying.contains(&name.as_str()), carrying));
            inner.flatten().collect()
        }
        Value::Array(list) => list.iter().flat_map(|value| carried(value, is_below, carrying)).collect(),
        Value::String(text) if is_below && !text.is_empty() => vec![text.clone()],
        Value::Number(_) | Value::Bool(_) if is_below => vec![value.to_string()],
        _ => vec![],
    }
}

/// Text and reasoning, and the calls by name and arguments, in any order.
type Words = ((String, String), Vec<Call>);

/// The name and the arguments of a call.
type Call = (String, String);

fn words_of(events: &[ModelEvent]) -> Words {
    let mut calls = match events.last() {
        Some(ModelEvent::Finished(reply)) => {
            let calls = reply.tool_calls.iter();
            calls.map(|call| (call.name.clone(), call.arguments.clone())).collect()
        }
        _ => vec![],
    };
    calls.sort();
    (testing::text_and_reasoning(events), calls)
}

impl Recording {
    fn new(name: &str, stream: &str, fresh: testing::Fresh<'_>) -> Self {
        let stream = stream.replace("\r\n", "\n");
        let mut events: Vec<Event> = Vec::new();
        for event in stream.split("\n\n").filter(|event| !event.trim().is_empty()).map(Event::parse) {
            let shape = event.shape();
            let run = events.iter().rev().take_while(|before| before.shape() == shape).count();
            if run < MAX_RUN {
                events.push(event);
            }
        }
        let outcome = decode(fresh, events.iter().map(|event| event.text.as_bytes()));
        let (mut decoder, mut so_far, mut told) = (fresh(), Vec::new(), vec![(0, 0)]);
        let mut goes_on = true;
        for event in &events {
            goes_on = goes_on && decoder.feed(event.text.as_bytes(), &mut so_far).is_ok();
            let (text, reasoning) = testing::text_and_reasoning(&so_far);
            told.push((text.len(), reasoning.len()));
        }
        Recording { name: name.to_owned(), events, outcome, told }
    }

    /// The events, with another one at a place.
    fn with<'a>(&'a self, place: usize, event: &'a str) -> [Vec<&'a str>; 3] {
        let texts = |events: &'a [Event]| events.iter().map(|event| event.text.as_str()).collect();
        [texts(&self.events[..place]), vec![event], texts(&self.events[place + 1..])]
    }
}

impl Table {
    fn fresh(&self) -> Box<dyn Decoder> {
        self.codec.decoder(&request(vec![]))
    }

    fn run(&self) {
        let fresh = || self.fresh();
        let own = self
            .own
            .iter()
            .enumerate()
            .map(|(at, stream)| Recording::new(&format!("own {at}"), stream, &fresh));
        let theirs = recorded(self.recorded).into_iter().map(|recorded| {
            let whole = decode(&fresh, [&recorded.stream[..]]).1;
            let stream = String::from_utf8(recorded.stream).unwrap();
            let recording = Recording::new(&recorded.name, &stream, &fresh);
            assert_eq!(recording.outcome.1.is_ok(), whole.is_ok(), "{} as it was recorded", recorded.name);
            recording
        });
        let (mut seen, mut replaced, mut failures) = (HashSet::new(), 0, Vec::new());
        for recording in own.chain(theirs) {
            for (event, shape) in recording.events.iter().map(Event::shape).enumerate() {
                let Some(data) = &recording.events[event].data else { continue };
                for path in members_of(data, "") {
                    let pattern = pattern(&path);
                    if !seen.insert((shape.clone(), pattern.clone())) {
                        continue;
                    }
                    let place = Place { event, path: &path, pattern: &pattern };
                    for value in VALUES {
                        failures
                            .extend(self.check(&recording, &place, value, replaced % BYTEWISE == 0).err());
                        replaced += 1;
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{} of {replaced}:\n{}", failures.len(), failures.join("\n"));
        println!("{replaced} replaced members");
        assert!(replaced > 500, "{replaced} members");
    }

    /// Replaces one member. Fails with a line that says what was lost.
    fn check(
        &self,
        recording: &Recording,
        place: &Place<'_>,
        value: Option<&str>,
        is_bytewise: bool,
    ) -> Result<(), String> {
        let event = &recording.events[place.event];
        let data = event.data.as_ref().unwrap();
        let (old, new) =
            (data.pointer(place.path).unwrap(), value.map(|value| serde_json::from_str(value).unwrap()));
        let changed = format!("{}data: {}\n\n", event.head, replaced(data, place.path, new.as_ref()));
        let whole = recording.with(place.event, &changed).map(|events| events.concat());
        let [before, at, after] = whole.each_ref().map(|text| text.as_bytes());
        let outcome = decode(&|| self.fresh(), [&[before, at, after].concat()[..]]);
        let pieces = [before].into_iter().chain(at.chunks(1)).chain([after]);
        let fail = |what: &str| {
            let Place { event, path, .. } = place;
            let words = words_of(&outcome.0);
            Err(format!(
                "{}, event {event}, {path}: {value:?}: {what}: {words:?} {:?}",
                recording.name, outcome.1
            ))
        };
        if is_bytewise && decode(&|| self.fresh(), pieces) != outcome {
            return fail("other events byte by byte");
        }
        match (outcome.0.last(), &outcome.1) {
            (Some(ModelEvent::Finished(_)), Err(_)) => return fail("a reply and an error"),
            (Some(ModelEvent::Finished(reply)), Ok(()))
                if reply.text != testing::text_and_reasoning(&outcome.0).0 =>
            {
                return fail("another text in the reply");
            }
            _ => {}
        }
        let (then, now) = (words_of(&recording.outcome.0), words_of(&outcome.0));
        let carried = self.carried(data, place);
        let is_required = self.is_required(event, place, old, new.as_ref());
        let is_own = is_required || self.is_carrying(place);
        if !keeps_texts(recording, place.event, &outcome, &carried, is_own) {
            return fail("lost words");
        }
        if is_required || recording.outcome.1.is_err() {
            return Ok(());
        }
        if outcome.1.is_err() {
            return fail("an error");
        }
        if keeps_calls(&then.1, &now.1, &carried, is_own) { Ok(()) } else { fail("lost calls") }
    }

    /// Whether the member carries words, or stands below one that does.
    fn is_carrying(&self, place: &Place<'_>) -> bool {
        place.path.split('/').any(|name| self.carrying.contains(&name))
    }

    /// The words below a member.
    fn carried(&self, data: &Value, place: &Place<'_>) -> Vec<String> {
        carried(data.pointer(place.path).unwrap(), self.is_carrying(place), &self.carrying)
    }

    /// Whether the reply cannot be understood with this value.
    fn is_required(&self, event: &Event, place: &Place<'_>, old: &Value, new: Option<&Value>) -> bool {
        let name = place.path.rsplit('/').next().unwrap();
        // Another number says that this is a piece of another part, and a text or an object is an error.
        let is_other_number = name.ends_with("index") && old.is_u64() && new.is_some_and(Value::is_u64);
        let is_error = ["error", "errors"].contains(&name) && new.is_some_and(crate::failure::says_something);
        let is_word = new.and_then(Value::as_str).is_some_and(|word| !word.is_empty());
        // The event's name tells its type too, and the deltas of text and thinking that of their block.
        let kind = event.data.as_ref().and_then(|data| data.pointer("/content_block/type")?.as_str());
        let is_told = match place.pattern {
            "/type" => event.head.contains("event: "),
            path if path.starts_with("/content_block") => {
                kind.is_some_and(|kind| ["text", "thinking"].contains(&kind))
            }
            _ => false,
        };
        let is_at = |required: &str| {
            required == place.pattern || required.starts_with(&format!("{}/", place.pattern))
        };
        let is_listed = self.required.iter().any(|(required, _)| is_at(required)) && !is_told;
        is_other_number || is_error || is_listed || (is_word && self.kinds.contains(&place.pattern))
    }
}

/// The event's data with another value of a member, or without the member.
fn replaced(data: &Value, path: &str, new: Option<&Value>) -> Value {
    let mut changed = data.clone();
    match new {
        Some(new) => *changed.pointer_mut(path).unwrap() = new.clone(),
        None => {
            let (parent, name) = path.rsplit_once('/').unwrap();
            let name = name.replace("~1", "/").replace("~0", "~");
            changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(&name);
        }
    }
    changed
}

/// Whether text and reasoning are the same, but for the words of the event that the member carries. `is_own`: also those
/// that its value adds. An error may come before the events that follow.
fn keeps_texts(
    recording: &Recording,
    event: usize,
    outcome: &Outcome,
    carried: &[String],
    is_own: bool,
) -> bool {
    let (from, to) = (recording.told[event], recording.told[event + 1]);
    let same = |then: &str, now: &str, from: usize, to: usize| {
        let (before, rest) = then.split_at(from);
        let (own, after) = rest.split_at(to - from);
        let is_carried = |word: &String| own.contains(word.as_str()) || word.contains(own);
        match is_own || (!own.is_empty() && carried.iter().any(is_carried)) {
            true => {
                now.starts_with(before)
                    && (outcome.1.is_err() || recording.outcome.1.is_err() || now.ends_with(after))
            }
            false => then == now,
        }
    };
    let (then, now) =
        (testing::text_and_reasoning(&recording.outcome.0), testing::text_and_reasoning(&outcome.0));
    same(&then.0, &now.0, from.0, to.0) && same(&then.1, &now.1, from.1, to.1)
}

/// Whether the calls are the same, but for those that have words of the member.
fn keeps_calls(then: &[Call], now: &[Call], carried: &[String], is_own: bool) -> bool {
    let is_carried = |(name, arguments): &Call| {
        let in_json = |word: &str| arguments.contains(&word.replace('"', "\\\""));
        carried.iter().any(|word| name.contains(word) || arguments.contains(word) || in_json(word))
    };
    let lost = then.iter().filter(|call| !is_carried(call) && !now.contains(call)).count();
    // An empty piece says nothing about the call that it belongs to.
    let most = usize::from(is_own && carried.is_empty());
    lost <= most && (!carried.is_empty() || then.len() == now.len())
}
