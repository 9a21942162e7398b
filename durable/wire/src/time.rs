//! Times as texts.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time in milliseconds since 1970, to the second: `2026-11-22T08:15:30Z` (RFC 3339). None where the year has more than
/// four digits.
pub fn rfc3339(ms: u64) -> Option<String> {
    let seconds = i64::try_from(ms / 1_000).ok()?;
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

/// A day, as the number of days since 1970-01-01 (UTC).
pub type Day = u64;

/// The day of a time in milliseconds since 1970.
pub fn day(ms: u64) -> Day {
    ms / MS_OF_DAY
}

/// A day as a text: `2026-11-22`.
pub fn date(day: Day) -> Option<String> {
    rfc3339(day.checked_mul(MS_OF_DAY)?)?.split_once('T').map(|(date, _)| date.to_owned())
}

const MS_OF_DAY: u64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::{date, day, rfc3339};

    #[test]
    fn a_day_has_a_date() {
        assert_eq!((day(86_399_999), day(86_400_000)), (0, 1));
        assert_eq!(date(0).as_deref(), Some("1970-01-01"));
        assert_eq!(date(day(1_795_335_330_999)).as_deref(), Some("2026-11-22"));
        assert_eq!((date(2_932_897), date(u64::MAX)), (None, None));
    }

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
