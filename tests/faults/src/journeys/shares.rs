//! Share links: made, read by everybody, and revoked. A link whose answer was lost is revoked by the list.

use espalier_test_support::{Step, Value, json, text};

use super::{Journey, Trip, Work};

pub struct Shares;

impl Journey for Shares {
    fn name(&self) -> &'static str {
        "shares"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, _number: &str, step: usize, _body: &Value) -> Option<Step> {
        (step == 0).then(|| text(&format!("The answer {path}.")))
    }

    fn stride(&self) -> u32 {
        3
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let thread = trip.id();
    let turn = async |path: &str, place: u32| {
        let content = trip.message(path);
        trip.whole_turn(&json!({ "thread_id": thread, "turn_id": trip.other_id(place), "content": content }))
            .await
    };
    turn("one", 0).await?;
    let first = made(trip, &thread).await?;
    turn("two", 1).await?;
    let second = made(trip, &thread).await?;
    let read = async |share: &Value| {
        let token = share["token"].as_str().unwrap_or_default();
        trip.ask("GET", &format!("/api/shared/{token}"), &[], &json!(null)).await
    };
    let before = [read(&first).await?.json(), read(&second).await?.json()];
    let id = |share: &Value| share["id"].as_str().unwrap_or_default().to_owned();
    trip.gone(&format!("/api/shares/{}", id(&first))).await?;
    let dead = read(&first).await?;
    let alive = read(&second).await?.json();
    if alive != before[1] {
        return Err(format!("the other link shows {alive} in place of {}", before[1]));
    }
    let revoked = "SELECT action FROM audit WHERE target = ?1 AND action = 'share_revoked'";
    let revoked = trip.rows(1, revoked, &[&id(&first)]).await?;
    let rows = trip.counts(&["shares"], "thread_id = ?1", &thread)?;
    let list = trip.get("/api/shares").await?;
    Ok(json!({
        "before": before, "dead": dead.status, "revoked": revoked, "rows": rows,
        "list": ids(&list), "messages": list["shares"][0]["messages"],
    }))
}

/// A link of a thread, and no other link that is not in use: a client that gets no answer makes another one, and revokes
/// those whose address it never got.
async fn made(trip: &Trip, thread: &str) -> Result<Value, String> {
    let before = ids(&trip.get("/api/shares").await?);
    let share = trip.expect(201, "POST", &format!("/api/threads/{thread}/shares"), &json!({})).await?;
    for id in ids(&trip.get("/api/shares").await?) {
        if share["id"] != id.as_str() && !before.contains(&id) {
            trip.gone(&format!("/api/shares/{id}")).await?;
        }
    }
    Ok(share)
}

fn ids(list: &Value) -> Vec<String> {
    let shares = list["shares"].as_array().into_iter().flatten();
    shares.filter_map(|share| share["id"].as_str().map(str::to_owned)).collect()
}
