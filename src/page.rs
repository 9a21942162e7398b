//! The headers of a page that the Worker answers with. The platform adds those of `web/public/_headers` to the files that it
//! serves itself; the Worker reads the same file, so that both have the same policy.

/// The file. Its first rule is that of all pages.
const FILE: &str = include_str!("../web/public/_headers");

/// The headers of all pages.
pub fn headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rule = FILE.lines().skip_while(|line| *line != "/*").skip(1);
    rule.take_while(|line| line.starts_with(' ')).filter_map(|line| line.trim().split_once(": "))
}

/// The headers of a page that one link leads to: no search engine lists it, and no cache keeps it.
pub const UNLISTED: [(&str, &str); 3] = [
    ("x-robots-tag", "noindex, nofollow, noarchive"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "private, no-store, no-transform"),
];

#[cfg(test)]
mod tests {
    use super::headers;

    #[test]
    fn pages_have_the_policy_of_the_files() {
        let names: Vec<_> = headers().map(|(name, _)| name).collect();
        let expected = [
            "Content-Security-Policy",
            "X-Content-Type-Options",
            "Referrer-Policy",
            "Strict-Transport-Security",
            "Cross-Origin-Opener-Policy",
            "Permissions-Policy",
        ];
        assert_eq!(names, expected);
        let policy = headers().next().unwrap().1;
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("script-src 'self'"),
            "{policy}"
        );
    }
}
