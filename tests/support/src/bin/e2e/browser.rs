//! The browser of an instance: `wrangler dev` starts it at the first use of the binding `BROWSER`. Wrangler would
//! download its own Chrome; here it finds the machine's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that `wrangler.toml` names by relative paths.
const PATHS: [&str; 6] =
    ["build/index.js", "scripts/build-worker", "src", "durable", "web/dist", "migrations"];

/// The variable with the folder in which wrangler keeps browsers.
pub const CACHE: &str = "XDG_CACHE_HOME";

/// Writes a configuration with a browser into this folder, and returns its path.
pub fn configure(root: &Path, state: &Path) -> Result<PathBuf, String> {
    let own = read(&root.join("wrangler.toml"))?;
    let absolute = PATHS.iter().fold(own, |text, path| {
        text.replace(&format!("\"{path}\""), &format!("\"{}\"", root.join(path).display()))
    });
    let config = state.join("wrangler.toml");
    fs::write(&config, absolute + "\n[browser]\nbinding = \"BROWSER\"\n")
        .map_err(|error| error.to_string())?;
    install(root, &cache(state))?;
    Ok(config)
}

/// Where an instance's wrangler looks for browsers.
pub fn cache(state: &Path) -> PathBuf {
    state.join("cache")
}

/// Puts the machine's Chromium where wrangler would install its own, if the layout is known. Otherwise wrangler
/// downloads one.
fn install(root: &Path, cache: &Path) -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(());
    }
    let miniflare = read(&root.join("node_modules/miniflare/dist/src/index.js"))?;
    let version = miniflare.split_once("BROWSER_VERSION = \"").and_then(|(_, rest)| rest.split_once('"'));
    let (version, _) = version.ok_or("miniflare names no version of its browser")?;
    let found = Command::new(root.join("scripts/chromium")).output().map_err(|error| error.to_string())?;
    if !found.status.success() {
        return Err(String::from_utf8_lossy(&found.stderr).into_owned());
    }
    let folder = cache.join(format!(".wrangler/chrome/linux-{version}/chrome-linux64"));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let browser = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    std::os::unix::fs::symlink(browser, folder.join("chrome")).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
