use super::{Found, Route, find};

fn allow(text: &str) -> String {
    text.to_owned()
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
    let files = format!("{thread}/files");
    let file = format!("{thread}/files/notes/a%20b.md");
    let workspace = "shared";
    let table: [(&str, &str, Route); 45] = [
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
        ("GET", &files, Route::Files { id }),
        ("GET", &file, Route::File { id, path: "notes/a%20b.md" }),
        ("PUT", &file, Route::PutFile { id, path: "notes/a%20b.md" }),
        ("DELETE", &file, Route::DeleteFile { id, path: "notes/a%20b.md" }),
        ("GET", "/api/workspaces", Route::Workspaces),
        ("DELETE", "/api/workspaces/shared", Route::DeleteWorkspace { workspace }),
        ("GET", "/api/workspaces/shared/files", Route::WorkspaceFiles { workspace }),
        ("GET", "/api/workspaces/shared/files/a/b", Route::WorkspaceFile { workspace, path: "a/b" }),
        ("PUT", "/api/workspaces/shared/files/a/b", Route::PutWorkspaceFile { workspace, path: "a/b" }),
        ("DELETE", "/api/workspaces/shared/files/a/b", Route::DeleteWorkspaceFile { workspace, path: "a/b" }),
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
        ("GET", "/api/keys", Route::Keys),
        ("POST", "/api/keys", Route::MintKey),
        ("DELETE", "/api/keys/0a1b", Route::RevokeKey { prefix: "0a1b" }),
        ("GET", "/api/threads/not-a-uuid", Route::Thread { id: "not-a-uuid" }),
    ];
    for (method, path, route) in table {
        assert_eq!(find(method, path), Found::Route(route), "{method} {path}");
    }
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
        assert_eq!(find(method, path), Found::WrongMethod { allow: allow(expected) }, "{method} {path}");
    }
}

#[test]
fn options_is_answered_on_every_path_that_exists() {
    assert_eq!(find("OPTIONS", "/api/chat"), Found::Options { allow: allow("POST, OPTIONS") });
    assert_eq!(
        find("OPTIONS", "/api/threads/x"),
        Found::Options { allow: allow("GET, HEAD, PATCH, DELETE, OPTIONS") }
    );
    assert_eq!(find("OPTIONS", "/api/nowhere"), Found::Nothing);
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
        assert_eq!(find("GET", path), Found::Nothing, "{path}");
    }
}
