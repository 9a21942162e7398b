//! All that is stored of one user, as a whole: the list of it (`kinds`), its export and its erasure. Both walk the same
//! list, so what one of them knows the other cannot forget.

pub mod erasure;
pub mod export;
pub mod kinds;
pub mod store;
