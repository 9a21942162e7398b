//! `current_time`: the current time in UTC.

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::Deserialize;
use serde_json::json;
use wire::time::rfc3339;

use engine::made_once;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::arguments;
use engine::toolbelt::declare;
use engine::toolbelt::{PermissionClass, ToolSpec};

pub(super) struct CurrentTime(ToolSpec);

#[derive(Deserialize)]
struct Arguments {}

impl Default for CurrentTime {
    fn default() -> Self {
        CurrentTime(made_once!(
            ToolSpec,
            declare(
                "current_time",
                PermissionClass::Safe,
                "Returns the current date and time in UTC, as RFC 3339.",
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            )
        ))
    }
}

impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let result = arguments::read(&self.0, json).and_then(|Arguments {}| format(context.clock.now_ms()));
        ready(result).boxed_local()
    }
}

fn format(now_ms: u64) -> Result<String, ToolError> {
    let unusable = || ToolError("the clock has no usable time".to_owned());
    rfc3339(now_ms).ok_or_else(unusable)
}
