//! `calculate`: arithmetic.

mod expression;
mod functions;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::Deserialize;

use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;

pub(super) struct Calculate(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    expression: String,
}

impl Default for Calculate {
    fn default() -> Self {
        Calculate(super::declared("calculate"))
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
