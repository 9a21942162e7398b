//! The routing table: each route stands here once, with its method and path, what it asks of a request, and its body.
//! `router` matches requests by it, `routes` admits them and reads their bodies by it, `openapi` describes it.

use espalier_durable::protocol::{
    Approval, ChatRequest, NewCollection, NewKey, SignIn, ThreadChange, ToolResult,
};

use crate::auth::scope::Access::{self, KnownOrigin, Needs, Open, Unlimited};
use crate::auth::scope::Scope::{Admin, Read, Write};
use crate::body::Body::{self, Document, File, Nothing};
use crate::body::{json, optional_json};

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
    /// The route with parameters that mean nothing.
    #[cfg(test)]
    pub fn sample(&self) -> Route<'static> {
        (self.route)("-", "-")
    }

    /// Whether the route must tell a form that another site posts: it reads no body, so a form could have sent the request,
    /// and it changes something.
    pub fn refuses_forms(&self) -> bool {
        let takes_none = matches!(self.body, Body::Nothing);
        self.method == Method::Post && takes_none && self.access.needs_known_origin()
    }
}

/// Makes [`Route`] and [`TABLE`] of rows: `/// comment`, `Method "path" => Route(parameters), access, body;`. The comment is
/// the route's description in `openapi.json`, its first sentence the summary.
macro_rules! routes {
    ($($(#[doc = $comment:literal])+
        $method:ident $path:literal => $name:ident $(($($parameter:ident),+))?, $access:expr, $body:expr;)+) => {
        /// What is asked for, with the parameters as the path has them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Route<'a> {
            $($(#[doc = $comment])+ $name $({ $($parameter: &'a str),+ })?,)+
        }

        /// All routes.
        pub static TABLE: &[Row] = &[$(Row {
            method: Method::$method,
            path: $path,
            access: $access,
            body: $body,
            route: routes!(@of $name $($($parameter)+)?),
            #[cfg(test)]
            name: stringify!($name),
            #[cfg(test)]
            parameters: &[$($(stringify!($parameter)),+)?],
            #[cfg(test)]
            comment: concat!($($comment),+),
        }),+];
    };
    (@of $name:ident) => { |_, _| Route::$name };
    (@of $name:ident $one:ident) => { |$one, _| Route::$name { $one } };
    (@of $name:ident $one:ident $two:ident) => { |$one, $two| Route::$name { $one, $two } };
}

routes! {
    /// What runs here, or everything that is wrong with its configuration.
    Get "/api/health" => Health, Unlimited, Nothing;
    /// This description of the API.
    Get "/openapi.json" => OpenApi, Open, Nothing;
    /// Opens a session, or says whose the session is. With an API key in the body it opens a session that does what the key
    /// may, for as long as the key lives and 30 days at most. Without one it tells whom the cookie stands for; where there is
    /// no valid cookie it opens an anonymous session, if the deployment has them.
    Post "/api/session" => Session, KnownOrigin, optional_json::<SignIn>();
    /// Signs out. The session that an API key opened is over, and its cookie opens nothing any more, within a minute
    /// everywhere. The browser loses the cookie of an anonymous session, which nothing else ends.
    Delete "/api/session" => SignOut, KnownOrigin, Nothing;
    /// Says something in a thread and streams the turn that answers. The stream ends after the turn's `done`. Closing it does
    /// not stop the turn, unless `cancel_on_disconnect` asks for that. The same `turn_id` again streams the first turn and
    /// starts none.
    Post "/api/chat" => Chat, Needs(Write), json::<ChatRequest>();
    /// The models that a request may name.
    Get "/api/models" => Models, Needs(Read), Nothing;
    /// The user's threads, newest first, all of them or those that have what is looked for.
    Get "/api/threads" => Threads, Needs(Read), Nothing;
    /// A thread with what is going on in it.
    Get "/api/threads/{}" => Thread(id), Needs(Read), Nothing;
    /// Gives a thread another title.
    Patch "/api/threads/{}" => RenameThread(id), Needs(Write), json::<ThreadChange>();
    /// Deletes a thread for ever. A turn that runs in it is stopped first. The id stays unusable.
    Delete "/api/threads/{}" => DeleteThread(id), Needs(Write), Nothing;
    /// A thread's messages, oldest first.
    Get "/api/threads/{}/messages" => Messages(id), Needs(Read), Nothing;
    /// A user's message as it was sent, with its images and files.
    Get "/api/threads/{}/messages/{}/content" => Sent(id, message), Needs(Read), Nothing;
    /// A thread's events from a number on, until the `done` of the turn that runs.
    Get "/api/threads/{}/stream" => Stream(id), Needs(Read), Nothing;
    /// Stops the turn that runs in a thread, and waits for its end.
    Post "/api/threads/{}/cancel" => Cancel(id), Needs(Write), Nothing;
    /// Tells what a tool came to that the client carried out. The first answer counts.
    Post "/api/threads/{}/tool_results" => ToolResults(id), Needs(Write), json::<ToolResult>();
    /// Allows a call that waits for a person, or does not. The first answer counts.
    Post "/api/threads/{}/approvals/{}" => Approval(id, approval), Needs(Write), json::<Approval>();
    /// The tools that a person allowed in a thread for good.
    Get "/api/threads/{}/approvals" => Approvals(id), Needs(Read), Nothing;
    /// Asks a person about a tool again, from the thread's next turn on. The approval is named by its tool.
    Delete "/api/threads/{}/approvals/{}" => WithdrawApproval(id, approval), Needs(Write), Nothing;
    /// The files of a thread's workspace, by path.
    Get "/api/threads/{}/files" => Files(id), Needs(Read), Nothing;
    /// A file as it is, for saving.
    Get "/api/threads/{}/files/{*}" => File(id, path), Needs(Read), Nothing;
    /// Writes a file, over what is there unless a condition says otherwise. The body is the file.
    Put "/api/threads/{}/files/{*}" => PutFile(id, path), Needs(Write), File;
    /// Deletes a file.
    Delete "/api/threads/{}/files/{*}" => DeleteFile(id, path), Needs(Write), Nothing;
    /// What projects are made from, those that everybody has first.
    Get "/api/templates" => Templates, Needs(Read), Nothing;
    /// The user's projects, oldest first.
    Get "/api/projects" => Projects, Needs(Read), Nothing;
    /// A project with its tasks and documents.
    Get "/api/projects/{}" => Project(project), Needs(Read), Nothing;
    /// A document of a project, in Markdown.
    Get "/api/projects/{}/documents/{}" => ProjectDocument(project, document), Needs(Read), Nothing;
    /// What the user's model calls used, by day, operation, model and context.
    Get "/api/usage" => Usage, Needs(Read), Nothing;
    /// The user's named workspaces in which there are files, by name.
    Get "/api/workspaces" => Workspaces, Needs(Read), Nothing;
    /// Deletes all files of a named workspace. It is there again with its next file.
    Delete "/api/workspaces/{}" => DeleteWorkspace(workspace), Needs(Write), Nothing;
    /// The files of a named workspace, by path.
    Get "/api/workspaces/{}/files" => WorkspaceFiles(workspace), Needs(Read), Nothing;
    /// A file of a named workspace as it is, for saving.
    Get "/api/workspaces/{}/files/{*}" => WorkspaceFile(workspace, path), Needs(Read), Nothing;
    /// Writes a file of a named workspace, over what is there unless a condition says otherwise. The body is the file. A
    /// workspace is there once it has a file.
    Put "/api/workspaces/{}/files/{*}" => PutWorkspaceFile(workspace, path), Needs(Write), File;
    /// Deletes a file of a named workspace.
    Delete "/api/workspaces/{}/files/{*}" => DeleteWorkspaceFile(workspace, path), Needs(Write), Nothing;
    /// What is remembered about the user, newest first.
    Get "/api/memories" => Memories, Needs(Read), Nothing;
    /// Forgets all that is remembered about the user.
    Delete "/api/memories" => ForgetMemories, Needs(Write), Nothing;
    /// Forgets one thing that is remembered about the user.
    Delete "/api/memories/{}" => ForgetMemory(memory), Needs(Write), Nothing;
    /// The user's collections of documents, newest first.
    Get "/api/collections" => Collections, Needs(Read), Nothing;
    /// Makes a collection of documents.
    Post "/api/collections" => NewCollection, Needs(Write), json::<NewCollection>();
    /// A collection, with the number and the size of its documents.
    Get "/api/collections/{}" => Collection(collection), Needs(Read), Nothing;
    /// Deletes a collection with all its documents.
    Delete "/api/collections/{}" => DeleteCollection(collection), Needs(Write), Nothing;
    /// The documents of a collection, newest first.
    Get "/api/collections/{}/documents" => Documents(collection), Needs(Read), Nothing;
    /// Adds a document to a collection. The body is the document, in UTF-8; what is kept of it is its text.
    Post "/api/collections/{}/documents" => AddDocument(collection), Needs(Write), Document;
    /// Deletes a document.
    Delete "/api/collections/{}/documents/{}" => DeleteDocument(collection, document), Needs(Write), Nothing;
    /// The passages of a collection's documents that have what is looked for, best first.
    Get "/api/collections/{}/search" => SearchCollection(collection), Needs(Read), Nothing;
    /// The API keys of the tenant, oldest first, for some time also those that expired or were revoked.
    Get "/api/keys" => Keys, Needs(Admin), Nothing;
    /// Makes an API key for somebody of the tenant. The key itself is shown this one time.
    Post "/api/keys" => MintKey, Needs(Admin), json::<NewKey>();
    /// Revokes an API key, and all that it minted, and those minted. Within a minute they open nothing any more.
    Delete "/api/keys/{}" => RevokeKey(prefix), Needs(Admin), Nothing;
}
