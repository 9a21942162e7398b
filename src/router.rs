//! Finds the route of a request in the table.
//!
//! A resource declares its routes (`src/resources`), with all that the service knows of a route: method, path, access, body, the
//! bound of what it stores, its function, its answers and refusals, and a comment that describes it. `router` matches requests
//! by these rows. `routes::dispatch` admits a request by the row's access, reads the body that the row names, up to its limit,
//! and calls the function. So no route can forget a check. An isolate gives bodies a part of its memory
//! (`src/body/budget.rs`), and a body its time (`src/body/reading.rs`).
//!
//! `src/openapi` makes `openapi.json` in a native test. The row gives an operation its path, security, body and the
//! refusals that follow from these, and then its answers. Schemas come from the types that the service parses
//! and writes (`schemars`, behind the feature `openapi`, so none of it is in the Worker). The file is checked in
//! (`web/public/openapi.json`), and `make verify` compares it. It is an asset of the deployment, which the Worker
//! reads and serves with its own headers: within the module it would be 16 kB of the upload.

mod row;

use std::fmt::Write;

use crate::resources::ROUTES;
pub(crate) use row::routes;
pub use row::{Bound, Method, Parameters, Row};

/// Where the routes of OpenAI's clients are. Their errors have a form of their own.
pub const OPENAI: &str = "/v1/";

/// Where clients of MCP ask. The same goes for its errors.
pub const MCP: &str = "/mcp";

/// Where a request goes.
pub enum Found<'a> {
    /// The row of the route, and the parameters of the path.
    Route(&'static Row, Parameters<'a>),
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

/// All routes, in the order in which they are matched.
pub fn table() -> impl Iterator<Item = &'static Row> {
    ROUTES.iter().copied().flatten()
}

/// All routes, as `GET /api/threads/{}`.
pub fn patterns() -> Vec<String> {
    table().map(|row| format!("{} {}", row.method.as_str(), row.path)).collect()
}

/// Looks a request up in the table.
pub fn find<'a>(method: &str, path: &'a str) -> Found<'a> {
    let wanted = match method {
        "GET" | "HEAD" => Some(Method::Get),
        "POST" => Some(Method::Post),
        "PATCH" => Some(Method::Patch),
        "PUT" => Some(Method::Put),
        "DELETE" => Some(Method::Delete),
        _ => None,
    };
    let mut allow = String::new();
    for row in table() {
        let Some(parameters) = capture(row.path, path) else { continue };
        if wanted == Some(row.method) {
            return Found::Route(row, parameters);
        }
        let and_head = if row.method == Method::Get { ", HEAD" } else { "" };
        let _ = write!(allow, "{}{and_head}, ", row.method.as_str());
    }
    if allow.is_empty() {
        return Found::Nothing;
    }
    allow.push_str("OPTIONS");
    if method == "OPTIONS" { Found::Options { allow } } else { Found::WrongMethod { allow } }
}

impl Method {
    /// Its name in HTTP.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

/// The parameters of a path that has this pattern: for each `{}` one segment, for `{*}` all the rest, neither empty. A
/// pattern has at most two; the others are empty texts.
fn capture<'a>(pattern: &str, path: &'a str) -> Option<Parameters<'a>> {
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
    Some(captured)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_bounds;
