//! Time as the platform has it: `Date.now()`, which stands still between I/O at the edge, and `setTimeout`.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use gloo_timers::future::TimeoutFuture;

use engine::ports::Clock;
use wire::pace::Pause;

/// The longest `setTimeout`, in milliseconds: its argument is a signed 32-bit integer.
const LONGEST_MS: u32 = i32::MAX as u32;

/// The clock of an object.
pub struct JsClock;

impl Clock for JsClock {
    fn now_ms(&self) -> u64 {
        js_sys::Date::now() as u64
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        let ms = u32::try_from(ms).unwrap_or(LONGEST_MS).min(LONGEST_MS);
        // Made at the first poll, so that a sleep without an await sets no timer. Dropping it clears the timer.
        async move { TimeoutFuture::new(ms).await }.boxed_local()
    }
}

/// Lets the other requests of the isolate run.
pub fn pause() -> Pause {
    Box::pin(async {
        TimeoutFuture::new(0).await;
        Ok(())
    })
}
