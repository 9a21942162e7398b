//! Times as texts.

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// A time in milliseconds since 1970, to the second: `2026-11-22T08:15:30Z` (RFC 3339). None where the year has more than
/// four digits.
pub fn rfc3339(ms: u64) -> Option<String> {
    let seconds = i64::try_from(ms / 1_000).ok()?;
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

/// The same where clocks are so many minutes ahead of UTC, with the day of the week there: `2026-11-22T09:15:30+01:00`,
/// `Sunday`.
pub fn local(ms: u64, offset_minutes: i32) -> Option<(String, String)> {
    let offset = UtcOffset::from_whole_seconds(offset_minutes.checked_mul(60)?).ok()?;
    let seconds = i64::try_from(ms / 1_000).ok()?;
    let there = OffsetDateTime::from_unix_timestamp(seconds).ok()?.checked_to_offset(offset)?;
    Some((there.format(&Rfc3339).ok()?, there.weekday().to_string()))
}

/// The minutes that a text ends with, as `Intl` writes the offset of a zone: `GMT+05:30`, `GMT-11:00`, `GMT`.
pub fn offset_minutes(text: &str) -> Option<i32> {
    let (_, offset) = text.rsplit_once("GMT")?;
    let (sign, offset) = match offset.strip_prefix(['-', '\u{2212}']) {
        Some(offset) => (-1, offset),
        None => (1, offset.strip_prefix('+').unwrap_or("0")),
    };
    let mut parts = offset.split(':').map(|part| part.parse::<u8>().ok().map(i32::from));
    Some(sign * (parts.next()?? * 60 + parts.next().unwrap_or(Some(0))?))
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
    use super::{date, day, local, offset_minutes, rfc3339};

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
    // Issue 44
    #[test]
    fn a_time_is_told_where_a_person_is() {
        let told = |time: &str, day: &str| Some((time.to_owned(), day.to_owned()));
        for (ms, offset_minutes, expected) in [
            (1_795_335_330_999, 60, told("2026-11-22T09:15:30+01:00", "Sunday")),
            (1_795_335_330_999, -11 * 60, told("2026-11-21T21:15:30-11:00", "Saturday")),
            (1_795_335_330_999, -210, told("2026-11-22T04:45:30-03:30", "Sunday")),
            (1_795_335_330_999, 0, told("2026-11-22T08:15:30Z", "Sunday")),
            (0, -1, told("1969-12-31T23:59:00-00:01", "Wednesday")),
            (253_402_300_799_999, 1, None),
            (u64::MAX, 0, None),
            (0, 26 * 60, None),
            (0, i32::MAX, None),
        ] {
            assert_eq!(local(ms, offset_minutes), expected, "{ms} {offset_minutes}");
        }
    }
    #[test]
    fn an_offset_is_read_as_the_platform_writes_it() {
        for (text, expected) in [
            ("11/22/2026, GMT+01:00", Some(60)),
            ("GMT+05:30", Some(330)),
            ("GMT-03:30", Some(-210)),
            ("GMT\u{2212}11", Some(-660)),
            ("GMT-00:44:30", Some(-44)),
            ("1/1/1970, GMT", Some(0)),
            ("11/22/2026", None),
            ("GMT+one", None),
            ("GMT+01:x", None),
        ] {
            assert_eq!(offset_minutes(text), expected, "{text}");
        }
    }
}
