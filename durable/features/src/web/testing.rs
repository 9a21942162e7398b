//! A web of a few hosts, for tests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::future::{LocalBoxFuture, pending, ready};
use futures::stream::{self, LocalBoxStream};
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::Config;
use crate::web::{Browser, Charsets, Decode};
use wire::http::{Http, HttpReply, HttpRequest, Unreachable};

/// A piece of an answer.
#[derive(Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// The same bytes without end.
    Endless(Vec<u8>),
    Broken,
    Silence,
}

/// The reply of a host.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub content_type: Option<&'static str>,
    pub location: Option<String>,
    pub body: Vec<Piece>,
}

impl Answer {
    /// A page of this type.
    pub fn page(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = vec![Piece::Bytes(body.into())];
        Answer { status: 200, content_type: Some(content_type), location: None, body }
    }

    /// A redirect.
    pub fn redirect(location: &str) -> Self {
        Answer { status: 302, location: Some(location.to_owned()), ..Answer::page("text/plain", "moved") }
    }

    /// Another status.
    pub fn with(self, status: u16) -> Self {
        Answer { status, ..self }
    }

    /// Another body.
    pub fn of(self, body: impl Into<Vec<Piece>>) -> Self {
        Answer { body: body.into(), ..self }
    }
}

type Answers = Box<dyn Fn(&HttpRequest) -> Option<Answer>>;

/// The fake web. A request without an answer stays pending.
pub struct FakeWeb {
    answers: Answers,
    pub asked: RefCell<Vec<Rc<HttpRequest>>>,
    /// The bytes that the client has read.
    pub taken: Rc<Cell<usize>>,
    /// The bodies that the client still holds.
    pub open: Rc<Cell<usize>>,
}

impl FakeWeb {
    pub fn new(answers: impl Fn(&HttpRequest) -> Option<Answer> + 'static) -> Rc<Self> {
        let (asked, taken, open) = Default::default();
        Rc::new(FakeWeb { answers: Box::new(answers), asked, taken, open })
    }

    /// The requested addresses, without the resolver's.
    pub fn pages(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        asked.iter().map(|request| request.url.clone()).filter(|url| !url.starts_with(RESOLVER)).collect()
    }
}

impl Http for FakeWeb {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let answer = resolved(&request.url).or_else(|| (self.answers)(&request));
        self.asked.borrow_mut().push(request);
        let Some(Answer { status, content_type, location, body }) = answer else {
            return pending().boxed_local();
        };
        if matches!(body.as_slice(), [Piece::Broken]) && status == 0 {
            return ready(Err(Unreachable)).boxed_local();
        }
        let taken = Rc::clone(&self.taken);
        let held = Held::new(&self.open);
        let pieces =
            stream::iter(body).flat_map(|piece| -> LocalBoxStream<'static, Result<Vec<u8>, Unreachable>> {
                match piece {
                    Piece::Bytes(bytes) => stream::iter([Ok(bytes)]).boxed_local(),
                    Piece::Endless(bytes) => stream::repeat(Ok(bytes)).boxed_local(),
                    Piece::Broken => stream::iter([Err(Unreachable)]).boxed_local(),
                    Piece::Silence => stream::pending().boxed_local(),
                }
            });
        let body = pieces.inspect(move |read| {
            let _ = &held;
            taken.set(taken.get() + read.as_ref().map_or(0, Vec::len));
        });
        let content_type = content_type.map(|value| ("content-type".to_owned(), value.to_owned()));
        let location = location.map(|value| ("location".to_owned(), value));
        let headers = content_type.into_iter().chain(location).collect::<Vec<_>>().into();
        ready(Ok(HttpReply { status, headers, body: body.boxed_local() })).boxed_local()
    }
}

impl Charsets for FakeWeb {
    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>> {
        match charset {
            "utf-8" => Some(Box::new(Utf8(Vec::new()))),
            "windows-1252" => Some(Box::new(Latin1)),
            _ => None,
        }
    }
}

impl Browser for FakeWeb {
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let body = options.to_string().into_bytes();
        self.send(HttpRequest::post(BROWSER.to_owned(), Vec::new(), body).into())
    }
}

/// The address of the browser's requests.
pub const BROWSER: &str = "browser:markdown";

/// A body that the client still holds.
struct Held(Rc<Cell<usize>>);

impl Held {
    fn new(open: &Rc<Cell<usize>>) -> Self {
        open.set(open.get() + 1);
        Held(Rc::clone(open))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A connection that fails before it answers.
pub fn unreachable() -> Answer {
    Answer::page("", "").with(0).of([Piece::Broken])
}

struct Utf8(Vec<u8>);

impl Decode for Utf8 {
    fn decode(&mut self, bytes: &[u8], last: bool) -> String {
        self.0.extend(bytes);
        let whole = match std::str::from_utf8(&self.0) {
            Err(error) if error.error_len().is_none() && !last => error.valid_up_to(),
            _ => self.0.len(),
        };
        String::from_utf8_lossy(&self.0.drain(..whole).collect::<Vec<u8>>()).into_owned()
    }
}

struct Latin1;

impl Decode for Latin1 {
    fn decode(&mut self, bytes: &[u8], _: bool) -> String {
        bytes.iter().map(|byte| char::from(*byte)).collect()
    }
}

pub const RESOLVER: &str = "https://resolver.example/dns-query";

/// The resolver's reply for a name. Other names are public.
fn resolved(url: &str) -> Option<Answer> {
    let (name, kind) = url.strip_prefix(RESOLVER)?.strip_prefix("?name=")?.split_once("&type=")?;
    let kinds = |kind: &str| if kind == "A" { 1 } else { 28 };
    let record =
        |data: &str| json!({"Status": 0, "Answer": [{"name": name, "type": kinds(kind), "data": data}]});
    let empty = json!({"Status": 0, "Answer": []});
    let body = match (name, kind) {
        ("rebound.example.com", "A") => record("10.0.0.7"),
        // A public and a private address.
        ("half.example.com", "A") => json!({"Status": 0, "Answer": [
            {"name": name, "type": 1, "data": "93.184.216.34"}, {"name": name, "type": 1, "data": "169.254.169.254"},
        ]}),
        ("mapped.example.com", "AAAA") => record("::ffff:127.0.0.1"),
        ("alias.example.com", "A") => json!({"Status": 0, "Answer": [
            {"name": name, "type": 5, "data": "db.internal."}, {"name": "db.internal", "type": 1, "data": "192.168.0.9"},
        ]}),
        ("gone.example.com", _) => json!({"Status": 3}),
        ("unsure.example.com", "AAAA") => json!({"Status": 2}),
        ("garbled.example.com", "A") => record("not an address"),
        ("large.example.com", _) => return Some(Answer::page("", "").of([Piece::Endless(vec![b' '; 4096])])),
        ("silent.example.com", _) => return Some(Answer::page("", "").of([Piece::Silence])),
        ("refused.example.com", _) => return Some(Answer::page("", "{}").with(500)),
        (_, "A") => record("93.184.216.34"),
        _ => empty,
    };
    Some(Answer::page("application/dns-json", body.to_string()))
}

/// A configuration with this resolver, and more variables.
pub fn config(vars: &[(&str, &str)]) -> Config {
    let own = [("FETCH_RESOLVER", RESOLVER)];
    let read = |name: &str| {
        vars.iter().chain(&own).find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
    };
    Config::from_env(read).unwrap()
}

/// A full configuration.
pub fn everything() -> Config {
    config(&[("SEARCH", "brave"), ("BRAVE_API_KEY", "the-key")])
}
