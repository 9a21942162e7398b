//! A row of the routing table, and what follows from it.

use super::Route;
use crate::auth::scope::Access::{self, Needs};
use crate::body::Body;

/// The methods that routes have. HEAD goes wherever GET does, OPTIONS everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Patch,
    Put,
    Delete,
}

/// A row of the table.
pub struct Row {
    pub method: Method,
    /// One `{}` for each parameter, which is one segment; `{*}` for one that is all the rest of the path.
    pub path: &'static str,
    pub access: Access,
    pub body: Body,
    /// The route with the parameters of its path.
    pub(super) route: RouteOf,
    /// The name of the route, the names of its parameters, and its comment, for `openapi.json`.
    #[cfg(test)]
    pub name: &'static str,
    #[cfg(test)]
    pub parameters: &'static [&'static str],
    #[cfg(test)]
    pub comment: &'static str,
}

type RouteOf = for<'a> fn(&'a str, &'a str) -> Route<'a>;

impl Row {
    /// The route with placeholders as its parameters.
    #[cfg(test)]
    pub fn sample(&self) -> Route<'static> {
        (self.route)("-", "-")
    }

    /// Whether a form on another site could make this request: forms POST, the route reads no body whose type would
    /// tell, and it changes something.
    pub fn refuses_forms(&self) -> bool {
        let takes_none = matches!(self.body, Body::Nothing);
        self.method == Method::Post && takes_none && self.access.needs_known_origin()
    }

    /// Whether an ambient credential needs a known origin here. A route that only reads needs none, whatever its scope: a
    /// browser sends no `Origin` with a GET to the page's own origin, and CORS keeps the answer from other sites.
    pub fn needs_known_origin(&self) -> bool {
        let only_reads = self.method == Method::Get && matches!(self.access, Needs(_));
        !only_reads && self.access.needs_known_origin()
    }
}
