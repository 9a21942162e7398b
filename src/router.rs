//! The routing table: method, path pattern, route. What a route does is in `routes/`.

use std::fmt::Write;

/// What is asked for. Thread ids are as the path has them: whether one is a UUID is told only to those who may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    Health,
    Session,
    Chat,
    Models,
    Threads,
    Thread { id: &'a str },
    RenameThread { id: &'a str },
    DeleteThread { id: &'a str },
    Messages { id: &'a str },
    Sent { id: &'a str, message: &'a str },
    Stream { id: &'a str },
    Cancel { id: &'a str },
    ToolResults { id: &'a str },
    Approval { id: &'a str, approval: &'a str },
    Files { id: &'a str },
    File { id: &'a str, path: &'a str },
    PutFile { id: &'a str, path: &'a str },
    DeleteFile { id: &'a str, path: &'a str },
    Templates,
    Projects,
    Project { id: &'a str },
    Document { id: &'a str, document: &'a str },
    Usage,
    Keys,
    MintKey,
    RevokeKey { prefix: &'a str },
}

/// The methods that routes have. HEAD goes wherever GET does, OPTIONS everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Patch,
    Put,
    Delete,
}

/// A route of the table; the parameters are what stands for the `{}`s in its pattern.
type Make = for<'a> fn(&'a str, &'a str) -> Route<'a>;

use Method::{Delete, Get, Patch, Post, Put};

const TABLE: [(Method, &str, Make); 26] = [
    (Get, "/api/health", |_, _| Route::Health),
    (Post, "/api/session", |_, _| Route::Session),
    (Post, "/api/chat", |_, _| Route::Chat),
    (Get, "/api/models", |_, _| Route::Models),
    (Get, "/api/threads", |_, _| Route::Threads),
    (Get, "/api/threads/{}", |id, _| Route::Thread { id }),
    (Patch, "/api/threads/{}", |id, _| Route::RenameThread { id }),
    (Delete, "/api/threads/{}", |id, _| Route::DeleteThread { id }),
    (Get, "/api/threads/{}/messages", |id, _| Route::Messages { id }),
    (Get, "/api/threads/{}/messages/{}/content", |id, message| Route::Sent { id, message }),
    (Get, "/api/threads/{}/stream", |id, _| Route::Stream { id }),
    (Post, "/api/threads/{}/cancel", |id, _| Route::Cancel { id }),
    (Post, "/api/threads/{}/tool_results", |id, _| Route::ToolResults { id }),
    (Post, "/api/threads/{}/approvals/{}", |id, approval| Route::Approval { id, approval }),
    (Get, "/api/threads/{}/files", |id, _| Route::Files { id }),
    (Get, "/api/threads/{}/files/{*}", |id, path| Route::File { id, path }),
    (Put, "/api/threads/{}/files/{*}", |id, path| Route::PutFile { id, path }),
    (Delete, "/api/threads/{}/files/{*}", |id, path| Route::DeleteFile { id, path }),
    (Get, "/api/templates", |_, _| Route::Templates),
    (Get, "/api/projects", |_, _| Route::Projects),
    (Get, "/api/projects/{}", |id, _| Route::Project { id }),
    (Get, "/api/projects/{}/documents/{}", |id, document| Route::Document { id, document }),
    (Get, "/api/usage", |_, _| Route::Usage),
    (Get, "/api/keys", |_, _| Route::Keys),
    (Post, "/api/keys", |_, _| Route::MintKey),
    (Delete, "/api/keys/{}", |prefix, _| Route::RevokeKey { prefix }),
];

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    Route(Route<'a>),
    /// OPTIONS on a path that exists, with the value of `Allow`.
    Options {
        allow: String,
    },
    /// The path exists, but not with this method; with the value of `Allow`.
    WrongMethod {
        allow: String,
    },
    Nothing,
}

/// All routes, as `GET /api/threads/{}`.
pub fn patterns() -> Vec<String> {
    let one = |(method, pattern, _): &(Method, &str, Make)| {
        format!("{} {pattern}", method.names().split(',').next().unwrap_or_default())
    };
    TABLE.iter().map(one).collect()
}

/// Looks a request up in the table.
pub fn find<'a>(method: &str, path: &'a str) -> Found<'a> {
    let wanted = match method {
        "GET" | "HEAD" => Some(Get),
        "POST" => Some(Post),
        "PATCH" => Some(Patch),
        "PUT" => Some(Put),
        "DELETE" => Some(Delete),
        _ => None,
    };
    let mut allow = String::new();
    for (has, pattern, make) in TABLE {
        let Some((first, second)) = capture(pattern, path) else { continue };
        if wanted == Some(has) {
            return Found::Route(make(first, second));
        }
        let _ = write!(allow, "{}, ", has.names());
    }
    if allow.is_empty() {
        return Found::Nothing;
    }
    allow.push_str("OPTIONS");
    if method == "OPTIONS" { Found::Options { allow } } else { Found::WrongMethod { allow } }
}

impl Method {
    const fn names(self) -> &'static str {
        match self {
            Get => "GET, HEAD",
            Post => "POST",
            Patch => "PATCH",
            Put => "PUT",
            Delete => "DELETE",
        }
    }
}

/// What stands for the `{}`s, of which there are two at most, when the path has this pattern: one segment each, not
/// empty; for a `{*}`, all that is left. Empty for those that the pattern does not have.
fn capture<'a>(pattern: &str, path: &'a str) -> Option<(&'a str, &'a str)> {
    let mut captured = ["", ""];
    let mut slots = captured.iter_mut();
    let (pattern, has_rest) =
        pattern.strip_suffix("/{*}").map_or((pattern, false), |pattern| (pattern, true));
    let segments = pattern.split('/').count();
    let (mut wanted, mut given) = (pattern.split('/'), path.splitn(segments + 1, '/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) if !has_rest => break,
            (None, Some(rest)) if has_rest && !rest.is_empty() => {
                *slots.next()? = rest;
                break;
            }
            (Some("{}"), Some(segment)) if !segment.is_empty() => *slots.next()? = segment,
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
    let [first, second] = captured;
    Some((first, second))
}

#[cfg(test)]
mod tests;
