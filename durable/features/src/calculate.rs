//! `calculate`: arithmetic.

mod expression;
mod functions;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::Deserialize;
use serde_json::json;

use engine::made_once;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::arguments;
use engine::toolbelt::declare;
use engine::toolbelt::{PermissionClass, ToolSpec};

pub(super) struct Calculate(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    expression: String,
}

impl Default for Calculate {
    fn default() -> Self {
        Calculate(made_once!(
            ToolSpec,
            declare(
                "calculate",
                PermissionClass::Safe,
                "Evaluates an arithmetic expression exactly as written and returns the number. Knows + - * / // % ^ ! and \
             parentheses, 15% of 80, sqrt, cbrt, abs, sign, exp, ln, log2, log10, sin, cos, tan and their inverses and \
             hyperbolic forms, floor, ceil, round, trunc, min, max, pi and e. Angles are in radians.",
                json!({
                    "type": "object",
                    "properties": {"expression": {"type": "string"}},
                    "required": ["expression"],
                    "additionalProperties": false,
                    "examples": [{"expression": "(17 + 3) * 2^10"}],
                }),
            )
        ))
    }
}

impl Tool for Calculate {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, json: &str, _: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let result = arguments::read(&self.0, json).and_then(|Arguments { expression }| {
            let value = expression::evaluate(&expression);
            let refused = |problem: String| ToolError(format!("this cannot be calculated: {problem}"));
            value.map(|value| value.to_string()).map_err(refused)
        });
        ready(result).boxed_local()
    }
}

#[cfg(test)]
mod tests;
