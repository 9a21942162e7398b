//! The headers of every answer of the API, from the Worker and from the object.

/// No cache may keep an answer, because it belongs to one user or changes. Browsers may not guess its type, show it as
/// a page, frame it or embed it, and a link from it has no referrer. Browsers heed the last header over https alone
/// (RFC 6797 §8.1).
pub const ALWAYS: [(&str, &str); 6] = [
    ("cache-control", "no-store, no-transform"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("strict-transport-security", "max-age=31536000"),
];
