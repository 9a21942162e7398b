//! The memory of the main instance.

use std::fs;

use crate::env;

/// The memory of all processes of the main instance, in bytes. Linux alone.
pub fn resident() -> u64 {
    let group = env("ESPALIER_GROUP");
    let of = |stat: String| {
        // The name, in parentheses, may have spaces.
        let fields: Vec<String> = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
        (*fields.get(2)? == group).then(|| fields.get(21)?.parse::<u64>().ok()).flatten()
    };
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    // The usual size of a memory page. With another size the limits scale with it.
    stats.filter_map(of).sum::<u64>() * 4_096
}
