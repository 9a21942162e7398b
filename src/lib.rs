//! The Worker: credentials, validation, routing. It holds no state of its own and knows nothing of the loop; a turn
//! belongs to the thread's object, whose answer passes through here as it is.
//!
//! A request's way: `serve` takes it from the platform, `router` finds its route in the table, `routes` admits it
//! (`routes/credentials.rs`), reads its body and calls the route's function.
//!
//! Only `serve`, `call`, `routes` and the stores of `auth` name the platform, and exist on wasm32 alone. They decide by
//! the modules beside them, which are pure and tested natively.

pub mod account;
pub mod audit;
pub mod auth;
pub mod body;
pub mod cursor;
pub mod head;
pub mod health;
pub mod ids;
pub mod job;
pub mod models;
pub mod origin;
pub mod page;
pub mod paths;
pub mod problem;
pub mod query;
pub mod repetition;
pub mod reply;
pub mod resources;
pub mod retention;
pub mod router;
pub mod settings;
pub mod turn_state;
pub mod visit;

#[cfg(test)]
mod openapi;
#[cfg(test)]
mod walls;

#[cfg(target_arch = "wasm32")]
mod call;
#[cfg(target_arch = "wasm32")]
mod routes;
#[cfg(target_arch = "wasm32")]
mod serve;

/// The classes that wrangler.toml names.
#[cfg(target_arch = "wasm32")]
pub use ::platform::{QuotaObject, ThreadObject};

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen(module = "/src/microtasks.js")]
extern "C" {
    fn schedule_by_promises();
}

/// Logs a panic with its stack, then calls the hook that `worker` installed: it has the instance rebuilt.
#[cfg(target_arch = "wasm32")]
#[worker::event(start)]
fn start() {
    schedule_by_promises();
    let rebuild = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        console_error_panic_hook::hook(panic);
        rebuild(panic);
    }));
}

#[cfg(target_arch = "wasm32")]
#[worker::event(fetch)]
async fn fetch(
    request: worker::Request,
    env: worker::Env,
    context: worker::Context,
) -> worker::Result<worker::web_sys::Response> {
    serve::answer(request, env, context).await
}

/// The cron trigger. A failure is logged, and the next one tries again.
#[cfg(target_arch = "wasm32")]
#[worker::event(scheduled)]
async fn scheduled(_: worker::ScheduledEvent, env: worker::Env, _: worker::ScheduleContext) {
    routes::carry_on(&env).await;
}
