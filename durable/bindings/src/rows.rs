//! Rows as the parameters of statements.

/// The most bytes of a statement's array: below the 2 MB that D1 allows a bound value
/// (<https://developers.cloudflare.com/d1/platform/limits/>), which leaves room for the other parameters.
pub const STATEMENT_BYTES: usize = 1_800_000;

/// The largest integer of a parameter. A parameter crosses JavaScript, whose numbers hold no larger one exactly
/// (<https://tc39.es/ecma262/#sec-number.max_safe_integer>): `workers-rs` refuses it, or D1 gets another one.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// The integer as a parameter. Our own are times, counts and event numbers, far below the limit. A cursor of a client may
/// lie beyond it: there are no rows there, so the limit means the same.
pub fn integer(value: i64) -> i64 {
    value.clamp(-MAX_INTEGER, MAX_INTEGER)
}

/// The same of a number that is never negative.
pub fn unsigned_integer(value: u64) -> i64 {
    integer(i64::try_from(value).unwrap_or(MAX_INTEGER))
}

/// Packs rows, which are JSON already, into as few JSON arrays as the limit of D1 allows.
pub fn arrays(rows: &[String]) -> Vec<String> {
    arrays_within(rows, STATEMENT_BYTES)
}

/// Packs rows, which are JSON already, into as few JSON arrays of so many bytes as possible. A longer row has an array of its
/// own.
pub fn arrays_within(rows: &[String], bytes: usize) -> Vec<String> {
    let mut arrays: Vec<String> = Vec::new();
    for row in rows {
        match arrays.last_mut().filter(|array| array.len() + row.len() + 2 <= bytes) {
            Some(array) => {
                array.push(',');
                array.push_str(row);
            }
            None => arrays.push(format!("[{row}")),
        }
    }
    arrays.iter_mut().for_each(|array| array.push(']'));
    arrays
}

#[cfg(test)]
mod tests {
    use super::{MAX_INTEGER, integer, unsigned_integer};

    // Issue 46, L8
    #[test]
    fn a_parameter_is_an_integer_that_javascript_holds() {
        let most = MAX_INTEGER;
        assert_eq!(most, 9_007_199_254_740_991);
        for (value, expected) in [
            (0, 0),
            (most - 1, most - 1),
            (most, most),
            (most + 1, most),
            (i64::MAX, most),
            (-most, -most),
            (-most - 1, -most),
            (i64::MIN, -most),
        ] {
            assert_eq!(integer(value), expected, "{value}");
            assert_eq!(integer(value) as f64 as i64, expected, "{value}");
        }
        let edge = most.unsigned_abs();
        assert_eq!([0, edge, edge + 1, u64::MAX].map(unsigned_integer), [0, most, most, most]);
    }
}
