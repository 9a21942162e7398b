//! A connection to a server during one run of a turn. It opens with the first request (`opening`), and ends with the run,
//! with its session where the server keeps one.
//! The client sends a request once. It repeats a request only if the server has refused it (lost session, expired
//! token) or asks for that (`modern`). It resumes a cut reply from its last event and does not repeat the request
//! (`listening`).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt;
use futures::lock::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::authorization::{Authorization, known_token};
use super::config::{Auth, Server};
use super::error::McpError;
use super::message::{self, Capabilities, MODERN};
use super::modern::{self, Next, Post};
use super::port::McpPorts;
use engine::journal::Asking;
use engine::ports::Input;
use wire::http::{HttpReply, HttpRequest, Method};
use wire::redact::Secret;

/// The parameters of a request, by its id.
type Params<'a> = &'a dyn Fn(u64) -> Value;

/// A server, and the session with it.
pub struct Connection {
    pub server: Rc<Server>,
    pub(super) ports: McpPorts,
    authorization: Authorization,
    session: RefCell<Option<Rc<Session>>>,
    /// The call that opens the session holds the lock.
    opening: Mutex<()>,
    next_id: Cell<u64>,
}

/// The reply of a server to a request.
pub enum Reply {
    Result(Box<RawValue>),
    /// It needs input to go on.
    Asks(Box<Asking>),
}

/// The outcome of the opening. A server of the newest revision keeps no session.
pub struct Session {
    pub(super) id: Option<String>,
    pub(super) version: &'static str,
    pub capabilities: Capabilities,
}

impl Session {
    pub(super) fn is_modern(&self) -> bool {
        self.version == MODERN
    }
}

impl Connection {
    /// Makes a connection without a request.
    pub fn new(server: Rc<Server>, ports: McpPorts) -> Rc<Self> {
        Rc::new(Connection {
            server,
            ports,
            authorization: Authorization::default(),
            session: RefCell::default(),
            opening: Mutex::default(),
            next_id: Cell::new(1),
        })
    }

    /// Sends a request in the open session, or opens one.
    pub async fn call(&self, method: &str, params: &impl Serialize) -> Result<Box<RawValue>, McpError> {
        match self.call_with(method, Vec::new(), &|_| json!(params), &Input::default()).await? {
            Reply::Result(result) => Ok(result),
            Reply::Asks(_) => Err(modern::no_input()),
        }
    }

    /// Sends a request whose parameters depend on its id. `named`: headers for a server of the newest revision.
    async fn call_with(
        &self,
        method: &str,
        named: Vec<(String, String)>,
        params: Params<'_>,
        input: &Input,
    ) -> Result<Reply, McpError> {
        let session = self.opened().await?;
        match self.requested(&session, method, &named, params, input).await {
            Err(McpError::SessionLost(_)) => {
                self.forget(&session);
                let session = self.opened().await?;
                self.requested(&session, method, &named, params, input).await
            }
            result => result,
        }
    }

    /// Sends a request, and again where the server asks for that.
    async fn requested(
        &self,
        session: &Rc<Session>,
        method: &str,
        named: &[(String, String)],
        params: Params<'_>,
        input: &Input,
    ) -> Result<Reply, McpError> {
        let (mut repeated, mut state) = (0, None);
        loop {
            let id = self.id();
            let mut params = params(id);
            let post = match session.is_modern() {
                true => {
                    if let Some(params) = params.as_object_mut() {
                        input.given.iter().for_each(|given| modern::answered(params, given));
                        params.extend(state.map(|state| ("requestState".to_owned(), Value::String(state))));
                    }
                    Post { named: named.to_vec(), ..modern::request(id, method, params, input.may_ask) }
                }
                false => message::request(id, method, &params).into(),
            };
            let result = self.request(session, id, post).await?;
            let server = input.may_ask.then_some(self.server.name.as_str());
            match session.is_modern().then(|| modern::next(&result, repeated, server)).transpose()? {
                Some(Next::Repeat(asked)) => state = Some(asked),
                Some(Next::Ask(asking)) => return Ok(Reply::Asks(asking)),
                Some(Next::Take) | None => return Ok(Reply::Result(result)),
            }
            repeated += 1;
        }
    }

    /// Calls a tool, by the server's own name for it.
    pub async fn called(
        &self,
        tool: &str,
        named: Vec<(String, String)>,
        arguments: &RawValue,
        input: &Input,
    ) -> Result<Reply, McpError> {
        let params = |id: u64| json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.call_with("tools/call", named, &params, input).await
    }

    /// The session. Opens one if there is none.
    pub async fn opened(&self) -> Result<Rc<Session>, McpError> {
        let present = || self.session.borrow().clone();
        if let Some(session) = present() {
            return Ok(session);
        }
        let _alone = self.opening.lock().await;
        if let Some(session) = present() {
            return Ok(session);
        }
        let session = Rc::new(self.open().await?);
        self.session.replace(Some(Rc::clone(&session)));
        Ok(session)
    }

    fn forget(&self, lost: &Rc<Session>) {
        let mut present = self.session.borrow_mut();
        if present.as_ref().is_some_and(|session| Rc::ptr_eq(session, lost)) {
            *present = None;
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.next_id.replace(self.next_id.get() + 1)
    }

    async fn request(&self, session: &Rc<Session>, id: u64, post: Post) -> Result<Box<RawValue>, McpError> {
        // If this function, the turn's end or the call's timeout drops the request, `open` cancels it.
        let open = Open { connection: self, session, id, answered: Cell::new(false) };
        let result = match self.sent(Some(session), Method::Post, post, None).await {
            Ok(reply) => self.read(Some(session), id, reply).await,
            Err(failure) => Err(failure),
        };
        open.answered.set(!matches!(result, Err(McpError::Silent(..) | McpError::TooLarge)));
        result
    }

    /// Sends a message and waits for the headers of its reply. Replaces a refused token once.
    pub(super) async fn sent(
        &self,
        session: Option<&Session>,
        method: Method,
        post: Post,
        after: Option<String>,
    ) -> Result<HttpReply, McpError> {
        let mut renewed = false;
        let mut reply = loop {
            let token = self.authorization.token(&self.server, &self.ports).await?;
            let request = self.http(session, method, post.clone(), after.clone(), token.as_ref());
            let sending = self.ports.http.send(request.into());
            let timeout_ms = self.server.timeout_ms;
            let reply = self.ports.within(timeout_ms, sending).await;
            let reply = reply.ok_or(McpError::Silent(timeout_ms, None))??;
            match token.filter(|_| reply.status == 401 && !renewed && self.renews()) {
                Some(token) => self.ports.known.forget_token(&self.server.name, &token),
                None => break reply,
            }
            renewed = true;
        };
        let has_session = session.is_some_and(|session| session.id.is_some());
        match reply.status {
            200..=299 => Ok(reply),
            401 | 403 => Err(McpError::Unauthorized(format!("it answered {}", reply.status))),
            // The protocol requires 404 for a forgotten session, but some servers send 400.
            status @ (400 | 404) if has_session => Err(McpError::SessionLost(status)),
            status => Err(self.refusal(status, &mut reply).await),
        }
    }

    fn renews(&self) -> bool {
        matches!(self.server.auth, Auth::ClientCredentials { .. })
    }

    fn http(
        &self,
        session: Option<&Session>,
        method: Method,
        post: Post,
        after: Option<String>,
        token: Option<&Secret>,
    ) -> HttpRequest {
        let Post { body, headers: repeated, named } = post;
        let accept = match method {
            Method::Get => "text/event-stream",
            Method::Post | Method::Delete => "application/json, text/event-stream",
        };
        let mut headers = vec![("accept", accept.to_owned())];
        if method == Method::Post {
            headers.push(("content-type", "application/json".to_owned()));
        }
        headers.extend(token.map(|token| ("authorization", format!("Bearer {}", token.reveal()))));
        headers.extend(after.map(|id| ("last-event-id", id)));
        headers.extend(repeated);
        if let Some(session) = session.filter(|session| !session.is_modern()) {
            headers.push(("mcp-protocol-version", session.version.to_owned()));
            headers.extend(session.id.clone().map(|id| ("mcp-session-id", id)));
        }
        HttpRequest { method, url: self.server.url.clone(), headers, named, body }
    }

    /// Sends a message without waiting for a reply, with the known token.
    pub(super) fn tell(&self, session: Option<&Session>, body: Vec<u8>) {
        let token = known_token(&self.server, &self.ports);
        self.post_and_forget(self.http(session, Method::Post, body.into(), None, token.as_ref()));
    }

    fn post_and_forget(&self, request: HttpRequest) {
        // The task may outlive the connection.
        let (ports, timeout_ms) = (self.ports.clone(), self.server.timeout_ms);
        let task = async move { drop(ports.within(timeout_ms, ports.http.send(request.into())).await) };
        self.ports.tasks.spawn(task.boxed_local());
    }

    /// Removes our secrets from a text.
    pub fn hidden(&self, text: String) -> String {
        let token = known_token(&self.server, &self.ports);
        let secret = match &self.server.auth {
            Auth::ClientCredentials { client_secret, .. } => Some(client_secret.clone()),
            Auth::None | Auth::Bearer(_) => None,
        };
        token.into_iter().chain(secret).fold(text, |text, secret| {
            if text.contains(secret.reveal()) { text.replace(secret.reveal(), "[redacted]") } else { text }
        })
    }
}

impl Drop for Connection {
    /// Ends an open session. Servers may refuse that.
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(|session| session.id.is_some()) else { return };
        let token = known_token(&self.server, &self.ports);
        self.post_and_forget(self.http(
            Some(&session),
            Method::Delete,
            Post::default(),
            None,
            token.as_ref(),
        ));
    }
}

/// An unanswered request. Dropping it cancels the request.
struct Open<'a> {
    connection: &'a Connection,
    session: &'a Session,
    id: u64,
    answered: Cell<bool>,
}

impl Drop for Open<'_> {
    /// In the newest revision the closed reply cancels it.
    fn drop(&mut self) {
        if !self.answered.get() && !self.session.is_modern() {
            let params = json!({"requestId": self.id, "reason": "the call was abandoned"});
            let cancelled = message::notification("notifications/cancelled", Some(&params));
            self.connection.tell(Some(self.session), cancelled);
        }
    }
}
