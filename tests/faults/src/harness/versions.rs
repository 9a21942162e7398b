//! A message that is edited, and one that is answered again, struck at each commit of the turn that this begins: the
//! earlier version stays with what came after it, and one path is the conversation.

use std::time::Duration;

use espalier_test_support::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Harness, spoken};
use crate::client::Order;
use crate::script::{Shape, turn_id};
use crate::stream::User;
use crate::view::View;

/// How long a request may fail: the runtime may have to start first.
const PATIENCE: Duration = Duration::from_secs(20);

/// A conversation of two turns whose first one has another version.
struct Versions {
    /// The path of the thread.
    path: String,
    /// The turns in the order of their beginnings; the last one is the version.
    turns: Vec<String>,
    view: Option<View>,
}

impl Harness {
    /// Plays versions, struck in each way. Returns the number of boundaries.
    pub(super) async fn versions(&mut self, stride: u32) -> Result<u32, String> {
        let user = self.clients.user().await;
        let mut tried = 0;
        for (what, again) in [("an edited message", false), ("another answer", true)] {
            let whole = self.version(&user, again, None).await?;
            self.both_stay(&user, &whole, what).await?;
            let reference = whole.view.as_ref().map(spoken).ok_or("the version did not end")?;
            for kind in ["kill", "abort"] {
                let mut commits = 1..;
                let mut at = commits.next();
                loop {
                    let when = at.map_or("end".to_owned(), |at: u32| at.to_string());
                    let before = self.deaths();
                    let played = self.version(&user, again, Some(format!("{kind}@{when}"))).await?;
                    if self.deaths() == before {
                        self.wait_for_kill(Duration::from_millis(300)).await?;
                    }
                    let what = format!("{what}, {kind} at {when}");
                    self.same(&reference, played.view.as_ref(), &what);
                    self.both_stay(&user, &played, &what).await?;
                    tried += 1;
                    match at {
                        None => break,
                        Some(_) if self.deaths() == before => at = None,
                        Some(_) => at = commits.nth(stride.saturating_sub(1) as usize),
                    }
                }
            }
        }
        Ok(tried)
    }

    /// Plays a conversation of two turns and a version of the first one. Another answer names the answer that it stands
    /// beside, an edited message names the message.
    async fn version(
        &mut self,
        user: &User,
        again: bool,
        strike: Option<String>,
    ) -> Result<Versions, String> {
        let thread_id = self.new_thread();
        let mut turns = Vec::new();
        let mut named = None;
        for request_seq in 1..=2 {
            self.numbers += 1;
            let order = self.order(Shape::Direct, &thread_id, request_seq);
            let view = self.one(user, order).await?.ok_or("a turn did not end")?;
            turns.push(turn_id(self.numbers));
            let (event, member) = match again {
                true => (view.events().last(), "message_id"),
                false => (view.events().next(), "user_message_id"),
            };
            named = named.or_else(|| event.map(|event| event.text(member).to_owned()));
        }
        self.numbers += 1;
        let order = self.order(Shape::Direct, &thread_id, 3);
        let order = Order { strike, beside: named, ..order };
        let view = self.one(user, order).await?;
        turns.push(turn_id(self.numbers));
        Ok(Versions { path: format!("/api/threads/{thread_id}"), turns, view })
    }

    /// The version alone is the conversation, and both versions are told. The earlier one comes back with the turn behind
    /// it when somebody chooses it.
    async fn both_stay(&mut self, user: &User, played: &Versions, what: &str) -> Result<(), String> {
        let [first, second, version] = played.turns.as_slice() else {
            return Err("a turn is missing".to_owned());
        };
        let siblings = |seen: &Value| {
            let told = seen["versions"].as_array().into_iter().flatten();
            told.map(|version| {
                format!("{} {}", version["turn_id"].as_str().unwrap_or_default(), version["on_path"])
            })
            .collect::<Vec<_>>()
        };
        let list = format!("{}/messages", played.path);
        let seen = self.answered(user, "GET", &list, &json!(null)).await?;
        let expected = (vec![version.clone(); 2], vec![format!("{first} false"), format!("{version} true")]);
        let mut found = vec![((turns_of(&seen), siblings(&seen)), expected)];
        self.answered(user, "PATCH", &played.path, &json!({ "current_turn_id": first })).await?;
        let seen = self.answered(user, "GET", &list, &json!(null)).await?;
        let all = [first, first, second, second].map(Clone::clone).to_vec();
        found.push((
            (turns_of(&seen), siblings(&seen)),
            (all, vec![format!("{first} true"), format!("{version} false")]),
        ));
        for (found, expected) in found {
            if found != expected {
                self.world
                    .ledger
                    .violation(format!("{what}: the path and its versions are {found:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// The answer to a request, which is repeated until the service gives one. Carries out each kill that a turn asked
    /// for.
    async fn answered(
        &mut self,
        user: &User,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            self.wait_for_kill(Duration::ZERO).await?;
            if let Some(mut reply) = user.send(method, path, &[], body).await {
                let mut text = Vec::new();
                while let Ok(Some(bytes)) = reply.read().await {
                    text.extend_from_slice(&bytes);
                }
                if reply.status == 200
                    && let Ok(answer) = serde_json::from_slice(&text)
                {
                    return Ok(answer);
                }
            }
            sleep(Duration::from_millis(40)).await;
        }
        Err(format!("{method} {path} was not answered"))
    }
}

/// The turns of a list, in its order.
fn turns_of(list: &Value) -> Vec<String> {
    let items = list["messages"].as_array().into_iter().flatten();
    items.filter_map(|item| item["turn_id"].as_str().map(str::to_owned)).collect()
}
