//! Builds the Worker from the crate in the present folder:
//!
//! ```text
//! xtask worker --out FOLDER --profile PROFILE [--optimise] [-- ARGUMENTS OF CARGO]
//! ```
//!
//! Cargo compiles the module, wasm-bindgen makes its glue, wasm-opt shrinks it if asked to, and esbuild makes one file
//! of `entry.js` and the glue. FOLDER then holds `index.js` and `index_bg.wasm`.

mod arguments;
mod bundle;
mod glue;
mod module;
mod step;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use arguments::Arguments;

fn main() -> ExitCode {
    let given: Vec<String> = env::args().skip(1).collect();
    match run(&given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(given: &[String]) -> Result<()> {
    match given.split_first() {
        Some((command, rest)) if command == "worker" => worker(&Arguments::parse(rest)?),
        _ => bail!("which task? There is one: worker"),
    }
}

fn worker(arguments: &Arguments) -> Result<()> {
    let out = Path::new(&arguments.out);
    // The parts are made beside the result, so that a server which watches it never reads half of one.
    let parts = out.join("parts");
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    // Of two builds into one folder the second waits. The lock ends with the process, in whatever way that ends.
    let lock = fs::File::create(out.join(".lock"))?;
    lock.lock()?;

    let module = step::run("compile the module", || module::compile(arguments))?;
    if parts.exists() {
        fs::remove_dir_all(&parts)?;
    }
    step::run("make its glue", || glue::make(&module, &parts))?;
    if arguments.optimise {
        step::run("shrink it", || module::optimise(&parts.join(glue::MODULE)))?;
    }
    step::run("bundle", || bundle::make(&parts))?;
    for name in [glue::MODULE, bundle::FILE] {
        fs::rename(parts.join(name), out.join(name)).with_context(|| format!("cannot move {name}"))?;
    }
    fs::remove_dir_all(&parts)?;
    Ok(())
}
