//! The operator's choice of a turn's limits. Pure.

use serde_json::{Map, Value};

use crate::profiles::Limits;
use crate::toolbelt::{PermissionClass, Rules};
use crate::tools;

/// The greatest result of a tool that still fits into a row as JSON, whatever characters it has.
const MAX_TOOL_RESULT_BYTES: usize = 200_000;
/// Of how many turns the events are kept by default, and at most. A client that comes back after more gets messages.
const EVENT_TURNS: u32 = 50;
const MAX_EVENT_TURNS: u32 = 1_000;

/// Reads `PROFILE` (the name of a profile; `thread` by default) and `LIMITS` (JSON with some of the members of
/// [`Limits`], which win over the profile's). What is absent or empty is the default.
pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Limits, String> {
    let given = |name: &str| var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let limits = match given("PROFILE") {
        None => Limits::default(),
        Some(name) => Limits::of_profile(&name).ok_or_else(|| format!("there is no PROFILE {name:?}"))?,
    };
    let Some(json) = given("LIMITS") else { return Ok(limits) };
    let wrong = |error: serde_json::Error| format!("the variable LIMITS: {error}");
    let own: Map<String, Value> = serde_json::from_str(&json).map_err(wrong)?;
    let mut all = serde_json::to_value(limits).map_err(wrong)?;
    if let Value::Object(members) = &mut all {
        members.extend(own);
    }
    let limits: Limits = serde_json::from_value(all).map_err(wrong)?;
    if limits.tool_result_bytes > MAX_TOOL_RESULT_BYTES {
        return Err(format!("the variable LIMITS: tool_result_bytes may be {MAX_TOOL_RESULT_BYTES} at most"));
    }
    Ok(limits)
}

/// Reads `TOOL_POLICY`: JSON with a rule (`on`, `ask`, `off`) by the name of a class or a tool. A name that means
/// nothing is an error: a rule that is misspelt must not leave open what it was to close.
pub fn tool_rules(var: impl Fn(&str) -> Option<String>) -> Result<Rules, String> {
    let Some(json) = var("TOOL_POLICY").filter(|json| !json.trim().is_empty()) else {
        return Ok(Rules::default());
    };
    let rules: Rules =
        serde_json::from_str(&json).map_err(|error| format!("the variable TOOL_POLICY: {error}"))?;
    let known =
        |name: &str| PermissionClass::ALL.iter().any(|class| class.as_str() == name) || tools::is_known(name);
    if let Some(name) = rules.names().find(|name| !known(name)) {
        return Err(format!("the variable TOOL_POLICY: there is no class and no tool {name:?}"));
    }
    Ok(rules)
}

/// Reads `EVENT_TURNS`: of how many turns a thread keeps the events.
pub fn kept_turns(var: impl Fn(&str) -> Option<String>) -> Result<u32, String> {
    let Some(text) = var("EVENT_TURNS").filter(|text| !text.trim().is_empty()) else {
        return Ok(EVENT_TURNS);
    };
    let turns = text.trim().parse().ok().filter(|turns| (1..=MAX_EVENT_TURNS).contains(turns));
    turns.ok_or_else(|| format!("the variable EVENT_TURNS must be a number from 1 to {MAX_EVENT_TURNS}"))
}
