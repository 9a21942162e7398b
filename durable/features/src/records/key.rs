//! The keys of records. The folder of a thread is `Owner::records_root`. Within it the newest turn comes first, as R2
//! lists keys in their order.

/// The ending of a record's name.
const ENDING: &str = ".jsonl";
/// The ending of the name of a record that only the operator reads. Code of before there were such records finds none under
/// the name that it looks for.
const WITHHELD: &str = "-withheld.jsonl";

/// The name of a turn's record in the folder of its thread. `seq_first`: the number of the turn's first event.
pub fn name(seq_first: u64, turn_id: &str, is_withheld: bool) -> String {
    let ending = if is_withheld { WITHHELD } else { ENDING };
    format!("{:016x}-{turn_id}{ending}", u64::MAX - seq_first)
}

/// The turn of a record with this name.
pub fn turn_id(name: &str) -> Option<&str> {
    let rest = name.split_once('-')?.1;
    rest.strip_suffix(WITHHELD).or_else(|| rest.strip_suffix(ENDING))
}

/// Whether only the operator reads a record with this name.
pub fn is_withheld(name: &str) -> bool {
    name.ends_with(WITHHELD)
}

/// Whether a client's cursor is the name of a record.
pub fn is_name(cursor: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let rest = cursor.strip_suffix(WITHHELD).or_else(|| cursor.strip_suffix(ENDING));
    turn_id(cursor).is_some_and(|id| id.len() == 36)
        && rest.is_some_and(|rest| rest.len() == 53 && rest.bytes().all(plain))
}
