//! Panics on command. A panic takes the module's instance with all its objects, and the Worker's entry makes a new one.

use super::{Harness, spoken};
use crate::ledger::Death;
use crate::script::Shape;

impl Harness {
    /// Turns that are struck go on, and so does a thread whose object was there before.
    pub async fn panics(&mut self) -> Result<(), String> {
        let user = self.clients.user().await;
        let beside = self.new_thread();
        let whole = self.one(&user, self.order(Shape::Whole, &beside, 1)).await?;
        let before = self.world.ledger.deaths(Death::Panic);
        // The kills tell how many commits there are.
        self.commits(Shape::Whole, &["kill", "panic"], 5).await?;
        if self.world.ledger.deaths(Death::Panic) == before {
            self.world.ledger.violation("no panic on command".to_owned());
        }
        self.numbers += 1;
        let view = self.one(&user, self.order(Shape::Whole, &beside, 2)).await?;
        self.same(&spoken(&whole.ok_or("the fixed turn did not end")?), view.as_ref(), "beside the panics");
        Ok(())
    }
}
