//! How a connection reads a response: piece by piece, with the notifications and the requests that come before it, over
//! several HTTP replies where an earlier revision resumes a cut one.

use std::rc::Rc;

use futures::StreamExt;
use futures::future::{Either, select};
use serde_json::value::RawValue;

use super::connection::{Connection, Session};
use super::content::cut;
use super::error::McpError;
use super::message::{self, Incoming, Progress, RpcError};
use super::modern::Post;
use super::reply::{Reader, ServerMessage};
use wire::http::{HttpReply, Method, Unreachable};
use wire::redact::redacted;

/// How often the client resumes a cut reply, its default wait, and the longest wait that a server may ask for.
const MAX_RESUMPTIONS: usize = 5;
const RESUME_MS: u64 = 1_000;
const MAX_RESUME_MS: u64 = 30_000;
/// The most requests of a server during one of ours.
const MAX_ASKED: usize = 16;
/// The most bytes of a refusal that the client reads.
const MAX_REFUSAL: usize = 4_096;

impl Connection {
    /// Reads the beginning of a refusal.
    pub(super) async fn refusal(&self, status: u16, reply: &mut HttpReply) -> McpError {
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
        if let Some(versions) = said.as_ref().and_then(RpcError::other_versions) {
            return McpError::OtherVersions(versions);
        }
        let said = said.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), |error| error.message);
        McpError::Status(status, redacted(&self.hidden(said)))
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
                return answer.map_err(|error| match error.other_versions() {
                    Some(versions) => McpError::OtherVersions(versions),
                    None => McpError::Refused(error.code, cut(self.hidden(error.message), MAX_REFUSAL)),
                });
            }
            // The newest revision resumes no reply.
            if session.is_some_and(|session| session.is_modern()) {
                break;
            }
            last = reader.resumption().or(last);
            let Some((after, retry_ms)) = last.clone().filter(|_| resumed < MAX_RESUMPTIONS) else { break };
            self.ports.clock.sleep(retry_ms.unwrap_or(RESUME_MS).min(MAX_RESUME_MS)).await;
            let session = session.map(Rc::as_ref);
            reply = match self.sent(session, Method::Get, Post::default(), Some(after)).await {
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
}

/// Progress in words, bounded.
fn described(progress: &Progress) -> String {
    let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.as_deref().map(|message| format!(", {}", redacted(message)));
    format!("{}{of}{}", progress.progress, message.unwrap_or_default())
}
