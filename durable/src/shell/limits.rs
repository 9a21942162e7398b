//! The operator's choice of a turn's limits. Pure.

use serde_json::{Map, Value};

use crate::profiles::Limits;

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
    serde_json::from_value(all).map_err(wrong)
}
