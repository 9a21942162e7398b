//! The requests that name somebody's things, one for each route that takes an id.

use espalier_test_support::{Client, Value, json, new_id};

/// The ids of somebody's things.
#[derive(Clone)]
pub struct Ids {
    pub thread: String,
    pub turn: String,
    pub message: String,
    pub project: String,
    pub memory: String,
    pub collection: String,
    pub document: String,
    pub workflow: String,
    pub session: String,
    pub sign_in: String,
    pub share: String,
}

impl Ids {
    /// Ids of things that never existed.
    pub fn unknown() -> Self {
        Ids {
            thread: new_id(),
            turn: new_id(),
            message: new_id(),
            project: new_id(),
            memory: new_id(),
            collection: new_id(),
            document: new_id(),
            workflow: new_id(),
            session: new_id(),
            sign_in: new_id().replace('-', ""),
            share: new_id(),
        }
    }

    /// The text with these ids in place of their names.
    fn named_in(&self, text: &str) -> String {
        let ids = [
            ("{thread}", &self.thread),
            ("{turn}", &self.turn),
            ("{message}", &self.message),
            ("{project}", &self.project),
            ("{memory}", &self.memory),
            ("{collection}", &self.collection),
            ("{document}", &self.document),
            ("{workflow}", &self.workflow),
            ("{session}", &self.session),
            ("{sign_in}", &self.sign_in),
            ("{share}", &self.share),
        ];
        let bare = |id: &str| id.replace('-', "");
        let response = format!("resp_{}{}0", bare(&self.thread), bare(&self.turn));
        let text = text.replace("{response}", &response);
        ids.iter().fold(text, |text, (name, id)| text.replace(name, id))
    }
}

/// A request that names somebody's things. The pattern is the router's; `{thread}` and the other names in the path and the
/// body stand for ids.
pub struct Probe {
    pub pattern: &'static str,
    pub path: &'static str,
    pub body: Value,
}

/// The codes of the refusals, by the beginning of the path.
const CODES: [(&str, &str); 11] = [
    ("/api/bookmarks/", "bookmark_not_found"),
    ("/api/me/sessions/", "session_not_found"),
    ("/api/shares/", "share_not_found"),
    ("/api/workflows/{workflow}/sessions/", "session_not_found"),
    ("/api/workflows/", "workflow_not_found"),
    ("/v1/responses/", "thread_not_found"),
    ("/api/threads/", "thread_not_found"),
    ("/api/ai-sdk/", "thread_not_found"),
    ("/api/projects/", "project_not_found"),
    ("/api/memories/", "memory_not_found"),
    ("/api/collections/", "collection_not_found"),
];

/// A page asks for the running turn of each chat that it shows. None runs where there is no such chat.
const SAYS_NOTHING: &str = "GET /api/ai-sdk/chat/{}/stream";

impl Probe {
    /// The code of the refusal; none where the answer is 204.
    pub fn code(&self) -> Option<&'static str> {
        let code = CODES.iter().find(|(begins, _)| self.path.starts_with(begins));
        let code = code.unwrap_or_else(|| panic!("{} has no code", self.path)).1;
        Some(code).filter(|_| self.pattern != SAYS_NOTHING)
    }
}

// Long: a row for each route with an id.
pub fn probes() -> Vec<Probe> {
    const NULL: Value = Value::Null;
    let (title, approve) = (json!({ "title": "Mine now" }), json!({ "decision": "approve" }));
    let (turn, result) =
        (json!({ "turn_id": "{turn}" }), json!({ "tool_call_id": "{turn}", "result": "done" }));
    let (held, words) = (json!({ "held": false }), json!({ "content": "Mine now" }));
    let (hook, text) = (json!({ "builtin": "loop_guard" }), json!("A document."));
    let dump = json!({ "name": "critic", "instructions": "Mine now" });
    let rows = [
        ("GET /api/threads/{}", "/api/threads/{thread}", NULL),
        ("PATCH /api/threads/{}", "/api/threads/{thread}", title),
        ("DELETE /api/threads/{}", "/api/threads/{thread}", NULL),
        ("GET /api/threads/{}/messages", "/api/threads/{thread}/messages?limit=200", NULL),
        ("GET /api/threads/{}/messages/{}/content", "/api/threads/{thread}/messages/{turn}/content", NULL),
        ("GET /api/threads/{}/stream", "/api/threads/{thread}/stream?after=0", NULL),
        ("POST /api/threads/{}/cancel", "/api/threads/{thread}/cancel", turn),
        ("POST /api/threads/{}/tool_results", "/api/threads/{thread}/tool_results", result),
        ("POST /api/threads/{}/approvals/{}", "/api/threads/{thread}/approvals/{turn}", approve),
        ("GET /api/ai-sdk/chat/{}/stream", "/api/ai-sdk/chat/{thread}/stream", NULL),
        ("DELETE /api/ai-sdk/chat/{}/stream", "/api/ai-sdk/chat/{thread}/stream", NULL),
        ("GET /v1/responses/{}", "/v1/responses/{response}?stream=true", NULL),
        ("POST /v1/responses/{}/cancel", "/v1/responses/{response}/cancel", NULL),
        ("GET /api/threads/{}/approvals", "/api/threads/{thread}/approvals", NULL),
        ("DELETE /api/threads/{}/approvals/{}", "/api/threads/{thread}/approvals/ui_erase", NULL),
        ("GET /api/threads/{}/hooks", "/api/threads/{thread}/hooks", NULL),
        ("PUT /api/threads/{}/hooks/{}", "/api/threads/{thread}/hooks/guard", hook),
        ("DELETE /api/threads/{}/hooks/{}", "/api/threads/{thread}/hooks/guard", NULL),
        ("GET /api/threads/{}/queue", "/api/threads/{thread}/queue", NULL),
        ("PATCH /api/threads/{}/queue", "/api/threads/{thread}/queue", held),
        ("PATCH /api/threads/{}/queue/{}", "/api/threads/{thread}/queue/{turn}", words.clone()),
        ("DELETE /api/threads/{}/queue/{}", "/api/threads/{thread}/queue/{turn}", NULL),
        ("GET /api/threads/{}/agents", "/api/threads/{thread}/agents", NULL),
        ("POST /api/threads/{}/agents", "/api/threads/{thread}/agents", dump),
        ("GET /api/threads/{}/agents/{}/messages", "/api/threads/{thread}/agents/critic/messages", NULL),
        ("GET /api/threads/{}/agents/{}/dump", "/api/threads/{thread}/agents/critic/dump", NULL),
        ("DELETE /api/threads/{}/agents/{}", "/api/threads/{thread}/agents/critic", NULL),
        ("GET /api/threads/{}/files", "/api/threads/{thread}/files", NULL),
        ("GET /api/threads/{}/files/{*}", "/api/threads/{thread}/files/a", NULL),
        ("PUT /api/threads/{}/files/{*}", "/api/threads/{thread}/files/a", NULL),
        ("DELETE /api/threads/{}/files/{*}", "/api/threads/{thread}/files/a", NULL),
        ("GET /api/threads/{}/file-versions", "/api/threads/{thread}/file-versions", NULL),
        ("GET /api/threads/{}/turns/{}/record", "/api/threads/{thread}/turns/{turn}/record", NULL),
        ("GET /api/threads/{}/records", "/api/threads/{thread}/records?limit=10", NULL),
        ("GET /api/projects/{}", "/api/projects/{project}", NULL),
        ("PATCH /api/projects/{}", "/api/projects/{project}", json!({ "name": "Mine now" })),
        ("DELETE /api/projects/{}", "/api/projects/{project}", NULL),
        ("PUT /api/threads/{}/bookmarks/{}", "/api/threads/{thread}/bookmarks/{message}", NULL),
        ("DELETE /api/bookmarks/{}", "/api/bookmarks/{message}", NULL),
        ("POST /api/threads/{}/shares", "/api/threads/{thread}/shares", json!({})),
        ("DELETE /api/shares/{}", "/api/shares/{share}", NULL),
        ("GET /api/projects/{}/instructions", "/api/projects/{project}/instructions", NULL),
        ("PUT /api/projects/{}/instructions", "/api/projects/{project}/instructions", words.clone()),
        (
            "PATCH /api/projects/{}/tasks/{}",
            "/api/projects/{project}/tasks/{turn}",
            json!({ "status": "done" }),
        ),
        ("DELETE /api/projects/{}/tasks/{}", "/api/projects/{project}/tasks/{turn}", NULL),
        ("GET /api/projects/{}/documents/{}", "/api/projects/{project}/documents/{turn}", NULL),
        ("PATCH /api/projects/{}/documents/{}", "/api/projects/{project}/documents/{turn}", words.clone()),
        ("DELETE /api/projects/{}/documents/{}", "/api/projects/{project}/documents/{turn}", NULL),
        ("DELETE /api/me/sessions/{}", "/api/me/sessions/{sign_in}", NULL),
        ("DELETE /api/memories/{}", "/api/memories/{memory}", NULL),
        ("GET /api/collections/{}", "/api/collections/{collection}", NULL),
        ("DELETE /api/collections/{}", "/api/collections/{collection}", NULL),
        ("GET /api/collections/{}/documents", "/api/collections/{collection}/documents", NULL),
        ("POST /api/collections/{}/documents", "/api/collections/{collection}/documents?name=a", text),
        (
            "DELETE /api/collections/{}/documents/{}",
            "/api/collections/{collection}/documents/{document}",
            NULL,
        ),
        ("GET /api/collections/{}/search", "/api/collections/{collection}/search?q=xyzzy", NULL),
        ("GET /api/workflows/{}", "/api/workflows/{workflow}", NULL),
        ("DELETE /api/workflows/{}", "/api/workflows/{workflow}", NULL),
        ("POST /api/workflows/{}/sessions", "/api/workflows/{workflow}/sessions", json!({})),
        (
            "POST /api/workflows/{}/sessions/{}/continue",
            "/api/workflows/{workflow}/sessions/{session}/continue",
            json!({ "continue_token": "t", "notesMarkdown": "x".repeat(50) }),
        ),
        ("DELETE /api/threads/{}/workflow-session", "/api/threads/{thread}/workflow-session", NULL),
    ];
    rows.map(|(pattern, path, body)| Probe { pattern, path, body }).into()
}

/// Sends the request, and returns the status and the body of the answer.
pub async fn ask(client: &Client, Probe { pattern, path, body, .. }: &Probe, ids: &Ids) -> (u16, Value) {
    let (method, path) = (pattern.split(' ').next().unwrap_or_default(), ids.named_in(path));
    let reply = match body {
        Value::Null => client.send(method, &path, "").await,
        Value::String(text) => {
            client.with("content-type", "text/plain").send(method, &path, text.clone()).await
        }
        body => {
            let client = client.with("content-type", "application/json");
            client.send(method, &path, ids.named_in(&body.to_string())).await
        }
    };
    match reply.status {
        204 => (204, Value::Null),
        status => (status, reply.json().await),
    }
}
