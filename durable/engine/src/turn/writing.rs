//! The tools of a running turn, for all of its levels: its clock, its commits, its checks.

use std::rc::Rc;

use futures::lock::Mutex;

use super::{Halt, Turn};
use crate::journal::{Commit, Entry, Fact, Parking, PartChange};
use crate::ports::LogError;
use crate::record::charges::Charges;
use crate::toolbelt::{self, OutputSchema, ToolSpec};
use wire::protocol::{AgentState, Event};

impl Turn {
    /// How long the turn has been running, in milliseconds; outages between its runs are left out.
    pub fn elapsed_ms(&self) -> u64 {
        self.earlier_ms + self.ports.clock.now_ms().saturating_sub(self.began_ms)
    }

    /// How long the turn may be running, with all that a person granted.
    pub fn wall_clock_ms(&self) -> u64 {
        self.record.borrow().budget.limits().wall_clock_ms
    }

    /// When the turn's time is up, on the clock of this run.
    pub(super) fn until_ms(&self) -> u64 {
        let left_ms = self.wall_clock_ms().saturating_sub(self.earlier_ms);
        self.began_ms.saturating_add(left_ms)
    }

    /// A model call's answer has begun: notes the time of its first word.
    pub(super) fn answering(&self, at: &str) {
        let elapsed_ms = self.elapsed_ms();
        if let Some(open) = self.record.borrow_mut().models.get_mut(at) {
            open.first_byte_ms.get_or_insert(elapsed_ms.saturating_sub(open.since_ms));
        }
    }

    pub(crate) fn entry(&self, at: &str, fact: Fact) -> Entry {
        Entry { at: at.to_owned(), elapsed_ms: self.elapsed_ms(), fact }
    }

    /// Writes and applies at once, in any state of the turn, together with all that was gathered before.
    pub(super) fn write(&self, commit: Commit) -> Result<(), LogError> {
        if !self.gathered.is_empty()? {
            self.gather(commit);
            return self.flush();
        }
        // A write that fails has changed nothing here, so the run may go on.
        let commit = self.unparking(commit);
        let (entries, told) = (commit.entries.clone(), PartChange::of(&commit));
        self.ports.log.commit(commit)?;
        self.apply(&entries, told);
        Ok(())
    }

    /// Applies, and writes with all that this poll commits, unless the turn was stopped: after a stop, levels write
    /// nothing.
    pub(crate) fn commit(&self, commit: Commit) -> Result<(), Halt> {
        self.alive()?;
        self.gather(commit);
        if self.gathered.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    /// Applies a commit that the next write writes.
    pub(super) fn gather(&self, commit: Commit) {
        let commit = self.unparking(commit);
        self.apply(&commit.entries, PartChange::of(&commit));
        self.gathered.add(commit);
    }

    fn apply(&self, entries: &[Entry], told: Vec<PartChange>) {
        // A call may wait for the money that another one gives back.
        let gives_back = {
            let mut record = self.record.borrow_mut();
            let gives_back = entries.iter().any(|entry| match entry.fact {
                Fact::ModelEnded { .. } | Fact::ModelDropped => true,
                Fact::ToolEnded(_) => Charges(&record).charge_of(&entry.at).is_some(),
                _ => false,
            });
            entries.iter().for_each(|entry| record.apply(entry));
            record.shown.add(told);
            gives_back
        };
        if gives_back {
            self.wake_waiters();
        }
    }

    /// The commit, which ends the parking of a parked turn.
    fn unparking(&self, mut commit: Commit) -> Commit {
        if self.record.borrow().parked {
            let count = self.record.borrow().parkings;
            commit.entries.insert(0, self.entry("", Fact::Unparked { count }));
            commit.parking = Some(Parking::Over);
        }
        commit
    }

    pub(crate) fn alive(&self) -> Result<(), Halt> {
        if self.record.borrow().stop.is_some() { Err(Halt::Stopped) } else { Ok(()) }
    }

    /// Refuses when the turn was stopped or its time is up (N-039, N-144).
    pub(super) fn check(&self) -> Result<(), Halt> {
        self.alive()?;
        let exceeded = self.record.borrow().budget.wall_clock(self.elapsed_ms());
        exceeded.map_or(Ok(()), |exceeded| self.exceed(exceeded))
    }

    pub(super) fn agent_state(&self, tool: Option<&str>) -> Event {
        self.in_state(AgentState::Thinking, tool)
    }

    pub(crate) fn in_state(&self, state: AgentState, tool: Option<&str>) -> Event {
        Event::AgentState {
            state,
            context_type: self.spec.context_type.clone(),
            details: tool.map(|name| format!("executing_tool:{name}")),
        }
    }

    /// Checks the arguments of an MCP tool or a client tool against its schema, as far as it compiles here. The error goes to
    /// the model.
    pub(super) fn check_arguments(&self, spec: &ToolSpec, arguments: &str) -> Result<(), String> {
        let known = self.schemas.borrow().get(&spec.name).cloned();
        let schema = known.unwrap_or_else(|| {
            let (schema, problem) = OutputSchema::compile_tool(&spec.input_schema);
            if let Some(problem) = problem {
                let unchecked = if schema.is_some() { "the patterns" } else { "the arguments" };
                self.ports
                    .log
                    .warn(&format!("{unchecked} of the tool {} are not checked: {problem}", spec.name));
            }
            let schema = schema.map(Rc::new);
            self.schemas.borrow_mut().insert(spec.name.clone(), schema.clone());
            schema
        });
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        let checked = match schema {
            Some(schema) => schema.check(arguments),
            None => toolbelt::is_object(arguments),
        };
        checked.map_err(|problem| format!("invalid arguments: {problem}"))
    }

    pub(super) fn lock(&self, name: &str) -> Rc<Mutex<()>> {
        Rc::clone(self.locks.borrow_mut().entry(name.to_owned()).or_default())
    }
}
