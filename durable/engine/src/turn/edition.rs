//! Edits of the prompts in mid-turn, as a deployment makes them: for tests, and for builds with faults on
//! command.

thread_local! {
    static EDITION: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// The text that an edit adds to the prompts of new levels.
pub(super) fn edition() -> String {
    EDITION.with_borrow(Clone::clone)
}

/// Edits the prompts.
pub fn edit_prompts(edition: &str) {
    EDITION.set(edition.to_owned());
}
