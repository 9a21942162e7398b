//! The operator's overrides of a turn's limits. Pure.

use crate::profiles::Limits;

/// Reads the variable `LIMITS`: JSON with some of the members of [`Limits`]; absent or empty means the defaults.
pub fn parse(json: Option<&str>) -> Result<Limits, String> {
    match json.map(str::trim) {
        None | Some("") => Ok(Limits::default()),
        Some(json) => serde_json::from_str(json).map_err(|error| format!("the variable LIMITS: {error}")),
    }
}
