//! The deliveries of a thread to others: news for D1, records for R2, notices of sessions, a title by a model, and the question for
//! the place of a queued turn.
//!
//! Each [`Duty`](driver::Duty) stands where its subject does and says what is due, how it is told, and what changes when
//! the other side took or refused it. `driver.rs` alone has the order, the waits, and the answer to a thread that was
//! deleted meanwhile. The rows of the duty and a timer outlive the memory: the alarm fulfils a duty whose run was lost.

pub mod driver;
#[cfg(target_arch = "wasm32")]
mod outbox;

#[cfg(target_arch = "wasm32")]
mod on_thread;
