use super::{Bound, Found, Method, find, table};
use crate::auth::scope::Access;
use crate::openapi;
use wire::protocol::ErrorCode;

/// The result of [`find`]: a route by its name, with the parameters of its path.
#[derive(Debug, PartialEq)]
enum Outcome<'a> {
    Route(&'static str, [&'a str; 2]),
    Options(String),
    WrongMethod(String),
    Nothing,
}

fn outcome<'a>(method: &str, path: &'a str) -> Outcome<'a> {
    match find(method, path) {
        Found::Route(row, parameters) => Outcome::Route(row.name, parameters),
        Found::Options { allow } => Outcome::Options(allow),
        Found::WrongMethod { allow } => Outcome::WrongMethod(allow),
        Found::Nothing => Outcome::Nothing,
    }
}

// N-004
#[test]
fn every_route_is_found_by_its_method_and_path() {
    for row in table() {
        let path = row.path.replacen("{}", "one", 1).replacen("{}", "two", 1).replace("{*}", "a/b%20c.md");
        let given = |place: usize| match row.path.split('/').filter(|part| part.starts_with('{')).nth(place) {
            Some("{*}") => "a/b%20c.md",
            Some(_) => ["one", "two"][place],
            None => "",
        };
        let expected = || Outcome::Route(row.name, [given(0), given(1)]);
        assert_eq!(outcome(row.method.as_str(), &path), expected(), "{}", row.path);
        if row.method == Method::Get {
            assert_eq!(outcome("HEAD", &path), expected(), "{}", row.path);
        }
    }
}

// N-004
#[test]
fn a_parameter_is_what_stands_in_the_path() {
    let id = "0190a0a0-0000-7000-8000-000000000001";
    let table = [
        (format!("/api/threads/{id}"), Outcome::Route("Thread", [id, ""])),
        ("/api/threads/not-a-uuid".to_owned(), Outcome::Route("Thread", ["not-a-uuid", ""])),
        ("/api/ai-sdk/chat/a%2Fb/stream".to_owned(), Outcome::Route("AiSdkStream", ["a%2Fb", ""])),
        ("/api/projects/p/documents/d".to_owned(), Outcome::Route("ProjectDocument", ["p", "d"])),
        ("/api/threads/t/files/notes/a%20b.md".to_owned(), Outcome::Route("File", ["t", "notes/a%20b.md"])),
    ];
    for (path, expected) in table {
        assert_eq!(outcome("GET", &path), expected, "{path}");
    }
}

// Issue 42, M1
#[test]
fn each_route_that_writes_has_a_bound() {
    // Begun by a GET: an identity provider sends the browser back, and an export leaves an entry in the log.
    let getting = ["EndOfSignIn", "Export"];
    // Without a row: the browser has it in a cookie.
    let leaving_nothing = ["StartSignIn"];
    for row in table() {
        let writes = match row.method {
            Method::Get => getting.contains(&row.name),
            Method::Post | Method::Patch | Method::Put | Method::Delete => {
                !leaving_nothing.contains(&row.name)
            }
        };
        assert_eq!(row.bound != Bound::Reads, writes, "{}: {:?}", row.name, row.bound);
        match row.bound {
            Bound::Count(most, of) => assert!(most > 0 && !of.is_empty(), "{}", row.name),
            Bound::Replaces(bytes) => assert!(bytes > 0 && bytes <= 1_000_000, "{}", row.name),
            Bound::Deletes | Bound::Removes => assert_eq!(row.method, Method::Delete, "{}", row.name),
            Bound::Reads | Bound::Turns | Bound::Uploads | Bound::EndsOnce | Bound::OtherRoutes => {}
        }
    }
}

// A quota that refuses nobody bounds nothing: the description of the route has its refusal.
#[test]
fn each_quota_has_its_refusal() {
    for row in table().filter(|row| matches!(row.bound, Bound::Uploads | Bound::Turns)) {
        assert!(openapi::may_refuse(row, ErrorCode::QuotaExceeded), "{}", row.name);
    }
}

// Issue 23: these leave no entry `data_deleted`. Threads, keys, sessions and share links have entries of their own; the others
// delete what would come, or a mark, and no data.
#[test]
fn each_other_deletion_leaves_an_entry_in_the_audit_log() {
    let others = table().filter(|row| row.bound == Bound::Removes).map(|row| row.name);
    let expected = [
        "EndOtherSessions",
        "EndSignIn",
        "DeleteThread",
        "WithdrawApproval",
        "DeleteHook",
        "EndAgent",
        "RevokeKey",
        "RevokeShare",
        "DeleteBookmark",
    ];
    assert_eq!(others.collect::<Vec<_>>(), expected);
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
        for row in table() {
            let covers = |pattern: &String| match pattern.strip_suffix('*') {
                Some(prefix) => row.path.starts_with(prefix),
                None => pattern == row.path,
            };
            assert!(patterns.iter().any(covers), "{} is not in {list}", row.path);
        }
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
    let open = table()
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
    for row in table() {
        let (method, path) = (row.method.as_str(), row.path);
        assert_eq!(row.needs_known_origin(), row.method != Method::Get, "{method} {path}");
    }
}

#[test]
fn a_form_of_another_site_cannot_cancel() {
    let wary = table().filter(|row| row.refuses_forms()).map(|row| row.name);
    assert_eq!(wary.collect::<Vec<_>>(), ["CancelResponse", "Cancel"]);
}

/// Each path has as many places for parameters as its route has names for them.
#[test]
fn a_path_has_the_parameters_of_its_route() {
    for row in table() {
        assert_eq!(row.path.matches('{').count(), row.parameters.len(), "{}", row.path);
    }
}
