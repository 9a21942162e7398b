//! The keys of records. The folder of a thread is `Owner::records_root`. Within it the newest turn comes first, as R2
//! lists keys in their order.

/// The ending of a record's name.
const ENDING: &str = ".jsonl";

/// The name of a turn's record in the folder of its thread. `seq_first`: the number of the turn's first event.
pub fn name(seq_first: u64, turn_id: &str) -> String {
    format!("{:016x}-{turn_id}{ENDING}", u64::MAX - seq_first)
}

/// The turn of a record with this name.
pub fn turn_id(name: &str) -> Option<&str> {
    name.split_once('-')?.1.strip_suffix(ENDING)
}

/// Whether a client's cursor is the name of a record.
pub fn is_name(cursor: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    turn_id(cursor).is_some_and(|id| id.len() == 36)
        && cursor.len() == 59
        && cursor.strip_suffix(ENDING).is_some_and(|rest| rest.bytes().all(plain))
}
