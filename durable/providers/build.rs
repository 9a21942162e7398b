//! Turns the tables of models into constants. A mistake in a table fails the build, and the Worker parses nothing at
//! run time.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

const TABLES: &str = "src/catalogue";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prices {
    model: Vec<Price>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    provider: String,
    model: String,
    input: f64,
    cached: f64,
    cache_write: Option<f64>,
    output: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capabilities {
    model: Vec<Capable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capable {
    provider: String,
    model: String,
    #[serde(default)]
    tools: bool,
    #[serde(default)]
    parallel_tool_calls: bool,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    structured_output: bool,
    #[serde(default)]
    vision: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={TABLES}");
    let out = env::var("OUT_DIR")?;
    let mut code = String::new();
    let prices: Prices = toml::from_str(&fs::read_to_string(format!("{TABLES}/prices.toml"))?)?;
    writeln!(code, "const PRICES: &[(&str, &str, Price)] = &[")?;
    for Price { provider, model, input, cached, cache_write, output } in prices.model {
        let price = format!(
            "Price {{ input: {input:?}, cached: {cached:?}, cache_write: {cache_write:?}, output: {output:?} }}"
        );
        writeln!(code, "    ({provider:?}, {model:?}, {price}),")?;
    }
    writeln!(code, "];")?;
    let table = fs::read_to_string(format!("{TABLES}/capabilities.toml"))?;
    let capabilities: Capabilities = toml::from_str(&table)?;
    writeln!(code, "const CAPABILITIES: &[(&str, &str, Capabilities)] = &[")?;
    for row in capabilities.model {
        let Capable { provider, model, tools, parallel_tool_calls, reasoning, structured_output, vision } =
            row;
        let members = format!(
            "tools: {tools}, parallel_tool_calls: {parallel_tool_calls}, reasoning: {reasoning}, \
             structured_output: {structured_output}, vision: {vision}"
        );
        writeln!(code, "    ({provider:?}, {model:?}, Capabilities {{ {members} }}),")?;
    }
    writeln!(code, "];")?;
    fs::write(Path::new(&out).join("models.rs"), code)?;
    Ok(())
}
