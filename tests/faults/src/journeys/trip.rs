//! One play of a journey: its user, its ids, and its requests, which are repeated as a client repeats them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use espalier_test_support::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::Clients;
use crate::script;
use crate::stream::User;
use crate::world::World;

/// How long a request may go without an answer: the runtime may have to start first, and an alarm to take a turn up.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// How long a body may be silent before the client gives the connection up: a panic can leave it open for ever.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The pause before a request is repeated.
pub const PAUSE: Duration = Duration::from_millis(30);

/// A strike at a commit of one turn of a journey.
#[derive(Clone, Debug)]
pub struct Strike {
    /// The turn, by the place of its message from 0 on.
    pub turn: u32,
    /// `kill@3`.
    pub how: String,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Answer {
    /// The body; null where it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// See the module.
pub struct Trip {
    pub(super) clients: Arc<Clients>,
    pub user: User,
    name: &'static str,
    /// The number in its markers, which no other play has.
    pub number: u64,
    strike: Option<Strike>,
    /// How many messages it has made.
    messages: AtomicU32,
}

impl Trip {
    pub fn new(
        clients: &Arc<Clients>,
        user: User,
        name: &'static str,
        number: u64,
        strike: Option<Strike>,
    ) -> Self {
        clients.world.ledger.ordered(number, &script::turn_id(number));
        Trip { clients: Arc::clone(clients), user, name, number, strike, messages: 0.into() }
    }

    pub fn world(&self) -> &World {
        &self.clients.world
    }

    /// The first turn's id and thread id, where the client chooses them.
    pub fn id(&self) -> String {
        script::turn_id(self.number)
    }

    /// An id that is this play's alone, by its place.
    pub fn other_id(&self, place: u32) -> String {
        format!("fa017500-0000-4000-a{place:03x}-{:012x}", self.number)
    }

    /// The marker of a level.
    pub fn marker(&self, path: &str) -> String {
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{}{slash}{path}#{}", self.name, self.number)
    }

    /// The text of the next turn's message, with the strike of this turn. Call it once a turn, also where its request
    /// repeats.
    pub fn message(&self, path: &str) -> String {
        let turn = self.messages.fetch_add(1, Ordering::Relaxed);
        let strike = self.strike.as_ref().filter(|strike| strike.turn == turn);
        let strike = strike.map(|strike| format!(" [[faults:{}]]", strike.how)).unwrap_or_default();
        format!("Do your part. [[fake:{}]]{strike}", self.marker(path))
    }

    pub fn strike(&self) -> Option<&Strike> {
        self.strike.as_ref()
    }

    /// The number of turns that a strike can name.
    pub fn turns(&self) -> u32 {
        self.messages.load(Ordering::Relaxed)
    }

    /// The whole answer to one request; none where the connection failed or the body was cut off.
    pub async fn once(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<Answer> {
        let mut reply = self.user.send(method, path, headers, body).await?;
        let mut text = Vec::new();
        while let Some(bytes) = tokio::time::timeout(SILENCE, reply.read()).await.ok()?.ok()? {
            text.extend_from_slice(&bytes);
        }
        Some(Answer { status: reply.status, text: String::from_utf8(text).ok()? })
    }

    /// The answer to a request, which is repeated as it is until the service gives one that is not 5xx or 429.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Answer, String> {
        let began = Instant::now();
        let mut last = None;
        while began.elapsed() < PATIENCE {
            match self.once(method, path, headers, body).await {
                Some(answer) if answer.status < 500 && answer.status != 429 => return Ok(answer),
                other => last = other.or(last),
            }
            sleep(PAUSE).await;
        }
        Err(format!("{method} {path} was not answered; last by {last:?}"))
    }

    /// [`Trip::ask`] for an answer of JSON with this status.
    pub async fn expect(&self, status: u16, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let answer = self.ask(method, path, &[], body).await?;
        if answer.status != status {
            return Err(format!(
                "{method} {path} was answered with {} in place of {status}: {}",
                answer.status, answer.text
            ));
        }
        Ok(answer.json())
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Result<Value, String> {
        self.expect(200, "GET", path, &json!(null)).await
    }

    /// The first result of a look that is there.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> Result<T, String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(found) = look().await {
                return Ok(found);
            }
            sleep(PAUSE).await;
        }
        Err(format!("{what}: not within {} s", PATIENCE.as_secs()))
    }

    /// The rows of D1, as soon as there are so many.
    pub async fn rows(&self, count: usize, sql: &str, values: &[&str]) -> Result<Vec<Value>, String> {
        let look = async || self.world().database.rows(sql, values).ok().filter(|rows| rows.len() == count);
        self.until(&format!("{count} rows of {sql}"), look).await
    }
}
