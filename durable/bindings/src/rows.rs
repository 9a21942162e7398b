//! Rows as the parameters of statements.

/// The most bytes of a statement's array.
pub const STATEMENT_BYTES: usize = 1_800_000;

/// Rows that are JSON already, in as few arrays as the platform takes them.
pub fn arrays(rows: &[String]) -> Vec<String> {
    let mut arrays: Vec<String> = Vec::new();
    for row in rows {
        match arrays.last_mut().filter(|array| array.len() + row.len() + 2 <= STATEMENT_BYTES) {
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
