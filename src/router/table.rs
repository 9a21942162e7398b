//! The routing table: each route stands here once, with its method and path, its access and its body. `router` matches
//! requests by it, `routes` admits them and reads their bodies by it, `openapi` describes it.

use dialects::ai_sdk::ChatBody;
use dialects::mcp::MessageBody;
use dialects::openai::{CompletionBody, ResponseBody};
use wire::protocol::{
    AgentDump, Approval, ChatRequest, ContinueSession, DocumentChange, MAX_DEFINITION_BYTES, MAX_DUMP_BYTES,
    NewCollection, NewHook, NewInstructions, NewKey, NewSession, NewShare, ProjectChange, QueueChange,
    QueuedChange, SignIn, StartSignIn, TaskChange, ThreadChange, ToolResult, WorkflowDefinition,
};

use super::row::{Method, Row};
use crate::account::erasure::Confirmation;
use crate::auth::scope::Access::{Erases, KnownOrigin, Needs, NeedsAtOrigin, Open, Unlimited};
use crate::auth::scope::Scope::{Admin, Read, Write};
use crate::body::Body::{self, Nothing};
use crate::body::{MAX_CHAT_BYTES, json, json_of, optional_json};

/// Makes [`Route`] and [`TABLE`] of rows: `/// comment`, `Method "path" => Route(parameters), access, body;`. The comment
/// is the route's description in `openapi.json`, its first sentence the summary. The rows of a feature stand in a group,
/// `feature Variant(Enum) { rows }`. The group has an enum of its own.
macro_rules! routes {
    (
        $($(#[doc = $comment:literal])+
            $method:ident $path:literal => $name:ident $(($($parameter:ident),+))?, $access:expr, $body:expr;)+
        $(feature $group:ident($routes:ident) {
            $($(#[doc = $of_comment:literal])+
                $of_method:ident $of_path:literal => $of_name:ident $(($($of_parameter:ident),+))?,
                $of_access:expr, $of_body:expr;)+
        })+
    ) => {
        /// A route, with the parameters as the path has them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Route<'a> {
            $($(#[doc = $comment])+ $name $({ $($parameter: &'a str),+ })?,)+
            $($group($routes<'a>),)+
        }

        $(
            /// The routes of a feature.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $routes<'a> {
                $($(#[doc = $of_comment])+ $of_name $({ $($of_parameter: &'a str),+ })?,)+
            }
        )+

        /// All routes.
        pub static TABLE: &[Row] = &[
            $(routes!(@row $method $path, routes!(@of $name $($($parameter)+)?), $access, $body,
                $name($($($parameter),+)?) $($comment)+),)+
            $($(
                routes!(@row $of_method $of_path, routes!(@of $group $routes $of_name($($($of_parameter)+)?)),
                    $of_access, $of_body, $of_name($($($of_parameter),+)?) $($of_comment)+),
            )+)+
        ];
    };
    (@row $method:ident $path:literal, $route:expr, $access:expr, $body:expr,
        $name:ident($($parameter:ident),*) $($comment:literal)+) => {
        Row {
            method: Method::$method,
            path: $path,
            access: $access,
            body: $body,
            route: $route,
            #[cfg(test)]
            name: stringify!($name),
            #[cfg(test)]
            parameters: &[$(stringify!($parameter)),*],
            #[cfg(test)]
            comment: concat!($($comment),+),
        }
    };
    (@of $name:ident) => { |_, _| Route::$name };
    (@of $name:ident $one:ident) => { |$one, _| Route::$name { $one } };
    (@of $name:ident $one:ident $two:ident) => { |$one, $two| Route::$name { $one, $two } };
    (@of $group:ident $routes:ident $name:ident()) => { |_, _| Route::$group($routes::$name) };
    (@of $group:ident $routes:ident $name:ident($one:ident)) => {
        |$one, _| Route::$group($routes::$name { $one })
    };
    (@of $group:ident $routes:ident $name:ident($one:ident $two:ident)) => {
        |$one, $two| Route::$group($routes::$name { $one, $two })
    };
}

routes! {
    /// Reports the version and the model that run here, or every problem of the configuration.
    Get "/api/health" => Health, Unlimited, Nothing;
    /// Returns this description of the API.
    Get "/openapi.json" => OpenApi, Open, Nothing;
    /// Opens a session, or tells whose the session is. With an API key in the body it opens a session with the key's
    /// scopes, which ends with the key, after 30 days at most. Without a key it tells the user of the cookie. Where no
    /// cookie is valid it opens an anonymous session, if the deployment has them.
    Post "/api/session" => Session, KnownOrigin, optional_json::<SignIn>();
    /// Signs out. The session ends: while D1 answers, its cookie is invalid everywhere within a minute. The browser deletes the cookie.
    Delete "/api/session" => SignOut, KnownOrigin, Nothing;
    /// Begins a sign-in at an identity provider, and tells the address there that the browser goes to. The browser keeps the
    /// sign-in in a cookie for ten minutes. The providers stand in the answer of `POST /api/session`.
    Post "/api/oidc/{}" => StartSignIn(provider), KnownOrigin, optional_json::<StartSignIn>();
    /// Takes a provider's answer, to which the provider redirects the browser: opens a session for twelve hours, with the
    /// scopes `read` and `write`, and redirects to the page. A sign-in that fails redirects to the page too, with the reason
    /// as `sign_in`: `denied`, `expired`, `failed` or `unavailable`. Only the browser that began the sign-in can end it.
    Get "/api/oidc/{}/callback" => EndOfSignIn(provider), Open, Nothing;
    /// Sends a message to a thread and streams the turn that answers. The stream ends after the turn's `done`. The turn
    /// goes on when the client closes the stream, unless `cancel_on_disconnect` is true. A repeated `turn_id` streams
    /// the first turn and starts none. With `if_running: queue` the message may have to wait: then the answer is the queue.
    Post "/api/chat" => Chat, Needs(Write), json::<ChatRequest>();
    /// Answers a chat of the AI SDK with its UI message stream: the newest message of the user, or calls that wait for an
    /// answer. Of the chat in the body only the end counts, because the thread has the rest.
    Post "/api/ai-sdk/chat" => AiSdkChat, Needs(Write), json_of::<ChatBody>(MAX_CHAT_BYTES);
    /// Streams the running turn of a chat of the AI SDK from its start.
    Get "/api/ai-sdk/chat/{}/stream" => AiSdkStream(chat), Needs(Read), Nothing;
    /// Stops the running turn of a chat of the AI SDK, and waits for its end. The client's own stop only closes its
    /// connection.
    Delete "/api/ai-sdk/chat/{}/stream" => AiSdkCancel(chat), Needs(Write), Nothing;
    /// Lists the models that a request of OpenAI's clients may name.
    Get "/v1/models" => OpenAiModels, Needs(Read), Nothing;
    /// Answers a chat of OpenAI's Chat Completions: the newest message of the user, or calls that wait for an answer. A new
    /// thread imports the conversation before it.
    Post "/v1/chat/completions" => ChatCompletion, Needs(Write), json_of::<CompletionBody>(MAX_CHAT_BYTES);
    /// Creates a response of OpenAI's Responses: the part of a turn up to its end, or up to a call that waits.
    Post "/v1/responses" => CreateResponse, Needs(Write), json_of::<ResponseBody>(MAX_CHAT_BYTES);
    /// Returns a response as it is now, or streams its events.
    Get "/v1/responses/{}" => Response(response), Needs(Read), Nothing;
    /// Stops the turn of a response, waits for its end, and returns the response.
    Post "/v1/responses/{}/cancel" => CancelResponse(response), Needs(Write), Nothing;
    /// Takes a message of the Model Context Protocol: a request, whose response is JSON or a stream of events, or a
    /// notification. Revision 2026-07-28 repeats parts of the body in headers. A tool needs the scope of its own route.
    Post "/mcp" => Mcp, NeedsAtOrigin(Read), json::<MessageBody>();
    /// Tells clients of MCP which issuers give tokens for this service (RFC 9728).
    Get "/.well-known/oauth-protected-resource" => ProtectedResource, Open, Nothing;
    /// The same, at the address that belongs to `/mcp`.
    Get "/.well-known/oauth-protected-resource/mcp" => ProtectedMcp, Open, Nothing;
    /// Lists the models that a request may name.
    Get "/api/models" => Models, Needs(Read), Nothing;
    /// Lists the user's threads: the pinned ones, then the others, each newest first; all of them, or those that contain a
    /// text.
    Get "/api/threads" => Threads, Needs(Read), Nothing;
    /// Returns a thread and the turn that runs in it.
    Get "/api/threads/{}" => Thread(id), Needs(Read), Nothing;
    /// Changes a thread's title, the path that is its conversation, or its pin. A path is chosen while no turn runs or
    /// waits. A user has at most 20 pinned threads.
    Patch "/api/threads/{}" => ChangeThread(id), Needs(Write), json::<ThreadChange>();
    /// Deletes a thread for ever. This stops a turn that runs in it. The id stays unusable.
    Delete "/api/threads/{}" => DeleteThread(id), Needs(Write), Nothing;
    /// Lists a thread's messages, oldest first: those on the path, or those of all versions.
    Get "/api/threads/{}/messages" => Messages(id), Needs(Read), Nothing;
    /// Returns a user's message as it was sent, with its images and files.
    Get "/api/threads/{}/messages/{}/content" => Sent(id, message), Needs(Read), Nothing;
    /// Streams a thread's events from a number on, until the `done` of the turn that runs.
    Get "/api/threads/{}/stream" => Stream(id), Needs(Read), Nothing;
    /// Stops the turn that runs in a thread, and waits for its end.
    Post "/api/threads/{}/cancel" => Cancel(id), Needs(Write), Nothing;
    /// Takes the result of a tool that the client ran. The first answer counts.
    Post "/api/threads/{}/tool_results" => ToolResults(id), Needs(Write), json::<ToolResult>();
    /// Approves or denies a call that waits for a person. The first answer counts.
    Post "/api/threads/{}/approvals/{}" => Approval(id, approval), Needs(Write), json::<Approval>();
    /// Lists the tools that a person allowed in a thread for good.
    Get "/api/threads/{}/approvals" => Approvals(id), Needs(Read), Nothing;
    /// Withdraws a lasting approval, named by its tool. From the thread's next turn on the service asks about the tool
    /// again.
    Delete "/api/threads/{}/approvals/{}" => WithdrawApproval(id, approval), Needs(Write), Nothing;
    /// Lists a thread's hooks, in the order in which they are asked, and the operator's.
    Get "/api/threads/{}/hooks" => Hooks(id), Needs(Read), Nothing;
    /// Puts a hook, in place of the one with its name or behind all. It watches the thread's turns from the next one on.
    Put "/api/threads/{}/hooks/{}" => PutHook(id, hook), Needs(Write), json::<NewHook>();
    /// Deletes a hook. It watches the thread's turns no more from the next one on.
    Delete "/api/threads/{}/hooks/{}" => DeleteHook(id, hook), Needs(Write), Nothing;
    /// Lists the messages that wait for their turn, in their order.
    Get "/api/threads/{}/queue" => Queue(id), Needs(Read), Nothing;
    /// Holds the queue, or lets it go on. While a queue is held, no message of it starts its turn.
    Patch "/api/threads/{}/queue" => HoldQueue(id), Needs(Write), json::<QueueChange>();
    /// Gives a queued message other words. Its images and files stay.
    Patch "/api/threads/{}/queue/{}" => EditQueued(id, message), Needs(Write), json::<QueuedChange>();
    /// Takes a message out of the queue.
    Delete "/api/threads/{}/queue/{}" => RemoveQueued(id, message), Needs(Write), Nothing;
    /// Lists the agents of a thread that the path has, `main` among them, with their instructions and hooks.
    Get "/api/threads/{}/agents" => Agents(id), Needs(Read), Nothing;
    /// Restores an agent from a dump, with the agents below it, under free names. All of them are restored, or none. Each hears
    /// that it woke in another conversation.
    Post "/api/threads/{}/agents" => RestoreAgent(id), Needs(Write), json_of::<AgentDump>(MAX_DUMP_BYTES);
    /// Lists what an agent was asked, did and answered: the newest rounds, oldest first, or those before a cursor.
    Get "/api/threads/{}/agents/{}/messages" => AgentRounds(id, agent), Needs(Read), Nothing;
    /// Returns an agent with all that it remembers, and the agents below it. `main` has its prompt as its instructions, and the
    /// turns of the conversation as its rounds. The oldest rounds of all are left out where a dump has no room for them.
    Get "/api/threads/{}/agents/{}/dump" => DumpAgent(id, agent), Needs(Read), Nothing;
    /// Ends an agent and all that it made. Their names are free again.
    Delete "/api/threads/{}/agents/{}" => EndAgent(id, agent), Needs(Write), Nothing;
    /// Erases all data of the user for ever: threads, files, documents, memories, projects, agents, workflows, usage and
    /// records. It begins at once, and takes a minute and a half at least. All keys and sessions of the user end with its
    /// beginning; the answer has a receipt, with which the progress can be read. When it is done, the same user may begin anew.
    /// A visitor may ask, an API key with the scope `erase`, and everybody else within ten minutes of signing in.
    Delete "/api/me" => EraseMe, Erases, json::<Confirmation>();
    /// Returns the progress of an erasure, and carries it on. The receipt is the only credential.
    Get "/api/me/erasure" => Erasure, Open, Nothing;
    /// Exports all data of the user, a page at a time: a JSON object a line, each with its `kind`. The last line of a page is
    /// of the kind `page` and has the `next_cursor`, or of the kind `end`: then the export is complete.
    /// Without the scope `admin` the records of turns have digests in the place of the words of the operator's hooks.
    Get "/api/me/export" => Export, Needs(Read), Nothing;
    /// Lists the user's sessions, newest first: those that their API keys opened, or a visitor's own after its first turn.
    Get "/api/me/sessions" => Sessions, Needs(Read), Nothing;
    /// Ends all sessions of the user but the one of the request. Within a minute their cookies are invalid everywhere.
    Delete "/api/me/sessions" => EndOtherSessions, Needs(Write), Nothing;
    /// Ends a session of the user. Within a minute its cookie is invalid everywhere.
    Delete "/api/me/sessions/{}" => EndSignIn(sign_in), Needs(Write), Nothing;
    /// Sums the usage of the user's model calls by day, operation, model and context.
    Get "/api/usage" => Usage, Needs(Read), Nothing;
    /// Returns a page of the tenant's audit log, newest first: who did what, and when. Its entries cannot be changed.
    Get "/api/audit" => Audit, Needs(Admin), Nothing;
    /// Lists the API keys of the tenant, oldest first. Expired and revoked keys stay listed for up to 30 days.
    Get "/api/keys" => Keys, Needs(Admin), Nothing;
    /// Creates an API key for somebody of the tenant. Only this answer shows the key itself.
    Post "/api/keys" => MintKey, Needs(Admin), json::<NewKey>();
    /// Revokes an API key and all keys that it minted, directly or through others. Within a minute they are invalid
    /// everywhere.
    Delete "/api/keys/{}" => RevokeKey(prefix), Needs(Admin), Nothing;

    feature Files(FilesRoute) {
        /// Lists the files of a thread's workspace, by path.
        Get "/api/threads/{}/files" => Files(id), Needs(Read), Nothing;
        /// Returns a file as it is stored, for saving.
        Get "/api/threads/{}/files/{*}" => File(id, path), Needs(Read), Nothing;
        /// Writes a file. It replaces the file that is there, unless a condition forbids that. The body is the file.
        Put "/api/threads/{}/files/{*}" => PutFile(id, path), Needs(Write), Body::File;
        /// Deletes a file.
        Delete "/api/threads/{}/files/{*}" => DeleteFile(id, path), Needs(Write), Nothing;
        /// Lists the earlier versions of the files of a thread's workspace, the last replaced one first. Files that are
        /// deleted have versions too.
        Get "/api/threads/{}/file-versions" => FileVersions(id), Needs(Read), Nothing;
        /// Lists the user's named workspaces that contain files, by name.
        Get "/api/workspaces" => Workspaces, Needs(Read), Nothing;
        /// Deletes all files of a named workspace, and their earlier versions. The next file creates the workspace again.
        Delete "/api/workspaces/{}" => DeleteWorkspace(workspace), Needs(Write), Nothing;
        /// Lists the files of a named workspace, by path.
        Get "/api/workspaces/{}/files" => WorkspaceFiles(workspace), Needs(Read), Nothing;
        /// Returns a file of a named workspace as it is stored, for saving.
        Get "/api/workspaces/{}/files/{*}" => WorkspaceFile(workspace, path), Needs(Read), Nothing;
        /// Writes a file of a named workspace. It replaces the file that is there, unless a condition forbids that. The
        /// body is the file. The first file creates the workspace.
        Put "/api/workspaces/{}/files/{*}" => PutWorkspaceFile(workspace, path), Needs(Write), Body::File;
        /// Deletes a file of a named workspace.
        Delete "/api/workspaces/{}/files/{*}" => DeleteWorkspaceFile(workspace, path), Needs(Write), Nothing;
        /// Lists the earlier versions of the files of a named workspace, the last replaced one first.
        Get "/api/workspaces/{}/file-versions" => WorkspaceFileVersions(workspace), Needs(Read), Nothing;
    }

    feature Projects(ProjectsRoute) {
        /// Lists the templates of projects: the built-in ones, then the user's own.
        Get "/api/templates" => Templates, Needs(Read), Nothing;
        /// Lists the user's projects, oldest first.
        Get "/api/projects" => Projects, Needs(Read), Nothing;
        /// Returns a project with its tasks and documents.
        Get "/api/projects/{}" => Project(project), Needs(Read), Nothing;
        /// Changes a project's name or description.
        Patch "/api/projects/{}" => ChangeProject(project), Needs(Write), json::<ProjectChange>();
        /// Deletes a project with its tasks and documents.
        Delete "/api/projects/{}" => DeleteProject(project), Needs(Write), Nothing;
        /// Changes a task's title, notes or status. A task that waits for others cannot be done.
        Patch "/api/projects/{}/tasks/{}" => ChangeTask(project, task), Needs(Write), json::<TaskChange>();
        /// Deletes a task. Tasks that waited for it no longer do.
        Delete "/api/projects/{}/tasks/{}" => DeleteTask(project, task), Needs(Write), Nothing;
        /// Returns a document of a project, in Markdown.
        Get "/api/projects/{}/documents/{}" => ProjectDocument(project, document), Needs(Read), Nothing;
        /// Changes a document's title or content.
        Patch "/api/projects/{}/documents/{}" => ChangeProjectDocument(project, document), Needs(Write),
            json::<DocumentChange>();
        /// Deletes a document of a project.
        Delete "/api/projects/{}/documents/{}" => DeleteProjectDocument(project, document), Needs(Write), Nothing;
    }

    feature Instructions(InstructionsRoute) {
        /// Returns the user's custom instructions.
        Get "/api/me/instructions" => Instructions, Needs(Read), Nothing;
        /// Writes the user's custom instructions, which each new turn of the user begins with. A chat that is open may begin
        /// turns with the ones before for another minute.
        Put "/api/me/instructions" => PutInstructions, Needs(Write), json::<NewInstructions>();
        /// Returns the custom instructions of a project.
        Get "/api/projects/{}/instructions" => ProjectInstructions(project), Needs(Read), Nothing;
        /// Writes the custom instructions of a project, which each new turn about it begins with, behind the user's. They go
        /// with the project.
        Put "/api/projects/{}/instructions" => PutProjectInstructions(project), Needs(Write),
            json::<NewInstructions>();
    }

    feature Records(RecordsRoute) {
        /// Returns the record of a turn that has ended, in JSON lines: its journal, from which each request and each result
        /// of all its levels can be rebuilt. Without the scope `admin` it has digests in the place of the words of the operator's
        /// hooks.
        Get "/api/threads/{}/turns/{}/record" => Record(id, turn), Needs(Read), Nothing;
        /// Lists the records of a thread, newest turn first.
        Get "/api/threads/{}/records" => Records(id), Needs(Read), Nothing;
    }

    feature Knowledge(KnowledgeRoute) {
        /// Lists the service's memories of the user, newest first.
        Get "/api/memories" => Memories, Needs(Read), Nothing;
        /// Deletes all memories of the user.
        Delete "/api/memories" => ForgetMemories, Needs(Write), Nothing;
        /// Deletes one memory of the user.
        Delete "/api/memories/{}" => ForgetMemory(memory), Needs(Write), Nothing;
        /// Lists the user's collections of documents, newest first.
        Get "/api/collections" => Collections, Needs(Read), Nothing;
        /// Creates a collection of documents.
        Post "/api/collections" => NewCollection, Needs(Write), json::<NewCollection>();
        /// Returns a collection, with the number and the size of its documents.
        Get "/api/collections/{}" => Collection(collection), Needs(Read), Nothing;
        /// Deletes a collection with all its documents.
        Delete "/api/collections/{}" => DeleteCollection(collection), Needs(Write), Nothing;
        /// Lists the documents of a collection, newest first.
        Get "/api/collections/{}/documents" => Documents(collection), Needs(Read), Nothing;
        /// Adds a document to a collection. The body is the document, in UTF-8, UTF-16 or windows-1252, whose other name is
        /// ISO-8859-1. The service keeps its text.
        Post "/api/collections/{}/documents" => AddDocument(collection), Needs(Write), Body::Document;
        /// Deletes a document.
        Delete "/api/collections/{}/documents/{}" => DeleteDocument(collection, document), Needs(Write), Nothing;
        /// Searches a collection's documents and returns the passages that match, best first.
        Get "/api/collections/{}/search" => SearchCollection(collection), Needs(Read), Nothing;
    }

    feature Shares(SharesRoute) {
        /// Makes a share link: a snapshot that nothing changes. Only this answer shows its token. A user has at most 100.
        Post "/api/threads/{}/shares" => Share(id), Needs(Write), json::<NewShare>();
        /// Lists the user's share links, newest first: those of a thread, or all.
        Get "/api/shares" => Shares, Needs(Read), Nothing;
        /// Revokes a share link. Its snapshot is deleted at once.
        Delete "/api/shares/{}" => RevokeShare(share), Needs(Write), Nothing;
        /// Returns the snapshot of a share link. The token is the only credential.
        Get "/api/shared/{}" => Shared(token), Open, Nothing;
        /// Returns the public page of a share link. It answers 404 in plain text where no link has the token, or it has ended.
        Get "/shared/{}" => SharedPage(token), Open, Nothing;
    }

    feature Workflows(WorkflowsRoute) {
        /// Lists the user's workflows, by id, then the built-in ones that none of them replaces.
        Get "/api/workflows" => Workflows, Needs(Read), Nothing;
        /// Returns a workflow with its definition: the user's own, or else the built-in one of this id.
        Get "/api/workflows/{}" => Workflow(workflow), Needs(Read), Nothing;
        /// Writes a workflow, as the next version where there is one of this id. A version never changes: a session keeps
        /// the one with which it began. The definition that is the newest version already makes no other. A user has at
        /// most 100 workflows.
        Put "/api/workflows/{}" => PutWorkflow(workflow), Needs(Write),
            json_of::<WorkflowDefinition>(MAX_DEFINITION_BYTES);
        /// Deletes a workflow. Its sessions go on. A built-in one of the same id is there again.
        Delete "/api/workflows/{}" => DeleteWorkflow(workflow), Needs(Write), Nothing;
        /// Starts a session that the client carries out, step by step, in a thread of its own. The answer has the first
        /// step and the token that ends it.
        Post "/api/workflows/{}/sessions" => StartSession(workflow), Needs(Write), json::<NewSession>();
        /// Ends the step at which a session stands, with its token, and answers with the next one. The same request again
        /// gets the same answer. After three tokens in a row that are not the step's the session has failed.
        Post "/api/workflows/{}/sessions/{}/continue" => ContinueSession(workflow, session), Needs(Write),
            json::<ContinueSession>();
        /// Ends the session that is open in a thread: it has failed, and the thread is an ordinary one again.
        Delete "/api/threads/{}/workflow-session" => EndSession(id), Needs(Write), Nothing;
    }
}
