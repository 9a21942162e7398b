//! What a turn needs from outside. Object-safe, single-threaded, boxed futures: natively the tests implement them.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use serde_json::Value;

use crate::journal::Commit;
use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::profiles::Chain;
use crate::projects::{Item, Kind};
use crate::protocol::{Event, Memory, Passage, Seq};
use crate::toolbelt::ToolSpec;
use crate::versions::Seen;

/// The ports of one turn.
#[derive(Clone)]
pub struct Ports {
    pub model: Rc<dyn Model>,
    pub tools: Rc<dyn Tools>,
    pub clock: Rc<dyn Clock>,
    pub log: Rc<dyn Log>,
}

/// Calls models.
pub trait Model {
    /// Starts a call: asks the models of a chain until one answers. Ends after [`ModelEvent::Finished`] or an error,
    /// which is that of the model that was asked last; a stream that ends otherwise was cut. `until_ms` is when the
    /// turn's time is up, on the [`Clock`]: what cannot begin before is not waited for. Dropping the stream aborts the
    /// request upstream.
    fn call(
        &self,
        request: &ModelRequest,
        chain: &Chain,
        until_ms: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>>;
}

/// What is heard of a model call.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// The model at this place of the chain is about to be asked; after an error that a request before came to. The
    /// request is made when the stream is polled again, so whoever drops it here has refused the attempt. Without it,
    /// the first one is asked.
    Asking { place: usize, after: Option<ModelError> },
    /// The first byte of its answer: nobody else is asked from here on.
    Answering,
    /// What one read of the answer brought, so that nothing is paid per token that can be paid per read.
    Events(Vec<ModelEvent>),
}

/// The tools that can run, by name. Those that the loop intercepts are not among them.
pub trait Tools {
    /// All of them, in the order in which they are offered.
    fn all(&self) -> &[Rc<dyn Tool>];
    /// The tool that carries out the calls of a declaration which a turn froze.
    fn find(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        self.all().iter().find(|tool| tool.spec().name == spec.name).map(Rc::clone)
    }
}

/// An atomic operation. It sees a narrow context, never the session, and has no access to the model.
pub trait Tool {
    /// What the tool declares about itself.
    fn spec(&self) -> &ToolSpec;
    /// Validates the arguments and runs. An error goes to the model, in words that it can act on.
    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>>;
}

/// What a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub clock: Rc<dyn Clock>,
    /// The `tool_call_id`: the same when an interrupted call of an idempotent tool runs again.
    pub operation_id: Rc<str>,
    /// Where tools of the class `workspace_write` work; none where the session has no workspace.
    pub workspace_root: Option<Rc<str>>,
    /// What the level knows of files, and what the call learns of them.
    pub seen: Rc<Seen>,
}

/// A tool's failure, told to the model (`is_error`); the model decides what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError(pub String);

/// The files of all workspaces, by whole keys: root and path.
pub trait Files {
    /// The file and what it contains, up to so many bytes: a larger one comes without. None where there is none.
    fn read(
        &self,
        key: &str,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Option<FileRead>, FilesError>>;
    /// Writes a file whole, or not at all. The operation is kept with it.
    fn write(
        &self,
        key: &str,
        body: Vec<u8>,
        only_if: OnlyIf,
        operation: &str,
    ) -> LocalBoxFuture<'static, Result<Written, FilesError>>;
    /// Deletes a file, if it is there.
    fn delete(&self, key: &str) -> LocalBoxFuture<'static, Result<(), FilesError>>;
    /// The files whose keys begin so, in the order of their keys: the first thousand.
    fn list(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<FileInfo>, FilesError>>;
    /// The folders right below a folder in which there are files, in order: the first thousand.
    fn folders(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<String>, FilesError>>;
}

/// A file, and what it contains where that was asked for.
pub type FileRead = (FileInfo, Option<Vec<u8>>);

/// A file without what it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    pub key: String,
    pub bytes: u64,
    /// Another one for other contents.
    pub version: String,
    /// The operation that wrote it, where the storage tells.
    pub operation: Option<String>,
    /// Milliseconds since 1970.
    pub updated_at: u64,
}

/// What must hold for a write to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnlyIf {
    Absent,
    Version(String),
    /// Whatever is there.
    Always,
}

/// What a write came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file's new version.
    Version(String),
    /// Nothing was written. What is there instead, if anything.
    Refused(Option<FileInfo>),
}

/// The storage did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesError(pub String);

/// The projects of one user, and what belongs to them.
pub trait Projects {
    /// What the ids of new items have in them, beside the operation: the thread, since turns of two may have one name.
    fn scope(&self) -> &str;
    /// The items of a kind, oldest first: of a project where one is named, at most [`Kind::most`] of them.
    fn list(
        &self,
        kind: Kind,
        project_id: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, ProjectsError>>;
    /// The item of this id; none where there is none of this kind.
    fn get(&self, kind: Kind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, ProjectsError>>;
    /// Writes new items, all or none. One whose id is there already stays as it is: the same operation wrote it.
    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), ProjectsError>>;
    /// Writes an item over this version of it. False where it is another one by now.
    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, ProjectsError>>;
    /// Deletes an item, and what belongs to it.
    fn delete(&self, kind: Kind, id: &str) -> LocalBoxFuture<'static, Result<(), ProjectsError>>;
}

/// The storage did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectsError(pub String);

/// The way of tools to the web.
pub trait Web {
    /// Completes when the headers of the answer are there. Follows no redirect, and adds neither cookies nor credentials.
    /// Dropping what it returns ends the request.
    fn send(&self, request: WebRequest) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>>;
    /// Reads text in a character set, by its name on the web; none for one that is not known.
    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>>;
}

/// A browser that runs the scripts of pages.
pub trait Browser {
    /// Has a page read as Markdown. The options and the answer are those of Browser Run's quick action of this name:
    /// <https://developers.cloudflare.com/browser-run/quick-actions/markdown-endpoint/>.
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>>;
}

/// A request of a tool: a POST if it has a body.
#[derive(Clone, PartialEq, Eq)]
pub struct WebRequest {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
}

/// An answer whose body is still to come.
pub struct WebReply {
    pub status: u16,
    pub content_type: Option<String>,
    pub location: Option<String>,
    /// One item per read, decompressed. Its end says nothing: a connection that was cut may end like one that is complete.
    pub body: LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
}

/// The connection failed. Why, the platform does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

/// Bytes in, text out; what is no text becomes U+FFFD.
pub trait Decode {
    /// Reads on. `last`: there is no more, so half a character is none.
    fn decode(&mut self, bytes: &[u8], last: bool) -> String;
}
/// What is remembered about one user from one thread to the next.
pub trait Memories {
    /// Remembers a text, unless it is there already. The operation is the memory's name: done again, it is the same one.
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, KnowledgeError>>;
    /// The memories that have words of the question, best first; the newest ones where nothing is asked.
    fn recall(
        &self,
        question: Option<&str>,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, KnowledgeError>>;
    /// Forgets a memory; whether it was there.
    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, KnowledgeError>>;
}

/// What became of something that was to be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// It is a memory with this id.
    Stored(String),
    /// It was one before.
    Known(String),
    /// The user has as many as may be.
    Full,
}

/// The documents of one user's collections.
pub trait Collections {
    /// The pieces of documents of these collections that have words of the question, best first.
    fn search(
        &self,
        collections: &[String],
        question: &str,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Passage>, KnowledgeError>>;
}

/// The index did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeError(pub String);

/// Time, injected.
pub trait Clock {
    /// Milliseconds since 1970. On Workers it stands still between I/O.
    fn now_ms(&self) -> u64;
    /// Completes when that much time has passed; dropping it clears the timer.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;
}

/// The turn's one way to write.
pub trait Log {
    /// Writes a commit as one transaction, numbers its events and announces them. Synchronous, so commits without an
    /// await between them are durable together. Fails when the turn is no longer this run's to write.
    fn commit(&self, commit: Commit) -> Result<(), LogError>;
    /// Announces a chunk at once, without writing it: its text is written with its model call's outcome, or before
    /// that where there is much of it.
    fn announce(&self, chunk: Event) -> Seq;
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A newer run of this turn, or a deletion, owns the log: stop without a word.
    Fenced,
    /// The storage refused; the text is for the operator.
    Storage(String),
}
