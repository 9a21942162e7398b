//! Plays the journeys, each with one fault at a time.

use std::sync::Arc;
use std::time::Duration;

use espalier_test_support::Value;
use tokio::time::Instant;

use super::Harness;
use crate::journeys::{self, Journey, Strike, Trip, normal};
use crate::stream::User;
use crate::world::{Act, Moment, Trap};

/// How long the last requests of a play may come after its end.
const LATE: Duration = Duration::from_millis(700);
/// The moments at which a request can fail.
const FAILING: [Moment; 6] = [
    Moment::D1Asked,
    Moment::D1Done,
    Moment::R2Asked,
    Moment::R2Done,
    Moment::VectorsAsked,
    Moment::VectorsDone,
];

/// How many plays of a run are repeated, because the harness disturbed them.
const MOST_REPLAYS: u32 = 20;

/// A play that takes longer says so: its turn was lost for a while.
const SLOW: Duration = Duration::from_secs(5);

/// The API key of the journeys, and its SHA-256.
const KEY: &str = "espk_fa0175000000_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const KEY_HASH: &str = "59ee2798dd0d1018664402bc71e2a69dbe4587c8066b321a95d9aa64d7590b10";

/// The requests of one kind that are tried: the first, each so many from there on, and the last. Of a kind that comes seldom
/// three are tried.
fn places(times: u32, stride: u32) -> impl Iterator<Item = u32> {
    let step = stride.min(times / 2).max(1);
    (1..times).step_by(step as usize).chain((times > 0).then_some(times))
}

impl Harness {
    /// Plays all journeys, or the one with this name, at each of its boundaries. Returns the number of boundaries.
    pub async fn journeys(&mut self, only: Option<&str>, stride: u32) -> Result<u32, String> {
        let mut tried = 0;
        for journey in journeys::wanted(only) {
            let began = Instant::now();
            let boundaries = self.journey(journey, stride.max(journey.stride())).await?;
            println!(
                "{boundaries} boundaries of the journey {} in {} s",
                journey.name(),
                began.elapsed().as_secs()
            );
            tried += boundaries;
        }
        Ok(tried)
    }

    /// Plays one in a runtime with the variables that it needs.
    async fn journey(&mut self, journey: &'static dyn Journey, stride: u32) -> Result<u32, String> {
        let own = journey.own_vars();
        if own.is_empty() {
            return self.all_faults(journey, stride).await;
        }
        self.runtime.own = own;
        self.runtime.kill().await;
        self.runtime.start().await?;
        let tried = self.all_faults(journey, stride).await;
        self.runtime.own = Vec::new();
        self.runtime.kill().await;
        self.runtime.start().await?;
        tried
    }

    async fn all_faults(&mut self, journey: &'static dyn Journey, stride: u32) -> Result<u32, String> {
        let before = Moment::ALL.map(|moment| self.world.times(moment));
        let (reference, turns) = self.travel(journey, None).await?;
        let reference = match reference {
            Ok(reference) => reference,
            Err(why) => {
                self.world.ledger.violation(format!("{}, undisturbed: {why}", journey.name()));
                return Ok(1);
            }
        };
        self.wait_for_kill(LATE).await?;
        let times = Moment::ALL.map(|moment| self.world.times(moment));
        let mut tried = 0;
        for turn in 0..turns {
            for kind in ["kill", "abort"] {
                tried += self.commits_of(journey, &reference, turn, kind, stride).await?;
            }
        }
        for ((moment, before), times) in Moment::ALL.into_iter().zip(before).zip(times) {
            for act in [Act::Kill, Act::Fail] {
                let fails = FAILING.contains(&moment);
                if act == Act::Fail && !fails {
                    continue;
                }
                for nth in places(times - before, stride) {
                    self.trapped(journey, &reference, Trap { moment, nth, act }).await?;
                    tried += 1;
                }
            }
        }
        Ok(tried)
    }

    /// Plays it with a fault at one request.
    async fn trapped(
        &mut self,
        journey: &'static dyn Journey,
        reference: &Value,
        trap: Trap,
    ) -> Result<(), String> {
        let Trap { moment, nth, act } = trap;
        let of_d1 = act == Act::Fail && [Moment::D1Asked, Moment::D1Done].contains(&moment);
        loop {
            let lockouts = self.runtime.lockouts();
            self.set_trap(Some(Trap { moment, nth, act }));
            let (outcome, _) = self.travel(journey, None).await?;
            self.wait_for_trap().await?;
            let outcome = if of_d1 { outcome.map(|outcome| journey.without_d1(outcome)) } else { outcome };
            let what = format!("{act:?} at {moment:?} {nth}");
            if self.is_judged(journey, reference, outcome, &what, lockouts) {
                return Ok(());
            }
        }
    }

    /// Plays it, struck at each commit of a turn.
    async fn commits_of(
        &mut self,
        journey: &'static dyn Journey,
        reference: &Value,
        turn: u32,
        kind: &str,
        stride: u32,
    ) -> Result<u32, String> {
        let mut tried = 0;
        let mut commits = (1..).step_by(stride as usize);
        let mut at = commits.next();
        loop {
            let when = at.map_or("end".to_owned(), |at: u32| at.to_string());
            let before = self.deaths();
            let how = format!("{kind}@{when}");
            let (what, lockouts) = (format!("turn {turn}, {how}"), self.runtime.lockouts());
            let (outcome, _) = self.travel(journey, Some(Strike { turn, how })).await?;
            if self.deaths() == before {
                self.wait_for_kill(Duration::from_millis(300)).await?;
            }
            if !self.is_judged(journey, reference, outcome, &what, lockouts) {
                continue;
            }
            tried += 1;
            at = match at {
                None => return Ok(tried),
                Some(_) if self.deaths() == before => None,
                Some(_) => commits.next(),
            };
        }
    }

    /// Plays it once, and carries out each kill that it asks for. Returns its outcome and the number of its turns.
    async fn travel(
        &mut self,
        journey: &'static dyn Journey,
        strike: Option<Strike>,
    ) -> Result<(Result<Value, String>, u32), String> {
        self.numbers += 1;
        let user = if journey.has_key() { self.keyed()? } else { self.visitor().await? };
        let trip = Trip::new(&self.clients, user, journey.name(), self.numbers, strike);
        let began = Instant::now();
        let play = journey.play(&trip);
        tokio::pin!(play);
        let outcome = loop {
            tokio::select! {
                outcome = &mut play => break outcome,
                Some(()) = self.kills.recv() => {
                    self.runtime.kill().await;
                    self.runtime.start().await?;
                }
            }
        };
        self.world.ledger.forget(trip.number);
        let took = began.elapsed();
        if took > SLOW {
            println!(
                "  the journey {} took {} ms, with {:?}",
                journey.name(),
                took.as_millis(),
                trip.strike()
            );
        }
        Ok((outcome.map(|outcome| normal(&outcome)), trip.turns()))
    }

    /// A new visitor, while the trap may ask for a kill.
    async fn visitor(&mut self) -> Result<User, String> {
        let clients = Arc::clone(&self.clients);
        let user = clients.user();
        tokio::pin!(user);
        loop {
            tokio::select! {
                user = &mut user => return Ok(user),
                Some(()) = self.kills.recv() => {
                    self.runtime.kill().await;
                    self.runtime.start().await?;
                }
            }
        }
    }

    /// The user of the API key, whose row is written first.
    fn keyed(&self) -> Result<User, String> {
        let sql = "INSERT OR IGNORE INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at)
            VALUES (?1, ?2, 'default', 'key:journeys', 'journeys', 'read write', 1)";
        let prefix = KEY.split('_').nth(1).unwrap_or_default();
        self.world.database.rows(sql, &[prefix, KEY_HASH])?;
        Ok(User { url: self.clients.url.clone(), credential: ("authorization", format!("Bearer {KEY}")) })
    }

    /// Waits for the last requests of a play, where the trap has not been met, and takes the trap away.
    async fn wait_for_trap(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let is_set = || self.world.trap.lock().is_ok_and(|trap| trap.is_some());
        while is_set() && began.elapsed() < LATE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.set_trap(None);
        self.wait_for_kill(Duration::ZERO).await
    }

    /// Compares an outcome with that of the undisturbed play. False where it differs after the harness itself locked an object
    /// out, which says nothing about the service: the play is repeated.
    fn is_judged(
        &mut self,
        journey: &dyn Journey,
        reference: &Value,
        outcome: Result<Value, String>,
        what: &str,
        lockouts: usize,
    ) -> bool {
        let name = journey.name();
        let violation = match outcome {
            Ok(outcome) if outcome == *reference => return true,
            Ok(outcome) => format!("{name}, {what}: the outcome is {outcome}, not {reference}"),
            Err(why) => format!("{name}, {what}: {why}"),
        };
        if self.runtime.lockouts() > lockouts && self.replays < MOST_REPLAYS {
            self.replays += 1;
            println!("  played again, because the harness locked an object out: {violation}");
            return false;
        }
        self.world.ledger.violation(violation);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::places;

    // Issue 46, 1: the last request is among those that are tried, and a kind that comes seldom is not left out.
    #[test]
    fn the_first_and_the_last_request_are_tried() {
        let tried = |times: u32, stride: u32| places(times, stride).collect::<Vec<_>>();
        assert_eq!(tried(40, 15), [1, 16, 31, 40]);
        assert_eq!(tried(3, 15), [1, 2, 3]);
        assert_eq!(tried(4, 1), [1, 2, 3, 4]);
        assert_eq!((tried(1, 15), tried(0, 15)), (vec![1], Vec::new()));
    }
}
