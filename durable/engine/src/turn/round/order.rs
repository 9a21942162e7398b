//! The order in which the calls of a round run.

use crate::toolbelt::Toolbelt;
use wire::model::ToolCall;

/// The order of a round, by the calls' places in the reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) together: Vec<usize>,
    pub(super) one_by_one: Vec<usize>,
}

impl Order {
    /// The calls of a level that follows a course run one by one, in the model's order (W-009, CF-03).
    pub(super) fn of(calls: &[ToolCall], belt: &Toolbelt, parallel: u32, in_order: bool) -> Self {
        if in_order {
            return Order { together: Vec::new(), one_by_one: (0..calls.len()).collect() };
        }
        let is_serial = |index: &usize| {
            let call = calls.get(*index);
            call.and_then(|call| belt.find(&call.name)).is_some_and(|spec| spec.serial())
        };
        let (serial, mut together): (Vec<_>, Vec<_>) = (0..calls.len()).partition(is_serial);
        let surplus = together.split_off(together.len().min(parallel as usize));
        Order { together, one_by_one: serial.into_iter().chain(surplus).collect() }
    }
}
