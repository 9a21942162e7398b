//! Messages that wait for a turn, killed between two turns: at the end of the turn before, while the next one is admitted,
//! and right after its start.

use std::time::Duration;

use super::{Harness, spoken};
use crate::client::Order;
use crate::script::Shape;
use crate::view::View;
use crate::world::{Act, Moment, Trap};

/// The messages that wait at once.
const WAITING: u64 = 2;

impl Harness {
    /// Plays the messages at each boundary. Returns the number of boundaries.
    pub(super) async fn queued(&mut self) -> Result<u32, String> {
        let reference = "stop: ".to_owned() + &self.said().await?;
        let mut tried = 0;
        for kind in ["kill", "abort", "tear", "panic"] {
            for at in ["1", "2", "end"] {
                let what = format!("queued messages, {kind} at {at}");
                let views = self.play(Some(format!("{kind}@{at}"))).await?;
                self.wait_for_kill(Duration::from_millis(300)).await?;
                self.each_says(&reference, &views, &what);
                tried += 1;
            }
        }
        // The end of a turn asks D1 to take it, and the start of the next one for memories.
        for moment in [Moment::ModelAsked, Moment::D1Asked] {
            for at in 1.. {
                let before = self.deaths();
                self.set_trap(Some(Trap { moment, nth: at, act: Act::Kill }));
                let views = self.play(None).await?;
                if self.deaths() == before {
                    self.wait_for_kill(Duration::from_millis(700)).await?;
                }
                self.set_trap(None);
                self.each_says(&reference, &views, &format!("queued messages, kill at {moment:?} {at}"));
                if self.deaths() == before {
                    break;
                }
                tried += 1;
            }
        }
        Ok(tried)
    }

    /// The text of a turn of the shape that these turns have.
    async fn said(&mut self) -> Result<String, String> {
        let user = self.clients.user().await;
        let view = self.fixed(&user, Shape::Direct, None).await?.ok_or("the direct turn did not end")?;
        spoken(&view).split_once(": ").map(|(_, said)| said.to_owned()).ok_or_else(|| "no text".to_owned())
    }

    /// Plays a turn and the messages that wait for it, and carries out each kill that is asked for.
    async fn play(&mut self, strike: Option<String>) -> Result<Vec<Option<View>>, String> {
        let user = self.clients.user().await;
        let thread_id = self.new_thread();
        let mut orders = Vec::new();
        for index in 0..=WAITING {
            self.numbers += 1;
            let strike = strike.clone().filter(|_| index == 0);
            let order = self.order(Shape::Direct, &thread_id, 1);
            orders.push(Order { strike, queued: index > 0, ..order });
        }
        let clients = std::sync::Arc::clone(&self.clients);
        let Some((first, waiting)) = orders.split_first() else { return Ok(Vec::new()) };
        let turns = clients.queue(&user, first, waiting);
        tokio::pin!(turns);
        loop {
            tokio::select! {
                views = &mut turns => return Ok(views),
                Some(()) = self.kills.recv() => {
                    self.runtime.kill().await;
                    self.runtime.start().await?;
                }
            }
        }
    }

    fn each_says(&self, reference: &str, views: &[Option<View>], what: &str) {
        if views.len() as u64 != WAITING {
            self.world.ledger.violation(format!("{what}: {} messages have a turn", views.len()));
        }
        for view in views {
            self.same(reference, view.as_ref(), what);
        }
    }
}
