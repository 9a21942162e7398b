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
    DeleteThread { id: &'a str },
    Messages { id: &'a str },
    Stream { id: &'a str },
    Cancel { id: &'a str },
    Keys,
    MintKey,
    RevokeKey { prefix: &'a str },
}

/// The methods that routes have. HEAD goes wherever GET does, OPTIONS everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Delete,
}

/// A route of the table; the parameter is what stands for `{}` in its pattern.
type Make = for<'a> fn(&'a str) -> Route<'a>;

use Method::{Delete, Get, Post};

const TABLE: [(Method, &str, Make); 13] = [
    (Get, "/api/health", |_| Route::Health),
    (Post, "/api/session", |_| Route::Session),
    (Post, "/api/chat", |_| Route::Chat),
    (Get, "/api/models", |_| Route::Models),
    (Get, "/api/threads", |_| Route::Threads),
    (Get, "/api/threads/{}", |id| Route::Thread { id }),
    (Delete, "/api/threads/{}", |id| Route::DeleteThread { id }),
    (Get, "/api/threads/{}/messages", |id| Route::Messages { id }),
    (Get, "/api/threads/{}/stream", |id| Route::Stream { id }),
    (Post, "/api/threads/{}/cancel", |id| Route::Cancel { id }),
    (Get, "/api/keys", |_| Route::Keys),
    (Post, "/api/keys", |_| Route::MintKey),
    (Delete, "/api/keys/{}", |prefix| Route::RevokeKey { prefix }),
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
        "DELETE" => Some(Delete),
        _ => None,
    };
    let mut allow = String::new();
    for (has, pattern, make) in TABLE {
        let Some(parameter) = capture(pattern, path) else { continue };
        if wanted == Some(has) {
            return Found::Route(make(parameter));
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
            Delete => "DELETE",
        }
    }
}

/// What stands for `{}`, when the path has this pattern: one segment, not empty. Empty for a pattern without one.
fn capture<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once("{}") else { return (pattern == path).then_some("") };
    let segment = path.strip_prefix(before)?.strip_suffix(after)?;
    (!segment.is_empty() && !segment.contains('/')).then_some(segment)
}

#[cfg(test)]
mod tests;
