//! Schemas from a model or a client. This module bounds them before it compiles them, since the validator
//! itself has no guard (a schema of 1.4 KB can be made to run for seconds).

use std::collections::BTreeMap;
use std::rc::Rc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Regex, ValidationError, Validator};
use percent_encoding::percent_decode_str;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::foreign;
use wire::model::RawValueEq;

/// The largest schema in bytes, and its most nodes, levels and enum values. Models write far smaller ones; a
/// schema of this size was measured to compile in milliseconds.
const MAX_BYTES: usize = 64 * 1024;
const MAX_NODES: usize = 1_000;
const MAX_DEPTH: usize = 32;
const MAX_ENUM: usize = 500;
/// The most enum values of a tool's schema together, as OpenAI has it:
/// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.
const MAX_TOOL_ENUM: usize = 1_000;
/// The most regular expressions of a schema (names in `patternProperties` count too), and their bytes
/// together. Models write far fewer.
const MAX_PATTERNS: usize = 32;
const MAX_PATTERN_BYTES: usize = 4 * 1024;
/// The most bytes of one compiled pattern, and of its cache while it matches: 25 bytes of pattern can ask for
/// megabytes, and the isolate has 128 MB: <https://developers.cloudflare.com/workers/platform/limits/>.
const MAX_COMPILED_PATTERN: usize = 64 * 1024;
const MAX_PATTERN_CACHE: usize = 256 * 1024;
/// The most bytes of a compiled pattern in a schema that an earlier version of this code accepted. It is wide
/// enough to accept such a schema after a later version lowers the bound.
const MAX_COMPILED_FROZEN_PATTERN: usize = 1024 * 1024;
/// The most checks of one place of a payload, over all paths through `$ref`s and combinators.
const MAX_CHECKS: u64 = 10_000;
/// The deepest nesting of a payload. It bounds the cost of a recursive schema.
const MAX_PAYLOAD_DEPTH: usize = 12;
/// The longest chain of schemas through `$ref`s and combinators. The stack sets this limit.
const MAX_CHAIN: usize = 200;
/// The most violations in one error, and the longest error in characters.
const MAX_TOLD: usize = 5;
const MAX_TOLD_CHARS: usize = 1_500;

/// A compiled schema of a structured result. Building one costs milliseconds on wasm: keep it.
#[derive(Debug)]
pub struct OutputSchema {
    source: Rc<RawValueEq>,
    validator: Validator,
}

impl OutputSchema {
    /// Checks the bounds and compiles. The model that wrote the schema reads the error.
    pub fn compile(source: Rc<RawValueEq>) -> Result<Self, String> {
        let schema = OutputSchema::within_bounds(source.0.get())?;
        OutputSchema::build(source, &schema, MAX_COMPILED_PATTERN)
    }

    /// Compiles a schema from a turn's journal. The version of this code that wrote it has checked its
    /// bounds. This version may have lower ones, and a deploy must not refuse a level that has begun.
    pub fn compile_frozen(source: Rc<RawValueEq>) -> Result<Self, String> {
        let schema: Value = wire::json::from_str(source.0.get()).map_err(|error| not_json(&error))?;
        OutputSchema::build(source, &schema, MAX_COMPILED_FROZEN_PATTERN)
    }

    fn build(source: Rc<RawValueEq>, schema: &Value, pattern_bytes: usize) -> Result<Self, String> {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(patterns(pattern_bytes))
            .build(schema)
            .map_err(|error| refused(&error))?;
        Ok(OutputSchema { source, validator })
    }

    /// Checks the bounds alone, which costs no more than reading the schema.
    pub fn within_bounds(text: &str) -> Result<Value, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the schema has {} bytes, the limit is {MAX_BYTES}", text.len()));
        }
        let schema: Value = wire::json::from_str(text).map_err(|error| error.to_string())?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("the schema must be an object with \"type\": \"object\"".to_owned());
        }
        let mut size = Size::default();
        size.add(&schema, 0)?;
        size.check_patterns()?;
        within_cost(&schema)?;
        Ok(schema)
    }

    /// Checks the size of a tool's schema as its owner wrote it.
    pub fn within_size(schema: &Value) -> Result<(), String> {
        Size { is_tool: true, ..Size::default() }.add(schema, 0)
    }

    /// Checks the references of a tool's schema, and the checks that they multiply to. Its patterns cost nothing before
    /// they are compiled.
    pub fn within_cost(schema: &Value) -> Result<(), String> {
        within_cost(schema)
    }

    /// Compiles a tool's schema. Its owner checks the arguments again, so a schema that does not compile here loses a check
    /// and not the tool: without its patterns where that is enough, else as a whole. The text says why, for the operator.
    pub fn compile_tool(source: &Rc<RawValueEq>) -> (Option<Self>, Option<String>) {
        let schema: Value = match wire::json::from_str(source.0.get()) {
            Ok(schema) => schema,
            Err(error) => return (None, Some(not_json(&error))),
        };
        let mut size = Size { is_tool: true, ..Size::default() };
        if let Err(problem) = size.add(&schema, 0).and_then(|()| within_cost(&schema)) {
            return (None, Some(problem));
        }
        let build = |schema: &Value| OutputSchema::build(Rc::clone(source), schema, MAX_COMPILED_PATTERN);
        let problem = match size.check_patterns().and_then(|()| build(&schema)) {
            Ok(compiled) => return (Some(compiled), None),
            Err(problem) => problem,
        };
        let rest = foreign::without_patterns(schema);
        (rest.and_then(|schema| build(&schema).ok()), Some(problem))
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Rc<RawValueEq> {
        &self.source
    }

    /// Checks a payload against the schema. The error names the violations, for the model.
    pub fn check(&self, payload: &str) -> Result<(), String> {
        let payload: Value = wire::json::from_str(payload).map_err(|error| not_json(&error))?;
        if depth(&payload) > MAX_PAYLOAD_DEPTH {
            return Err(format!("it nests deeper than {MAX_PAYLOAD_DEPTH} levels"));
        }
        let violations: Vec<String> = self
            .validator
            .iter_errors(&payload)
            .take(MAX_TOLD)
            .map(|error| {
                let at = error.instance_path().to_string();
                format!("{}: {error}", if at.is_empty() { "it" } else { at.as_str() })
            })
            .collect();
        if violations.is_empty() {
            return Ok(());
        }
        Err(clipped(&format!("it does not satisfy the schema: {}", violations.join("; "))))
    }
}

/// The reason why a schema does not compile.
fn refused(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => clipped(&format!(
            "the pattern {} cannot be used: it needs look-around or references, which are not supported, or is too large \
             when its repetitions are written out; maxLength and maxItems bound lengths",
            error.instance()
        )),
        _ => clipped(&error.to_string()),
    }
}

/// Checks the references of a schema, and the checks of one place of a payload.
fn within_cost(schema: &Value) -> Result<(), String> {
    references(schema)?;
    let mut cost = Cost { root: schema, known: BTreeMap::new(), chain: Vec::new() };
    if cost.of(schema, MAX_PAYLOAD_DEPTH)? > MAX_CHECKS {
        return Err("its combinators and references multiply too much; simplify them".to_owned());
    }
    Ok(())
}

/// Explains invalid JSON to the model that wrote it.
pub fn not_json(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "not valid JSON: it ends before it is complete".to_owned(),
        Category::Io | Category::Syntax | Category::Data => {
            let rules = "names and strings stand in double quotes, and nothing follows the last bracket";
            format!("not valid JSON from line {}, character {} on: {rules}", error.line(), error.column())
        }
    }
}

/// Checks that a text is a JSON object, and no more.
pub fn is_object(text: &str) -> Result<(), String> {
    match wire::json::from_str::<Value>(text).map_err(|error| not_json(&error))? {
        Value::Object(_) => Ok(()),
        _ => Err("it is not of type \"object\"".to_owned()),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(MAX_TOLD_CHARS).collect()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The engine for patterns. It takes linear time for every pattern and text.
fn patterns(compiled_bytes: usize) -> PatternOptions<Regex> {
    PatternOptions::regex().size_limit(compiled_bytes).dfa_size_limit(MAX_PATTERN_CACHE)
}

/// The counts of a schema's parts.
#[derive(Default)]
struct Size {
    is_tool: bool,
    nodes: usize,
    values: usize,
    patterns: usize,
    pattern_bytes: usize,
}

impl Size {
    /// Adds a part of the schema: nodes, depth, enums, patterns.
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            let limits = format!("{MAX_NODES} nodes or deeper than {MAX_DEPTH} levels");
            return Err(format!("the schema is larger than {limits}"));
        }
        match value {
            Value::Object(members) => {
                members.iter().try_for_each(|(name, member)| self.add_member(name, member, depth + 1))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            _ => Ok(()),
        }
    }

    fn add_member(&mut self, name: &str, member: &Value, depth: usize) -> Result<(), String> {
        match (name, member) {
            ("enum", Value::Array(values)) if self.is_tool => {
                self.values += values.len();
                if self.values > MAX_TOOL_ENUM {
                    return Err(format!("the schema has more than {MAX_TOOL_ENUM} enum values"));
                }
                return Ok(());
            }
            ("enum", Value::Array(values)) if values.len() > MAX_ENUM => {
                return Err(format!("an enum has {} values, the limit is {MAX_ENUM}", values.len()));
            }
            // Values, not schemas: they count once.
            ("enum" | "const" | "examples" | "default", _) => return Ok(()),
            ("pattern", Value::String(pattern)) => self.add_pattern(pattern),
            ("patternProperties", Value::Object(parts)) => {
                parts.keys().for_each(|pattern| self.add_pattern(pattern));
            }
            _ => {}
        }
        self.add(member, depth)
    }

    fn add_pattern(&mut self, pattern: &str) {
        self.patterns += 1;
        self.pattern_bytes += pattern.len();
    }

    fn check_patterns(&self) -> Result<(), String> {
        if self.patterns > MAX_PATTERNS || self.pattern_bytes > MAX_PATTERN_BYTES {
            let limits = format!("{MAX_PATTERNS} patterns, or more than {MAX_PATTERN_BYTES} bytes of them");
            return Err(format!("the schema has more than {limits}"));
        }
        Ok(())
    }
}

/// Checks that references stay within the schema.
fn references(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            check_references(members)?;
            let is_value = |name: &str| matches!(name, "enum" | "const" | "examples" | "default");
            members.iter().filter(|(name, _)| !is_value(name)).try_for_each(|(_, part)| references(part))
        }
        Value::Array(parts) => parts.iter().try_for_each(references),
        _ => Ok(()),
    }
}

fn check_references(members: &Map<String, Value>) -> Result<(), String> {
    for refused in ["$dynamicRef", "$recursiveRef", "$id", "$schema"] {
        // A property may have such a name; then it names a schema.
        let value = members.get(refused).and_then(Value::as_str);
        if value.is_some_and(|uri| refused != "$schema" || !uri.contains("/2020-12/")) {
            return Err(format!("{refused} is not supported here"));
        }
    }
    match members.get("$ref") {
        Some(Value::String(target)) if target != "#" && !target.starts_with("#/") => Err(format!(
            "$ref may only point into the schema itself, such as #/$defs/name: {}",
            clipped(target)
        )),
        _ => Ok(()),
    }
}

/// Computes the most checks of one place of a payload.
struct Cost<'a> {
    root: &'a Value,
    known: BTreeMap<(*const Value, usize), u64>,
    chain: Vec<(*const Value, usize)>,
}

impl<'a> Cost<'a> {
    /// The cost at a place with so many levels below it.
    fn of(&mut self, schema: &'a Value, below: usize) -> Result<u64, String> {
        let Value::Object(members) = schema else { return Ok(1) };
        let key = (std::ptr::from_ref(schema), below);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if self.chain.contains(&key) || self.chain.len() > MAX_CHAIN {
            return Err("its references lead back to themselves".to_owned());
        }
        self.chain.push(key);
        let mut total = 1_u64;
        for (name, member) in members {
            total = total.saturating_add(self.of_member(name, member, below)?).min(MAX_CHECKS + 1);
        }
        self.chain.pop();
        self.known.insert(key, total);
        Ok(total)
    }

    fn of_member(&mut self, name: &str, member: &'a Value, below: usize) -> Result<u64, String> {
        match (name, member) {
            ("$ref", Value::String(target)) => {
                let pointer = percent_decode_str(target.trim_start_matches('#')).decode_utf8_lossy();
                let found = self
                    .root
                    .pointer(&pointer)
                    .ok_or_else(|| format!("{} points nowhere", clipped(target)))?;
                self.of(found, below)
            }
            // These check the same place.
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => self.sum(branches.iter(), below),
            ("dependentSchemas" | "dependencies", Value::Object(branches)) => {
                self.sum(branches.values(), below)
            }
            ("not" | "if" | "then" | "else", branch) => self.of(branch, below),
            // These check the places below it: of distinct names or positions, only the worst counts.
            ("properties", Value::Object(parts)) => self.worst(parts.values(), below),
            ("prefixItems" | "items", Value::Array(parts)) => self.worst(parts.iter(), below),
            ("patternProperties", Value::Object(parts)) if below > 0 => self.sum(parts.values(), below - 1),
            (
                "items"
                | "contains"
                | "additionalItems"
                | "additionalProperties"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "propertyNames",
                part,
            ) => self.worst(std::iter::once(part), below),
            _ => Ok(0),
        }
    }

    fn sum(&mut self, parts: impl Iterator<Item = &'a Value>, below: usize) -> Result<u64, String> {
        let mut total = 0_u64;
        for part in parts {
            total = total.saturating_add(self.of(part, below)?);
        }
        Ok(total)
    }

    fn worst(&mut self, parts: impl Iterator<Item = &'a Value>, below: usize) -> Result<u64, String> {
        let Some(below) = below.checked_sub(1) else { return Ok(0) };
        let mut worst = 0;
        for part in parts {
            worst = worst.max(self.of(part, below)?);
        }
        Ok(worst)
    }
}

#[cfg(test)]
mod tests;
