//! The intake of schemas that others write: for the tools of MCP servers and of clients, over every wire.
//!
//! Libraries write JSON Schema of draft 4 to 2020-12 and of OpenAPI 3.0, with annotations of their own. This module
//! rewrites the old forms, so that models, providers and the validator see draft 2020-12 alone. It changes no meaning.
//! It checks the size, the depth and the references, and compiles nothing: the first call does. No network is asked.

mod pointer;

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::OutputSchema;
use pointer::Pointers;
use wire::model::RawValueEq;

/// The annotations at the root that say nothing to a model.
const ROOT_ANNOTATIONS: [&str; 7] =
    ["title", "$comment", "examples", "example", "deprecated", "readOnly", "writeOnly"];
/// The members that name a schema or its dialect. References are rewritten to paths, so nothing needs the names.
const IDS: [&str; 7] =
    ["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"];
/// Members whose value is data, where null is a value.
const VALUES: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Members whose value is a map of schemas.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Members whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Members whose value is a schema.
const PARTS: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Members beside which `nullable` needs an alternative of its own.
const COMBINED: [&str; 7] = ["$ref", "const", "allOf", "anyOf", "oneOf", "not", "if"];
/// The longest chain of references at the root.
const MAX_ROOT_REFS: usize = 16;

/// The schema of a tool's arguments, in the form of draft 2020-12. The error says why no tool can have it.
pub fn normalised(given: &Map<String, Value>) -> Result<Value, String> {
    let given = Value::Object(given.clone());
    OutputSchema::within_size(&given)?;
    let schema = Rewriting { pointers: Pointers::new(&given) }.root(&given)?;
    OutputSchema::within_cost(&schema)?;
    Ok(schema)
}

/// The members of a schema's root, in their order.
struct Root(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Root;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Root, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Root(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A schema without its dialect and the annotations at its root. All else stays in its order.
pub fn without_annotations(schema: &RawValueEq) -> Result<RawValueEq, serde_json::Error> {
    let Root(members) = wire::json::from_str(schema.0.get())?;
    let is_said = |name: &str| name != "$schema" && !ROOT_ANNOTATIONS.contains(&name);
    let members = members.iter().filter(|(name, _)| is_said(name));
    let text: Vec<String> = members
        .map(|(name, value)| serde_json::to_string(name).map(|name| format!("{name}:{}", value.get())))
        .collect::<Result<_, _>>()?;
    RawValue::from_string(format!("{{{}}}", text.join(","))).map(RawValueEq)
}

struct Rewriting<'a> {
    pointers: Pointers<'a>,
}

impl Rewriting<'_> {
    fn root(&self, given: &Value) -> Result<Value, String> {
        let mut root = self.members(given, "");
        root.retain(|name, _| !ROOT_ANNOTATIONS.contains(&name.as_str()));
        let definitions = self.definitions();
        if !definitions.is_empty() {
            root.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let mut root = followed(root);
        let is_object = match root.get("type") {
            None => true,
            Some(Value::Array(types)) => types.iter().any(|of| of == "object"),
            Some(of) => of == "object",
        };
        if !is_object {
            return Err("arguments are an object: the schema must have \"type\": \"object\"".to_owned());
        }
        root.insert("type".to_owned(), json!("object"));
        Ok(Value::Object(root))
    }

    /// The definitions of the root, wherever its dialect has them.
    fn definitions(&self) -> Map<String, Value> {
        self.pointers.definitions().map(|(name, schema)| (name.to_owned(), self.schema(schema, ""))).collect()
    }

    /// A schema below the root. `base`: the path in the given schema of the nearest schema with an id.
    fn schema(&self, given: &Value, base: &str) -> Value {
        match given {
            Value::Object(members) if pointer::is_wrapped(members) => {
                let mut inner = self.members(given, base);
                let mut outer = Map::new();
                for name in ["title", "description", "default"] {
                    outer.extend(inner.remove_entry(name));
                }
                outer.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
                Value::Object(outer)
            }
            Value::Object(_) => Value::Object(self.members(given, base)),
            Value::Null | Value::Array(_) => Value::Bool(true),
            other => other.clone(),
        }
    }

    fn members(&self, given: &Value, base: &str) -> Map<String, Value> {
        let Value::Object(given) = given else { return Map::new() };
        let base = self.pointers.base(given).unwrap_or_else(|| base.to_owned());
        let mut schema = Map::new();
        for (name, member) in given {
            let is_value = VALUES.contains(&name.as_str());
            if !IDS.contains(&name.as_str()) && (is_value || !member.is_null()) {
                self.member(name, member, &base, given, &mut schema);
            }
        }
        bounds_of_numbers(&mut schema);
        required(given, &mut schema);
        nullable(&mut schema);
        schema
    }

    /// Adds a member as draft 2020-12 has it.
    fn member(
        &self,
        name: &str,
        member: &Value,
        base: &str,
        within: &Map<String, Value>,
        schema: &mut Map<String, Value>,
    ) {
        let is_root = std::ptr::eq(within, self.pointers.root());
        let list = |parts: &[Value]| parts.iter().map(|part| self.schema(part, base)).collect::<Vec<_>>();
        let (name, value) = match (name, member) {
            // The root's stand together, and `definitions` has put them there.
            ("$defs" | "definitions" | "components", Value::Object(_)) if is_root => return,
            // PHP writes a list for a map without members.
            (name, Value::Array(parts)) if parts.is_empty() && MAPS.contains(&name) => (name, json!({})),
            (name, Value::Object(parts)) if MAPS.contains(&name) => {
                let parts = parts.iter().map(|(name, part)| (name.clone(), self.schema(part, base)));
                (name, Value::Object(parts.collect()))
            }
            ("items", Value::Array(parts)) => ("prefixItems", Value::Array(list(parts))),
            (name, Value::Array(parts)) if LISTS.contains(&name) => (name, Value::Array(list(parts))),
            // Before 2020-12 it stands beside a list of items alone.
            ("additionalItems", rest) => match within.get("items") {
                Some(Value::Array(_)) => ("items", self.schema(rest, base)),
                _ => return,
            },
            (name, part) if PARTS.contains(&name) => (name, self.schema(part, base)),
            ("dependencies", Value::Object(parts)) => return self.dependencies(parts, base, schema),
            ("$ref" | "$dynamicRef", Value::String(target)) => {
                ("$ref", json!(self.pointers.rewritten(target, base)))
            }
            ("$recursiveRef", Value::String(_)) => ("$ref", json!("#")),
            ("type", of) => match known_types(of) {
                Some(of) => ("type", of),
                None => return,
            },
            (name, other) => (name, other.clone()),
        };
        // A list of alternatives without one is no list to the validator.
        let is_empty = value.as_array().is_some_and(Vec::is_empty) && LISTS.contains(&name);
        if !is_empty {
            schema.insert(name.to_owned(), value);
        }
    }

    /// Draft 7 has one member for what 2020-12 has two.
    fn dependencies(&self, parts: &Map<String, Value>, base: &str, schema: &mut Map<String, Value>) {
        for (name, part) in parts {
            let (into, part) = match part {
                Value::Array(_) => ("dependentRequired", part.clone()),
                part => ("dependentSchemas", self.schema(part, base)),
            };
            if let Value::Object(all) = schema.entry(into).or_insert_with(|| json!({})) {
                all.insert(name.clone(), part);
            }
        }
    }
}

/// The root with the members of the schema that it refers to. Providers want the type and the properties there.
fn followed(mut root: Map<String, Value>) -> Map<String, Value> {
    for _ in 0..MAX_ROOT_REFS {
        let Some(Value::String(target)) = root.get("$ref").cloned() else { break };
        if target == "#" {
            root.remove("$ref");
            break;
        }
        let whole = Value::Object(root.clone());
        let found = target.strip_prefix('#').and_then(|path| whole.pointer(path)).and_then(Value::as_object);
        let Some(found) = found else { break };
        let is_same = |(name, member): (&String, &Value)| {
            matches!(name.as_str(), "$ref" | "description") || root.get(name).is_none_or(|own| own == member)
        };
        if found.get("$ref").is_some_and(|next| *next == target) || !found.iter().all(is_same) {
            break;
        }
        root.remove("$ref");
        for (name, member) in found {
            if !ROOT_ANNOTATIONS.contains(&name.as_str()) {
                root.entry(name.clone()).or_insert_with(|| member.clone());
            }
        }
        forget(&mut root, &target);
    }
    root
}

/// Removes a definition that nothing refers to any more.
fn forget(root: &mut Map<String, Value>, target: &str) {
    let Some(name) = target.strip_prefix("#/$defs/") else { return };
    let is_used = Value::Object(root.clone()).to_string().contains(&format!("\"{target}"));
    if let (false, Some(Value::Object(definitions))) = (is_used, root.get_mut("$defs")) {
        definitions.remove(name);
        if definitions.is_empty() {
            root.remove("$defs");
        }
    }
}

/// The types without `any`, which is no type.
fn known_types(of: &Value) -> Option<Value> {
    match of {
        Value::Array(types) if types.iter().any(|of| of == "any") => None,
        Value::String(of) if of == "any" => None,
        of => Some(of.clone()),
    }
}

/// Draft 4 and OpenAPI 3.0 say by a flag that a bound is exclusive.
fn bounds_of_numbers(schema: &mut Map<String, Value>) {
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let Some(Value::Bool(is_exclusive)) = schema.get(flag) else { continue };
        let bound = if *is_exclusive { schema.remove(bound) } else { None };
        match bound {
            Some(bound) => schema.insert(flag.to_owned(), bound),
            None => schema.remove(flag),
        };
    }
}

/// `required` is a list of names. Some write it as a flag of the property.
fn required(given: &Map<String, Value>, schema: &mut Map<String, Value>) {
    let listed = given.get("required").and_then(Value::as_array).into_iter().flatten();
    let flagged = given.get("properties").and_then(Value::as_object).into_iter().flatten();
    let flagged = flagged.filter(|(_, property)| property.get("required") == Some(&Value::Bool(true)));
    let names = listed.filter_map(Value::as_str).chain(flagged.map(|(name, _)| name.as_str()));
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    match names.is_empty() && !given.get("required").is_some_and(Value::is_array) {
        true => schema.remove("required"),
        false => schema.insert("required".to_owned(), json!(names)),
    };
}

/// OpenAPI 3.0 says by a flag that null is a value, too. A schema with alternatives gets one more instead.
fn nullable(schema: &mut Map<String, Value>) {
    let Some(flag) = schema.remove("nullable") else { return };
    if flag != true || COMBINED.iter().any(|name| schema.contains_key(*name)) {
        return;
    }
    let types = match schema.remove("type") {
        Some(Value::Array(types)) => types,
        Some(of) => vec![of],
        // Every type is allowed already.
        None => return,
    };
    let with_null = |mut all: Vec<Value>, null: Value| {
        if !all.contains(&null) {
            all.push(null);
        }
        Value::Array(all)
    };
    schema.insert("type".to_owned(), with_null(types, json!("null")));
    if let Some(Value::Array(values)) = schema.remove("enum") {
        schema.insert("enum".to_owned(), with_null(values, Value::Null));
    }
}

/// A schema without its patterns; none where it would refuse what it accepts with them.
pub(super) fn without_patterns(mut schema: Value) -> Option<Value> {
    is_monotone(&schema).then(|| {
        remove_patterns(&mut schema);
        schema
    })
}

/// Whether a schema without some of its members accepts all that it accepts with them.
fn is_monotone(schema: &Value) -> bool {
    const NOT_MONOTONE: [&str; 6] =
        ["not", "oneOf", "if", "contains", "unevaluatedItems", "unevaluatedProperties"];
    match schema {
        Value::Object(members) => {
            members.iter().all(|(name, part)| !NOT_MONOTONE.contains(&name.as_str()) && is_monotone(part))
        }
        Value::Array(parts) => parts.iter().all(is_monotone),
        _ => true,
    }
}

/// Removes the patterns, and the rules about names that no pattern matches.
fn remove_patterns(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, part| name != "pattern" || !part.is_string());
            if members.remove("patternProperties").is_some() {
                members.remove("additionalProperties");
            }
            members.values_mut().for_each(remove_patterns);
        }
        Value::Array(parts) => parts.iter_mut().for_each(remove_patterns),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
