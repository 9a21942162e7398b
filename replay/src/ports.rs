//! The engine's ports over a record.

use std::cell::RefCell;
use std::rc::Rc;

use futures::future::{LocalBoxFuture, ready};
use futures::stream::{self, LocalBoxStream};
use futures::{FutureExt, StreamExt};

use engine::journal::{Commit, Entry, Fact, ModelOutcome, TurnEnd};
use engine::ports::{
    Clock, Heard, Input, Log, LogError, Model, Ports, Tool, ToolContext, ToolError, ToolReply, Tools,
};
use engine::profiles::Chain;
use engine::toolbelt::{Charge, ToolSpec};
use engine::versions::Versions;
use wire::model::{Message, ModelError, ModelEvent, ModelRequest};
use wire::protocol::{Event, Seq};

use crate::agents::Kept;
use crate::script::{Course, Script};

/// The things that the engine has written in the replay.
#[derive(Default)]
pub struct Written {
    pub entries: RefCell<Vec<Entry>>,
    pub end: RefCell<Option<TurnEnd>>,
    /// Each request, in the order in which the engine made them.
    pub requests: RefCell<Vec<ModelRequest>>,
}

/// The ports of a replay.
pub fn ports(script: &Rc<Script>, written: &Rc<Written>) -> Ports {
    let (script, written) = (Rc::clone(script), Rc::clone(written));
    Ports {
        model: Rc::new(Models(Rc::clone(&script), Rc::clone(&written))),
        tools: Rc::new(Recorded(Rc::clone(&script), Rc::clone(&written))),
        clock: Rc::new(Hands(Rc::clone(&script))),
        agents: Rc::new(Kept(Rc::clone(&script))),
        log: Rc::new(Journal(script, written)),
    }
}

struct Models(Rc<Script>, Rc<Written>);

/// An item of a model's stream, and the gate before it.
type Item = (Option<String>, Result<Heard, ModelError>);

impl Model for Models {
    fn call(
        &self,
        request: &ModelRequest,
        _: &Chain,
        _: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>> {
        self.1.requests.borrow_mut().push(request.clone());
        let says = |words: &wire::protocol::Content| {
            request
                .messages
                .iter()
                .any(|message| matches!(&**message, Message::User { content } if content == words))
        };
        let (items, hangs) = items(self.0.course(&request.system, says));
        let script = Rc::clone(&self.0);
        let said = stream::unfold(items.into_iter(), move |mut items| {
            let script = Rc::clone(&script);
            async move {
                let Some((gate, item)) = items.next() else {
                    return if hangs { futures::future::pending().await } else { None };
                };
                if let Some(key) = gate {
                    script.gate(&key).await;
                }
                Some((item, items))
            }
        });
        said.boxed_local()
    }
}

/// The stream of a recorded call, and whether it hangs at its end.
fn items(Course { retries, end }: Course) -> (Vec<Item>, bool) {
    let last = end.as_ref().map(|(.., asked)| *asked);
    let place = retries.first().map(|retry| retry.failed).or(last).unwrap_or(0);
    let mut items: Vec<Item> = vec![(None, Ok(Heard::Asking { place, after: None }))];
    for retry in retries {
        items.push((Some(retry.key), Ok(Heard::Asking { place: retry.asked, after: Some(retry.error) })));
    }
    let Some((key, outcome, _)) = end else { return (items, true) };
    let text = |text: String| (!text.is_empty()).then_some(ModelEvent::Text(text));
    match outcome {
        ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply) => {
            items.push((Some(key), Ok(Heard::Answering)));
            let events = text(reply.text.clone()).into_iter().chain([ModelEvent::Finished(reply)]);
            items.push((None, Ok(Heard::Events(events.collect()))));
        }
        ModelOutcome::Failed { error, said } => {
            let said = text(said).into_iter().collect();
            items.push((Some(key), Ok(Heard::Events(said))));
            items.push((None, Err(error)));
        }
    }
    (items, false)
}

/// The tools of the turn: each of them gives its recorded results.
struct Recorded(Rc<Script>, Rc<Written>);

impl Tools for Recorded {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &[]
    }

    fn changed_files(
        &self,
        context: &ToolContext,
        _: Rc<Versions>,
    ) -> Option<LocalBoxFuture<'static, Result<Versions, ToolError>>> {
        let (script, step) = (Rc::clone(&self.0), Rc::clone(&context.operation_id));
        let compared = async move {
            let Some((key, changed, failure)) = script.compared(&step) else { return Ok(Versions::new()) };
            script.gate(&key).await;
            failure.map_or(Ok(changed), |why| Err(ToolError(why)))
        };
        Some(compared.boxed_local())
    }

    fn find(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        let (script, written) = (Rc::clone(&self.0), Rc::clone(&self.1));
        Some(Rc::new(RecordedTool { spec: spec.clone(), script, written }))
    }
}

struct RecordedTool {
    spec: ToolSpec,
    script: Rc<Script>,
    written: Rc<Written>,
}

impl Tool for RecordedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn charge(&self, arguments: &str) -> Option<Charge> {
        self.script.charge(&self.spec.name, arguments)
    }

    fn addresses(&self, result: &str) -> Vec<String> {
        self.script.addresses(result)
    }

    fn result_in_words(&self, _: &str) -> String {
        self.script.answer_in_place().unwrap_or_default()
    }

    fn content(&self, result: &str) -> Result<String, ToolError> {
        self.script.template(result, &self.written.entries.borrow())
    }

    fn whole(&self, arguments: &str, _: Option<&str>) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        ready(self.script.restored(arguments, &self.written.entries.borrow())).boxed_local()
    }

    fn writes_files(&self) -> bool {
        self.script.writes_dumps(&self.spec.name)
    }

    fn run(&self, _: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let script = Rc::clone(&self.script);
        async move {
            let Some((key, end)) = script.result(&context.operation_id) else {
                return futures::future::pending().await;
            };
            script.gate(&key).await;
            end.paid_microusd.into_iter().for_each(|microusd| context.paid.note(microusd));
            for (path, version) in end.versions {
                context.seen.saw(&path, version);
            }
            if end.is_error { Err(ToolError(end.content)) } else { Ok(end.content) }
        }
        .boxed_local()
    }

    /// Asks what the recorded call asked, form after form, and has its result then.
    fn converse(
        &self,
        arguments: &str,
        context: ToolContext,
        _: Input,
    ) -> LocalBoxFuture<'static, ToolReply> {
        let asked = self.written.entries.borrow();
        let next = self.script.next_form(&context.operation_id, &asked);
        let Some((key, asking)) = next else {
            return self.run(arguments, context).map(ToolReply::Ended).boxed_local();
        };
        let script = Rc::clone(&self.script);
        async move {
            script.gate(&key).await;
            ToolReply::Asks(asking)
        }
        .boxed_local()
    }
}

struct Hands(Rc<Script>);

impl Clock for Hands {
    fn now_ms(&self) -> u64 {
        self.0.now_ms.get()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.0.sleep(ms).map(|_| ()).boxed_local()
    }
}

struct Journal(Rc<Script>, Rc<Written>);

impl Log for Journal {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let Commit { entries, events, end, .. } = commit;
        let started = entries.iter().filter_map(|entry| match entry.fact {
            Fact::ModelStarted { attempt, .. } => Some((entry.at.clone(), attempt)),
            _ => None,
        });
        self.0.begun.borrow_mut().extend(started);
        let ids = events.into_iter().filter_map(|(_, event)| match event {
            Event::ToolCallUpdate { tool_call_id, .. } => Some(vec![tool_call_id]),
            Event::ApprovalRequest { approval_id, tool_call_id, .. } => Some(vec![approval_id, tool_call_id]),
            Event::LimitRequest { approval_id, .. } => Some(vec![approval_id]),
            _ => None,
        });
        self.0.ids.borrow_mut().extend(ids.flatten());
        self.1.entries.borrow_mut().extend(entries);
        if let Some(end) = end {
            self.1.end.replace(Some(*end));
        }
        Ok(())
    }

    fn announce(&self, _: Event) -> Seq {
        0
    }

    fn warn(&self, _: &str) {}
}
