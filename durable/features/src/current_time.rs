//! `current_time`: the current time in UTC, and where a person is.

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::Deserialize;
use wire::time::rfc3339;

use engine::journal::LocalTime;
use engine::ports::{Clock, Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;

pub(super) struct CurrentTime(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    time_zone: Option<String>,
}

impl Default for CurrentTime {
    fn default() -> Self {
        CurrentTime(super::declared("current_time"))
    }
}

impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let result = arguments::read(&self.0, json).and_then(|Arguments { time_zone }| {
            let zone = time_zone
                .as_deref()
                .map(str::trim)
                .filter(|zone| !zone.is_empty())
                .or(context.time_zone.as_deref());
            format(&*context.clock, zone.filter(|zone| !zone.eq_ignore_ascii_case("utc")))
        });
        ready(result).boxed_local()
    }
}

fn format(clock: &dyn Clock, zone: Option<&str>) -> Result<String, ToolError> {
    let (now_ms, unusable) = (clock.now_ms(), || ToolError("the clock has no usable time".to_owned()));
    let Some(zone) = zone else { return rfc3339(now_ms).ok_or_else(unusable) };
    let offset = clock.utc_offset_minutes(now_ms, zone).ok_or_else(|| {
        let told = "time_zone is unknown: give a name of the IANA time zone database, such as Europe/Berlin or \
                    America/New_York, or leave it out";
        ToolError(told.to_owned())
    })?;
    LocalTime::new(now_ms, zone, offset).map(|time| time.text).ok_or_else(unusable)
}
