use std::{env, ffi::OsString, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{glue, step::program};

pub const FILE: &str = "index.js";
const ENTRY: &str = include_str!("entry.js");

/// Makes one file of the entry, the glue and the JavaScript that crates bring along. workerd gives a module as the
/// default export of its file, where the glue asks for its source.
pub fn make(parts: &Path) -> Result<()> {
    let path = parts.join(glue::FILE);
    let glue = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (before, after) = ("import source ", "import ");
    ensure!(glue.matches(before).count() == 1, "the glue imports no module, or two");
    fs::write(parts.join("glue.js"), glue.replacen(before, after, 1))?;
    fs::write(parts.join("entry.js"), ENTRY)?;
    let esbuild = env::var_os("ESBUILD_BIN").unwrap_or_else(|| OsString::from("esbuild"));
    program(
        Command::new(esbuild)
            .current_dir(parts)
            .args(["entry.js", "--bundle", "--format=esm", "--minify", "--log-level=warning"])
            .args(["--external:cloudflare:*", "--external:./index_bg.wasm"])
            .args(["--outfile=index.js", "--allow-overwrite"]),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_entry_has_the_classes_of_the_configuration() {
        let configuration = include_str!("../../../wrangler.toml");
        let names = configuration.split("class_name = \"").skip(1).filter_map(|rest| rest.split('"').next());
        let missing: Vec<_> =
            names.filter(|name| !super::ENTRY.contains(&format!("export const {name} = "))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
