//! The lives of agents in a turn: the level of an agent begins with its life, and leaves it as hooks and calls changed it.

use std::collections::BTreeMap;

use super::Turn;
use super::hooking::Judge;
use super::level::Level;
use crate::journal::{AgentLife, HookState, KnownFile, MAIN, MAX_KNOWN_FILES};
use crate::record::keys::Digest;
use wire::protocol::Hook;

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
                definition: hook.digest(),
                state,
                has_quit: has_quit || has_ended,
            };
            (lasts && (state.has_quit || !state.state.is_empty())).then_some(state)
        };
        level.hooks().iter().map(|hook| &**hook).enumerate().filter_map(state).collect()
    }

    /// The state of a hook's copy in a level, and whether it has quit: as the level changed it, else as it began.
    pub(super) fn hook_state(&self, level: &Level, about: &str, index: usize) -> (String, bool) {
        if let Some((state, has_quit)) = self.record.borrow().hooks.copy(about, index) {
            return (state.to_owned(), has_quit);
        }
        let hooks = level.hooks().iter().map(|hook| &**hook);
        let begun = level.life().and_then(|life| life.state_of(hooks, index));
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
