//! The hooks of a thread: the commands that list, put and delete them. A running turn keeps those that it began with.

use std::rc::Rc;

use worker::Response;

use wire::protocol::{ApiError, Hook, HookList, Owner};

use super::compose::misconfigured;
use super::limits;
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
        let shown = |hook: &Hook| Hook { instructions: None, options: Default::default(), ..hook.clone() };
        let operators = operators.all.iter().map(shown).collect();
        Ok(HookList { hooks: self.store.rules()?.hooks, operators })
    }

    /// Puts a hook in place of the one with its name, or behind all. It holds from the next turn on.
    pub fn put_hook(self: &Rc<Self>, owner: &Owner, hook: Hook) -> Result<Response, ApiError> {
        self.found(owner)?;
        let mut hooks = self.store.rules()?.hooks;
        engine::hooks::put(&mut hooks, hook.clone())?;
        self.store.transaction(|| self.store.set_hooks(&hooks))?;
        json_response(&hook)
    }

    /// Deletes a hook from the next turn on. Repeating it changes nothing.
    pub fn delete_hook(self: &Rc<Self>, owner: &Owner, name: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let mut hooks = self.store.rules()?.hooks;
        let before = hooks.len();
        hooks.retain(|hook| hook.name != name);
        if hooks.len() < before {
            self.store.transaction(|| self.store.set_hooks(&hooks))?;
        }
        no_content()
    }
}
