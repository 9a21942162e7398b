//! A session of a workflow that a client carries out: it begins, each step ends by its token, once with the same request
//! again, and the last one ends it.

use espalier_test_support::{Value, json};

use super::{Journey, Trip, Work};

pub struct External;

/// The steps of the workflow.
const STEPS: [&str; 3] = ["a", "b", "c"];

impl Journey for External {
    fn name(&self) -> &'static str {
        "external"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let steps = STEPS.map(|id| json!({ "id": id, "title": id, "instructions": format!("Do {id}.") }));
    let path = "/api/workflows/outside";
    trip.ask("PUT", path, &[], &json!({ "name": "Outside", "steps": steps })).await?;
    let path = format!("{path}/sessions");
    let mut answers = vec![trip.expect(200, "POST", &path, &json!({ "goal": "Find out" })).await?];
    let (session, thread) = (answers[0]["session_id"].clone(), answers[0]["thread_id"].clone());
    let path = format!("{path}/{}/continue", session.as_str().unwrap_or_default());
    let mut requests = Vec::new();
    for id in STEPS {
        let token = answers.last().map(|answer| answer["continue_token"].clone());
        let notes = format!("Step {id} is done, and these are the notes of its client about it.");
        let body = json!({
            "continue_token": token, "notesMarkdown": notes, "contextUpdates": { id: "done" }, "artifacts": [id],
        });
        answers.push(trip.expect(200, "POST", &path, &body).await?);
        requests.push(body);
    }
    // The same requests again get the same answers, also after the end.
    for (body, answer) in requests.iter().zip(answers.iter().skip(1)) {
        let again = trip.expect(200, "POST", &path, body).await?;
        if again != *answer {
            return Err(format!("the same request was answered with {again}, and before with {answer}"));
        }
    }
    for answer in &mut answers {
        // A token is sealed anew for each session.
        let token = answer["continue_token"].take();
        answer["continue_token"] = json!(token.is_string());
    }
    let detail = trip.get(&format!("/api/threads/{}", thread.as_str().unwrap_or_default())).await?;
    Ok(json!({ "answers": answers, "session": detail["workflow_session"] }))
}
