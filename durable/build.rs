//! Turns the profiles and the tables of models, which are data, into constants: what is wrong with them is an error of the
//! build, and nothing is parsed at run time.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

const PROFILES: &str = "src/profiles";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    limits: BTreeMap<String, u64>,
}

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
    println!("cargo::rerun-if-changed={PROFILES}");
    let mut code = String::new();
    for name in ["thread", "free"] {
        let profile: Profile = toml::from_str(&fs::read_to_string(format!("{PROFILES}/{name}.toml"))?)?;
        writeln!(code, "const {}: Limits = Limits {{", name.to_uppercase())?;
        for (limit, value) in profile.limits {
            writeln!(code, "    {limit}: {value},")?;
        }
        writeln!(code, "    ..UNLIMITED\n}};")?;
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("profiles.rs"), &code)?;
    code.clear();
    let prices: Prices = toml::from_str(&fs::read_to_string(format!("{PROFILES}/prices.toml"))?)?;
    writeln!(code, "const PRICES: &[(&str, &str, Price)] = &[")?;
    for Price { provider, model, input, cached, output } in prices.model {
        let price = format!("Price {{ input: {input:?}, cached: {cached:?}, output: {output:?} }}");
        writeln!(code, "    ({provider:?}, {model:?}, {price}),")?;
    }
    writeln!(code, "];")?;
    let table = fs::read_to_string(format!("{PROFILES}/capabilities.toml"))?;
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
