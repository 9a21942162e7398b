//! A row of the routing table, and the macro that declares rows.

use crate::auth::scope::Access::{self, Needs};
use crate::body::Body;
#[cfg(test)]
use crate::openapi::contract::Contract;
#[cfg(target_arch = "wasm32")]
use crate::problem::Failure;
#[cfg(target_arch = "wasm32")]
use crate::routes::{Admitted, Answering};

/// The methods that routes have. HEAD goes wherever GET does, OPTIONS everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Patch,
    Put,
    Delete,
}

/// The bound of the storage that a route writes. A route without one does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It reads: it leaves no row behind.
    Reads,
    /// The quotas of turns: how many start, run at once, and cost in a day. A conversation that a client brings reserves its
    /// bytes in `stored_bytes_per_day` with its turn.
    Turns,
    /// The quota `stored_bytes_per_day`, in which it reserves all that it stores.
    Uploads,
    /// So many, of these.
    Count(u64, &'static str),
    /// It takes the place of what is there, which is no larger than so many bytes.
    Replaces(usize),
    /// It answers a call of a turn, or ends the turn: once.
    EndsOnce,
    /// It deletes data of a user for good. Where something was there, it leaves an entry `data_deleted` in the audit log.
    Deletes,
    /// It leaves no entry `data_deleted`. A thread, a key, a session and a share link have entries of their own. A hook, an
    /// agent and an approval act on later turns only. A bookmark is a mark on an answer that stays.
    Removes,
    /// Each of its tools is a request to another route.
    OtherRoutes,
}

/// A row of the table.
pub struct Row {
    pub method: Method,
    /// One `{}` for each parameter, which is one segment; `{*}` for one that is all the rest of the path.
    pub path: &'static str,
    pub access: Access,
    pub body: Body,
    /// Its bound is [`Bound::Deletes`].
    pub deletes: bool,
    /// Calls the function of the route, for a request with these parameters in its path.
    #[cfg(target_arch = "wasm32")]
    pub function: for<'a> fn(Admitted<'a>, Parameters<'a>) -> Result<Answering<'a>, Failure>,
    /// The name of the route, the names of its parameters, its comment, and what adds its answers and refusals to the
    /// contract of its row: for `openapi.json`.
    #[cfg(test)]
    pub name: &'static str,
    #[cfg(test)]
    pub parameters: &'static [&'static str],
    #[cfg(test)]
    pub comment: &'static str,
    #[cfg(test)]
    pub contract: fn(Contract) -> Contract,
    #[cfg(test)]
    pub bound: Bound,
}

/// The parameters of a path; an empty text for each that its pattern lacks.
pub type Parameters<'a> = [&'a str; 2];

/// Declares the routes of a resource, as `ROUTES`. Each has a comment, which is its description in `openapi.json` and whose
/// first sentence is the summary, and then
///
/// ```text
/// Method "path" => Name(parameters), access, body, bound,
///     |r| the future of its answer to the `Admitted` request r,
///     |row| the contract `row` of its access and body, with its answers and refusals;
/// ```
macro_rules! routes {
    ($(
        $(#[doc = $comment:literal])+
        $method:ident $path:literal => $name:ident $(($($parameter:ident),+))?, $access:expr, $body:expr, $bound:expr,
            |$request:ident| $answer:expr,
            |$row:ident| $contract:expr;
    )+) => {
        /// The routes, in the order in which they are matched.
        pub const ROUTES: &[$crate::router::Row] = &[$(
            $crate::router::Row {
                method: $crate::router::Method::$method,
                path: $path,
                access: $access,
                body: $body,
                deletes: matches!($bound, $crate::router::Bound::Deletes),
                #[cfg(target_arch = "wasm32")]
                function: |$request, $crate::router::routes!(@parameters $($($parameter)+)?)| {
                    Ok(Box::pin($answer))
                },
                #[cfg(test)]
                name: stringify!($name),
                #[cfg(test)]
                parameters: &[$($(stringify!($parameter)),+)?],
                #[cfg(test)]
                comment: concat!($($comment),+),
                #[cfg(test)]
                contract: |$row| $contract,
                #[cfg(test)]
                bound: $bound,
            },
        )+];
    };
    (@parameters) => { _ };
    (@parameters $one:ident) => { [$one, _] };
    (@parameters $one:ident $two:ident) => { [$one, $two] };
}
pub(crate) use routes;

impl Row {
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
