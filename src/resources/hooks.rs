//! The hooks of a thread.

use super::words::*;
use engine::hooks::MAX_HOOKS_BYTES;
use wire::protocol::NewHook;

#[cfg(target_arch = "wasm32")]
use engine::hooks::{check_name, define};
#[cfg(test)]
use wire::protocol::{Hook, HookList};

routes! {
    /// Lists a thread's hooks, in the order in which they are asked, and the operator's. The operator's come without
    /// `instructions` and `options`. See docs/hooks.md.
    Get "/api/threads/{}/hooks" => Hooks(id), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Hooks),
        |row| row.in_thread().gives::<HookList>(200);
    /// Puts a hook, in place of the one with its name or behind all. It watches the thread's turns from the next one on. A
    /// member that does not exist is a 400 too. The answer is 409 `too_many_hooks` for the 17th hook, and where all
    /// together have more than 100,000 bytes. See docs/hooks.md.
    Put "/api/threads/{}/hooks/{}" => PutHook(id, hook), Needs(Write), json::<NewHook>(), Replaces(MAX_HOOKS_BYTES),
        |r| {
            let hook = Box::new(define(hook, NewHook::parse(r.body)?)?);
            r.ask(id, ThreadCommand::PutHook { hook })
        },
        |row| row
            .in_thread()
            .takes(json!({ "builtin": "loop_guard", "options": { "times": 3 } }))
            .gives::<Hook>(200)
            .refuses(&[E::InvalidRequest, E::TooManyHooks]);
    /// Deletes a hook. It watches the thread's turns no more from the next one on. A running turn keeps the hook. A
    /// repetition changes nothing.
    Delete "/api/threads/{}/hooks/{}" => DeleteHook(id, hook), Needs(Write), Nothing, Removes,
        |r| {
            check_name(hook)?;
            r.ask(id, ThreadCommand::DeleteHook { name: hook.to_owned() })
        },
        |row| row.in_thread().gives_nothing("It is gone.").refuses(&[E::InvalidRequest]);
}
