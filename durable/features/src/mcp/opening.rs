//! How a connection opens: it asks for the revision without sessions, and begins a session with a server of an earlier
//! one. The isolate remembers which servers are of an earlier one, so that they are not asked each time.

use serde_json::json;

use super::connection::{Connection, Session};
use super::error::McpError;
use super::error::parsed;
use super::message::{self, Initialized, MODERN, VERSIONS};
use super::modern;
use wire::http::Method;
use wire::redact::redacted;

/// The longest session id.
const MAX_SESSION: usize = 1_024;
/// A server may refuse the revision once and name it among those that it has.
const MAX_PROBES: usize = 2;

impl Connection {
    /// Opens the connection, by the newest revision that both speak. A server counts as one of an earlier revision once it
    /// has begun a session: a refusal alone may be a moment's failure.
    pub(super) async fn open(&self) -> Result<Session, McpError> {
        let (known, now_ms) = (&self.ports.known, self.ports.clock.now_ms());
        if known.is_legacy(&self.server.name, now_ms) {
            return self.initialized().await;
        }
        if let Some(session) = self.discovered().await? {
            return Ok(session);
        }
        let session = self.initialized().await?;
        known.legacy(&self.server.name, now_ms);
        Ok(session)
    }

    /// Asks for the revision without sessions; none for a server that does not know it.
    async fn discovered(&self) -> Result<Option<Session>, McpError> {
        for _ in 0..MAX_PROBES {
            let id = self.id();
            let probe = modern::request(id, "server/discover", json!({}), false);
            let told = match self.sent(None, Method::Post, probe, None).await {
                Ok(reply) => self.read(None, id, reply).await,
                Err(failure) => Err(failure),
            };
            match told.and_then(|result| modern::discovered(&result)) {
                Ok(capabilities) => {
                    let session = |capabilities| Session { id: None, version: MODERN, capabilities };
                    return Ok(capabilities.map(session));
                }
                Err(McpError::OtherVersions(versions))
                    if versions.iter().any(|version| version == MODERN) => {}
                // A server of an earlier revision does not know the method, and may refuse it in any of these ways.
                Err(
                    McpError::OtherVersions(_)
                    | McpError::Refused(..)
                    | McpError::Status(..)
                    | McpError::NotMcp(_)
                    | McpError::Cut,
                ) => return Ok(None),
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// Begins a session.
    async fn initialized(&self) -> Result<Session, McpError> {
        let id = self.id();
        let body = message::request(id, "initialize", &message::initialize());
        let reply = self.sent(None, Method::Post, body.into(), None).await?;
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
            let ours = VERSIONS.join(", ");
            McpError::NotMcp(format!("it speaks revision {theirs} of the protocol, not {MODERN}, {ours}"))
        })?;
        let session = Session { id: session_id, version, capabilities };
        let initialized = message::notification("notifications/initialized", None::<&()>);
        self.sent(Some(&session), Method::Post, initialized.into(), None).await?;
        Ok(session)
    }
}
