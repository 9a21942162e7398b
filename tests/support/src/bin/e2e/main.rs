//! Starts the servers of the end-to-end tests, runs a command against them, and leaves nothing behind.
//!
//! ```text
//! e2e [--wrangler COMMAND] [--instances main,closed,visitors,demo,ai,mcp,money,broken] -- COMMAND [ARGUMENT…]
//! ```
//!
//! In this process run the fake LLM and the fake MCP servers. Beside it runs one `wrangler dev` for each instance, with
//! its own port and its own state:
//!
//! | instance | address in | |
//! |---|---|---|
//! | `main` | `ESPALIER_URL` | anonymous users, the fake LLM, a turn of at most 60 s, a browser |
//! | `closed` | `ESPALIER_CLOSED_URL` | the same without anonymous users, as in production, with issuers of tokens and identity providers, one of them real (`oidc-provider`) |
//! | `visitors` | `ESPALIER_VISITORS_URL` | the same as `main` with quotas, with a collector of spans and without records, in the middle of a rotation of its session secret |
//! | `demo` | `ESPALIER_DEMO_URL` | anonymous users, nothing configured: the demo provider |
//! | `ai` | `ESPALIER_AI_URL` | anonymous users, stand-ins for the bindings of Workers AI and Vectorize, and an R2 that can refuse (`tests/workers_ai`) |
//! | `mcp` | `ESPALIER_MCP_URL` | anonymous users, the fake LLM, MCP servers: fake ones, and a real one (`server-everything`); no bucket |
//! | `money` | `ESPALIER_MONEY_URL` | anonymous users, the fake LLM, prices for some of its models, a limit of money for each turn |
//! | `broken` | `ESPALIER_BROKEN_URL` | variables that are wrong |
//! | `fixtures` | `ESPALIER_URL` | only when it is asked for: `main` with the tools of MCP's conformance tests (`tests/conformance`), where the build has them |
//! | `smoke` | `ESPALIER_URL` | only when it is asked for: anonymous users and the model of the `SMOKE_*` variables |
//!
//! The command also gets `ESPALIER_FAKE_LLM_URL`, `ESPALIER_FAKE_MCP_URL`, `ESPALIER_STATE_DIR` (where the main
//! instance keeps its D1; `ESPALIER_BROKEN_STATE_DIR` and so on for the others), `ESPALIER_GROUP` (the process group of
//! the main instance), `ESPALIER_ISSUER_KEYS` (the private keys of the issuers) and `ESPALIER_ADMIN_KEY` (of the tenant
//! `e2e`). The harness exits with the command's code, or fails if an instance has written a secret. `ESPALIER_WORKER`
//! names the Worker's file (`build/index.js`). It must have been built: the instances do not build it. Runs in the root of the repository; logs go to
//! `target/e2e/`, or to the folder `E2E_LOGS`: harnesses that run side by side need one each.

mod browser;
mod configuration;
mod instance;
mod packages;
mod variables;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use espalier_test_support::{FakeLlm, FakeMcp, canary};
use instance::{Instance, Launch, World};
use packages::Packaged;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// Locked by the harness whose instances are starting.
const STARTING: &str = "target/e2e.starting";

/// The folder for logs.
fn logs() -> PathBuf {
    std::env::var_os("E2E_LOGS").map_or_else(|| "target/e2e".into(), PathBuf::from)
}

/// The options of the command line.
struct Arguments {
    wrangler: Vec<String>,
    instances: Vec<String>,
    command: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!(
                "e2e: {error}\nusage: e2e [--wrangler COMMAND] [--instances main,closed,visitors,demo,ai,mcp,money,broken] -- COMMAND [ARGUMENT…]"
            );
            return ExitCode::from(2);
        }
    };
    let state = std::env::temp_dir().join(format!("espalier-e2e-{}", std::process::id()));
    let mut instances = Vec::new();
    // Every path, also an interrupt, comes back here to clean up.
    let result = tokio::select! {
        result = run(&arguments, &state, &mut instances) => result,
        () = interrupted() => Err("interrupted".into()),
    };
    if !matches!(result, Ok(0)) {
        instances.iter().for_each(print_tail);
    }
    for instance in instances {
        instance.stop().await;
    }
    let _ = std::fs::remove_dir_all(&state);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("e2e: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut wrangler = vec!["node_modules/.bin/wrangler".to_owned()];
    let mut instances: Vec<String> =
        ["main", "closed", "visitors", "demo", "ai", "mcp", "money", "broken"].map(str::to_owned).to_vec();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--wrangler" => wrangler = value()?.split_whitespace().map(str::to_owned).collect(),
            "--instances" => instances = value()?.split(',').map(str::to_owned).collect(),
            "--" => command = words.by_ref().collect(),
            // The first word that is not an option begins the command.
            _ if !word.starts_with('-') => command = std::iter::once(word).chain(words.by_ref()).collect(),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    if command.is_empty() {
        return Err("no command to run".into());
    }
    Ok(Arguments { wrangler, instances, command })
}

/// The exit code of the command.
async fn run(arguments: &Arguments, state: &Path, instances: &mut Vec<Instance>) -> Result<u8, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    if !root.join("wrangler.toml").exists() {
        return Err("no wrangler.toml here: run me in the root of the repository".into());
    }
    std::fs::create_dir_all(logs()).map_err(|error| format!("{}: {error}", logs().display()))?;
    let (llm, mcp) = (FakeLlm::start().await, FakeMcp::start().await);
    let has = |instance: &str| arguments.instances.iter().any(|name| name == instance);
    let everything = if has("mcp") { Some(Packaged::everything(&root).await?) } else { None };
    let identity_provider =
        if has("closed") { Some(Packaged::identity_provider(&root).await?) } else { None };
    let url =
        |server: &Option<Packaged>| server.as_ref().map(|server| server.url.clone()).unwrap_or_default();
    let world = World {
        wrangler: arguments.wrangler.clone(),
        root,
        worker: std::env::var("ESPALIER_WORKER").unwrap_or_else(|_| "build/index.js".to_owned()),
        state: state.to_owned(),
        llm: llm.url().to_owned(),
        mcp: mcp.url().to_owned(),
        everything: format!("{}/mcp", url(&everything)),
        identity_provider: url(&identity_provider),
    };
    let launches =
        arguments.instances.iter().map(|name| Launch::of(name, &world)).collect::<Result<Vec<_>, _>>()?;
    // Two wranglers that start at the same moment take each other's internal ports. So the instances start one after
    // the other, also those of other harnesses on this tree.
    let starting = turn_to_start().await.map_err(|error| format!("{STARTING}: {error}"))?;
    let identity = instance::prepare(&launches, &world).await?;
    llm.publish("rsa", &identity.published(&["rsa"])).await;
    llm.publish("ec", &identity.published(&["ec"])).await;
    for launch in launches {
        instances.push(launch.start(&world)?);
        if let Some(instance) = instances.last() {
            instance.ready().await?;
        }
    }
    drop(starting);

    let [program, words @ ..] = arguments.command.as_slice() else { return Err("no command".into()) };
    let mut command = Command::new(program);
    command.args(words).env("PATH", path_with_tools(&world.root)).env("ESPALIER_FAKE_LLM_URL", llm.url());
    command.env("ESPALIER_FAKE_MCP_URL", mcp.url());
    command.env("ESPALIER_ISSUER_KEYS", &identity.issuer_keys).env("ESPALIER_ADMIN_KEY", &identity.admin_key);
    for instance in instances.iter() {
        command.env(instance.url_variable, &instance.url);
        command.env(instance.url_variable.replace("_URL", "_STATE_DIR"), &instance.state);
        if instance.name == "main" {
            command.env("ESPALIER_GROUP", instance.group().unwrap_or_default().to_string());
        }
    }
    let status = command.kill_on_drop(true).status().await.map_err(|error| format!("{program}: {error}"))?;
    secrets_are_kept(instances, &identity.admin_key)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The lock on [`STARTING`], which ends with the file.
async fn turn_to_start() -> std::io::Result<File> {
    let file = File::create(STARTING)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// After any command: no log, row, event or tree contains a secret.
fn secrets_are_kept(instances: &[Instance], admin_key: &str) -> Result<(), String> {
    let search = |path: &Path, secrets: &[canary::Secret]| {
        canary::found_in(path, secrets).map_err(|error| format!("{}: {error}", path.display()))
    };
    let secrets = canary::unstored(admin_key);
    let mut told = Vec::new();
    for instance in instances {
        let log = instance::log_path(instance.name);
        // These must be there; without them the search is in the wrong place.
        for (path, known) in [(&instance.state.join("v3"), "e2eadmin"), (&log, "wrangler")] {
            if search(path, &[("known", known.to_owned())])?.is_empty() {
                return Err(format!("no {known} in {}: does the instance write elsewhere?", path.display()));
            }
            told.extend(search(path, &secrets)?);
        }
    }
    if told.is_empty() { Ok(()) } else { Err(format!("secrets got out: {}", told.join(", "))) }
}

/// Wrangler needs a newer Node than most machines have; that Node is an npm package of ours.
fn path_with_tools(root: &Path) -> String {
    let tools: PathBuf = root.join("node_modules/.bin");
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default())
}

/// Ctrl-C, or the end of the job that we are part of.
async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn print_tail(instance: &Instance) {
    let path = instance::log_path(instance.name);
    let log = std::fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let tail = &lines[lines.len().saturating_sub(40)..];
    eprintln!("---- {}, the last {} of {} lines ----", path.display(), tail.len(), lines.len());
    eprintln!("{}", tail.join("\n"));
}
