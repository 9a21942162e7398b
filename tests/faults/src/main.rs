//! Kills the runtime under load, again and again, and checks that no turn is lost and that no journaled call runs
//! twice. docs/durability.md has the promises that this program tests.
//!
//! ```text
//! faults [--seed N] [--build DIR] [--small [--wrangler] | --hunt SECONDS | [--hunt 0] --journey NAME [--stride N]]
//! ```
//!
//! `--journey` plays one journey alone (`journeys`), with `--hunt` up to the first violation. Without `--small`, `--hunt` or `--journey`: the fixed turns and the
//! journeys at each of their boundaries, then a storm until it has had 400 kills, 100 `ctx.abort()`s, 500 client cuts and
//! 2,000 upstream faults, then 20 kills of the whole of `wrangler dev`. Exits with 1 when a check fails. Everything that a
//! failed run leaves lies in `target/faults-run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use espalier_faults::harness::{Harness, Outcome, Quota, Setup};
use espalier_faults::world::Weather;
use espalier_faults::{journeys, report};

/// The options of the command line.
struct Arguments {
    seed: u64,
    build: PathBuf,
    work: PathBuf,
    size: Size,
    /// The journey that is played alone.
    journey: Option<&'static str>,
    /// Every how many of a journey's boundaries are tried.
    stride: u32,
    /// Whether the small run uses the whole of `wrangler dev`.
    wrangler: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Size {
    /// All phases, about a quarter of an hour.
    Full,
    /// 20 kills, for `make test`.
    Small,
    /// A storm of so many seconds and every third boundary of the fixed turn, up to the first violation: it must find a
    /// planted bug.
    Hunt(u64),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!(
                "faults: {error}\nusage: faults [--seed N] [--build DIR] [--work DIR] [--small [--wrangler] | --hunt SECONDS | [--hunt 0] --journey NAME [--stride N]]"
            );
            return ExitCode::from(2);
        }
    };
    match run(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seed: 4,
        build: PathBuf::from("target/dev-worker"),
        work: PathBuf::from("target/faults-run"),
        size: Size::Full,
        journey: None,
        stride: 1,
        wrangler: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--seed" => arguments.seed = number(value()?)?,
            "--build" => arguments.build = value()?.into(),
            "--work" => arguments.work = value()?.into(),
            "--small" => arguments.size = Size::Small,
            "--wrangler" => arguments.wrangler = true,
            "--hunt" => arguments.size = Size::Hunt(number(value()?)?),
            "--stride" => arguments.stride = number(value()?)?.max(1) as u32,
            "--journey" => {
                let name = value()?;
                let journey = journeys::named(&name).ok_or_else(|| format!("no journey {name}"))?;
                arguments.journey = Some(journey.name());
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(arguments)
}

async fn run(arguments: &Arguments) -> Result<bool, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    if !root.join("wrangler.toml").exists() {
        return Err("no wrangler.toml here: run me in the root of the repository".into());
    }
    check_build(&arguments.build)?;
    println!("seed {}", arguments.seed);
    let setup = Setup {
        seed: arguments.seed,
        root,
        build: arguments.build.clone(),
        work: arguments.work.clone(),
        wrangler: false,
        slots: 10,
        pause: (400, 2200),
        weather: Weather { upstream: 240, d1: 120, r2: 120, panics: 4 },
        lost_after: Duration::from_secs(90),
    };
    let slow = Setup {
        wrangler: true,
        slots: 4,
        pause: (1500, 4000),
        lost_after: Duration::from_secs(300),
        ..setup.clone()
    };
    let patient = Quota { kills: 20, most: Duration::from_secs(480), ..Quota::default() };
    let holds = match (arguments.size, arguments.journey) {
        (Size::Small, _) if arguments.wrangler => {
            storm("the whole of wrangler dev", &slow, false, patient).await?
        }
        (Size::Small, _) => {
            let quota = Quota { kills: 20, most: Duration::from_secs(60), ..Quota::default() };
            let setup = Setup { slots: 6, pause: (300, 1300), ..setup };
            storm("20 kills", &setup, false, quota).await?
        }
        (Size::Hunt(seconds), _) => {
            let quota = Quota { kills: u32::MAX, most: Duration::from_secs(seconds), ..Quota::default() };
            let lost_after = Duration::from_secs(40);
            let setup = Setup { pause: (300, 1800), lost_after, ..setup };
            hunt(&setup, quota, arguments.journey.map(|name| (name, arguments.stride))).await?
        }
        (Size::Full, Some(name)) => journey(name, arguments.stride, &setup).await?,
        (Size::Full, None) => {
            let quota =
                Quota { kills: 330, aborts: 100, cuts: 500, upstream: 2000, most: Duration::from_secs(660) };
            let first = storm("raw workerd", &setup, true, quota).await?;
            first & storm("the whole of wrangler dev", &slow, false, patient).await?
        }
    };
    println!("\n{}", if holds { "All checks hold." } else { "A CHECK FAILED." });
    Ok(holds)
}

/// Checks that the Worker under test has faults on command.
fn check_build(build: &Path) -> Result<(), String> {
    let file = build.join("index_bg.wasm");
    let wasm = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mark = b"[[faults:";
    if wasm.windows(mark.len()).any(|window| window == mark) {
        return Ok(());
    }
    Err(format!(
        "{} has no faults on command: build it by `make {}/index.js`",
        file.display(),
        build.display()
    ))
}

/// A run in its own folders: first the fixed turn at all its boundaries, if the caller wants that, then the storm.
async fn storm(title: &str, setup: &Setup, boundaries: bool, quota: Quota) -> Result<bool, String> {
    let setup = in_new_folders(setup)?;
    let mut harness = Harness::new(setup.clone()).await?;
    if boundaries {
        let tried = harness.boundaries(1).await?;
        println!("{tried} boundaries of the fixed turns");
        harness.journeys(None, 1).await?;
    }
    harness.panics().await?;
    harness.storm(quota).await?;
    harness.refusals().await?;
    harness.on_hold().await?;
    let outcome: Outcome = harness.finish().await?;
    let kills = if boundaries { 400 } else { quota.kills };
    let rows = report::rows(&outcome, [kills, quota.aborts, quota.cuts, quota.upstream]);
    let holds = report::print(title, &rows);
    for violation in outcome.ledger.violations() {
        println!("  ! {violation}");
    }
    tidy(&setup.work, holds);
    Ok(holds)
}

/// Plays one journey in its own folders.
async fn journey(name: &str, stride: u32, setup: &Setup) -> Result<bool, String> {
    let setup = in_new_folders(setup)?;
    let mut harness = Harness::new(setup.clone()).await?;
    harness.journeys(Some(name), stride).await?;
    let outcome = harness.finish().await?;
    let holds = report::print(name, &report::rows(&outcome, [0; 4]));
    for violation in outcome.ledger.violations() {
        println!("  ! {violation}");
    }
    tidy(&setup.work, holds);
    Ok(holds)
}

/// Looks for one violation: in one journey with this stride, or in a storm and at the boundaries of the fixed turns. Returns
/// whether there was none.
async fn hunt(setup: &Setup, quota: Quota, journey: Option<(&str, u32)>) -> Result<bool, String> {
    let setup = in_new_folders(setup)?;
    let mut harness = Harness::new(setup.clone()).await?;
    let caught = harness.caught();
    let run = async {
        if let Some((name, stride)) = journey {
            harness.journeys(Some(name), stride).await?;
        } else {
            harness.storm(quota).await?;
            harness.refusals().await?;
            harness.on_hold().await?;
            harness.boundaries(3).await?;
        }
        let outcome = harness.finish().await?;
        let holds = report::print("a hunt", &report::rows(&outcome, [0; 4]));
        outcome.ledger.violations().first().inspect(|first| println!("caught at the end: {first}"));
        Ok::<_, String>(holds)
    };
    let holds = tokio::select! {
        first = caught => {
            println!("caught: {first}");
            Ok(false)
        }
        holds = run => holds,
    };
    tidy(&setup.work, true);
    holds
}

/// Gives the run the folders of this process alone: two runs at once must not share any.
fn in_new_folders(setup: &Setup) -> Result<Setup, String> {
    let name = if setup.wrangler { "wrangler" } else { "workerd" };
    let work = setup.work.join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|error| error.to_string())?;
    let work = work.canonicalize().map_err(|error| error.to_string())?;
    Ok(Setup { work, ..setup.clone() })
}

/// Deletes the folders of a run without a violation. After a violation the objects' databases stay, so that somebody
/// can look at them.
fn tidy(work: &Path, holds: bool) {
    match holds {
        true => drop(std::fs::remove_dir_all(work)),
        false => println!("  the run left {}", work.display()),
    }
}
