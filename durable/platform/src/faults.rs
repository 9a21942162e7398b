//! Faults on command, for `make faults`. The module exists only with the feature `faults`, which no deployed build has
//! (`make release` looks for it there). It does nothing unless the variable `FAULTS_URL` says where the harness listens.
//!
//! It has two tools whose side effects the harness records (one idempotent, one not), and a log that strikes. A message
//! with `[[faults:KIND@N]]` stops its first run for good right after the run's Nth commit. The log tells the harness of
//! a `kill`, `abort` or `panic` before it happens, so that the harness knows which calls were under way. `tear` panics
//! in the middle of the Nth commit. `[[faults:spin]]` strikes each rebuilding of its turn.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json, value::RawValue};
use wasm_bindgen::prelude::*;
use worker::{Env, Fetch, Method, Request, RequestInit, State};

use engine::journal::{Commit, Fact, TurnSpec};
use engine::ports::{Log, LogError, Ports, Tool, ToolContext, ToolError, Tools};
use engine::toolbelt::{PermissionClass, RunsAt, ToolSpec};
use wire::model::RawValueEq;
use wire::protocol::{Event, Seq};

/// The variable that says where the harness listens.
const URL: &str = "FAULTS_URL";

#[wasm_bindgen]
extern "C" {
    /// `DurableObjectState.abort`, which worker 0.8.7 does not bind.
    type Abortable;

    #[wasm_bindgen(method, catch)]
    fn abort(this: &Abortable, reason: &str) -> Result<(), JsValue>;
}

thread_local! {
    static TEAR: Cell<Option<TearPoint>> = const { Cell::new(None) };
}

/// The points at which a commit can be torn.
#[derive(Clone, Copy, PartialEq)]
pub enum TearPoint {
    /// Between the outcomes and their events.
    BeforeEvents,
    /// Between the last events and the turn's end.
    BeforeEnd,
}

/// Storage calls this at each of these points of every commit.
pub fn midway(point: TearPoint) {
    if TEAR.get() == Some(point) {
        TEAR.set(None);
        strike("a commit is torn");
    }
}

#[expect(clippy::panic, reason = "the tests need a real panic")]
fn strike(what: &str) -> ! {
    panic!("faults: {what}")
}

/// Gives each instance its own prompts, as a deploy between two runs of a turn does. If a level took its prompt from
/// the code instead of the journal, its steps would not fit any more, and its turn would end as `interrupted`.
fn edit_prompts() {
    thread_local! {
        static EDITED: Cell<bool> = const { Cell::new(false) };
    }
    if !EDITED.replace(true) {
        engine::turn::edit_prompts(&format!("\nEdition {}.", js_sys::Math::random()));
    }
}

/// The ports with a log that can be struck.
pub fn struck(ports: Ports, state: &State, env: &Env) -> Ports {
    let Some(url) = url(env) else { return ports };
    edit_prompts();
    let log = Struck {
        inner: ports.log,
        object: AsRef::<JsValue>::as_ref(state.as_raw()).clone(),
        url,
        turn_id: RefCell::default(),
        when: Cell::new(None),
        commits: Cell::new(0),
        stopped: Cell::new(false),
    };
    Ports { log: Rc::new(log), ..ports }
}

/// Where the harness listens; none where nobody asked for faults.
fn url(env: &Env) -> Option<String> {
    env.var(URL).ok().map(|url| url.to_string())
}

/// The commit at which the fault strikes.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// The commit with this number, from 1 on.
    Commit(u32),
    /// The last commit of the turn.
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Kill,
    Abort,
    Panic,
    Tear,
}

struct Struck {
    inner: Rc<dyn Log>,
    object: JsValue,
    url: String,
    turn_id: RefCell<String>,
    when: Cell<Option<(Fault, At)>>,
    commits: Cell<u32>,
    /// The log refuses every commit after a strike, so that the run stays where the strike found it.
    stopped: Cell<bool>,
}

impl Log for Struck {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        if self.stopped.get() {
            return Err(LogError::Fenced);
        }
        // Only the first run has entry 0, so only the first run is struck.
        let started = commit.entries.iter().find_map(|entry| match &entry.fact {
            Fact::Started(spec) => Some((spec.turn_id.clone(), read(&spec.content.text()))),
            _ => None,
        });
        if let Some((turn_id, when)) = started {
            self.turn_id.replace(turn_id);
            self.when.set(when);
        }
        self.commits.set(self.commits.get() + 1);
        let is_now = |at: At| match at {
            At::Commit(number) => number == self.commits.get(),
            At::End => commit.end.is_some(),
        };
        let now = self.when.get().filter(|(_, at)| is_now(*at)).map(|(kind, _)| kind);
        let point = if commit.end.is_some() { TearPoint::BeforeEnd } else { TearPoint::BeforeEvents };
        TEAR.set((now == Some(Fault::Tear)).then_some(point));
        let written = self.inner.commit(commit);
        TEAR.set(None);
        if let Some(kind) = now {
            self.stopped.set(true);
            self.carry_out(kind);
        }
        written
    }

    fn announce(&self, chunk: Event) -> Seq {
        self.inner.announce(chunk)
    }

    fn warn(&self, text: &str) {
        self.inner.warn(text);
    }
}

impl Struck {
    fn carry_out(&self, kind: Fault) {
        let what = match kind {
            Fault::Kill => "kill",
            Fault::Abort => "abort",
            Fault::Panic => "panic",
            Fault::Tear => return,
        };
        let (url, object) = (self.url.clone(), self.object.clone());
        let news = json!({ "kind": what, "turn_id": *self.turn_id.borrow() });
        worker::wasm_bindgen_futures::spawn_local(async move {
            if let Err(error) = tell(&format!("{url}/strike"), &news).await {
                worker::console_error!("faults: {error}");
            }
            match kind {
                Fault::Panic => strike("a panic in the object"),
                // A task of its own aborts the object, because an abort ends all code on the stack.
                Fault::Abort => {
                    let abort = move || drop(object.unchecked_into::<Abortable>().abort("faults"));
                    gloo_timers::callback::Timeout::new(0, abort).forget();
                }
                Fault::Kill | Fault::Tear => {}
            }
        });
    }
}

/// Every rebuilding of a turn calls this. A message with `[[faults:spin]]` makes the rebuilding spin without end, until
/// the platform ends it for its time.
pub fn at_rebuild(spec: &TurnSpec, env: &Env) {
    while url(env).is_some() && spec.content.text().contains("[[faults:spin]]") {
        std::hint::spin_loop();
    }
}

fn read(content: &str) -> Option<(Fault, At)> {
    let (_, rest) = content.split_once("[[faults:")?;
    let (kind, at) = rest.split_once("]]")?.0.split_once('@')?;
    let kind = match kind {
        "kill" => Fault::Kill,
        "abort" => Fault::Abort,
        "panic" => Fault::Panic,
        "tear" => Fault::Tear,
        _ => return None,
    };
    let at = match at {
        "end" => At::End,
        number => At::Commit(number.parse().ok()?),
    };
    Some((kind, at))
}

/// The tools of the deployment and those whose side effects are recorded.
pub fn with_recorders(tools: Rc<dyn Tools>, env: &Env) -> Rc<dyn Tools> {
    let Some(url) = url(env) else { return tools };
    let recorder = |name, idempotent| Rc::new(Recorder { spec: spec(name, idempotent), url: url.clone() });
    let mut all = tools.all().to_vec();
    all.push(recorder("record_again", true));
    all.push(recorder("record_once", false));
    Rc::new(Recorders(all))
}

struct Recorders(Vec<Rc<dyn Tool>>);

impl Tools for Recorders {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.0
    }
}

struct Recorder {
    spec: ToolSpec,
    url: String,
}

fn spec(name: &str, idempotent: bool) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"label": {"type": "string"}}}).to_string();
    ToolSpec {
        name: name.to_owned(),
        description: "Leaves a mark.".to_owned(),
        input_schema: Rc::new(RawValueEq(
            RawValue::from_string(schema).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        )),
        given_schema: None,
        permission_class: Some(PermissionClass::Network),
        parallel_safe: true,
        exclusive_lock: None,
        read_only: false,
        idempotent,
        mcp_server: None,
        mcp_tool: None,
        client_name: None,
        timeout_ms: Some(10_000),
        costs: false,
        runs_at: RunsAt::Service,
        ask: false,
        serves: None,
        reads: None,
    }
}

impl Tool for Recorder {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let url = format!("{}/record", self.url);
        let mark = json!({
            "tool": self.spec.name,
            "operation_id": context.operation_id.as_ref(),
            "arguments": arguments,
        });
        async move {
            let answer = tell(&url, &mark).await.map_err(|error| ToolError(error.to_string()))?;
            if answer.get("panic").is_some_and(|panic| panic == true) {
                strike("a panic in a tool");
            }
            Ok(answer.get("result").and_then(Value::as_str).unwrap_or_default().to_owned())
        }
        .boxed_local()
    }
}

async fn tell(url: &str, what: &Value) -> worker::Result<Value> {
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(what.to_string().into()));
    Fetch::Request(Request::new_with_init(url, &init)?).send().await?.json().await
}
