use std::collections::BTreeSet;

use super::{Found, Method, Route, TABLE, find};
use crate::auth::scope::Access;

/// The result of [`find`].
#[derive(Debug, PartialEq)]
enum Outcome<'a> {
    Route(Route<'a>),
    Options(String),
    WrongMethod(String),
    Nothing,
}

fn outcome<'a>(method: &str, path: &'a str) -> Outcome<'a> {
    match find(method, path) {
        Found::Route(route, _) => Outcome::Route(route),
        Found::Options { allow } => Outcome::Options(allow),
        Found::WrongMethod { allow } => Outcome::WrongMethod(allow),
        Found::Nothing => Outcome::Nothing,
    }
}

// N-004
// Long: a table with a row for each route.
#[test]
fn every_route_is_found_by_its_method_and_path() {
    let id = "0190a0a0-0000-7000-8000-000000000001";
    let thread = format!("/api/threads/{id}");
    let messages = format!("{thread}/messages");
    let sent = format!("{messages}/m1/content");
    let stream = format!("{thread}/stream");
    let cancel = format!("{thread}/cancel");
    let results = format!("{thread}/tool_results");
    let approval = format!("{thread}/approvals/a_1");
    let approvals = format!("{thread}/approvals");
    let hooks = format!("{thread}/hooks");
    let hook = format!("{hooks}/guard");
    let queue = format!("{thread}/queue");
    let queued = format!("{queue}/m1");
    let agents = format!("{thread}/agents");
    let agent = format!("{agents}/critic");
    let (rounds, dump) = (format!("{agent}/messages"), format!("{agent}/dump"));
    let table: Vec<(&str, &str, Route)> = vec![
        ("GET", "/api/health", Route::Health),
        ("HEAD", "/api/health", Route::Health),
        ("GET", "/openapi.json", Route::OpenApi),
        ("POST", "/api/session", Route::Session),
        ("DELETE", "/api/session", Route::SignOut),
        ("POST", "/api/oidc/acme", Route::StartSignIn { provider: "acme" }),
        ("GET", "/api/oidc/acme/callback", Route::EndOfSignIn { provider: "acme" }),
        ("POST", "/api/chat", Route::Chat),
        ("POST", "/api/ai-sdk/chat", Route::AiSdkChat),
        ("GET", "/api/ai-sdk/chat/a%2Fb/stream", Route::AiSdkStream { chat: "a%2Fb" }),
        ("DELETE", "/api/ai-sdk/chat/c/stream", Route::AiSdkCancel { chat: "c" }),
        ("GET", "/v1/models", Route::OpenAiModels),
        ("POST", "/v1/chat/completions", Route::ChatCompletion),
        ("POST", "/v1/responses", Route::CreateResponse),
        ("GET", "/v1/responses/resp_1", Route::Response { response: "resp_1" }),
        ("POST", "/v1/responses/resp_1/cancel", Route::CancelResponse { response: "resp_1" }),
        ("POST", "/mcp", Route::Mcp),
        ("GET", "/.well-known/oauth-protected-resource", Route::ProtectedResource),
        ("GET", "/.well-known/oauth-protected-resource/mcp", Route::ProtectedMcp),
        ("GET", "/api/models", Route::Models),
        ("GET", "/api/threads", Route::Threads),
        ("GET", &thread, Route::Thread { id }),
        ("HEAD", &thread, Route::Thread { id }),
        ("PATCH", &thread, Route::ChangeThread { id }),
        ("DELETE", &thread, Route::DeleteThread { id }),
        ("GET", &messages, Route::Messages { id }),
        ("GET", &sent, Route::Sent { id, message: "m1" }),
        ("GET", &stream, Route::Stream { id }),
        ("POST", &cancel, Route::Cancel { id }),
        ("POST", &results, Route::ToolResults { id }),
        ("POST", &approval, Route::Approval { id, approval: "a_1" }),
        ("GET", &approvals, Route::Approvals { id }),
        ("DELETE", &approval, Route::WithdrawApproval { id, approval: "a_1" }),
        ("GET", &hooks, Route::Hooks { id }),
        ("PUT", &hook, Route::PutHook { id, hook: "guard" }),
        ("DELETE", &hook, Route::DeleteHook { id, hook: "guard" }),
        ("GET", &queue, Route::Queue { id }),
        ("PATCH", &queue, Route::HoldQueue { id }),
        ("PATCH", &queued, Route::EditQueued { id, message: "m1" }),
        ("DELETE", &queued, Route::RemoveQueued { id, message: "m1" }),
        ("GET", &agents, Route::Agents { id }),
        ("POST", &agents, Route::RestoreAgent { id }),
        ("GET", &rounds, Route::AgentRounds { id, agent: "critic" }),
        ("GET", &dump, Route::DumpAgent { id, agent: "critic" }),
        ("DELETE", &agent, Route::EndAgent { id, agent: "critic" }),
        ("DELETE", "/api/me", Route::EraseMe),
        ("GET", "/api/me/erasure", Route::Erasure),
        ("GET", "/api/me/export", Route::Export),
        ("GET", "/api/me/sessions", Route::Sessions),
        ("DELETE", "/api/me/sessions", Route::EndOtherSessions),
        ("DELETE", "/api/me/sessions/0a1b", Route::EndSignIn { sign_in: "0a1b" }),
        ("GET", "/api/usage", Route::Usage),
        ("GET", "/api/audit", Route::Audit),
        ("GET", "/api/keys", Route::Keys),
        ("POST", "/api/keys", Route::MintKey),
        ("DELETE", "/api/keys/0a1b", Route::RevokeKey { prefix: "0a1b" }),
        ("GET", "/api/threads/not-a-uuid", Route::Thread { id: "not-a-uuid" }),
    ];
    let table = [
        table,
        of_files(),
        of_projects(),
        of_instructions(),
        of_records(),
        of_shares(),
        of_knowledge(),
        of_workflows(),
    ];
    let mut found = BTreeSet::new();
    for (method, path, route) in table.concat() {
        assert_eq!(outcome(method, path), Outcome::Route(route), "{method} {path}");
        if let Found::Route(_, row) = find(method, path) {
            found.insert(row.name);
        }
    }
    let all: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
    assert_eq!(found, all, "give each route a row here");
}

// Issue 22
#[test]
fn the_worker_answers_each_path_of_the_table_before_the_page_does() {
    let configuration = include_str!("../../wrangler.toml");
    let lists: Vec<&str> =
        configuration.lines().filter_map(|line| line.strip_prefix("run_worker_first = ")).collect();
    assert_eq!(lists.len(), 2, "the deployment of the repository, and that of production");
    for list in lists {
        let patterns: Vec<String> = serde_json::from_str(list).unwrap();
        for row in TABLE {
            let covers = |pattern: &String| match pattern.strip_suffix('*') {
                Some(prefix) => row.path.starts_with(prefix),
                None => pattern == row.path,
            };
            assert!(patterns.iter().any(covers), "{} is not in {list}", row.path);
        }
    }
}

fn of_files() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::FilesRoute as R;
    let (id, workspace) = ("t", "shared");
    let of_files = [
        ("GET", "/api/threads/t/files", R::Files { id }),
        ("GET", "/api/threads/t/files/notes/a%20b.md", R::File { id, path: "notes/a%20b.md" }),
        ("PUT", "/api/threads/t/files/notes/a%20b.md", R::PutFile { id, path: "notes/a%20b.md" }),
        ("DELETE", "/api/threads/t/files/notes/a%20b.md", R::DeleteFile { id, path: "notes/a%20b.md" }),
        ("GET", "/api/threads/t/file-versions", R::FileVersions { id }),
        ("GET", "/api/workspaces", R::Workspaces),
        ("DELETE", "/api/workspaces/shared", R::DeleteWorkspace { workspace }),
        ("GET", "/api/workspaces/shared/files", R::WorkspaceFiles { workspace }),
        ("GET", "/api/workspaces/shared/files/a/b", R::WorkspaceFile { workspace, path: "a/b" }),
        ("PUT", "/api/workspaces/shared/files/a/b", R::PutWorkspaceFile { workspace, path: "a/b" }),
        ("DELETE", "/api/workspaces/shared/files/a/b", R::DeleteWorkspaceFile { workspace, path: "a/b" }),
        ("GET", "/api/workspaces/shared/file-versions", R::WorkspaceFileVersions { workspace }),
    ];
    of_files.map(|(method, path, route)| (method, path, Route::Files(route))).into()
}

fn of_projects() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::ProjectsRoute as R;
    let of_projects = [
        ("GET", "/api/templates", R::Templates),
        ("GET", "/api/projects", R::Projects),
        ("GET", "/api/projects/p", R::Project { project: "p" }),
        ("PATCH", "/api/projects/p", R::ChangeProject { project: "p" }),
        ("DELETE", "/api/projects/p", R::DeleteProject { project: "p" }),
        ("PATCH", "/api/projects/p/tasks/t", R::ChangeTask { project: "p", task: "t" }),
        ("DELETE", "/api/projects/p/tasks/t", R::DeleteTask { project: "p", task: "t" }),
        ("GET", "/api/projects/p/documents/d", R::ProjectDocument { project: "p", document: "d" }),
        ("PATCH", "/api/projects/p/documents/d", R::ChangeProjectDocument { project: "p", document: "d" }),
        ("DELETE", "/api/projects/p/documents/d", R::DeleteProjectDocument { project: "p", document: "d" }),
    ];
    of_projects.map(|(method, path, route)| (method, path, Route::Projects(route))).into()
}

fn of_instructions() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::InstructionsRoute as R;
    let of_instructions = [
        ("GET", "/api/me/instructions", R::Instructions),
        ("PUT", "/api/me/instructions", R::PutInstructions),
        ("GET", "/api/projects/p/instructions", R::ProjectInstructions { project: "p" }),
        ("PUT", "/api/projects/p/instructions", R::PutProjectInstructions { project: "p" }),
    ];
    of_instructions.map(|(method, path, route)| (method, path, Route::Instructions(route))).into()
}

fn of_records() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::RecordsRoute as R;
    let of_records = [
        ("GET", "/api/threads/t/turns/u/record", R::Record { id: "t", turn: "u" }),
        ("GET", "/api/threads/t/records", R::Records { id: "t" }),
    ];
    of_records.map(|(method, path, route)| (method, path, Route::Records(route))).into()
}

fn of_shares() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::SharesRoute as R;
    let of_shares = [
        ("POST", "/api/threads/t/shares", R::Share { id: "t" }),
        ("GET", "/api/shares", R::Shares),
        ("DELETE", "/api/shares/s", R::RevokeShare { share: "s" }),
        ("GET", "/api/shared/x", R::Shared { token: "x" }),
        ("HEAD", "/shared/x", R::SharedPage { token: "x" }),
    ];
    of_shares.map(|(method, path, route)| (method, path, Route::Shares(route))).into()
}

fn of_knowledge() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::KnowledgeRoute as R;
    let (collection, document) = ("c", "d");
    let of_knowledge = [
        ("GET", "/api/memories", R::Memories),
        ("DELETE", "/api/memories", R::ForgetMemories),
        ("DELETE", "/api/memories/x", R::ForgetMemory { memory: "x" }),
        ("GET", "/api/collections", R::Collections),
        ("POST", "/api/collections", R::NewCollection),
        ("GET", "/api/collections/c", R::Collection { collection }),
        ("DELETE", "/api/collections/c", R::DeleteCollection { collection }),
        ("GET", "/api/collections/c/documents", R::Documents { collection }),
        ("POST", "/api/collections/c/documents", R::AddDocument { collection }),
        ("DELETE", "/api/collections/c/documents/d", R::DeleteDocument { collection, document }),
        ("GET", "/api/collections/c/search", R::SearchCollection { collection }),
    ];
    of_knowledge.map(|(method, path, route)| (method, path, Route::Knowledge(route))).into()
}

fn of_workflows() -> Vec<(&'static str, &'static str, Route<'static>)> {
    use super::WorkflowsRoute as R;
    let (workflow, session) = ("w", "s");
    let of_workflows = [
        ("GET", "/api/workflows", R::Workflows),
        ("GET", "/api/workflows/w", R::Workflow { workflow }),
        ("PUT", "/api/workflows/w", R::PutWorkflow { workflow }),
        ("DELETE", "/api/workflows/w", R::DeleteWorkflow { workflow }),
        ("POST", "/api/workflows/w/sessions", R::StartSession { workflow }),
        ("POST", "/api/workflows/w/sessions/s/continue", R::ContinueSession { workflow, session }),
        ("DELETE", "/api/threads/t/workflow-session", R::EndSession { id: "t" }),
    ];
    of_workflows.map(|(method, path, route)| (method, path, Route::Workflows(route))).into()
}

#[test]
fn a_known_path_with_another_method_names_those_it_has() {
    let table = [
        ("PUT", "/api/chat", "POST, OPTIONS"),
        ("GET", "/api/chat", "POST, OPTIONS"),
        ("HEAD", "/api/chat", "POST, OPTIONS"),
        ("POST", "/api/health", "GET, HEAD, OPTIONS"),
        ("GET", "/api/session", "POST, DELETE, OPTIONS"),
        ("DELETE", "/api/threads", "GET, HEAD, OPTIONS"),
        ("PUT", "/api/threads/x", "GET, HEAD, PATCH, DELETE, OPTIONS"),
        ("POST", "/api/threads/x", "GET, HEAD, PATCH, DELETE, OPTIONS"),
        ("GET", "/api/threads/x/cancel", "POST, OPTIONS"),
        ("POST", "/api/threads/x/files/a/b", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("get", "/api/health", "GET, HEAD, OPTIONS"),
        ("", "/api/health", "GET, HEAD, OPTIONS"),
    ];
    for (method, path, expected) in table {
        assert_eq!(outcome(method, path), Outcome::WrongMethod(expected.to_owned()), "{method} {path}");
    }
}

#[test]
fn options_is_answered_on_every_path_that_exists() {
    let table = [
        ("/api/chat", Outcome::Options("POST, OPTIONS".to_owned())),
        ("/api/threads/x", Outcome::Options("GET, HEAD, PATCH, DELETE, OPTIONS".to_owned())),
        ("/api/nowhere", Outcome::Nothing),
    ];
    for (path, expected) in table {
        assert_eq!(outcome("OPTIONS", path), expected, "{path}");
    }
}

#[test]
fn other_paths_lead_nowhere() {
    let paths = [
        "",
        "/",
        "/api",
        "/api/",
        "/api/chat/",
        "/api/Chat",
        "/API/chat",
        "//api/chat",
        "/api/chats",
        "/api/threads/",
        "/api/threads//messages",
        "/api/threads/messages/x/y",
        "/api/threads/a/b/messages",
        "/api/threads/x/unknown",
        "/api/threads/x/messages/",
        "/openapi.yaml",
    ];
    for path in paths {
        assert_eq!(outcome("GET", path), Outcome::Nothing, "{path}");
    }
}

// N-004
#[test]
fn only_these_routes_need_no_credential() {
    let open = TABLE
        .iter()
        .filter(|row| !matches!(row.access, Access::Needs(_) | Access::NeedsAtOrigin(_) | Access::Erases));
    let open: Vec<_> = open.map(|row| row.name).collect();
    // The receipt of an erasure is a credential of its own: the others have ended.
    let expected = [
        "Health",
        "OpenApi",
        "Session",
        "SignOut",
        "StartSignIn",
        "EndOfSignIn",
        "ProtectedResource",
        "ProtectedMcp",
        "Erasure",
        // So is the token of a share link.
        "Shared",
        "SharedPage",
    ];
    assert_eq!(open, expected);
}

/// A route that changes something on behalf of a cookie must know the page that asks.
#[test]
fn every_method_but_get_needs_a_known_origin() {
    for row in TABLE {
        let (method, path) = (row.method.as_str(), row.path);
        assert_eq!(row.needs_known_origin(), row.method != Method::Get, "{method} {path}");
    }
}

#[test]
fn a_form_of_another_site_cannot_cancel() {
    let wary = TABLE.iter().filter(|row| row.refuses_forms()).map(|row| row.name);
    assert_eq!(wary.collect::<Vec<_>>(), ["CancelResponse", "Cancel"]);
}

/// Each path has as many places for parameters as its route has names for them.
#[test]
fn a_path_has_the_parameters_of_its_route() {
    for row in TABLE {
        assert_eq!(row.path.matches('{').count(), row.parameters.len(), "{}", row.path);
    }
}
