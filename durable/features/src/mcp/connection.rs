//! A connection to a server during one run of a turn. It has one session, which opens with the first request and ends
//! with the run.
//! The client sends a request once. It repeats a request only if the server has refused it (lost session, expired
//! token). It resumes a cut reply from its last event and does not repeat the request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::future::{Either, select};
use futures::lock::Mutex;
use futures::{FutureExt, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use super::authorization::{Authorization, known_token};
use super::config::{Auth, Server};
use super::content::cut;
use super::error::McpError;
use super::message::{self, Capabilities, Incoming, Initialized, Progress, RpcError, VERSIONS};
use super::port::McpPorts;
use super::reply::{Reader, ServerMessage};
use wire::http::{HttpReply, HttpRequest, Method, Unreachable};
use wire::redact::Secret;
use wire::redact::redacted;

/// How often the client resumes a cut reply, its default wait, and the longest wait that a server may ask for.
const MAX_RESUMPTIONS: usize = 5;
const RESUME_MS: u64 = 1_000;
const MAX_RESUME_MS: u64 = 30_000;
/// The most requests of a server during one of ours.
const MAX_ASKED: usize = 16;
/// The longest session id.
const MAX_SESSION: usize = 1_024;
/// The most bytes of a refusal that the client reads.
const MAX_REFUSAL: usize = 4_096;

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

/// The result of the initialization.
pub struct Session {
    id: Option<String>,
    version: &'static str,
    pub capabilities: Capabilities,
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
        self.call_with(method, &|_| params).await
    }

    /// Sends a request whose parameters depend on its id.
    async fn call_with<P: Serialize>(
        &self,
        method: &str,
        params: &impl Fn(u64) -> P,
    ) -> Result<Box<RawValue>, McpError> {
        let session = self.opened().await?;
        match self.request(&session, method, params).await {
            Err(McpError::SessionLost(_)) => {
                self.forget(&session);
                let session = self.opened().await?;
                self.request(&session, method, params).await
            }
            result => result,
        }
    }

    /// Calls a tool, by the server's own name for it.
    pub async fn called<T: DeserializeOwned>(&self, tool: &str, arguments: &RawValue) -> Result<T, McpError> {
        let params = |id: u64| json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        parsed(&self.call_with("tools/call", &params).await?)
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
        let id = self.id();
        let body = message::request(id, "initialize", &message::initialize());
        let reply = self.sent(None, Method::Post, body, None).await?;
        let session_id = reply.header("mcp-session-id");
        if let Some(id) = &session_id
            && (id.is_empty() || id.len() > MAX_SESSION || !id.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(McpError::NotMcp("its session id is invalid".to_owned()));
        }
        let result = self.read(None, id, reply).await?;
        let Initialized { protocol_version, capabilities } = parsed(&result)?;
        let version = VERSIONS.into_iter().find(|version| *version == protocol_version).ok_or_else(|| {
            let theirs = redacted(&protocol_version);
            McpError::NotMcp(format!(
                "it speaks revision {theirs} of the protocol, not {}",
                VERSIONS.join(", ")
            ))
        })?;
        let session = Rc::new(Session { id: session_id, version, capabilities });
        let initialized = message::notification("notifications/initialized", None::<&()>);
        self.sent(Some(&session), Method::Post, initialized, None).await?;
        self.session.replace(Some(Rc::clone(&session)));
        Ok(session)
    }

    fn forget(&self, lost: &Rc<Session>) {
        let mut present = self.session.borrow_mut();
        if present.as_ref().is_some_and(|session| Rc::ptr_eq(session, lost)) {
            *present = None;
        }
    }

    fn id(&self) -> u64 {
        self.next_id.replace(self.next_id.get() + 1)
    }

    async fn request<P: Serialize>(
        &self,
        session: &Rc<Session>,
        method: &str,
        params: &impl Fn(u64) -> P,
    ) -> Result<Box<RawValue>, McpError> {
        let id = self.id();
        // If this function, the turn's end or the call's timeout drops the request, `open` cancels it.
        let open = Open { connection: self, session, id, answered: Cell::new(false) };
        let body = message::request(id, method, &params(id));
        let result = match self.sent(Some(session), Method::Post, body, None).await {
            Ok(reply) => self.read(Some(session), id, reply).await,
            Err(failure) => Err(failure),
        };
        open.answered.set(!matches!(result, Err(McpError::Silent(..) | McpError::TooLarge)));
        result
    }

    /// Sends a message and waits for the headers of its reply. Replaces a refused token once.
    async fn sent(
        &self,
        session: Option<&Session>,
        method: Method,
        body: Vec<u8>,
        after: Option<String>,
    ) -> Result<HttpReply, McpError> {
        let mut renewed = false;
        let mut reply = loop {
            let token = self.authorization.token(&self.server, &self.ports).await?;
            let request = self.http(session, method, body.clone(), after.clone(), token.as_ref());
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
            status => Err(McpError::Status(status, self.refusal(&mut reply).await)),
        }
    }

    fn renews(&self) -> bool {
        matches!(self.server.auth, Auth::ClientCredentials { .. })
    }

    fn http(
        &self,
        session: Option<&Session>,
        method: Method,
        body: Vec<u8>,
        after: Option<String>,
        token: Option<&Secret>,
    ) -> HttpRequest {
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
        if let Some(session) = session {
            headers.push(("mcp-protocol-version", session.version.to_owned()));
            headers.extend(session.id.clone().map(|id| ("mcp-session-id", id)));
        }
        HttpRequest { method, url: self.server.url.clone(), headers, body }
    }

    /// Reads the beginning of a refusal.
    async fn refusal(&self, reply: &mut HttpReply) -> String {
        let mut body = Vec::new();
        let read = async {
            while let Some(Ok(read)) = reply.body.next().await {
                body.extend(read);
                if body.len() >= MAX_REFUSAL {
                    break;
                }
            }
        };
        self.ports.within(self.server.timeout_ms, read).await;
        body.truncate(MAX_REFUSAL);
        let said: Option<RpcError> =
            wire::json::from_slice(&body).ok().and_then(|message: Incoming| message.error);
        let said = said.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), |error| error.message);
        redacted(&self.hidden(said))
    }

    /// Reads a whole response, over several connections if the server closes them.
    pub(super) async fn read(
        &self,
        session: Option<&Rc<Session>>,
        id: u64,
        mut reply: HttpReply,
    ) -> Result<Box<RawValue>, McpError> {
        let mut asked = 0;
        let mut last: Option<(String, Option<u64>)> = None;
        for resumed in 0..=MAX_RESUMPTIONS {
            let Some(mut reader) = Reader::new(id, &reply.header("content-type").unwrap_or_default()) else {
                let status = reply.status;
                return Err(McpError::NotMcp(format!(
                    "status {status} with neither JSON nor an event stream"
                )));
            };
            if let Some(answer) = self.listen(session, &mut reader, &mut reply, &mut asked).await? {
                return answer.map_err(|RpcError { code, message }| {
                    McpError::Refused(code, cut(self.hidden(message), MAX_REFUSAL))
                });
            }
            last = reader.resumption().or(last);
            let Some((after, retry_ms)) = last.clone().filter(|_| resumed < MAX_RESUMPTIONS) else { break };
            self.ports.clock.sleep(retry_ms.unwrap_or(RESUME_MS).min(MAX_RESUME_MS)).await;
            let session = session.map(Rc::as_ref);
            reply = match self.sent(session, Method::Get, Vec::new(), Some(after)).await {
                Ok(reply) => reply,
                // The server has accepted the request, so the client does not repeat it in a new session.
                Err(McpError::SessionLost(_) | McpError::Status(..)) => break,
                Err(failure) => return Err(failure),
            };
        }
        Err(McpError::Cut)
    }

    /// Reads one connection's part of a response; none if the connection ended before the response.
    async fn listen(
        &self,
        session: Option<&Rc<Session>>,
        reader: &mut Reader,
        reply: &mut HttpReply,
        asked: &mut usize,
    ) -> Result<Option<Result<Box<RawValue>, RpcError>>, McpError> {
        let timeout_ms = self.server.timeout_ms;
        let mut patience = self.ports.clock.sleep(timeout_ms);
        let mut progress = None;
        loop {
            let mut heard = Vec::new();
            let ended = match select(reply.body.next(), &mut patience).await {
                Either::Left((Some(Ok(bytes)), _)) => {
                    reader.feed(&bytes, &mut heard)?;
                    false
                }
                Either::Left((Some(Err(Unreachable)), _)) => true,
                Either::Left((None, _)) => {
                    reader.finish(&mut heard)?;
                    true
                }
                Either::Right(_) => return Err(McpError::Silent(timeout_ms, progress)),
            };
            for heard in heard {
                match heard {
                    ServerMessage::Answer(answer) => return Ok(Some(answer)),
                    ServerMessage::Progress(made) => {
                        // Progress renews the patience. The tool's timeout bounds the call.
                        patience = self.ports.clock.sleep(timeout_ms);
                        progress = Some(self.hidden(described(&made)));
                    }
                    ServerMessage::Changed => self.ports.known.changed(&self.server.name),
                    ServerMessage::Asked { id, method } => {
                        *asked += 1;
                        if *asked > MAX_ASKED {
                            return Err(McpError::NotMcp("it sends too many requests".to_owned()));
                        }
                        self.tell(session.map(Rc::as_ref), message::answer(&id, &method));
                    }
                }
            }
            if ended {
                return Ok(None);
            }
        }
    }

    /// Sends a message without waiting for a reply, with the known token.
    fn tell(&self, session: Option<&Session>, body: Vec<u8>) {
        let token = known_token(&self.server, &self.ports);
        self.post_and_forget(self.http(session, Method::Post, body, None, token.as_ref()));
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
        self.post_and_forget(self.http(Some(&session), Method::Delete, Vec::new(), None, token.as_ref()));
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
    fn drop(&mut self) {
        if !self.answered.get() {
            let params = json!({"requestId": self.id, "reason": "the call was abandoned"});
            let cancelled = message::notification("notifications/cancelled", Some(&params));
            self.connection.tell(Some(self.session), cancelled);
        }
    }
}

/// Reads a result as its expected type.
pub fn parsed<T: DeserializeOwned>(result: &RawValue) -> Result<T, McpError> {
    // The error names a position and a type, and may repeat a value.
    wire::json::from_str(result.get()).map_err(|error| {
        McpError::NotMcp(format!("its result has an unexpected shape: {}", redacted(&error.to_string())))
    })
}

/// Progress in words, bounded.
fn described(progress: &Progress) -> String {
    let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.as_deref().map(|message| format!(", {}", redacted(message)));
    format!("{}{of}{}", progress.progress, message.unwrap_or_default())
}
