//! Draws the turns of a thread.

use super::{Order, Reader};
use crate::rng::Rng;
use crate::script::Shape;

/// The next turn of a thread. It discusses once: its main agent counts the discussions of all turns, and has a limit.
pub(super) fn draw(
    rng: &mut Rng,
    shapes: &mut Vec<Shape>,
    number: u64,
    thread_id: &str,
    request_seq: u64,
) -> Order {
    let reader = match rng.range(0, 10) {
        0..=2 => Reader::Steady,
        3..=7 => Reader::Restless,
        _ => Reader::Alone,
    };
    let strike = match rng.range(0, 100) {
        0..=11 => Some(format!("abort@{}", rng.range(1, 14))),
        12 => Some(format!("panic@{}", rng.range(1, 14))),
        _ => None,
    };
    let cancel = rng.chance(80).then(|| rng.range(0, 1500));
    let (shape, thread_id) = (*rng.pick(shapes), thread_id.to_owned());
    if shape == Shape::Talks && shapes.len() > 1 {
        shapes.retain(|other| *other != Shape::Talks);
    }
    // A client that answers a turn also reads it.
    let reader = if shape.waits() && reader == Reader::Alone { Reader::Restless } else { reader };
    Order {
        number,
        thread_id,
        shape,
        reader,
        cancel,
        strike,
        request_seq,
        continues: None,
        beside: None,
        may_be_late: false,
        alone: false,
        queued: false,
    }
}
