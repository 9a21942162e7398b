//! One test: a new user, and a marker of its own at the fake LLM. So any number of tests run at the same time on the
//! same server.

use serde_json::{Value, json};

use crate::fake_llm::{FakeLlm, Outcome, Requests, Script, Step};
use crate::sse::{Event, EventStream};
use crate::{Client, parts, tree};

/// See the module.
pub struct Case {
    /// The user.
    pub client: Client,
    /// The fake LLM.
    pub llm: FakeLlm,
    marker: String,
}

impl Case {
    /// A new user of the main instance.
    pub async fn new() -> Self {
        Self::of(Client::anonymous().await)
    }

    /// Any user of any instance.
    pub fn of(client: Client) -> Self {
        let marker = format!("e2e-{}", uuid::Uuid::new_v4().simple());
        Self { client, llm: FakeLlm::from_env(), marker }
    }

    /// The marker of a level. The root's path is empty, others are chosen by the test: `a`, `a/b`, …
    pub fn marker(&self, path: &str) -> String {
        if path.is_empty() { self.marker.clone() } else { format!("{}/{path}", self.marker) }
    }

    /// The name of a barrier that no other test uses.
    pub fn barrier(&self, name: &str) -> String {
        format!("{}-{name}", self.marker)
    }

    /// The model's steps at this level.
    pub async fn script(&self, path: &str, steps: impl IntoIterator<Item = Step>) {
        let script = Script { steps: steps.into_iter().collect(), repeat: false };
        self.llm.script(&self.marker(path), script).await;
    }

    /// The same, with the last step repeated for ever.
    pub async fn endless_script(&self, path: &str, steps: impl IntoIterator<Item = Step>) {
        let script = Script { steps: steps.into_iter().collect(), repeat: true };
        self.llm.script(&self.marker(path), script).await;
    }

    /// A text that leads to this level's script.
    pub fn said(&self, text: &str, path: &str) -> String {
        format!("{text} [[fake:{}]]", self.marker(path))
    }

    /// The body of a request whose turn plays the root's script.
    pub fn says(&self, text: &str) -> Value {
        json!({ "content": self.said(text, "") })
    }

    /// A call of `run_subtask` whose child plays the script of this path, for [`crate::calls`].
    pub fn subtask(&self, title: &str, path: &str) -> (&'static str, Value) {
        ("run_subtask", json!({ "title": title, "instructions": self.said(title, path) }))
    }

    /// A whole turn on a new thread.
    pub async fn chat(&self, text: &str) -> Vec<Event> {
        self.turn(self.client.chat(&self.says(text)).await).await
    }

    /// A whole turn, with any body.
    pub async fn chat_with(&self, body: &Value) -> Vec<Event> {
        self.turn(self.client.chat(body).await).await
    }

    /// Reads a turn to its end and checks the rules of every turn: the promises of the wire, that the provider found no
    /// mistake in our requests, and that the stored message agrees with the stream.
    pub async fn turn(&self, stream: EventStream) -> Vec<Event> {
        let events = stream.turn().await;
        self.assert_requests_in_order().await;
        self.assert_stored(&events).await;
        events
    }

    /// The requests of one level, without those of the levels below.
    pub async fn requests(&self, path: &str) -> Requests {
        let marker = self.marker(path);
        let mut requests = self.llm.requests(&marker).await;
        requests.requests.retain(|record| record.marker == marker);
        requests
    }

    /// The requests of all levels.
    pub async fn all_requests(&self) -> Requests {
        self.llm.requests(&self.marker).await
    }

    async fn assert_requests_in_order(&self) {
        for record in self.all_requests().await.requests {
            assert_ne!(record.outcome, Outcome::Refused, "{:?}: {:#}", record.error, record.body);
        }
    }

    /// The assistant message of the turn, as it was stored.
    pub async fn stored(&self, events: &[Event]) -> Value {
        let session = first(events, "session");
        let messages = self.client.messages(session.text("thread_id")).await;
        let id = &session.data["assistant_message_id"];
        let message = messages.iter().find(|message| message["id"] == *id);
        message.unwrap_or_else(|| panic!("{id} is not stored: {messages:#?}")).clone()
    }

    async fn assert_stored(&self, events: &[Event]) {
        let message = self.stored(events).await;
        let (session, done) = (first(events, "session"), first(events, "done"));
        assert_eq!(message["turn_id"], session.data["turn_id"], "{message:#}");
        assert_eq!(message["role"], "assistant", "{message:#}");
        assert_eq!(message["finish_reason"], done.data["finish_reason"], "{message:#}");
        let stopped = events.iter().find(|event| event.kind == "error");
        assert_eq!(
            message["stop"]["code"],
            stopped.map_or(Value::Null, |error| error.data["code"].clone()),
            "{message:#}"
        );

        let mut cost = first(events, "cost_summary").data.clone();
        for frame in ["type", "seq", "turn_id"] {
            cost.as_object_mut().map(|cost| cost.remove(frame));
        }
        assert_eq!(message["usage"], cost, "{message:#}");

        let quiet = !events.iter().any(|event| event.kind == "tool_call_update");
        if !(quiet && message["execution_tree"].is_null()) {
            tree::assert_matches(events, &message["execution_tree"]);
        }
        parts::assert_matches(events, &message["parts"], &message["content"]);
    }
}

/// The first event of this type.
pub fn first<'a>(events: &'a [Event], kind: &str) -> &'a Event {
    events.iter().find(|event| event.kind == kind).unwrap_or_else(|| panic!("no {kind}"))
}
