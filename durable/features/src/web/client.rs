//! The one way of tools to the web: each step is judged by the guard, names are resolved before they are asked, and
//! everything has an end.

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

/// How long a call may take in all. Below what the tools declare, so that a call ends with what it has.
const PATIENCE_MS: u64 = 19_000;
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;
/// The largest answer of a resolver, and the most answers in it that are read.
const MAX_RESOLVED_BYTES: usize = 64 * 1024;

/// Who we are, so that a site's operator can tell us from its visitors.
pub const USER_AGENT: &str =
    concat!("Espalier/", env!("CARGO_PKG_VERSION"), " (an agent that fetches single pages for its user)");

/// A call's time.
pub struct Patience(LocalBoxFuture<'static, ()>);

/// It is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate;

impl Patience {
    /// It begins now.
    pub fn new(clock: &Rc<dyn Clock>) -> Self {
        Patience(clock.sleep(PATIENCE_MS))
    }

    /// Waits, but not beyond it.
    pub async fn wait<F: Future>(&mut self, future: F) -> Result<F::Output, TooLate> {
        pin_mut!(future);
        match select(future, &mut self.0).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right(_) => {
                // Whoever waits again is told the same.
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
    /// Where names are resolved (DNS over HTTPS, JSON); none where the operator does without.
    pub resolver: Option<String>,
}

/// A page whose headers are there.
pub struct Opened {
    pub url: Url,
    pub reply: HttpReply,
}

impl Client {
    /// Asks for a page and follows where it leads, each step judged as the first.
    pub async fn open(&self, url: &str, patience: &mut Patience) -> Result<Opened, ToolError> {
        let mut target = self.guard.check(url)?;
        for _ in 0..=MAX_REDIRECTS {
            self.resolve(&target, patience).await?;
            let url = target.url;
            let headers = vec![("user-agent", USER_AGENT.to_owned()), ("accept", ACCEPT.to_owned())];
            let request = HttpRequest::get(url.to_string(), headers);
            let sent = patience.wait(self.http.send(request.into())).await.map_err(|TooLate| late(&url))?;
            let reply = sent.map_err(|Unreachable| told(&format!("{url} could not be reached")))?;
            let location =
                reply.header("location").filter(|_| matches!(reply.status, 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else { return Ok(Opened { url, reply }) };
            target = self
                .guard
                .follow(&url, location)
                .map_err(|Refused(why)| told(&format!("{url} redirects: {why}")))?;
        }
        Err(told(&format!(
            "it redirects more than {MAX_REDIRECTS} times; the last address was {}",
            target.url
        )))
    }

    /// Judges an address that somebody else is going to ask for us.
    pub async fn judge(&self, url: &str, patience: &mut Patience) -> Result<Target, ToolError> {
        let target = self.guard.check(url)?;
        self.resolve(&target, patience).await?;
        Ok(target)
    }

    /// A whole answer of a service that the operator has configured: its status and what it says.
    pub async fn ask(
        &self,
        request: HttpRequest,
        max_bytes: usize,
        patience: &mut Patience,
    ) -> Result<(u16, Vec<u8>), Silence> {
        whole(self.http.send(request.into()), max_bytes, patience).await
    }

    /// Refuses a name that leads to an address which is not public. What cannot be checked is refused.
    async fn resolve(&self, target: &Target, patience: &mut Patience) -> Result<(), ToolError> {
        let (Some(name), Some(resolver)) = (&target.resolve, &self.resolver) else { return Ok(()) };
        let asked = patience
            .wait(try_join(self.addresses(resolver, name, "A"), self.addresses(resolver, name, "AAAA")));
        let refused = |why: &str| told(&format!("the host {name:?} {why}"));
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
        // The guard lets no character into a name that would have to be escaped.
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
        let answer = serde_json::from_slice(&body).ok().filter(|_| reply.status == 200).and_then(addresses);
        answer.ok_or(Silence::Unreachable)
    }
}

/// An answer to its end: its status and what it says.
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

/// What we can read, the best first.
const ACCEPT: &str =
    "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8";

/// An answer as Cloudflare's and Google's resolvers give it:
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
/// The types A and AAAA; others, such as aliases, stand beside them.
const ADDRESSES: [u16; 2] = [1, 28];

/// None where the resolver failed, or says what cannot be read.
fn addresses(resolved: Resolved) -> Option<Vec<IpAddr>> {
    let known = [NO_ERROR, NO_SUCH_NAME].contains(&resolved.status);
    let records = resolved.answers.iter().filter(|record| ADDRESSES.contains(&record.kind));
    records.map(|record| record.data.parse().ok()).collect::<Option<Vec<IpAddr>>>().filter(|_| known)
}

fn late(url: &Url) -> ToolError {
    told(&format!("{url} did not answer within {} s", PATIENCE_MS / 1000))
}

fn told(text: &str) -> ToolError {
    ToolError(text.to_owned())
}

impl From<Refused> for ToolError {
    fn from(Refused(why): Refused) -> Self {
        ToolError(why)
    }
}
