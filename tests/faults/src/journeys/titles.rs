//! Titles: a model names a thread after its first answer, with one call more for each death at most, each counted once. A
//! person's title wins.

use std::time::Duration;

use espalier_test_support::fake_llm::TITLE;
use espalier_test_support::{Step, Value, json, text};
use tokio::time::Instant;

use super::stored::{change_object, now_ms, rows_of};
use super::{Journey, Trip, Work};

pub struct Titles;

/// The title that the model gives, and a person's.
const THEIRS: &str = "Pruning pears";
const MINE: &str = "Mine";
/// After so long without a title its call may be lost. The service waits for a minute before it makes it again; here the
/// time passes at once. A call that is under way is not made again by that.
const LOST: Duration = Duration::from_millis(500);
/// How soon a timer is due then. One that is due already stays as it is: each change of the alarm would put it off.
const SOON_MS: u64 = 100;

impl Journey for Titles {
    fn name(&self) -> &'static str {
        "titles"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let reply = match number.ends_with(TITLE) {
            true => format!("<title>{THEIRS}</title>"),
            false => format!("In winter, {path}."),
        };
        (step == 0).then(|| text(&reply))
    }

    fn own_vars(&self) -> Vec<(&'static str, String)> {
        vec![("TITLES", "on".to_owned())]
    }

    fn stride(&self) -> u32 {
        5
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let deaths = || trip.world().ledger.counts().deaths.values().sum::<u32>();
    let before = deaths();
    let mut outcome = json!({});
    for (path, place, title) in [("model", 0, THEIRS), ("person", 1, MINE)] {
        let thread = trip.other_id(place);
        let content = trip.message(path);
        trip.whole_turn(
            &json!({ "thread_id": thread, "turn_id": trip.other_id(place + 2), "content": content }),
        )
        .await?;
        if title == MINE {
            let named = json!({ "title": title });
            trip.expect(200, "PATCH", &format!("/api/threads/{thread}"), &named).await?;
        }
        settled(trip, path, place).await?;
        trip.rows(1, "SELECT 1 FROM threads WHERE id = ?1 AND title = ?2", &[&thread, title]).await?;
        let told = trip.get(&format!("/api/threads/{thread}")).await?["title"].clone();
        let calls = trip.world().ledger.titles(&format!("{}{TITLE}", trip.marker(path)));
        let usage = "SELECT 1 FROM llm_usage WHERE thread_id = ?1 AND operation_type = 'thread_title'";
        let counted = async || {
            let rows = trip.world().database.rows(usage, &[&thread]).ok()?.len() as u32;
            (rows >= calls).then_some(rows)
        };
        let counted = trip.until("the usage of titles", counted).await?;
        let most = 1 + deaths() - before;
        if counted > most {
            return Err(format!(
                "{counted} calls for a title are counted, {calls} were made, {most} are allowed"
            ));
        }
        if title == THEIRS && calls == 0 {
            return Err("no model was asked for a title".to_owned());
        }
        outcome[path] = told;
    }
    Ok(outcome)
}

/// Waits until the thread wishes no title any more.
async fn settled(trip: &Trip, path: &str, place: u32) -> Result<(), String> {
    let (thread, object) = (trip.other_id(place), trip.object(&trip.other_id(place + 2))?);
    let began = Instant::now();
    let settle = async || {
        if rows_of(&object, &["title_wish"]).ok()? == [0] {
            return Some(());
        }
        let soon = now_ms() + SOON_MS;
        let hasten = format!(
            "UPDATE timers SET due_at = {soon} WHERE reason = 'title' AND due_at > {soon} + {SOON_MS}"
        );
        if began.elapsed() > LOST && change_object(&object, &hasten).ok()? > 0 {
            // Another turn sets the object's alarm anew.
            let content = format!("And then? [[fake:{}]]", trip.marker(&format!("{path}/after")));
            let after =
                json!({ "thread_id": thread, "turn_id": trip.other_id(place + 4), "content": content });
            trip.whole_turn(&after).await.ok()?;
        }
        None
    };
    trip.until("the end of the wish for a title", settle).await
}
