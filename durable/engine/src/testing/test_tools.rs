//! Tools that record their runs for the tests.

mod paid;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::scripted::Pace;
use super::support::Disk;
use crate::journal::{Answer, Asking, Entry, Fact};
use crate::ports::{Given, Input, Tool, ToolContext, ToolError, ToolReply, Tools};
use crate::toolbelt::{PermissionClass, Reads, Serves, ToolSpec, declare};
use crate::versions::Versions;
use wire::protocol::{Form, FormQuestion};

/// The longest text that one call of [`Body::Text`] reads whole, in bytes.
const MAX_READ_BYTES: usize = 2_000;

/// Tools that record their runs for the tests.
pub struct TestTools {
    tools: Vec<Rc<dyn Tool>>,
    pub ran: Rc<RefCell<Vec<String>>>,
    in_flight: Rc<Cell<u32>>,
    pub peak: Rc<Cell<u32>>,
    /// The texts that [`Body::Text`] reads, by their paths and addresses.
    pub texts: Rc<RefCell<BTreeMap<String, String>>>,
    /// The versions of the files of [`TestTools::add_versioned`], as they are now.
    pub files: Rc<RefCell<Versions>>,
    /// The spending of the tool of [`TestTools::add_paid`], in millionths of a US dollar.
    pub spent: Rc<Cell<u64>>,
    pace: Rc<Pace>,
    disk: Rc<Disk>,
}

/// The behaviour of a test tool.
#[derive(Clone, Copy)]
pub enum Body {
    Echo,
    Fail,
    Hang,
    /// Finds these addresses.
    Search(&'static [&'static str]),
    /// Reads a page, unless its address says that it is broken.
    Page,
    /// Reads a text of [`TestTools::texts`].
    Text,
    /// Writes one.
    Write,
    /// Asks for a name, and again as long as the answer is "again".
    Form,
}

/// The form of [`Body::Form`]; `state` counts the questions.
pub fn name_form(state: &str) -> Asking {
    let schema = serde_json::json!({
        "type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}, "required": ["name"],
    });
    let serde_json::Value::Object(schema) = schema else { unreachable!() };
    let question =
        FormQuestion { id: "who".to_owned(), message: "Your name?".to_owned(), schema, order: Vec::new() };
    Asking {
        form: Form { server: "test".to_owned(), questions: vec![question] },
        state: Some(state.to_owned()),
    }
}

struct TestTool {
    spec: ToolSpec,
    body: Body,
    ran: Rc<RefCell<Vec<String>>>,
    in_flight: Rc<Cell<u32>>,
    peak: Rc<Cell<u32>>,
    pace: Rc<Pace>,
    disk: Rc<Disk>,
    texts: Rc<RefCell<BTreeMap<String, String>>>,
    /// The operations that wrote texts, by the paths of these.
    written_by: Rc<RefCell<BTreeMap<String, String>>>,
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn sources(&self, result: &str) -> Vec<String> {
        let echoed = result.strip_prefix("echo");
        echoed.map(|_| vec!["the cave".to_owned(), "x".repeat(300)]).unwrap_or_default()
    }

    fn addresses(&self, result: &str) -> Vec<String> {
        result.lines().filter(|line| line.starts_with("http")).map(str::to_owned).collect()
    }

    fn content(&self, result: &str) -> Result<String, ToolError> {
        let text = result.strip_prefix("<text>\n").and_then(|rest| rest.strip_suffix("\n</text>"));
        text.map(str::to_owned).ok_or_else(|| ToolError("it is not whole".to_owned()))
    }

    fn whole(&self, arguments: &str, _: Option<&str>) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let named = serde_json::from_str::<BTreeMap<String, String>>(arguments).unwrap_or_default();
        let text = named.get("path").and_then(|path| self.texts.borrow().get(path).cloned());
        let text = text.ok_or_else(|| ToolError("it is gone".to_owned()));
        async move { text }.boxed_local()
    }

    fn writes_files(&self) -> bool {
        matches!(self.body, Body::Write)
    }

    fn converse(
        &self,
        arguments: &str,
        context: ToolContext,
        Input { given, .. }: Input,
    ) -> LocalBoxFuture<'static, ToolReply> {
        let asks = match (self.body, &given) {
            (Body::Form, None) => Some("1".to_owned()),
            (Body::Form, Some(Given { asking, answer: Answer::Result { content, .. } }))
                if content.contains("again") =>
            {
                Some(format!("{}1", asking.state.as_deref().unwrap()))
            }
            _ => None,
        };
        let answer = given.map(|given| format!("{:?} {:?}", given.asking.state, given.answer));
        let running = self.run(arguments, context);
        async move {
            match (running.await, asks) {
                (_, Some(state)) => ToolReply::Asks(Box::new(name_form(&state))),
                (Ok(text), None) => ToolReply::Ended(Ok(text + &answer.unwrap_or_default())),
                (failed, None) => ToolReply::Ended(failed),
            }
        }
        .boxed_local()
    }

    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (in_flight, peak, body) = (Rc::clone(&self.in_flight), Rc::clone(&self.peak), self.body);
        let text = format!("{} {arguments}", self.spec.name);
        self.ran.borrow_mut().push(text.clone());
        let key = context.operation_id.rsplit('_').next().unwrap();
        let is_start = |entry: &Entry| entry.at == key && matches!(entry.fact, Fact::ToolStarted { .. });
        let begun = self.spec.is_pure() || self.disk.count(is_start) > 0;
        assert!(begun, "{key} runs before its start is on disk");
        let takes_ms = self.pace.tool_ms();
        let read = self.read(arguments);
        let written = matches!(self.body, Body::Write).then(|| self.write(arguments, &context.operation_id));
        async move {
            in_flight.set(in_flight.get() + 1);
            peak.set(peak.get().max(in_flight.get()));
            context.clock.sleep(takes_ms).await;
            in_flight.set(in_flight.get() - 1);
            match body {
                Body::Echo | Body::Form => Ok(text),
                Body::Search([]) => Ok("Nothing was found.".to_owned()),
                Body::Search(found) => Ok(format!("Found:\n{}", found.join("\n"))),
                Body::Page if text.contains("broken") => Err(ToolError("it is broken".to_owned())),
                Body::Page => Ok(format!("the text of {text}")),
                Body::Text => read,
                Body::Write => written.unwrap_or_else(|| Err(ToolError("nothing was written".to_owned()))),
                Body::Fail => Err(ToolError(format!("{text} failed"))),
                Body::Hang => futures::future::pending().await,
            }
        }
        .boxed_local()
    }
}

impl TestTool {
    /// Writes the text of the arguments. A call that runs again finds its own text.
    fn write(&self, arguments: &str, operation_id: &str) -> Result<String, ToolError> {
        let given: BTreeMap<String, String> = serde_json::from_str(arguments).unwrap();
        let (path, content) = (given["path"].clone(), given["content"].clone());
        let mut texts = self.texts.borrow_mut();
        let mut by = self.written_by.borrow_mut();
        if texts.contains_key(&path) && by.get(&path).is_none_or(|by| by != operation_id) {
            return Err(ToolError(format!("there is a {path:?} already")));
        }
        by.insert(path.clone(), operation_id.to_owned());
        let told = format!("wrote {path:?}");
        texts.insert(path, content);
        Ok(told)
    }

    /// The text that the arguments name, between marks; the beginning of a long one.
    fn read(&self, arguments: &str) -> Result<String, ToolError> {
        let named = serde_json::from_str::<BTreeMap<String, String>>(arguments).unwrap_or_default();
        let name = named.into_values().next().unwrap_or_default();
        let text = self.texts.borrow().get(&name).cloned();
        let text = text.ok_or_else(|| ToolError(format!("there is no {name:?}")))?;
        Ok(match text.get(..MAX_READ_BYTES) {
            None => format!("<text>\n{text}\n</text>"),
            Some(beginning) => format!("<text>\n{beginning}\n</text>\n[and more]"),
        })
    }
}

/// Sees the file `a` at a version: the id of its operation.
/// Once a call of the tool `lose` has written this path, no file can be compared.
const UNREACHABLE: &str = "unreachable";

struct VersionedTool {
    spec: ToolSpec,
    files: Rc<RefCell<Versions>>,
}

impl Tool for VersionedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let mut files = self.files.borrow_mut();
        if !self.spec.read_only {
            files.insert("a".to_owned(), Some(context.operation_id.to_string()));
        }
        if self.spec.name == "lose" {
            files.insert(UNREACHABLE.to_owned(), None);
        }
        context.seen.saw("a", files.entry("a".to_owned()).or_insert(Some("first".to_owned())).clone());
        let told = format!("{} ran", self.spec.name);
        async move { Ok(told) }.boxed_local()
    }

    fn present_versions(
        &self,
        _: &ToolContext,
    ) -> Option<LocalBoxFuture<'static, Result<Versions, ToolError>>> {
        let files = self.files.borrow().clone();
        let versions = match files.contains_key(UNREACHABLE) {
            true => Err(ToolError("the storage did not answer".to_owned())),
            false => Ok(files),
        };
        Some(async move { versions }.boxed_local())
    }
}

impl TestTools {
    pub fn new(pace: &Rc<Pace>, disk: &Rc<Disk>) -> Self {
        let mut tools = TestTools {
            tools: Vec::new(),
            ran: Rc::default(),
            in_flight: Rc::default(),
            peak: Rc::default(),
            texts: Rc::default(),
            files: Rc::default(),
            spent: Rc::default(),
            pace: Rc::clone(pace),
            disk: Rc::clone(disk),
        };
        let safe = |name: &str| {
            let spec = crate::compose::declarations().remove(1);
            ToolSpec { name: name.to_owned(), permission_class: Some(PermissionClass::Safe), ..spec }
        };
        tools.push(safe("echo"), Body::Echo);
        tools.push(safe("fail"), Body::Fail);
        tools.push(safe("hang"), Body::Hang);
        let permission_class = Some(PermissionClass::WorkspaceWrite);
        let write = ToolSpec { permission_class, parallel_safe: false, idempotent: false, ..safe("write") };
        tools.push(write, Body::Echo);
        tools.push(ToolSpec { exclusive_lock: Some("lock".to_owned()), ..safe("locked") }, Body::Echo);
        tools.push(ToolSpec { idempotent: false, ..safe("once") }, Body::Hang);
        let permission_class = Some(PermissionClass::Secrets);
        tools.push(ToolSpec { permission_class, ..safe("secret") }, Body::Echo);
        tools.push(ToolSpec { permission_class: None, ..safe("classless") }, Body::Echo);
        tools
    }

    fn push(&mut self, spec: ToolSpec, body: Body) {
        let (ran, in_flight, peak) =
            (Rc::clone(&self.ran), Rc::clone(&self.in_flight), Rc::clone(&self.peak));
        let (pace, disk, texts) = (Rc::clone(&self.pace), Rc::clone(&self.disk), Rc::clone(&self.texts));
        let written_by = Rc::default();
        self.tools.push(Rc::new(TestTool {
            spec,
            body,
            ran,
            in_flight,
            peak,
            pace,
            disk,
            texts,
            written_by,
        }));
    }
}

impl TestTools {
    /// Adds tools of these names, which see versions of files. They take no time.
    pub fn add_versioned(&mut self, names: &[&str]) {
        for name in names {
            let mut spec = crate::compose::declarations().remove(1);
            spec.name = (*name).to_owned();
            spec.read_only = name.starts_with("read");
            spec.permission_class = Some(PermissionClass::WorkspaceWrite);
            spec.parallel_safe = false;
            self.tools.push(Rc::new(VersionedTool { spec, files: Rc::clone(&self.files) }));
        }
    }

    /// Adds a tool that searches the web and finds these addresses, and one that reads pages. Their names are their own.
    pub fn add_web(&mut self, found: &'static [&'static str]) {
        for (name, body, serves) in
            [("look_up", Body::Search(found), Serves::WebSearch), ("open_page", Body::Page, Serves::WebPage)]
        {
            let mut spec = crate::compose::declarations().remove(1);
            spec.name = name.to_owned();
            spec.permission_class = Some(PermissionClass::Network);
            spec.serves = Some(serves);
            self.push(spec, body);
        }
    }

    /// Adds a tool that reads files of a workspace, and one that reads resources of the MCP server `library`. Their names are
    /// their own.
    pub fn add_readers(&mut self) {
        for (name, class, reads, server) in [
            ("look_at", PermissionClass::WorkspaceWrite, Reads::WorkspaceFile, None),
            ("fetch_note", PermissionClass::Network, Reads::McpResource, Some("library")),
        ] {
            let spec = declare(name, class, "Reads a text.", serde_json::json!({"type": "object"}));
            let (mcp_server, reads) = (server.map(str::to_owned), Some(reads));
            self.push(ToolSpec { read_only: true, mcp_server, reads, ..spec }, Body::Text);
        }
    }

    /// Adds a tool that writes files of a workspace, as far as those are [`TestTools::texts`]. It never overwrites one.
    pub fn add_writer(&mut self) {
        let class = PermissionClass::WorkspaceWrite;
        let spec = declare("put_down", class, "Writes a text.", serde_json::json!({"type": "object"}));
        self.push(ToolSpec { parallel_safe: false, ..spec }, Body::Write);
    }

    /// Adds tools that ask for a name: one that may run again after its run was lost, one with a lock, and one that may not.
    pub fn add_forms(&mut self) {
        for (name, idempotent, lock) in
            [("form", true, None), ("form_locked", true, Some("lock")), ("form_once", false, None)]
        {
            let mut spec = crate::compose::declarations().remove(1);
            spec.name = name.to_owned();
            spec.permission_class = Some(PermissionClass::Network);
            (spec.idempotent, spec.exclusive_lock) = (idempotent, lock.map(str::to_owned));
            self.push(spec, Body::Form);
        }
    }

    /// Adds real tools.
    pub fn add(&mut self, more: impl Iterator<Item = Rc<dyn Tool>>) {
        self.tools.extend(more);
    }
}

impl Tools for TestTools {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.tools
    }
}
