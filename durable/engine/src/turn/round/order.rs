//! The order in which the calls of a round run.

use crate::toolbelt::{RunsAt, Toolbelt};
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
        let spec_of = |index: &usize| calls.get(*index).and_then(|call| belt.find(&call.name));
        let is_serial = |index: &usize| spec_of(index).is_some_and(|spec| spec.serial());
        let (serial, mut rest): (Vec<_>, Vec<_>) = (0..calls.len()).partition(is_serial);
        // A client that is asked costs the service nothing: the limit bounds the calls that run here.
        let by_client = |index: &usize| spec_of(index).is_some_and(|spec| spec.runs_at == RunsAt::Client);
        let asked: Vec<usize> = rest.extract_if(.., |index| by_client(index)).collect();
        let surplus = rest.split_off(rest.len().min(parallel as usize));
        let mut together = [rest, asked].concat();
        together.sort_unstable();
        Order { together, one_by_one: serial.into_iter().chain(surplus).collect() }
    }
}
