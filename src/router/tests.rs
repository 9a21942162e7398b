use std::collections::BTreeSet;

use super::{Found, Method, Route, TABLE, find};
use crate::auth::scope::{Access, Scope};

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
    // feature: files
    let files = format!("{thread}/files");
    let file = format!("{thread}/files/notes/a%20b.md");
    let workspace = "shared";
    // end
    let table: &[(&str, &str, Route)] = &[
        ("GET", "/api/health", Route::Health),
        ("HEAD", "/api/health", Route::Health),
        ("GET", "/openapi.json", Route::OpenApi),
        ("POST", "/api/session", Route::Session),
        ("DELETE", "/api/session", Route::SignOut),
        ("POST", "/api/chat", Route::Chat),
        ("GET", "/api/models", Route::Models),
        ("GET", "/api/threads", Route::Threads),
        ("GET", &thread, Route::Thread { id }),
        ("HEAD", &thread, Route::Thread { id }),
        ("PATCH", &thread, Route::RenameThread { id }),
        ("DELETE", &thread, Route::DeleteThread { id }),
        ("GET", &messages, Route::Messages { id }),
        ("GET", &sent, Route::Sent { id, message: "m1" }),
        ("GET", &stream, Route::Stream { id }),
        ("POST", &cancel, Route::Cancel { id }),
        ("POST", &results, Route::ToolResults { id }),
        ("POST", &approval, Route::Approval { id, approval: "a_1" }),
        ("GET", &approvals, Route::Approvals { id }),
        ("DELETE", &approval, Route::WithdrawApproval { id, approval: "a_1" }),
        // feature: files
        ("GET", &files, Route::Files { id }),
        ("GET", &file, Route::File { id, path: "notes/a%20b.md" }),
        ("PUT", &file, Route::PutFile { id, path: "notes/a%20b.md" }),
        ("DELETE", &file, Route::DeleteFile { id, path: "notes/a%20b.md" }),
        // end
        // feature: projects
        ("GET", "/api/templates", Route::Templates),
        ("GET", "/api/projects", Route::Projects),
        ("GET", "/api/projects/p", Route::Project { project: "p" }),
        ("GET", "/api/projects/p/documents/d", Route::ProjectDocument { project: "p", document: "d" }),
        // end
        ("GET", "/api/usage", Route::Usage),
        // feature: files
        ("GET", "/api/workspaces", Route::Workspaces),
        ("DELETE", "/api/workspaces/shared", Route::DeleteWorkspace { workspace }),
        ("GET", "/api/workspaces/shared/files", Route::WorkspaceFiles { workspace }),
        ("GET", "/api/workspaces/shared/files/a/b", Route::WorkspaceFile { workspace, path: "a/b" }),
        ("PUT", "/api/workspaces/shared/files/a/b", Route::PutWorkspaceFile { workspace, path: "a/b" }),
        ("DELETE", "/api/workspaces/shared/files/a/b", Route::DeleteWorkspaceFile { workspace, path: "a/b" }),
        // end
        // feature: knowledge
        ("GET", "/api/memories", Route::Memories),
        ("DELETE", "/api/memories", Route::ForgetMemories),
        ("DELETE", "/api/memories/x", Route::ForgetMemory { memory: "x" }),
        ("GET", "/api/collections", Route::Collections),
        ("POST", "/api/collections", Route::NewCollection),
        ("GET", "/api/collections/c", Route::Collection { collection: "c" }),
        ("DELETE", "/api/collections/c", Route::DeleteCollection { collection: "c" }),
        ("GET", "/api/collections/c/documents", Route::Documents { collection: "c" }),
        ("POST", "/api/collections/c/documents", Route::AddDocument { collection: "c" }),
        (
            "DELETE",
            "/api/collections/c/documents/d",
            Route::DeleteDocument { collection: "c", document: "d" },
        ),
        ("GET", "/api/collections/c/search", Route::SearchCollection { collection: "c" }),
        // end
        ("GET", "/api/keys", Route::Keys),
        ("POST", "/api/keys", Route::MintKey),
        ("DELETE", "/api/keys/0a1b", Route::RevokeKey { prefix: "0a1b" }),
        ("GET", "/api/threads/not-a-uuid", Route::Thread { id: "not-a-uuid" }),
    ];
    let mut found = BTreeSet::new();
    for &(method, path, route) in table {
        assert_eq!(outcome(method, path), Outcome::Route(route), "{method} {path}");
        if let Found::Route(_, row) = find(method, path) {
            found.insert(row.name);
        }
    }
    let all: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
    assert_eq!(found, all, "give each route a row here");
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
        ("POST", "/api/threads/x/files/a/b", "GET, HEAD, PUT, DELETE, OPTIONS"), // feature: files
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
    let open = TABLE.iter().filter(|row| !matches!(row.access, Access::Needs(_))).map(|row| row.name);
    assert_eq!(open.collect::<Vec<_>>(), ["Health", "OpenApi", "Session", "SignOut"]);
}

/// A route that changes something on behalf of a cookie must know the page that asks.
#[test]
fn every_method_but_get_needs_a_known_origin() {
    for row in TABLE {
        let is_admins = row.access == Access::Needs(Scope::Admin);
        assert_eq!(
            row.access.needs_known_origin(),
            row.method != Method::Get || is_admins,
            "{} {}",
            row.method.as_str(),
            row.path
        );
    }
}

#[test]
fn a_form_of_another_site_cannot_cancel() {
    let wary = TABLE.iter().filter(|row| row.refuses_forms()).map(|row| row.name);
    assert_eq!(wary.collect::<Vec<_>>(), ["Cancel"]);
}

/// Each path has as many places for parameters as its route has names for them.
#[test]
fn a_path_has_the_parameters_of_its_route() {
    for row in TABLE {
        assert_eq!(row.path.matches('{').count(), row.parameters.len(), "{}", row.path);
    }
}
