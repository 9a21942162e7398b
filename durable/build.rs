//! Turns the profiles and the price table, which are data, into constants: what is wrong with them is an error of the
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
    let prices: Prices = toml::from_str(&fs::read_to_string(format!("{PROFILES}/prices.toml"))?)?;
    writeln!(code, "const PRICES: &[(&str, &str, Price)] = &[")?;
    for Price { provider, model, input, cached, output } in prices.model {
        let price = format!("Price {{ input: {input:?}, cached: {cached:?}, output: {output:?} }}");
        writeln!(code, "    ({provider:?}, {model:?}, {price}),")?;
    }
    writeln!(code, "];")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("profiles.rs"), code)?;
    Ok(())
}
