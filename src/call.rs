//! A request that is being answered, and its answer. `serve` makes the one and sends the other; `routes` turns one into the
//! other.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{FutureExt, StreamExt};
use platform::quota::network;
use wire::pace::Pace;
use wire::protocol::{ApiError, GivenAnswer};
use worker::web_sys::Response;
use worker::{Context, Date, Delay, Env, Method, Request};

use crate::body::{self, Body, Budget, HeldBody, Reading};
use crate::origin::{self, FETCH_SITE, Provenance};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::routes::pauses;
use crate::settings::Settings;

/// The header with a visitor's address. Cloudflare sets it, and replaces one that a client sends.
pub const ADDRESS: &str = "cf-connecting-ip";
/// The header that names the browser, or another client.
pub const BROWSER: &str = "user-agent";

thread_local! {
    /// The part of this isolate's memory that bodies may take.
    static BODIES: Rc<Budget> = Rc::default();
}

/// A request that is being answered.
pub struct Call {
    pub request: Request,
    pub env: Env,
    pub context: Rc<Context>,
    pub settings: Rc<Settings>,
    pub now: u64,
    /// The target of the entry that a deletion leaves in the audit log; none where the route is no such deletion.
    pub deletion: OnceCell<String>,
    url: String,
    origin: Option<String>,
}

impl Call {
    /// A request that has just come.
    pub fn new(request: Request, settings: Rc<Settings>, env: Env, context: Context) -> Self {
        Call {
            settings,
            now: Date::now().as_millis(),
            deletion: OnceCell::new(),
            url: request.inner().url(),
            origin: request.headers().get("origin").ok().flatten(),
            request,
            env,
            context: Rc::new(context),
        }
    }

    /// A request to another path of ours, within this one: of the same caller, with no header but those of their address and
    /// their browser.
    pub fn within(&self, path: &str) -> worker::Result<Call> {
        let url = format!("{}{path}", self.own_origin().unwrap_or_default());
        let mut request = Request::new(&url, Method::Get)?;
        for name in [ADDRESS, BROWSER] {
            if let Some(value) = self.header(name) {
                request.headers_mut()?.set(name, &value)?;
            }
        }
        let (settings, context) = (Rc::clone(&self.settings), Rc::clone(&self.context));
        let (env, deletion) = (self.env.clone(), OnceCell::new());
        Ok(Call { request, env, context, settings, now: self.now, deletion, url, origin: None })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<String> {
        self.request.headers().get(name).ok().flatten()
    }

    /// The mark of the client's address in the audit log.
    pub fn address_mark(&self) -> Option<String> {
        let marks = self.settings.address_marks.as_ref()?;
        Some(marks.mark(&self.header(ADDRESS)?))
    }

    /// The mark of the client's network: a customer with IPv6 has many addresses.
    pub fn network_mark(&self) -> Option<String> {
        let marks = self.settings.address_marks.as_ref()?;
        Some(marks.mark(&network(&self.header(ADDRESS)?)))
    }

    /// The mark of the address of answers of which one decides about a call.
    pub fn decides_from(&self, answers: &[GivenAnswer]) -> Option<String> {
        self.address_mark().filter(|_| answers.iter().any(|answer| answer.decision.is_some()))
    }

    /// The body that a route takes, if it is of the right type and no larger than it may be. `user` sends it.
    pub async fn body(&mut self, takes: Body, user: String) -> Result<HeldBody, Failure> {
        let content_type = self.header("content-type");
        let pauses = pauses(Date::now().as_millis());
        let pace = Pace::new(&pauses);
        match takes {
            Body::Nothing => Ok(HeldBody::default()),
            Body::OptionalJson(_) => {
                let body = self.read(takes.most(), user).await?;
                if !body.is_empty() {
                    takes.check_type(content_type.as_deref())?;
                }
                Ok(body.without_lone_surrogates(&pace).await?)
            }
            Body::Json(_) => {
                takes.check_type(content_type.as_deref())?;
                Ok(self.read(takes.most(), user).await?.without_lone_surrogates(&pace).await?)
            }
            Body::File | Body::Document => {
                takes.check_type(content_type.as_deref())?;
                self.read(takes.most(), user).await
            }
        }
    }

    async fn read(&mut self, most: usize, user: String) -> Result<HeldBody, Failure> {
        let now = || Date::now().as_millis();
        let length = self.header("content-length");
        let mut reading =
            BODIES.with(|budget| Reading::begin(budget, user, most, length.as_deref(), now()))?;
        self.outlive_client(&mut reading);
        if self.request.inner().body().is_some() {
            let mut pieces = self.request.stream().map_err(Failure::internal("reading a body"))?;
            let mut patience = Delay::from(Duration::from_millis(reading.time_left(now())?));
            loop {
                match select(pieces.next(), &mut patience).await {
                    Either::Left((Some(piece), _)) => {
                        // The client went away in the middle of its upload; the service did not fail.
                        reading.push(piece.map_err(|_| body::broken_off())?, now())?;
                        self.outlive_client(&mut reading);
                    }
                    Either::Left((None, _)) => break,
                    // A body without a length has more time meanwhile, where more of it has come.
                    Either::Right(_) => {
                        patience = Delay::from(Duration::from_millis(reading.time_left(now())?));
                    }
                }
            }
        }
        Ok(reading.end(now()))
    }

    /// Keeps the platform from forgetting the request of a large body when its client goes away: nothing would return the
    /// memory. The platform waits for 30 s.
    fn outlive_client(&self, reading: &mut Reading) {
        if let Some(ends) = reading.outlives_client() {
            self.context.wait_until(ends.map(drop));
        }
    }

    /// Whether a body came with the request.
    pub fn has_body(&self) -> bool {
        self.request.inner().body().is_some() && self.header("content-length").as_deref() != Some("0")
    }

    /// The query string, without its question mark.
    pub fn query(&self) -> &str {
        self.url.split_once('?').map_or("", |(_, query)| query)
    }

    /// Whether the client speaks https with us.
    pub fn is_https(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// The page that the request comes from, as far as it tells.
    pub fn provenance(&self) -> Provenance<'_> {
        let origin = self.origin.as_deref();
        Provenance {
            own: self.own_origin(),
            origin,
            from_browser: origin.is_none() && self.request.headers().has(FETCH_SITE).unwrap_or(true),
        }
    }

    /// The headers that let the request's page read the answer.
    pub fn cors(&self) -> Vec<(&'static str, String)> {
        let Some(origin) = self.origin.as_deref() else { return Vec::new() };
        origin::cors(self.own_origin(), origin, &self.settings.allowed_origins)
    }

    /// The origin that the request was sent to.
    pub fn own_origin(&self) -> Option<&str> {
        origin::of_url(&self.url)
    }
}

/// An answer: made here, or a thread object's, which passes through as it is.
pub enum Answer {
    Ours(Reply),
    Object(Response),
    /// The same, with the value of a `Warning`.
    Warned(Response, String),
}

impl Answer {
    /// The answer to a deletion: of something that was there, or was not.
    pub fn deleted(was_there: bool, not_found: impl FnOnce() -> ApiError) -> Result<Self, Failure> {
        match was_there {
            true => Ok(Reply::empty().into()),
            false => Err(not_found().into()),
        }
    }

    /// Whether the request succeeded.
    pub fn is_ok(&self) -> bool {
        match self {
            Answer::Ours(reply) => reply.status < 400,
            Answer::Object(response) | Answer::Warned(response, _) => response.ok(),
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Answer::Ours(reply)
    }
}
