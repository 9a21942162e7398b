//! The key of the model call that a request belongs to. The port does not tell it, and the tests check the requests of each
//! level.

thread_local! {
    static ASKER: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Notes the key of the model call that makes the next request.
pub(super) fn note_asker(at: &str) {
    ASKER.set(at.to_owned());
}

/// The key of the model call that made the newest request.
pub(crate) fn asker() -> String {
    ASKER.with_borrow(Clone::clone)
}
