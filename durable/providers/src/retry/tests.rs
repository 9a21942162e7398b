use super::*;

/// Sun, 06 Nov 1994 08:49:37 GMT.
const DATE_MS: u64 = 784_111_777_000;

fn hints(retry_after: &str, retry_after_ms: &str) -> RetryHints {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    RetryHints { retry_after: given(retry_after), retry_after_ms: given(retry_after_ms) }
}

#[test]
fn retry_headers_are_read() {
    let table = [
        ("", "", None),
        ("7", "", Some(7_000)),
        (" 0 ", "", Some(0)),
        ("1.5", "", Some(1_500)),
        ("", "250", Some(250)),
        ("", "250.4", Some(251)),
        ("7", "250", Some(250)),
        ("7", "soon", Some(7_000)),
        ("-1", "", None),
        ("NaN", "", None),
        ("inf", "", None),
        ("soon", "-3", None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "", Some(5_000)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "", Some(5_000)),
        ("Sun Nov  6 08:49:37 1994", "", Some(5_000)),
        ("Sun, 06 Nov 1994 08:49:31 GMT", "", Some(0)),
        ("Sun, 32 Nov 1994 08:49:37 GMT", "", None),
        ("99999999999999999999", "", Some(u64::MAX)),
    ];
    for (retry_after, retry_after_ms, expected) in table {
        assert_eq!(hints(retry_after, retry_after_ms).wait_ms(DATE_MS - 5_000), expected, "{retry_after}");
    }
}

#[test]
fn waits_double_with_jitter_and_end() {
    let waits = |random| [1, 2, 3, 4].map(|failed| Persistence::LAST.wait_ms(failed, None, random));
    assert_eq!(waits(0.0), [Some(250), Some(500), Some(1_000), None]);
    assert_eq!(waits(1.0), [Some(500), Some(1_000), Some(2_000), None]);
    assert_eq!(waits(f64::NAN).map(|wait| wait.is_some()), [true, true, true, false]);
    let patient = Persistence { requests: u32::MAX, ..Persistence::LAST };
    assert_eq!(patient.wait_ms(40, None, 1.0), Some(LONGEST_MS));
    assert_eq!(Persistence::ONE_OF_MANY.wait_ms(1, None, 0.0), Some(250));
    assert_eq!(Persistence::ONE_OF_MANY.wait_ms(2, None, 0.0), None);
}

#[test]
fn a_providers_wait_is_the_least_and_has_a_limit() {
    let (last, many) = (Persistence::LAST, Persistence::ONE_OF_MANY);
    assert_eq!(last.wait_ms(1, Some(0), 0.0), Some(0));
    assert_eq!(last.wait_ms(3, Some(60_000), 0.0), Some(60_000));
    assert_eq!(last.wait_ms(3, Some(60_000), 1.0), Some(60_250));
    assert_eq!(last.wait_ms(1, Some(60_001), 0.0), None);
    assert_eq!(many.wait_ms(1, Some(2_000), 0.5), Some(2_125));
    assert_eq!(many.wait_ms(1, Some(2_001), 0.5), None);
    assert_eq!(last.wait_ms(4, Some(1), 0.0), None);
}
