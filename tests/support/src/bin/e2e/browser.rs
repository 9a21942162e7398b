//! The browser of an instance: `wrangler dev` starts it at the first use of the binding `BROWSER`. Wrangler would
//! download its own Chrome; here it finds the machine's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::configuration::read;

/// The variable with the folder in which wrangler keeps browsers.
pub const CACHE: &str = "XDG_CACHE_HOME";

/// Where an instance's wrangler looks for browsers.
pub fn cache(state: &Path) -> PathBuf {
    state.join("cache")
}

/// Puts the machine's Chromium where wrangler would install its own, if the layout is known. Otherwise wrangler
/// downloads one.
pub fn install(root: &Path, cache: &Path) -> Result<(), String> {
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
