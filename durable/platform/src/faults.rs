//! Faults on command, for `make faults` alone. Exists only with the feature `faults`, which no deployed build has:
//! the harness refuses to run when the Worker that is deployed contains any of this.
//!
//! Two tools whose side effects the harness records, one idempotent and one not, and a log that is struck: a message
//! that says `[[faults:KIND@N]]` has its first run stopped right after its Nth commit, for good. `kill`, `abort` and
//! `panic` are told to the harness before they happen, so that it knows what was under way; `tear` panics in the
//! middle of the Nth commit. `[[faults:spin]]` strikes each rebuilding of its turn.

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
    /// What worker 0.8.7 does not bind.
    type Abortable;

    #[wasm_bindgen(method, catch)]
    fn abort(this: &Abortable, reason: &str) -> Result<(), JsValue>;
}

thread_local! {
    static TEAR: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Where in a commit it can be torn.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// Between the outcomes and their events.
    BeforeEvents,
    /// Between the last events and the turn's end.
    BeforeEnd,
}

/// Stands at these places of every commit.
pub fn midway(place: Place) {
    if TEAR.get() == Some(place) {
        TEAR.set(None);
        strike("a commit is torn");
    }
}

#[expect(clippy::panic, reason = "what a panic leaves behind is what is tested")]
fn strike(what: &str) -> ! {
    panic!("faults: {what}")
}

/// Gives each instance prompts of its own, as a deploy between two runs of a turn does. A level that took its prompt from
/// the code instead of the journal would then belong to other steps, and its turn would end as `interrupted`.
fn edit_prompts() {
    thread_local! {
        static EDITED: Cell<bool> = const { Cell::new(false) };
    }
    if !EDITED.replace(true) {
        engine::turn::prompt::edit(&format!("\nEdition {}.", js_sys::Math::random()));
    }
}

/// The ports with a log that can be struck.
pub fn struck(ports: Ports, state: &State, env: &Env) -> Ports {
    edit_prompts();
    let log = Struck {
        inner: ports.log,
        object: AsRef::<JsValue>::as_ref(state.as_raw()).clone(),
        url: url(env),
        turn_id: RefCell::default(),
        when: Cell::new(None),
        commits: Cell::new(0),
        stopped: Cell::new(false),
    };
    Ports { log: Rc::new(log), ..ports }
}

fn url(env: &Env) -> String {
    env.var(URL).map(|url| url.to_string()).unwrap_or_default()
}

/// At which commit.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// Counted from 1.
    Commit(u32),
    /// The turn's last.
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
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
    when: Cell<Option<(Kind, At)>>,
    commits: Cell<u32>,
    /// Nothing is written any more: the run stands where the strike found it.
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
        let place = if commit.end.is_some() { Place::BeforeEnd } else { Place::BeforeEvents };
        TEAR.set((now == Some(Kind::Tear)).then_some(place));
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
}

impl Struck {
    fn carry_out(&self, kind: Kind) {
        let what = match kind {
            Kind::Kill => "kill",
            Kind::Abort => "abort",
            Kind::Panic => "panic",
            Kind::Tear => return,
        };
        let (url, object) = (self.url.clone(), self.object.clone());
        let news = json!({ "kind": what, "turn_id": *self.turn_id.borrow() });
        worker::wasm_bindgen_futures::spawn_local(async move {
            if let Err(error) = tell(&format!("{url}/strike"), &news).await {
                worker::console_error!("faults: {error}");
            }
            match kind {
                Kind::Panic => strike("a panic in the shell"),
                // From a task of its own: it ends whatever is on the stack.
                Kind::Abort => {
                    let abort = move || drop(object.unchecked_into::<Abortable>().abort("faults"));
                    gloo_timers::callback::Timeout::new(0, abort).forget();
                }
                Kind::Kill | Kind::Tear => {}
            }
        });
    }
}

/// Stands in each rebuilding of a turn. A message that says `[[faults:spin]]` makes it spin without end, as a rebuilding
/// does that the platform ends for its time.
pub fn at_rebuild(spec: &TurnSpec) {
    while spec.content.text().contains("[[faults:spin]]") {
        std::hint::spin_loop();
    }
}

fn read(content: &str) -> Option<(Kind, At)> {
    let (_, rest) = content.split_once("[[faults:")?;
    let (kind, at) = rest.split_once("]]")?.0.split_once('@')?;
    let kind = match kind {
        "kill" => Kind::Kill,
        "abort" => Kind::Abort,
        "panic" => Kind::Panic,
        "tear" => Kind::Tear,
        _ => return None,
    };
    let at = match at {
        "end" => At::End,
        number => At::Commit(number.parse().ok()?),
    };
    Some((kind, at))
}

/// The tools of the deployment and those whose side effects are recorded.
pub fn with_recorders(tools: &dyn Tools, env: &Env) -> Rc<dyn Tools> {
    let recorder = |name, idempotent| Rc::new(Recorder { spec: spec(name, idempotent), url: url(env) });
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
        permission_class: Some(PermissionClass::Safe),
        parallel_safe: true,
        exclusive_lock: None,
        idempotent,
        mcp_server: None,
        mcp_tool: None,
        timeout_ms: Some(10_000),
        runs_at: RunsAt::Service,
        ask: false,
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
