//! Time as the platform has it: `Date.now()`, which stands still between I/O at the edge, and `setTimeout`.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use gloo_timers::future::TimeoutFuture;

use js_sys::{Date, Object, Reflect};
use wasm_bindgen::prelude::*;

use engine::ports::Clock;
use wire::pace::Pause;
use wire::time::offset_minutes;

/// The longest `setTimeout`, in milliseconds: its argument is a signed 32-bit integer.
const LONGEST_MS: u32 = i32::MAX as u32;

#[wasm_bindgen]
extern "C" {
    type DateTimeFormat;

    #[wasm_bindgen(constructor, catch, js_namespace = Intl)]
    fn new(locale: &str, options: &Object) -> Result<DateTimeFormat, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn format(this: &DateTimeFormat, date: &Date) -> Result<String, JsValue>;
}

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

    fn utc_offset_minutes(&self, ms: u64, zone: &str) -> Option<i32> {
        let options = Object::new();
        for (name, value) in [("timeZone", zone), ("timeZoneName", "longOffset")] {
            Reflect::set(&options, &name.into(), &value.into()).ok()?;
        }
        // `11/22/2026, GMT+01:00`. A zone that the platform does not know is an error.
        let format = DateTimeFormat::new("en-US", &options).ok()?;
        offset_minutes(&format.format(&Date::new(&(ms as f64).into())).ok()?)
    }
}

/// Lets the other requests of the isolate run.
pub fn pause() -> Pause {
    Box::pin(async {
        TimeoutFuture::new(0).await;
        Ok(())
    })
}
