//! Versions beside earlier turns, and choices of another path.

use std::time::Duration;

use espalier_test_support::json;
use tokio::time::sleep;

use super::Clients;
use crate::rng::Rng;
use crate::stream::User;

impl Clients {
    /// An earlier message of the thread, where the next turn is a version of its turn. Now and then the person chooses
    /// another path first.
    pub(super) async fn version(&self, user: &User, thread_id: &str, rng: &mut Rng) -> Option<String> {
        let earlier: Vec<(String, String)> = {
            let seen = self.seen();
            let turns = seen.turns.iter().filter(|turn| turn.thread_id == thread_id);
            turns.map(|turn| (turn.turn_id.clone(), turn.user_message_id.clone())).collect()
        };
        if earlier.is_empty() {
            return None;
        }
        if rng.chance(200) {
            self.choose(user, thread_id, &rng.pick(&earlier).0).await;
        }
        let named = rng.chance(400).then(|| rng.pick(&earlier).1.clone());
        self.seen().versions += u32::from(named.is_some());
        named
    }

    /// Chooses the path through a turn, while no turn runs.
    async fn choose(&self, user: &User, thread_id: &str, turn_id: &str) {
        let path = format!("/api/threads/{thread_id}");
        for _ in 0..50 {
            match user.send("PATCH", &path, &[], &json!({ "current_turn_id": turn_id })).await {
                Some(reply) if reply.status == 200 => {
                    self.seen().choices += 1;
                    return;
                }
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(40)).await;
        }
    }
}
