//! Headers of every answer of the API, the Worker's own and the object's.

/// Nothing of it may be kept (all of it is somebody's own, or changes), guessed at, shown as a page, framed or embedded,
/// and nobody is told where a link came from. Browsers heed the last one over https alone (RFC 6797 §8.1).
pub const ALWAYS: [(&str, &str); 6] = [
    ("cache-control", "no-store, no-transform"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("strict-transport-security", "max-age=31536000"),
];
