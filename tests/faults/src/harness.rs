//! One run: a runtime, its world and its clients.

mod journeys;
mod on_hold;
mod panics;
mod queued;
mod refusals;
mod versions;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::check::{self, Objects, Recorded};
use crate::client::{Clients, Order, Reader, Seen};
use crate::d1::Database;
use crate::ledger::{Death, Ledger};
use crate::r2::Bucket;
use crate::rng::Rng;
use crate::runtime::{Launch, Runtime, migrate};
use crate::script::{SHAPES, Shape};
use crate::stream::User;
use crate::vectors::Index;
use crate::view::View;
use crate::world::{Act, Moment, Trap, Weather, World, serve};

/// The counts that a random phase must reach before it ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quota {
    pub kills: u32,
    pub aborts: u32,
    pub cuts: u32,
    pub upstream: u32,
    /// The phase ends after this time in any case.
    pub most: Duration,
}

/// The settings of a run.
#[derive(Clone)]
pub struct Setup {
    pub seed: u64,
    pub root: PathBuf,
    pub build: PathBuf,
    pub work: PathBuf,
    pub wrangler: bool,
    /// The threads that run at once.
    pub slots: u64,
    /// The bounds of the time between two kills, in milliseconds.
    pub pause: (u64, u64),
    pub weather: Weather,
    pub lost_after: Duration,
}

/// The results of a run.
pub struct Outcome {
    pub ledger: Arc<Ledger>,
    pub seen: Seen,
    pub missing_in_d1: u32,
    pub recorded: Recorded,
    /// Turns of which D1 does not know that they are beside their path, or on it.
    pub wrongly_marked: u32,
    pub objects: Objects,
    /// The rows of the quotas that a refused request left.
    pub kept: u32,
    pub took: Duration,
}

/// A run in progress.
pub struct Harness {
    setup: Setup,
    world: Arc<World>,
    clients: Arc<Clients>,
    runtime: Runtime,
    kills: mpsc::UnboundedReceiver<()>,
    began: Instant,
    numbers: u64,
    /// How many plays were repeated, because the harness disturbed them.
    replays: u32,
    /// The threads of the requests that were refused.
    refused: Vec<String>,
}

impl Harness {
    // Long: it makes all parts of a run.
    pub async fn new(setup: Setup) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let world_port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let (port, cron) = (free_port().await?, free_port().await?);
        let database = match setup.wrangler {
            true => Database::open(&migrate(&setup.root, &setup.work.join("wrangler")).await?)?,
            false => Database::new(&setup.root.join("migrations"))?,
        };
        let ledger = Arc::new(Ledger::default());
        let (kill, kills) = mpsc::unbounded_channel();
        let world = Arc::new(World {
            ledger: Arc::clone(&ledger),
            database,
            bucket: Bucket::default(),
            index: Index::default(),
            seed: setup.seed,
            url: format!("http://127.0.0.1:{world_port}"),
            weather: watch::Sender::new(Weather::default()),
            kill,
            trap: None.into(),
            came: Default::default(),
            got: Default::default(),
        });
        tokio::spawn(serve(listener, Arc::clone(&world)));
        let launch = Launch {
            root: setup.root.clone(),
            build: setup.build.clone(),
            work: setup.work.clone(),
            port,
            cron,
            world: world_port,
            wrangler: setup.wrangler,
        };
        let mut runtime = Runtime::new(launch, ledger)?;
        runtime.start().await?;
        let clients = Arc::new(Clients {
            world: Arc::clone(&world),
            url: runtime.url(),
            cron: runtime.cron(),
            objects: runtime.objects(),
            seen: Seen::default().into(),
            stop: AtomicBool::new(false),
            shapes: if setup.wrangler {
                &SHAPES
            } else {
                SHAPES.split_last().map_or(&[], |(_, others)| others)
            },
            waiting: AtomicU32::new(0),
            lost_after: setup.lost_after,
        });
        Ok(Harness {
            setup,
            world,
            clients,
            runtime,
            kills,
            began: Instant::now(),
            numbers: 1 << 40,
            replays: 0,
            refused: Vec::new(),
        })
    }

    /// Many threads, with every fault, until the quota is reached.
    pub async fn storm(&mut self, quota: Quota) -> Result<(), String> {
        let began = Instant::now();
        self.world.weather.send_replace(self.setup.weather);
        let slots: Vec<_> = (0..self.setup.slots)
            .map(|slot| {
                let clients = Arc::clone(&self.clients);
                tokio::spawn(async move { clients.slot(slot).await })
            })
            .collect();
        let mut rng = Rng::of(self.setup.seed, "kills");
        let (least, most) = self.setup.pause;
        let mut killed = 0;
        while began.elapsed() < quota.most && !self.reached(&quota, killed) {
            let pause = if rng.chance(60) { rng.range(10, 200) } else { rng.range(least, most) };
            sleep(Duration::from_millis(pause)).await;
            if self.runtime.has_ended() {
                self.world.ledger.violation("the runtime ended by itself".to_owned());
            }
            if killed < quota.kills {
                self.clients.seen().killed_waiting += self.clients.waiting.load(Ordering::Relaxed);
                self.runtime.kill().await;
                killed += 1;
                sleep(Duration::from_millis(rng.range(0, 60))).await;
                self.runtime.start().await?;
            }
        }
        self.world.weather.send_replace(Weather::default());
        self.clients.stop.store(true, Ordering::Relaxed);
        for slot in slots {
            slot.await.map_err(|error| format!("a client failed: {error}"))?;
        }
        Ok(())
    }

    fn reached(&self, quota: &Quota, killed: u32) -> bool {
        let counts = self.world.ledger.counts();
        killed >= quota.kills
            && self.world.ledger.deaths(Death::Abort) >= quota.aborts
            && self.clients.seen().cuts >= quota.cuts
            && counts.upstream.values().sum::<u32>() >= quota.upstream
    }

    /// Plays the fixed turn, struck at each of its commits in each way and killed at each of its requests; then the other
    /// fixed turns, struck at each of their commits; versions; and messages that wait. Returns the number of boundaries.
    pub async fn boundaries(&mut self, stride: u32) -> Result<u32, String> {
        let mut tried = self.commits(Shape::Whole, &["kill", "abort", "tear", "panic"], stride).await?;
        for shape in [Shape::Asks, Shape::Grows, Shape::Long, Shape::Guarded, Shape::Talks, Shape::Steps] {
            tried += self.commits(shape, &["kill", "abort"], stride).await?;
        }
        tried += self.versions(stride).await?;
        Ok(tried + self.queued().await? + self.moments(stride).await?)
    }

    /// Plays a turn, struck at each of its commits.
    async fn commits(&mut self, shape: Shape, kinds: &[&str], stride: u32) -> Result<u32, String> {
        let user = self.clients.user().await;
        let whole = self.fixed(&user, shape, None).await?.ok_or("the fixed turn did not end")?;
        let reference = spoken(&whole);
        let mut tried = 0;
        let mut commits = u32::MAX;
        for kind in kinds {
            let mut at = 1;
            while at <= commits {
                let before = self.deaths();
                let view = self.fixed(&user, shape, Some(format!("{kind}@{at}"))).await?;
                if *kind == "kill" && self.deaths() == before {
                    // The last commit is the turn's end, which its client may have seen before the kill.
                    self.wait_for_kill(Duration::from_millis(300)).await?;
                }
                self.same(&reference, view.as_ref(), &format!("{} {kind} at commit {at}", shape.name()));
                tried += 1;
                if *kind == "kill" && self.deaths() == before {
                    commits = at - 1;
                }
                at += stride;
            }
            // Every stride includes the turn's end.
            let view = self.fixed(&user, shape, Some(format!("{kind}@end"))).await?;
            self.wait_for_kill(Duration::from_millis(300)).await?;
            self.same(&reference, view.as_ref(), &format!("{} {kind} at the end", shape.name()));
            tried += 1;
        }
        Ok(tried)
    }

    /// Plays the fixed turn, killed at each of its requests.
    async fn moments(&mut self, stride: u32) -> Result<u32, String> {
        let user = self.clients.user().await;
        let whole = self.fixed(&user, Shape::Whole, None).await?.ok_or("the fixed turn did not end")?;
        let reference = spoken(&whole);
        let mut tried = 0;
        for moment in Moment::ALL {
            let mut at = 1;
            loop {
                let before = self.deaths();
                self.set_trap(Some(Trap { moment, nth: at, act: Act::Kill }));
                let view = self.fixed(&user, Shape::Whole, None).await?;
                self.same(&reference, view.as_ref(), &format!("kill at {moment:?} {at}"));
                if self.deaths() == before {
                    // The last requests to D1 and R2 come after the turn's end.
                    self.wait_for_kill(Duration::from_millis(700)).await?;
                }
                self.set_trap(None);
                if self.deaths() == before {
                    break;
                }
                tried += 1;
                at += stride;
            }
        }
        Ok(tried)
    }

    fn new_thread(&mut self) -> String {
        self.numbers += 1;
        format!("fa017500-0000-4000-8000-{:012x}", self.numbers)
    }

    fn deaths(&self) -> u32 {
        self.world.ledger.counts().deaths.values().sum()
    }

    fn set_trap(&self, trap: Option<Trap>) {
        *self.world.trap.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = trap;
    }

    async fn wait_for_kill(&mut self, within: Duration) -> Result<(), String> {
        if let Ok(Some(())) = tokio::time::timeout(within, self.kills.recv()).await {
            self.runtime.kill().await;
            self.runtime.start().await?;
        }
        Ok(())
    }

    /// Plays the fixed turn on a new thread, a long one behind another, and carries out each kill that it asks for.
    async fn fixed(
        &mut self,
        user: &User,
        shape: Shape,
        strike: Option<String>,
    ) -> Result<Option<View>, String> {
        let thread_id = self.new_thread();
        if shape == Shape::Long {
            self.one(user, self.order(shape, &thread_id, 1)).await?;
            self.numbers += 1;
        }
        self.one(user, Order { strike, ..self.order(shape, &thread_id, 2) }).await
    }

    /// A turn that is alone at its time.
    fn order(&self, shape: Shape, thread_id: &str, request_seq: u64) -> Order {
        Order {
            number: self.numbers,
            thread_id: thread_id.to_owned(),
            shape,
            reader: Reader::Steady,
            cancel: None,
            strike: None,
            request_seq,
            continues: None,
            beside: None,
            may_be_late: false,
            alone: true,
            queued: false,
        }
    }

    /// Plays a turn, and carries out each kill that it asks for.
    async fn one(&mut self, user: &User, order: Order) -> Result<Option<View>, String> {
        let clients = Arc::clone(&self.clients);
        let turn = clients.turn(user, &order);
        tokio::pin!(turn);
        loop {
            tokio::select! {
                view = &mut turn => return Ok(view),
                Some(()) = self.kills.recv() => {
                    self.runtime.kill().await;
                    self.runtime.start().await?;
                }
            }
        }
    }

    fn same(&self, reference: &str, view: Option<&View>, what: &str) {
        let said = view.map(spoken).unwrap_or_default();
        if said != reference {
            self.world
                .ledger
                .violation(format!("{what}: the turn ended otherwise: {said:?}, not {reference:?}"));
        }
    }

    /// Completes with the first violation.
    pub fn caught(&self) -> impl Future<Output = String> + use<> {
        let ledger = Arc::clone(&self.world.ledger);
        async move {
            loop {
                if let Some(first) = ledger.violations().into_iter().next() {
                    return first;
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
    }

    /// Waits until everything is delivered, ends the runtime, and reads the databases that it left.
    pub async fn finish(mut self) -> Result<Outcome, String> {
        let ledger = Arc::clone(&self.world.ledger);
        let seen = std::mem::take(&mut *self.clients.seen());
        let missing_in_d1 = check::delivered(&self.world.database, &seen.turns, &ledger).await;
        // Wrangler has an R2 of its own.
        let recorded = match self.setup.wrangler {
            true => Recorded::default(),
            false => check::recorded(&self.world.bucket, &seen.turns, &ledger).await,
        };
        let objects = self.runtime.objects();
        let wrongly_marked = check::marked(&objects, &self.world.database, &ledger).await?;
        check::quiet(&objects).await?;
        // A row that D1 took leaves the outbox a moment later, and a journal its object.
        sleep(Duration::from_millis(500)).await;
        self.runtime.kill().await;
        check::remembered(&objects, &seen.turns, &ledger)?;
        let objects = check::objects(&objects, &seen.turns, &ledger)?;
        let kept = check::kept(&self.runtime.quotas(), &self.refused, &ledger)?;
        let took = self.began.elapsed();
        Ok(Outcome { ledger, seen, missing_in_d1, recorded, wrongly_marked, objects, kept, took })
    }
}

/// A port that nobody listens on.
async fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    free.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

/// The turn's finish reason, and the text of its root.
fn spoken(view: &View) -> String {
    let chunks = view.events().filter(|event| event.kind == "chunk" && event.data["depth"] == 0);
    let text: String = chunks.map(|chunk| chunk.text("content")).collect();
    let end = view.events().last().map(|done| done.text("finish_reason")).unwrap_or_default();
    format!("{end}: {text}")
}
