use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{arguments::Arguments, step::program};

const TARGET: &str = "wasm32-unknown-unknown";

/// Chosen by raw bytes and by the CPU of a cold isolate's first request; docs/operations.md has what was tried.
const OPTIMISATIONS: [&str; 1] = ["-Oz"];

/// `strip` removes the section that names the features of wasm, so wasm-opt must be told of them. Not of all that it
/// knows: workerd must know them too.
const FEATURES: [&str; 8] = [
    "--enable-simd",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-exception-handling",
];

/// The module as the linker wrote it.
pub fn compile(arguments: &Arguments) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    program(
        Command::new(cargo)
            .args(["build", "--locked", "--lib", "--package", "espalier", "--target", TARGET])
            .args(["--profile", &arguments.profile])
            .args(&arguments.cargo),
    )?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    // Cargo keeps what the profile `dev` makes in a folder of another name.
    let folder = if arguments.profile == "dev" { "debug" } else { &arguments.profile };
    Ok(target.join(TARGET).join(folder).join("espalier.wasm"))
}

/// Makes the module smaller, by the wasm-opt of the npm package `binaryen`.
pub fn optimise(module: &Path) -> Result<()> {
    let smaller = module.with_extension("smaller");
    program(
        Command::new("node_modules/.bin/wasm-opt")
            .arg(module)
            .arg("-o")
            .arg(&smaller)
            .args(OPTIMISATIONS)
            .args(FEATURES),
    )?;
    Ok(fs::rename(&smaller, module)?)
}
