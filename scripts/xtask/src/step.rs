#![expect(clippy::disallowed_types, reason = "no turn runs here: it is the time of the person who waits")]

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

/// Shorter steps are not worth a line.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// Does a step, and says how long it took.
pub fn run<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    let done = work().with_context(|| format!("cannot {what}"))?;
    if begun.elapsed() >= WORTH_A_LINE {
        eprintln!("{what}: {:.1} s", begun.elapsed().as_secs_f32());
    }
    Ok(done)
}

/// Runs a program whose output the user sees.
pub fn program(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
