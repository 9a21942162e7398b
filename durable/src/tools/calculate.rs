//! `calculate`: arithmetic, by a library.

use exmex::prelude::*;
use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, declare};
use crate::ports::{Tool, ToolContext, ToolError};
use crate::toolbelt::{PermissionClass, ToolSpec};

/// The longest expression in characters, and the deepest nesting: far beyond what a person writes, far below what
/// could exhaust the parser's stack.
const MAX_CHARS: usize = 500;
const MAX_NESTING: usize = 50;

pub(super) struct Calculate(ToolSpec);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    expression: String,
}

impl Default for Calculate {
    fn default() -> Self {
        Calculate(declare(
            "calculate",
            PermissionClass::Safe,
            "Evaluates an arithmetic expression exactly as written and returns the number. Knows + - * / ^, \
             parentheses, sqrt, abs, exp, ln, log2, log10, sin, cos, tan, floor, ceil, round, PI and E.",
            json!({
                "type": "object",
                "properties": {"expression": {"type": "string", "description": "such as (17 + 3) * 2^10"}},
                "required": ["expression"],
                "additionalProperties": false,
            }),
        ))
    }
}

impl Tool for Calculate {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, json: &str, _: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let result = arguments(json).and_then(|Arguments { expression }| evaluate(&expression));
        ready(result).boxed_local()
    }
}

fn evaluate(expression: &str) -> Result<String, ToolError> {
    let nesting = expression.bytes().filter(|byte| *byte == b'(').count();
    if expression.chars().nth(MAX_CHARS).is_some() || nesting > MAX_NESTING {
        let limits = format!("at most {MAX_CHARS} characters and {MAX_NESTING} parentheses");
        return Err(ToolError(format!("the expression is too long: {limits}")));
    }
    let refused = |error: exmex::ExError| ToolError(format!("the expression was not understood: {error}"));
    let parsed = exmex::parse::<f64>(expression).map_err(refused)?;
    if let Some(name) = parsed.var_names().first() {
        return Err(ToolError(format!("{name:?} is neither a number nor a function that is known here")));
    }
    let value = parsed.eval(&[]).map_err(refused)?;
    if !value.is_finite() {
        return Err(ToolError("the result is not a finite number".to_owned()));
    }
    Ok(value.to_string())
}
