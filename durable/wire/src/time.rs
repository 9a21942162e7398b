//! Times as texts.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time in milliseconds since 1970, to the second: `2026-11-22T08:15:30Z` (RFC 3339). None where the year has more than
/// four digits.
pub fn rfc3339(ms: u64) -> Option<String> {
    let seconds = i64::try_from(ms / 1_000).ok()?;
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn a_time_has_a_text_until_the_year_10000() {
        for (ms, text) in [
            (0, Some("1970-01-01T00:00:00Z")),
            (1_795_335_330_999, Some("2026-11-22T08:15:30Z")),
            (253_402_300_799_999, Some("9999-12-31T23:59:59Z")),
            (253_402_300_800_000, None),
            (u64::MAX, None),
        ] {
            assert_eq!(rfc3339(ms).as_deref(), text, "{ms}");
        }
    }
}
