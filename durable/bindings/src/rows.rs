//! Rows as the parameters of statements.

/// The most bytes of a statement's array: below the 2 MB that D1 allows a bound value
/// (<https://developers.cloudflare.com/d1/platform/limits/>), which leaves room for the other parameters.
pub const STATEMENT_BYTES: usize = 1_800_000;

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
