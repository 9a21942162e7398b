//! The hooks of a thread: the commands that list, put and delete them. A running turn keeps those that it began with.

use std::rc::Rc;

use worker::Response;

use engine::journal::{HookOrigin, MAIN};
use wire::protocol::{ApiError, Hook, HookList, Owner};

use super::limits;
use super::respond::misconfigured;
use super::respond::{json_response, no_content};
use super::thread::Thread;

impl Thread {
    /// The hooks of the thread, and those of the operator without their words.
    pub fn hooks(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        json_response(&self.hook_list()?)
    }

    /// The hooks of the thread, and those of the operator without their words.
    pub fn hook_list(&self) -> Result<HookList, ApiError> {
        let operators = self.deployment.once(|var| limits::hooks(var)).map_err(misconfigured)?;
        let life = self.store.life(&self.store.path()?, MAIN)?;
        let with_end = |origin| {
            let life = &life;
            move |hook: Hook| Hook { has_quit: life.has_quit(&hook, origin), ..hook }
        };
        let shown = |hook: Hook| Hook { instructions: None, options: Default::default(), ..hook };
        let operators =
            operators.all.iter().cloned().map(with_end(HookOrigin::Operator)).map(shown).collect();
        let hooks = self.store.rules()?.hooks.into_iter().map(with_end(HookOrigin::Given)).collect();
        let own = life.hooks.iter().cloned().map(with_end(HookOrigin::Own)).collect();
        Ok(HookList { hooks, operators, own })
    }

    /// Puts a hook in place of the one with its name, or behind all. It holds from the next turn on, with a life of its own:
    /// a hook that had quit is asked again.
    pub fn put_hook(self: &Rc<Self>, owner: &Owner, hook: Hook) -> Result<Response, ApiError> {
        self.found(owner)?;
        let mut hooks = self.store.rules()?.hooks;
        let hook = Hook { put_at: Some(self.clock.now_ms()), ..hook };
        engine::hooks::put(&mut hooks, hook.clone())?;
        self.store.transaction(|| self.store.set_hooks(&hooks))?;
        json_response(&hook)
    }

    /// Deletes a hook of the thread from the next turn on, or one of this name that `main` has made itself. Repeating it
    /// changes nothing.
    pub fn delete_hook(self: &Rc<Self>, owner: &Owner, name: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let mut hooks = self.store.rules()?.hooks;
        let before = hooks.len();
        hooks.retain(|hook| hook.name != name);
        if hooks.len() < before {
            self.store.transaction(|| self.store.set_hooks(&hooks))?;
            return no_content();
        }
        let is_it = |hook: &Hook| hook.name == name;
        if self.store.life(&self.store.path()?, MAIN)?.hooks.iter().any(is_it) {
            // A turn that has no end yet would write the hook again.
            let (_, path) = self.end_of_path(owner)?;
            self.store.transaction(|| self.store.forget_own_hook(&path, name))?;
        }
        no_content()
    }
}
