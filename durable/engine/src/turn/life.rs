//! The lives of agents in a turn: the level of an agent begins with its life, and leaves it as hooks and calls changed it.

use std::collections::BTreeMap;

use super::Turn;
use super::hooking::Judge;
use super::level::Level;
use crate::journal::{AgentLife, HookState, KnownFile, MAIN, MAX_KNOWN_FILES};
use crate::record::keys::Digest;
use wire::protocol::{Hook, MAX_HOOK_STATE_BYTES};

/// The most states of hooks that do not watch a level, which its agent's life keeps: an agent has that many of an operator and
/// of a thread. States of hooks that are gone are among them until others take their places.
const MAX_OTHER_STATES: usize = 32;

impl Turn {
    /// The life of the agent that a level is, as the level leaves it. None for a level that is no agent, and where nothing has
    /// changed.
    pub(crate) fn life_after(&self, level: &Level) -> Option<AgentLife> {
        let before = level.life()?;
        let is_main = self.maker(level) == MAIN;
        let own = level.own_hooks().filter(|_| is_main).map(|hook| Hook::clone(hook));
        let known_files = self.files_after(level, before);
        let workspace = if known_files.is_empty() { String::new() } else { self.workspace() };
        let hook_states = self.states_after(level);
        let life = AgentLife { hooks: own.collect(), hook_states, workspace, known_files };
        (life != *before).then_some(life)
    }

    /// The life with which `main` begins, with the files that its history shows.
    pub(super) fn life_of_main(&self) -> AgentLife {
        let life = self.spec.setting.life.as_deref().cloned().unwrap_or_default();
        self.life_here(life.within(|turn_id| self.history.iter().any(|(id, _)| id.turn_id == turn_id)))
    }

    /// A life without the files of another workspace.
    pub(crate) fn life_here(&self, life: AgentLife) -> AgentLife {
        match life.workspace == self.workspace() {
            true => life,
            false => AgentLife { workspace: String::new(), known_files: BTreeMap::new(), ..life },
        }
    }

    /// The digest of the turn's workspace; empty where it has none.
    fn workspace(&self) -> String {
        let root = self.spec.policy.workspace_root.as_deref();
        root.map(|root| Digest::new().with(root).hex()).unwrap_or_default()
    }

    fn states_after(&self, level: &Level) -> Vec<HookState> {
        let about = level.path.step(0);
        let state = |(index, hook): (usize, &Hook)| {
            let (state, has_quit) = self.hook_state(level, &about, index);
            let (lasts, has_ended) = match (self.parts.judge)(hook) {
                Judge::Rule(rule) => (rule.lasts(), rule.has_ended(hook, level)),
                Judge::Model(_) => (true, false),
            };
            let state = HookState {
                hook: hook.name.clone(),
                origin: level.origin(index),
                definition: hook.digest(),
                state: Some(state).filter(|state| state.len() <= MAX_HOOK_STATE_BYTES).unwrap_or_default(),
                has_quit: has_quit || has_ended,
            };
            let is_kept = state.has_quit || !state.state.is_empty() || level.has_equal_behind(index);
            (lasts && is_kept).then_some(state)
        };
        let states = level.hooks().iter().map(|hook| &**hook).enumerate().filter_map(state);
        let states: Vec<HookState> = states.collect();
        // An agent that answers a person has hooks that do not watch it where another agent asks it, and the other way round.
        let is_here = |other: &HookState| {
            let is_it = |(index, hook): (usize, &std::rc::Rc<Hook>)| {
                level.origin(index) == other.origin && hook.digest() == other.definition
            };
            level.hooks().iter().enumerate().any(is_it)
        };
        let before = level.life().map(|life| life.hook_states.as_slice()).unwrap_or_default();
        let others = before.iter().filter(|other| !is_here(other)).take(MAX_OTHER_STATES).cloned();
        states.into_iter().chain(others).collect()
    }

    /// The state of a hook's copy in a level, and whether it has quit: as the level changed it, else as it began.
    pub(super) fn hook_state(&self, level: &Level, about: &str, index: usize) -> (String, bool) {
        if let Some((state, has_quit)) = self.record.borrow().hooks.copy(about, index) {
            return (state.to_owned(), has_quit);
        }
        let begun = level.begun_state(index);
        begun.map(|begun| (begun.state.clone(), begun.has_quit)).unwrap_or_default()
    }

    /// The files that an agent knows: first those of this turn, where they are too many.
    fn files_after(&self, level: &Level, before: &AgentLife) -> BTreeMap<String, KnownFile> {
        let known = level.known_files().iter().map(|(path, version)| {
            let new = || KnownFile { version: version.clone(), turn_id: self.spec.turn_id.clone() };
            (path.clone(), before.known_files.get(path).cloned().unwrap_or_else(new))
        });
        let (new, old): (Vec<_>, Vec<_>) = known.partition(|(_, file)| file.turn_id == self.spec.turn_id);
        new.into_iter().chain(old).take(MAX_KNOWN_FILES).collect()
    }
}
