use std::path::Path;

use anyhow::Result;
use wasm_bindgen_cli_support::Bindgen;

pub const MODULE: &str = "index_bg.wasm";
pub const FILE: &str = "index.js";

/// Writes the module with its glue, and the JavaScript that crates bring along.
pub fn make(module: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .out_name("index")
        .module(true)?
        .typescript(false)
        // entry.js replaces a dead instance by this function.
        .reset_state_function(true)
        // A trap that is no panic counts too: the glue then tells `worker`, which asks for a new instance.
        .force_enable_abort_handler(true)
        .generate(folder)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_glue_is_made_by_the_version_of_the_library() {
        let lock = include_str!("../../../Cargo.lock");
        let version = |package: &str| {
            let named = format!("name = \"{package}\"\nversion = \"");
            let at = lock.find(&named).expect(package) + named.len();
            &lock[at..at + lock[at..].find('"').expect("the version ends")]
        };
        assert_eq!(version("wasm-bindgen-cli-support"), version("wasm-bindgen"));
    }
}
