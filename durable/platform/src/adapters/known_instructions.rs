//! The custom instructions that a thread keeps in memory.

use std::cell::RefCell;

use wire::protocol::InstructionsOf;

pub type Texts = Vec<(InstructionsOf, String)>;

/// The instructions that a thread read last.
#[derive(Default)]
pub struct Known(pub RefCell<Option<Read>>);

/// The instructions for a turn.
#[derive(Clone, Default)]
pub struct Read {
    /// The project that the request is about; empty: none.
    pub project: String,
    pub texts: Texts,
    pub at: u64,
    /// D1 told them, and not the thread's own row.
    pub is_news: bool,
    /// Why D1 did not, for the operator.
    pub failure: Option<String>,
}
