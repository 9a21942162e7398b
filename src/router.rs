//! The routing table: method, path pattern, route. What a route does is in `routes/`.

use std::fmt::Write;

/// What is asked for. Thread ids are as the path has them: whether one is a UUID is told only to those who may know. What a
/// route's comment says is its description in `openapi.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Route<'a> {
    /// What runs here, or everything that is wrong with its configuration.
    Health,
    /// This description of the API.
    OpenApi,
    /// Opens a session, or says whose the session is. With an API key in the body it opens a session that does what the key
    /// may, for as long as the key lives and 30 days at most. Without one it tells whom the cookie stands for; where there is
    /// no valid cookie it opens an anonymous session, if the deployment has them.
    Session,
    /// Signs out. The session that an API key opened is over, and its cookie opens nothing any more, within a minute
    /// everywhere. The browser loses the cookie of an anonymous session, which nothing else ends.
    SignOut,
    /// Says something in a thread and streams the turn that answers. The stream ends after the turn's `done`. Closing it does
    /// not stop the turn, unless `cancel_on_disconnect` asks for that. The same `turn_id` again streams the first turn and
    /// starts none.
    Chat,
    /// The models that a request may name.
    Models,
    /// The user's threads, newest first, all of them or those that have what is looked for.
    Threads,
    /// A thread with what is going on in it.
    Thread { id: &'a str },
    /// Gives a thread another title.
    RenameThread { id: &'a str },
    /// Deletes a thread for ever. A turn that runs in it is stopped first. The id stays unusable.
    DeleteThread { id: &'a str },
    /// A thread's messages, oldest first.
    Messages { id: &'a str },
    /// A user's message as it was sent, with its images and files.
    Sent { id: &'a str, message: &'a str },
    /// A thread's events from a number on, until the `done` of the turn that runs.
    Stream { id: &'a str },
    /// Stops the turn that runs in a thread, and waits for its end.
    Cancel { id: &'a str },
    /// Tells what a tool came to that the client carried out. The first answer counts.
    ToolResults { id: &'a str },
    /// Allows a call that waits for a person, or does not. The first answer counts.
    Approval { id: &'a str, approval: &'a str },
    /// The tools that a person allowed in a thread for good.
    Approvals { id: &'a str },
    /// Asks a person about a tool again, from the thread's next turn on. The approval is named by its tool.
    WithdrawApproval { id: &'a str, approval: &'a str },
    /// The files of a thread's workspace, by path.
    Files { id: &'a str },
    /// A file as it is, for saving.
    File { id: &'a str, path: &'a str },
    /// Writes a file, over what is there unless a condition says otherwise. The body is the file.
    PutFile { id: &'a str, path: &'a str },
    /// Deletes a file.
    DeleteFile { id: &'a str, path: &'a str },
    /// What projects are made from, those that everybody has first.
    Templates,
    /// The user's projects, oldest first.
    Projects,
    /// A project with its tasks and documents.
    Project { project: &'a str },
    /// A document of a project, in Markdown.
    ProjectDocument { project: &'a str, document: &'a str },
    /// What the user's model calls used, by day, operation, model and context.
    Usage,
    /// The user's named workspaces in which there are files, by name.
    Workspaces,
    /// Deletes all files of a named workspace. It is there again with its next file.
    DeleteWorkspace { workspace: &'a str },
    /// The files of a named workspace, by path.
    WorkspaceFiles { workspace: &'a str },
    /// A file of a named workspace as it is, for saving.
    WorkspaceFile { workspace: &'a str, path: &'a str },
    /// Writes a file of a named workspace, over what is there unless a condition says otherwise. The body is the file. A
    /// workspace is there once it has a file.
    PutWorkspaceFile { workspace: &'a str, path: &'a str },
    /// Deletes a file of a named workspace.
    DeleteWorkspaceFile { workspace: &'a str, path: &'a str },
    /// What is remembered about the user, newest first.
    Memories,
    /// Forgets all that is remembered about the user.
    ForgetMemories,
    /// Forgets one thing that is remembered about the user.
    ForgetMemory { memory: &'a str },
    /// The user's collections of documents, newest first.
    Collections,
    /// Makes a collection of documents.
    NewCollection,
    /// A collection, with the number and the size of its documents.
    Collection { collection: &'a str },
    /// Deletes a collection with all its documents.
    DeleteCollection { collection: &'a str },
    /// The documents of a collection, newest first.
    Documents { collection: &'a str },
    /// Adds a document to a collection. The body is the document, in UTF-8; what is kept of it is its text.
    AddDocument { collection: &'a str },
    /// Deletes a document.
    DeleteDocument { collection: &'a str, document: &'a str },
    /// The passages of a collection's documents that have what is looked for, best first.
    SearchCollection { collection: &'a str },
    /// The API keys of the tenant, oldest first, for some time also those that expired or were revoked.
    Keys,
    /// Makes an API key for somebody of the tenant. The key itself is shown this one time.
    MintKey,
    /// Revokes an API key, and all that it minted, and those minted. Within a minute they open nothing any more.
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

const TABLE: [(Method, &str, Make); 47] = [
    (Get, "/api/health", |_, _| Route::Health),
    (Get, "/openapi.json", |_, _| Route::OpenApi),
    (Post, "/api/session", |_, _| Route::Session),
    (Delete, "/api/session", |_, _| Route::SignOut),
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
    (Get, "/api/threads/{}/approvals", |id, _| Route::Approvals { id }),
    (Delete, "/api/threads/{}/approvals/{}", |id, approval| Route::WithdrawApproval { id, approval }),
    (Get, "/api/threads/{}/files", |id, _| Route::Files { id }),
    (Get, "/api/threads/{}/files/{*}", |id, path| Route::File { id, path }),
    (Put, "/api/threads/{}/files/{*}", |id, path| Route::PutFile { id, path }),
    (Delete, "/api/threads/{}/files/{*}", |id, path| Route::DeleteFile { id, path }),
    (Get, "/api/templates", |_, _| Route::Templates),
    (Get, "/api/projects", |_, _| Route::Projects),
    (Get, "/api/projects/{}", |project, _| Route::Project { project }),
    (Get, "/api/projects/{}/documents/{}", |project, document| Route::ProjectDocument { project, document }),
    (Get, "/api/usage", |_, _| Route::Usage),
    (Get, "/api/workspaces", |_, _| Route::Workspaces),
    (Delete, "/api/workspaces/{}", |workspace, _| Route::DeleteWorkspace { workspace }),
    (Get, "/api/workspaces/{}/files", |workspace, _| Route::WorkspaceFiles { workspace }),
    (Get, "/api/workspaces/{}/files/{*}", |workspace, path| Route::WorkspaceFile { workspace, path }),
    (Put, "/api/workspaces/{}/files/{*}", |workspace, path| Route::PutWorkspaceFile { workspace, path }),
    (Delete, "/api/workspaces/{}/files/{*}", |workspace, path| Route::DeleteWorkspaceFile {
        workspace,
        path,
    }),
    (Get, "/api/memories", |_, _| Route::Memories),
    (Delete, "/api/memories", |_, _| Route::ForgetMemories),
    (Delete, "/api/memories/{}", |memory, _| Route::ForgetMemory { memory }),
    (Get, "/api/collections", |_, _| Route::Collections),
    (Post, "/api/collections", |_, _| Route::NewCollection),
    (Get, "/api/collections/{}", |collection, _| Route::Collection { collection }),
    (Delete, "/api/collections/{}", |collection, _| Route::DeleteCollection { collection }),
    (Get, "/api/collections/{}/documents", |collection, _| Route::Documents { collection }),
    (Post, "/api/collections/{}/documents", |collection, _| Route::AddDocument { collection }),
    (Delete, "/api/collections/{}/documents/{}", |collection, document| Route::DeleteDocument {
        collection,
        document,
    }),
    (Get, "/api/collections/{}/search", |collection, _| Route::SearchCollection { collection }),
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
