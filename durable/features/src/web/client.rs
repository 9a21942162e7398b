//! The client of the web tools. The guard checks each address and each redirect, the client resolves a name before it
//! connects, and every request has limits of time and size.

use std::net::IpAddr;
use std::rc::Rc;

use futures::future::{Either, LocalBoxFuture, select, try_join};
use futures::{FutureExt, StreamExt, pin_mut};
use serde::Deserialize;
use url::Url;

use super::Charsets;
use super::guard::{self, Guard, Refused, Target};
use engine::ports::{Clock, ToolError};
use wire::http::{Http, HttpReply, HttpRequest, Unreachable};

/// The time of a whole call: less than the tools' timeout, so that a call can return its partial result.
const PATIENCE_MS: u64 = 19_000;
/// The most redirects of a request.
const MAX_REDIRECTS: usize = 5;
/// The most bytes of a resolver's reply.
const MAX_RESOLVED_BYTES: usize = 64 * 1024;

/// The name of this client, so that a site's operator can recognise it.
pub const USER_AGENT: &str =
    concat!("Espalier/", env!("CARGO_PKG_VERSION"), " (an agent that fetches single pages for its user)");

/// The remaining time of a call.
pub struct Patience(LocalBoxFuture<'static, ()>);

/// The time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate;

impl Patience {
    /// Starts the time now.
    pub fn new(clock: &Rc<dyn Clock>) -> Self {
        Patience(clock.sleep(PATIENCE_MS))
    }

    /// Waits for a future until the time is up.
    pub async fn wait<F: Future>(&mut self, future: F) -> Result<F::Output, TooLate> {
        pin_mut!(future);
        match select(future, &mut self.0).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right(_) => {
                // The next wait also returns `TooLate`.
                self.0 = futures::future::ready(()).boxed_local();
                Err(TooLate)
            }
        }
    }
}

/// Why a service did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    Unreachable,
    TooLate,
    TooLarge,
}

impl From<TooLate> for Silence {
    fn from(TooLate: TooLate) -> Self {
        Silence::TooLate
    }
}

impl From<Unreachable> for Silence {
    fn from(Unreachable: Unreachable) -> Self {
        Silence::Unreachable
    }
}

/// The guarded client.
#[derive(Clone)]
pub struct Client {
    pub http: Rc<dyn Http>,
    pub charsets: Rc<dyn Charsets>,
    pub guard: Guard,
    /// The resolver (DNS over HTTPS, JSON); none if the operator switched it off.
    pub resolver: Option<String>,
}

/// A page whose headers have arrived.
pub struct Opened {
    pub url: Url,
    pub reply: HttpReply,
}

impl Client {
    /// Requests a page and follows its redirects. The guard checks each step.
    pub async fn open(&self, url: &str, patience: &mut Patience) -> Result<Opened, ToolError> {
        let mut target = self.guard.check(url)?;
        for _ in 0..=MAX_REDIRECTS {
            self.resolve(&target, patience).await?;
            let url = target.url;
            let headers = vec![("user-agent", USER_AGENT.to_owned()), ("accept", ACCEPT.to_owned())];
            let request = HttpRequest::get(url.to_string(), headers);
            let sent = patience.wait(self.http.send(request.into())).await.map_err(|TooLate| late(&url))?;
            let reply = sent.map_err(|Unreachable| ToolError::new(format!("{url} could not be reached")))?;
            let location =
                reply.header("location").filter(|_| matches!(reply.status, 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else { return Ok(Opened { url, reply }) };
            target = self
                .guard
                .follow(&url, &location)
                .map_err(|Refused(why)| ToolError::new(format!("{url} redirects: {why}")))?;
        }
        Err(ToolError::new(format!(
            "it redirects more than {MAX_REDIRECTS} times; the last address was {}",
            target.url
        )))
    }

    /// Checks an address that the browser will request.
    pub async fn judge(&self, url: &str, patience: &mut Patience) -> Result<Target, ToolError> {
        let target = self.guard.check(url)?;
        self.resolve(&target, patience).await?;
        Ok(target)
    }

    /// Requests a service that the operator configured. Returns status and body.
    pub async fn ask(
        &self,
        request: HttpRequest,
        max_bytes: usize,
        patience: &mut Patience,
    ) -> Result<(u16, Vec<u8>), Silence> {
        whole(self.http.send(request.into()), max_bytes, patience).await
    }

    /// Refuses a name with an address outside the public internet. Also refuses a name that cannot be resolved.
    async fn resolve(&self, target: &Target, patience: &mut Patience) -> Result<(), ToolError> {
        let (Some(name), Some(resolver)) = (&target.resolve, &self.resolver) else { return Ok(()) };
        let asked = patience
            .wait(try_join(self.addresses(resolver, name, "A"), self.addresses(resolver, name, "AAAA")));
        let refused = |why: &str| ToolError::new(format!("the host {name:?} {why}"));
        let Ok(Ok((mut addresses, others))) = asked.await else {
            return Err(refused("could not be resolved; try again later"));
        };
        addresses.extend(others);
        match addresses.iter().all(|address| guard::is_public(*address)) {
            _ if addresses.is_empty() => Err(refused("does not exist")),
            true => Ok(()),
            false => Err(refused("is refused: it leads into a private network")),
        }
    }

    async fn addresses(&self, resolver: &str, name: &str, kind: &str) -> Result<Vec<IpAddr>, Silence> {
        let and = if resolver.contains('?') { '&' } else { '?' };
        // The guard allows only characters that need no escaping.
        let url = format!("{resolver}{and}name={name}&type={kind}");
        let headers = vec![("accept", "application/dns-json".to_owned())];
        let mut reply = self.http.send(HttpRequest::get(url, headers).into()).await?;
        let mut body = Vec::new();
        while let Some(read) = reply.body.next().await {
            body.extend(read?);
            if body.len() > MAX_RESOLVED_BYTES {
                return Err(Silence::TooLarge);
            }
        }
        let answer = wire::json::from_slice(&body).ok().filter(|_| reply.status == 200).and_then(addresses);
        answer.ok_or(Silence::Unreachable)
    }
}

/// Reads a whole reply. Returns status and body.
pub async fn whole(
    answer: LocalBoxFuture<'static, Result<HttpReply, Unreachable>>,
    max_bytes: usize,
    patience: &mut Patience,
) -> Result<(u16, Vec<u8>), Silence> {
    let mut reply = patience.wait(answer).await??;
    let mut body = Vec::new();
    while let Some(read) = patience.wait(reply.body.next()).await? {
        body.extend(read?);
        if body.len() > max_bytes {
            return Err(Silence::TooLarge);
        }
    }
    Ok((reply.status, body))
}

/// The readable media types, the best first.
const ACCEPT: &str =
    "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8";

/// A reply of Cloudflare's or Google's resolver:
/// <https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/>.
#[derive(Deserialize)]
struct Resolved {
    #[serde(rename = "Status")]
    status: u16,
    #[serde(rename = "Answer", default)]
    answers: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: u16,
    data: String,
}

const NO_ERROR: u16 = 0;
const NO_SUCH_NAME: u16 = 3;
/// The record types A and AAAA. A reply may also have others, such as aliases.
const ADDRESSES: [u16; 2] = [1, 28];

/// The addresses of a reply; none if the resolver failed or the reply is unreadable.
fn addresses(resolved: Resolved) -> Option<Vec<IpAddr>> {
    let known = [NO_ERROR, NO_SUCH_NAME].contains(&resolved.status);
    let records = resolved.answers.iter().filter(|record| ADDRESSES.contains(&record.kind));
    records.map(|record| record.data.parse().ok()).collect::<Option<Vec<IpAddr>>>().filter(|_| known)
}

fn late(url: &Url) -> ToolError {
    ToolError::new(format!("{url} did not answer within {} s", PATIENCE_MS / 1000))
}

impl From<Refused> for ToolError {
    fn from(Refused(why): Refused) -> Self {
        ToolError(why)
    }
}
