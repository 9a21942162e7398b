//! Turns that cannot be taken up: none of their alarms goes off for ever.

use std::future::pending;
use std::time::Duration;

use espalier_test_support::{Value, json};
use tokio::time::{Instant, sleep};

use super::Harness;
use crate::check;
use crate::script::{Shape, client_tools, turn_id};
use crate::stream::{Next, Stream, User};

/// Makes the turn's next failed attempt its last.
const LAST_ATTEMPT: &str = "UPDATE turns SET failed_attempts = 23, failing_since = 1, retry_at = 1;";
/// Makes the timer due, so that the next request that sets the alarm sets it to now.
const DUE: &str = "UPDATE timers SET due_at = 1 WHERE reason = 'parked';";
/// Cuts the last entry of each row short. A break ends it.
const BROKEN: &str = "UPDATE journal SET payload = substr(payload, 1, length(payload) - 2);";
/// Ends the time of all calls, and refuses every further journal entry. Each entry is a line.
const NOT_TO_BE_EXPIRED: &str = "UPDATE journal SET payload = (
        SELECT group_concat(
          iif(value ->> '$.fact.waiting' IS NULL, value, json_set(value, '$.fact.waiting.until', 1)), char(10))
        FROM json_each('[' || replace(trim(payload, char(10)), char(10), ',') || ']'))
      WHERE payload LIKE '%{\"waiting\":%';
    CREATE TRIGGER refused BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'refused'); END;
    CREATE TRIGGER refused_too BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'refused'); END;";
/// How long a turn may take to be given up: its alarm is due at once.
const GIVEN_UP: Duration = Duration::from_secs(20);

/// A turn that is parked.
struct Waiting {
    number: u64,
    turn_id: String,
    /// The path of its thread.
    path: String,
    /// The approval that it waits for.
    approval: String,
}

impl Harness {
    /// Plays turns that wait for a person, each with a fault that keeps it from going on.
    pub async fn on_hold(&mut self) -> Result<(), String> {
        let user = self.clients.user().await;
        self.unreadable(&user).await?;
        self.not_to_be_expired(&user).await?;
        self.spinning(&user).await
    }

    /// The journal cannot be read any more: the last attempt ends the turn.
    async fn unreadable(&mut self, user: &User) -> Result<(), String> {
        let waiting = self.waiting(user, "").await?;
        self.runtime.kill().await;
        check::change(&self.runtime.objects(), &waiting.turn_id, &[LAST_ATTEMPT, BROKEN].concat())?;
        self.runtime.start().await?;
        let (path, approve) = (&waiting.path, json!({ "decision": "approve" }));
        user.send("POST", &format!("{path}/approvals/{}", waiting.approval), &[], &approve).await;
        self.given_up(user, &waiting, "that cannot be rebuilt", Duration::ZERO).await
    }

    /// The turn can be rebuilt, but the expiry of its calls cannot be written: the last attempt ends it.
    async fn not_to_be_expired(&mut self, user: &User) -> Result<(), String> {
        let waiting = self.waiting(user, "").await?;
        self.runtime.kill().await;
        let sql = [LAST_ATTEMPT, DUE, NOT_TO_BE_EXPIRED].concat();
        check::change(&self.runtime.objects(), &waiting.turn_id, &sql)?;
        self.runtime.start().await?;
        wake(user, &waiting).await;
        self.given_up(user, &waiting, "whose wait cannot be ended", GIVEN_UP).await
    }

    /// The attempt to rebuild the turn takes the runtime down: it is counted on disk before that.
    async fn spinning(&mut self, user: &User) -> Result<(), String> {
        let waiting = self.waiting(user, " [[faults:spin]]").await?;
        self.runtime.kill().await;
        let file = check::change(&self.runtime.objects(), &waiting.turn_id, DUE)?;
        // Once it spins, the runtime answers no request.
        let spin = async {
            self.runtime.start().await?;
            wake(user, &waiting).await;
            pending().await
        };
        let counted = tokio::select! {
            counted = check::attempted(&file, &waiting.turn_id) => counted,
            failed = spin => failed,
        }?;
        self.runtime.kill().await;
        if !counted {
            let what = "an attempt to rebuild a turn that takes the runtime down is not counted";
            self.world.ledger.violation(what.to_owned());
        }
        check::remove(&file)?;
        self.runtime.start().await?;
        self.world.ledger.forget(waiting.number);
        Ok(())
    }

    /// The turn must end within this time, and D1 must hear of it.
    async fn given_up(
        &self,
        user: &User,
        waiting: &Waiting,
        what: &str,
        within: Duration,
    ) -> Result<(), String> {
        let began = Instant::now();
        while runs(user, waiting).await? {
            if began.elapsed() >= within {
                self.world.ledger.violation(format!("a parked turn {what} is not abandoned"));
                return Ok(());
            }
            sleep(Duration::from_millis(100)).await;
        }
        if !check::told(&self.world.database, &waiting.turn_id).await? {
            self.world.ledger.violation("D1 does not hear of a turn that was abandoned".to_owned());
        }
        self.world.ledger.forget(waiting.number);
        Ok(())
    }

    /// Asks for a turn in a new thread, again if the stream breaks, until it is parked.
    async fn waiting(&mut self, user: &User, mark: &str) -> Result<Waiting, String> {
        self.numbers += 1;
        let (number, id) = (self.numbers, turn_id(self.numbers));
        let body = json!({
            "thread_id": id, "turn_id": id, "content": Shape::Asks.message(number) + mark,
            "chat_context": { "kind": "editor" }, "client_tools": client_tools(),
        });
        self.world.ledger.ordered(number, &id);
        let approval = self.parked(user, &body).await?;
        Ok(Waiting { number, path: format!("/api/threads/{id}"), turn_id: id, approval })
    }

    /// The id of the approval that the turn waits for.
    async fn parked(&self, user: &User, body: &Value) -> Result<String, String> {
        let began = Instant::now();
        while began.elapsed() < self.setup.lost_after {
            let Some(reply) = user.send("POST", "/api/chat", &[], body).await else { continue };
            let (mut stream, mut approval) = (Stream::new(reply, 0), String::new());
            while let Next::Event(event) = stream.next(Duration::from_secs(10)).await {
                if event.kind == "approval_request" {
                    approval = event.text("approval_id").to_owned();
                }
                if event.text("state") == "waiting_on_user" {
                    return Ok(approval);
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
        Err("a turn did not come to its wait".to_owned())
    }
}

/// Makes the object set its alarm by its timers.
async fn wake(user: &User, waiting: &Waiting) {
    user.send("PATCH", &waiting.path, &[], &json!({ "title": "Another" })).await;
}

/// Whether the turn has no end yet.
async fn runs(user: &User, waiting: &Waiting) -> Result<bool, String> {
    let detail = user.send("GET", &waiting.path, &[], &json!({})).await.ok_or("no details of the thread")?;
    Ok(!detail.json().await["running_turn_id"].is_null())
}
