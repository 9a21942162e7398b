//! Reads and checks the definitions of hooks: of the operator's variable, of a thread, of an agent.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{BUILTIN, Builtin, Choice, Kind, MAX_COUNT, MAX_TEXT_BYTES, builtin};
use crate::memory::MAX_KEY_BYTES;
use wire::protocol::{
    AGENT_NAME, ApiError, ErrorCode, Hook, HookPoint, MAX_HOOK_CALL_BYTES, MAX_HOOK_CALLS,
    MAX_HOOK_INSTRUCTIONS, MAX_HOOK_READS, NewHook, digest_in,
};
use wire::redact::json_problem;

/// The most hooks of an operator, of a thread, and of an agent's own making.
pub const MAX_HOOKS: usize = 16;
/// The most bytes of such hooks together, as JSON: entry 0 holds all of them in one row.
pub const MAX_HOOKS_BYTES: usize = 100_000;
/// The members of a hook in the variable.
const MEMBERS: [&str; 8] = ["name", "on", "match", "builtin", "options", "instructions", "reads", "of"];

/// Checks the name of a hook.
pub fn check_name(name: &str) -> Result<(), ApiError> {
    let max = AGENT_NAME.max;
    let rule = || format!("a lower-case letter, then letters, digits, - and _, at most {max} in all");
    if AGENT_NAME.allows(name) { Ok(()) } else { Err(ApiError::field("name", rule())) }
}

/// Checks a definition. The error names the first offending member.
pub fn define(name: &str, new: NewHook) -> Result<Hook, ApiError> {
    check_name(name)?;
    let NewHook { on, calls, builtin: builtin_name, options, instructions, reads, of } = new;
    let (options, reads) = (options.unwrap_or_default(), reads.unwrap_or_default());
    let (on, calls) = match (&builtin_name, &instructions) {
        (Some(_), Some(_)) => {
            return Err(ApiError::field("instructions", "a built-in hook has instructions of its own"));
        }
        (None, None) => {
            return Err(ApiError::field("instructions", "give instructions, or the name of a built-in hook"));
        }
        (Some(name), None) => {
            let Some(known) = builtin(name) else {
                let names: Vec<&str> = BUILTIN.iter().map(|builtin| builtin.name).collect();
                return Err(ApiError::field("builtin", format!("there are: {}", names.join(", "))));
            };
            check_options(known, &options)?;
            if !reads.is_empty() {
                return Err(ApiError::field("reads", "only a hook with instructions reads the memory"));
            }
            let own = || known.calls.iter().map(|name| (*name).to_owned()).collect();
            (known.point(on)?, calls.unwrap_or_else(own))
        }
        (None, Some(instructions)) => {
            check_instructions(instructions)?;
            if !options.is_empty() {
                return Err(ApiError::field("options", "only a built-in hook has options"));
            }
            let on = on.ok_or_else(|| ApiError::field("on", "expected input, result, action or answer"))?;
            (on, calls.unwrap_or_default())
        }
    };
    check_calls(on, &calls)?;
    check_reads(&reads)?;
    let of = of.unwrap_or_default();
    Ok(Hook {
        name: name.to_owned(),
        on,
        calls,
        builtin: builtin_name,
        options,
        instructions,
        reads,
        of,
        put_at: None,
        has_quit: false,
    })
}

impl Builtin {
    fn point(&self, on: Option<HookPoint>) -> Result<HookPoint, ApiError> {
        let default = self.points.first().copied().unwrap_or_default();
        let on = on.unwrap_or(default);
        if self.points.contains(&on) {
            return Ok(on);
        }
        let names: Vec<&str> = self.points.iter().map(|point| point.as_str()).collect();
        Err(ApiError::field("on", format!("{} is asked on: {}", self.name, names.join(", "))))
    }
}

fn check_options(builtin: &Builtin, options: &BTreeMap<String, Value>) -> Result<(), ApiError> {
    for (name, value) in options {
        let field = format!("options.{name}");
        let Some(Choice { kind, .. }) = builtin.options.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = builtin.options.iter().map(|known| known.name).collect();
            // The refusal may be told to a caller without a credential: it repeats no word of the definition.
            return Err(ApiError::field("options", format!("the options are: {}", names.join(", "))));
        };
        match kind {
            Kind::Count if value.as_u64().is_some_and(|count| (1..=MAX_COUNT).contains(&count)) => {}
            Kind::Count => {
                return Err(ApiError::field(field, format!("expected a number from 1 to {MAX_COUNT}")));
            }
            Kind::Text
                if value
                    .as_str()
                    .is_some_and(|text| !text.trim().is_empty() && text.len() <= MAX_TEXT_BYTES) => {}
            Kind::Text => {
                return Err(ApiError::field(
                    field,
                    format!("expected a text of 1 to {MAX_TEXT_BYTES} bytes"),
                ));
            }
        }
    }
    Ok(())
}

fn check_instructions(instructions: &str) -> Result<(), ApiError> {
    let is_long = instructions.len() > MAX_HOOK_INSTRUCTIONS;
    if instructions.trim().is_empty() || is_long {
        let detail = format!("expected a text of 1 to {MAX_HOOK_INSTRUCTIONS} bytes");
        return Err(ApiError::field("instructions", detail));
    }
    if digest_in(instructions).is_some() {
        let detail = "a record has this text in the place of instructions: write the instructions themselves";
        return Err(ApiError::field("instructions", detail));
    }
    Ok(())
}

fn check_calls(on: HookPoint, calls: &[String]) -> Result<(), ApiError> {
    let watches_none = match on {
        HookPoint::Input => Some("a hook on the input watches no calls"),
        HookPoint::Answer => Some("a hook on the answer watches no calls"),
        HookPoint::Result | HookPoint::Action => None,
    };
    if let Some(detail) = watches_none.filter(|_| !calls.is_empty()) {
        return Err(ApiError::field("match", detail));
    }
    let is_name = |name: &String| !name.trim().is_empty() && name.len() <= MAX_HOOK_CALL_BYTES;
    if calls.len() > MAX_HOOK_CALLS || !calls.iter().all(is_name) {
        let detail =
            format!("expected at most {MAX_HOOK_CALLS} names of 1 to {MAX_HOOK_CALL_BYTES} bytes each");
        return Err(ApiError::field("match", detail));
    }
    Ok(())
}

fn check_reads(reads: &[String]) -> Result<(), ApiError> {
    let is_key = |key: &String| !key.is_empty() && key.len() <= MAX_KEY_BYTES;
    if reads.len() > MAX_HOOK_READS || !reads.iter().all(is_key) {
        let detail = format!("expected at most {MAX_HOOK_READS} keys of 1 to {MAX_KEY_BYTES} bytes each");
        return Err(ApiError::field("reads", detail));
    }
    Ok(())
}

/// Checks hooks that are in force together.
pub fn check_together(hooks: &[Hook]) -> Result<(), ApiError> {
    let refused = |detail: String| Err(ApiError::new(ErrorCode::TooManyHooks, detail));
    if hooks.len() > MAX_HOOKS {
        return refused(format!("there may be at most {MAX_HOOKS} hooks"));
    }
    let bytes = serde_json::to_vec(hooks).map_or(usize::MAX, |json| json.len());
    if bytes > MAX_HOOKS_BYTES {
        return refused(format!("all hooks together may have {MAX_HOOKS_BYTES} bytes, these have {bytes}"));
    }
    Ok(())
}

/// Puts a hook in place of the one with its name, or behind all.
pub fn put(hooks: &mut Vec<Hook>, hook: Hook) -> Result<(), ApiError> {
    match hooks.iter_mut().find(|known| known.name == hook.name) {
        Some(known) => *known = hook,
        None => hooks.push(hook),
    }
    check_together(hooks)
}

/// Reads the variable `HOOKS`: a JSON list of hooks. A mistake is an error, and so is a member that does not exist: a
/// misspelt rule would not hold.
pub fn from_variable(json: &str) -> Result<Vec<Hook>, String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let wrong = |problem: String| format!("the variable HOOKS: {problem}");
    let given: Vec<Map<String, Value>> =
        wire::json::from_str(json).map_err(|error| wrong(json_problem(&error)))?;
    let mut hooks = Vec::new();
    let mut names = BTreeSet::new();
    for (index, mut members) in given.into_iter().enumerate() {
        let nth = index + 1;
        if members.keys().any(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(wrong(format!(
                "hook {nth} has a member that does not exist; they are: {}",
                MEMBERS.join(", ")
            )));
        }
        let problem = |error: serde_json::Error| wrong(format!("hook {nth}: {}", json_problem(&error)));
        let Named { name } = wire::json::from_value(&Value::Object(members.clone())).map_err(problem)?;
        members.remove("name");
        let new: NewHook = wire::json::from_value(&Value::Object(members)).map_err(problem)?;
        let hook = define(&name, new).map_err(|error| {
            let field = error.field.as_deref().unwrap_or_default();
            wrong(format!("hook {nth}: {field}: {}", error.detail))
        })?;
        if !names.insert(name) {
            return Err(wrong(format!("hook {nth} has the name of another one")));
        }
        hooks.push(hook);
    }
    check_together(&hooks).map_err(|error| wrong(error.into_detail()))?;
    Ok(hooks)
}
