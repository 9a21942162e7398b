//! `espalier-replay FILE…`: replays records of turns, and prints the first difference of each. The exit status is 0
//! where every turn goes as it went, 1 where one goes another way, 2 where a file is no record that can be replayed.

use std::io::Write;
use std::process::ExitCode;

use espalier_replay::{Record, Replayed, replay};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "usage: espalier-replay FILE…   (GET /api/threads/ID/turns/TURN/record)"
        );
        return ExitCode::from(2);
    }
    let mut status = 0;
    for file in files {
        let (text, code) = told(&file);
        status = status.max(code);
        let _ = writeln!(std::io::stdout(), "{file}: {text}");
    }
    ExitCode::from(status)
}

/// The outcome of a file in words, and its exit status.
fn told(file: &str) -> (String, u8) {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let replayed = text.and_then(|text| Record::read(&text));
    match replayed.and_then(|record| replay(&record).map_err(|why| why.0)) {
        Ok(Replayed { difference: Some(difference), .. }) => (difference.to_string(), 1),
        Ok(Replayed { model_calls, tool_calls, given_verdicts, .. }) => {
            let same = format!("the same ({model_calls} model calls, {tool_calls} tool calls)");
            match given_verdicts {
                0 => (same, 0),
                _ => (
                    format!(
                        "{same}; {given_verdicts} verdicts of hooks are taken as recorded: digests stand for their words"
                    ),
                    0,
                ),
            }
        }
        Err(why) => (why, 2),
    }
}
