//! Turns the profiles, which are data, into constants: a mistake in them is an error of the build, and nothing is parsed
//! at run time.

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

/// A chat context (`profiles/contexts.rs`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Context {
    #[serde(default)]
    aliases: Vec<String>,
    budget: String,
    models: String,
    operation: String,
    plans: bool,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    guidance: String,
    goal: Option<String>,
    #[serde(default)]
    planning: String,
    #[serde(default)]
    plan_tools: Vec<String>,
}

/// Limits that a profile may leave out.
const OPTIONAL: [&str; 4] = ["root_tool_calls", "turn_tokens", "turn_result_bytes", "turn_cost_microusd"];

const CONTEXTS: [&str; 7] =
    ["thread", "editor", "general", "project", "project_create", "project_audit", "task"];

fn contexts() -> Result<String, Box<dyn Error>> {
    let mut code = "const CONTEXTS: &[ContextProfile] = &[\n".to_owned();
    for name in CONTEXTS {
        let file = fs::read_to_string(format!("{PROFILES}/contexts/{name}.toml"))?;
        let Context {
            aliases,
            budget,
            models,
            operation,
            plans,
            tools,
            guidance,
            goal,
            planning,
            plan_tools,
        } = toml::from_str(&file)?;
        let mut letters = models.chars();
        let role: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        writeln!(
            code,
            "    ContextProfile {{ name: {name:?}, aliases: &{aliases:?}, budget: {}, role: Role::{role}, \
             operation: {operation:?}, plans: {plans}, tools: &{tools:?}, guidance: {:?}, goal: {goal:?}, \
             planning: {:?}, plan_tools: &{plan_tools:?} }},",
            budget.to_uppercase(),
            guidance.trim(),
            planning.trim(),
        )?;
    }
    code.push_str("];\n");
    Ok(code)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROFILES}");
    let mut code = String::new();
    for name in ["thread", "free", "planner", "simple_loop", "swarm", "workflow"] {
        let profile: Profile = toml::from_str(&fs::read_to_string(format!("{PROFILES}/{name}.toml"))?)?;
        writeln!(code, "const {}: Limits = Limits {{", name.to_uppercase())?;
        for (limit, value) in profile.limits {
            match OPTIONAL.contains(&limit.as_str()) {
                true => writeln!(code, "    {limit}: Some({value}),")?,
                false => writeln!(code, "    {limit}: {value},")?,
            }
        }
        writeln!(code, "    ..UNLIMITED\n}};")?;
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("contexts.rs"), contexts()?)?;
    fs::write(Path::new(&out).join("profiles.rs"), code)?;
    Ok(())
}
