//! Tests of the client against a server that is a function.

mod calls;
mod config;
mod content;
mod modern;
mod offers;
mod servers;
mod tokens;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::StreamExt;
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use futures::task::noop_waker_ref;
use serde_json::{Value, json};

pub use super::config::{Auth, McpServers, Server, ToolWords};
pub use super::connection::Connection;
pub use super::error::McpError;
pub use super::known::Known;
pub use super::port::{McpPorts, Spawn};
pub use engine::ports::Clock;
pub use engine::toolbelt::Users;
pub use wire::http::{Headers, Http, HttpReply, HttpRequest, Method, Unreachable};
pub use wire::protocol::{ANONYMOUS, ContextKind, Owner};
pub use wire::redact::Secret;

/// Somebody with an API key.
pub fn ada() -> Owner {
    Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() }
}

/// A visitor.
pub fn visitor() -> Owner {
    Owner { issuer: ANONYMOUS.to_owned(), tenant: "public".to_owned(), user: "x".to_owned() }
}

/// A clock that advances when all tasks sleep. The first sleeper wakes.
#[derive(Clone, Default)]
pub struct Time {
    pub now: Rc<Cell<u64>>,
    sleepers: Rc<RefCell<BTreeMap<u64, u64>>>,
    slept: Rc<Cell<u64>>,
}

/// A sleeper by number. Dropping it removes it from the clock.
struct Sleeper(Time, u64);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.sleepers.borrow_mut().remove(&self.1);
    }
}

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.now.get()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        let (time, mut sleeper) = (self.clone(), None);
        futures::future::poll_fn(move |context| {
            let Some(Sleeper(_, number)) = &sleeper else {
                // Polls all other tasks once more before time passes.
                let number = time.slept.replace(time.slept.get() + 1);
                time.sleepers.borrow_mut().insert(number, time.now.get() + ms);
                sleeper = Some(Sleeper(time.clone(), number));
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            let first = time.sleepers.borrow().values().min().copied().unwrap_or_default();
            let mine = time.sleepers.borrow().get(number).copied().unwrap_or_default();
            if mine > first {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            time.now.set(time.now.get().max(mine));
            sleeper = None;
            Poll::Ready(())
        })
        .boxed_local()
    }
}

/// The reply of the function.
pub enum Says {
    Reply {
        status: u16,
        content_type: &'static str,
        session: Option<&'static str>,
        body: Vec<Vec<u8>>,
    },
    /// A reply whose connection breaks at its end.
    Broken(&'static str, Vec<Vec<u8>>),
    Down,
    Hang,
}

impl Says {
    pub fn json(value: &Value) -> Self {
        Says::status(200, "application/json", &value.to_string())
    }

    pub fn status(status: u16, content_type: &'static str, body: &str) -> Self {
        Says::Reply { status, content_type, session: None, body: vec![body.as_bytes().to_vec()] }
    }

    pub fn stream(body: &str) -> Self {
        Says::status(200, "text/event-stream; charset=utf-8", body)
    }
}

type Answers = Box<dyn Fn(&Asked) -> Says>;

/// A request as the server sees it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: Method,
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub text: String,
    pub body: Value,
}

impl Asked {
    /// The JSON-RPC method.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// A result for this request.
    pub fn result(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }
}

/// A server that records its requests.
pub struct TestServer {
    answers: Answers,
    pub asked: RefCell<Vec<Asked>>,
    spawned: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
}

impl Http for TestServer {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let text = String::from_utf8(request.body.clone()).unwrap();
        let named = request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let asked = Asked {
            method: request.method,
            url: request.url.clone(),
            headers: named.chain(request.named.clone()).collect(),
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        };
        let says = (self.answers)(&asked);
        self.asked.borrow_mut().push(asked);
        let (status, content_type, session, body, broken) = match says {
            Says::Down => return futures::future::ready(Err(Unreachable)).boxed_local(),
            Says::Hang => return futures::future::pending().boxed_local(),
            Says::Reply { status, content_type, session, body } => {
                (status, content_type, session, body, false)
            }
            Says::Broken(content_type, body) => (200, content_type, None, body, true),
        };
        let pieces = body.into_iter().map(Ok).chain(broken.then_some(Err(Unreachable)));
        let body = futures::stream::iter(pieces.collect::<Vec<_>>()).boxed_local();
        futures::future::ready(Ok(HttpReply { status, headers: headers(content_type, session), body }))
            .boxed_local()
    }
}

impl Spawn for TestServer {
    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.spawned.borrow_mut().push(task);
    }
}

/// The headers of a reply that the client reads.
pub fn headers(content_type: &str, session: Option<&str>) -> Headers {
    let session = session.map(|id| ("mcp-session-id", id));
    let headers = [("content-type", content_type)].into_iter().chain(session);
    headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>().into()
}

impl TestServer {
    /// The requests so far, by JSON-RPC or HTTP method.
    pub fn methods(&self) -> Vec<String> {
        self.spawned.take().into_iter().for_each(block_on);
        let name = |asked: &Asked| match asked.rpc() {
            "" => format!("{:?}", asked.method),
            rpc => rpc.to_owned(),
        };
        self.asked.borrow().iter().map(name).collect()
    }
}

/// A server and a clock.
pub struct Case {
    pub server: Rc<TestServer>,
    pub time: Time,
    pub ports: McpPorts,
}

impl Case {
    /// A server of an earlier revision, as the isolate knows it already.
    pub fn new(answers: impl Fn(&Asked) -> Says + 'static) -> Self {
        let case = Case::unknown(answers);
        case.ports.known.legacy("docs", 0);
        case
    }

    /// A server that nothing is known of.
    pub fn unknown(answers: impl Fn(&Asked) -> Says + 'static) -> Self {
        let server =
            TestServer { answers: Box::new(answers), asked: RefCell::default(), spawned: RefCell::default() };
        let (server, time) = (Rc::new(server), Time::default());
        let ports = McpPorts {
            http: Rc::clone(&server) as _,
            tasks: Rc::clone(&server) as _,
            clock: Rc::new(time.clone()),
            known: Known::default(),
        };
        Case { server, time, ports }
    }

    /// A server that opens sessions, and answers all other requests by the function.
    pub fn opening(answers: impl Fn(&Asked) -> Says + 'static) -> Self {
        Case::new(move |asked| opened(asked).unwrap_or_else(|| answers(asked)))
    }

    pub fn connection(&self) -> Rc<Connection> {
        self.connection_with(Auth::None)
    }

    pub fn connection_with(&self, auth: Auth) -> Rc<Connection> {
        Connection::new(Rc::new(Server { auth, ..server("docs") }), self.ports.clone())
    }

    /// The last request of this JSON-RPC method.
    pub fn last(&self, rpc: &str) -> Asked {
        self.server.asked.borrow().iter().rev().find(|asked| asked.rpc() == rpc).cloned().unwrap()
    }
}

/// The replies of a server with all capabilities to requests that open and close a session.
pub fn opened(asked: &Asked) -> Option<Says> {
    match (asked.rpc(), asked.method) {
        ("initialize", _) => {
            let capabilities = json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {}});
            let result =
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {}});
            let body = vec![asked.result(result).to_string().into_bytes()];
            Some(Says::Reply { status: 200, content_type: "application/json", session: Some("s-1"), body })
        }
        (rpc, _) if rpc.starts_with("notifications/") => Some(Says::status(202, "", "")),
        (_, Method::Delete) => Some(Says::status(200, "", "")),
        ("", Method::Post) if asked.body["id"] != Value::Null => Some(Says::status(202, "", "")),
        _ => None,
    }
}

pub fn server(name: &str) -> Server {
    Server {
        name: name.to_owned(),
        url: format!("https://{name}.test/mcp"),
        contexts: vec![ContextKind::Thread, ContextKind::Editor],
        users: Users::registered(),
        only: None,
        tools: BTreeMap::new(),
        timeout_ms: 30_000,
        auth: Auth::None,
    }
}

/// Polls once, then drops.
pub fn abandoned<F: Future>(future: F) {
    let mut future = pin!(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(noop_waker_ref())).is_pending());
}
