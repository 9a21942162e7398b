//! The configurations of instances whose bindings differ from those of `wrangler.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::browser;
use crate::instance::World;

/// The files that `wrangler.toml` names by relative paths.
const PATHS: [&str; 6] =
    ["build/index.js", "scripts/build-worker", "src", "durable", "web/dist", "migrations"];

/// The bucket of `wrangler.toml`.
const BUCKET: &str = "[[r2_buckets]]\nbinding = \"WORKSPACE\"\nbucket_name = \"espalier-workspace\"\n";

/// Writes the configuration of an instance into this folder, and returns its path; none where it has the bindings of
/// `wrangler.toml`.
pub fn write(name: &str, world: &World, state: &Path) -> Result<Option<PathBuf>, String> {
    let root = &world.root;
    let own = read(&root.join("wrangler.toml"))?;
    let text = match name {
        "main" => {
            browser::install(root, &browser::cache(state))?;
            own + "\n[browser]\nbinding = \"BROWSER\"\n"
        }
        // The name by which its script imports the Worker.
        "ai" => own + &format!("\n[alias]\nespalier = \"{}\"\n", root.join(&world.worker).display()),
        "mcp" => {
            let (before, after) =
                own.split_once(&format!("\n{BUCKET}")).ok_or("wrangler.toml has another bucket")?;
            format!("{before}\n{after}")
        }
        _ => return Ok(None),
    };
    let absolute = PATHS.iter().fold(text, |text, path| {
        text.replace(&format!("\"{path}\""), &format!("\"{}\"", root.join(path).display()))
    });
    let config = state.join("wrangler.toml");
    fs::write(&config, absolute).map_err(|error| error.to_string())?;
    Ok(Some(config))
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
