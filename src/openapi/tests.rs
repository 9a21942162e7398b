use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::document::document;
use super::page::page;
use crate::router;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/web/public/openapi.json");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/routes.md");
/// Set by `make openapi`.
const WRITE: &str = "ESPALIER_WRITE_OPENAPI";

#[test]
fn the_file_matches_the_routes_and_types() {
    let text = format!("{:#}\n", document());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(written == text, "web/public/openapi.json is not what the API is: run `make openapi`");
}

#[test]
fn the_page_matches_the_routes_and_types() {
    let text = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(PAGE, &text).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == text, "docs/routes.md is not what the routes are: run `make openapi`");
}

#[test]
fn every_route_is_in_it_and_nothing_else() {
    let document = document();
    let described =
        operations(&document).map(|(method, path, _)| format!("{} {}", method.to_uppercase(), bare(path)));
    let described: BTreeSet<String> = described.collect();
    let routes = router::patterns().into_iter().map(|pattern| pattern.replace("{*}", "{}"));
    assert_eq!(described, routes.collect::<BTreeSet<String>>());
}

#[test]
fn every_operation_has_a_summary_and_a_name_of_its_own() {
    let document = document();
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let text = |member: &str| operation[member].as_str().unwrap_or_default().to_owned();
        assert!(text("summary").len() > 5, "{method} {path}");
        assert!(names.insert(text("operationId")), "{method} {path}");
        // Each name in braces has a parameter.
        let named = operation["parameters"].as_array().into_iter().flatten();
        let named =
            named.filter(|parameter| parameter["in"] == "path").map(|parameter| parameter["name"].as_str());
        let in_path = path.split('{').skip(1).map(|piece| piece.split('}').next());
        assert_eq!(named.collect::<Vec<_>>(), in_path.collect::<Vec<_>>(), "{method} {path}");
    }
}

#[test]
fn every_operation_has_an_example_that_its_schema_allows() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let required = |parameter: &Value| parameter["required"] == true;
        let bodies = operation["requestBody"]["content"].as_object().into_iter().flat_map(Map::values);
        let taken = parameters.map(|parameter| (parameter, required(parameter)));
        for (taken, is_needed) in taken.chain(bodies.map(|body| (body, true))) {
            let Some(example) = taken.get("example").filter(|example| !example.is_null()) else {
                assert!(!is_needed, "{method} {path} has no example of {taken}");
                continue;
            };
            // The bytes of a file have no schema.
            let Some(schema) = taken.get("schema") else { continue };
            let schema = json!({ "allOf": [schema], "components": document["components"] });
            let schema = jsonschema::validator_for(&schema).unwrap();
            let problems: Vec<String> =
                schema.iter_errors(example).map(|problem| problem.to_string()).collect();
            assert_eq!(problems, Vec::<String>::new(), "{method} {path}: {example}");
        }
    }
}

// Issue 51, 2: generators hold a member with a default for one that is always there, and some stop at a schema that is `true`.
#[test]
fn generators_can_read_it_by_their_defaults() {
    fn walk(node: &Value, path: &str) {
        match node {
            Value::Object(members) => {
                let says_nothing = |default: &Value| default.is_null() || *default == json!({});
                assert!(!members.get("default").is_some_and(says_nothing), "{path}");
                let choices = members.get("oneOf").and_then(Value::as_array).into_iter().flatten();
                assert!(!choices.clone().any(|choice| choice["const"].is_string()), "{path}");
                let properties = members.get("properties").and_then(Value::as_object);
                let anything = properties.into_iter().flatten().find(|(_, schema)| schema.is_boolean());
                assert_eq!(anything, None, "{path}");
                members.iter().for_each(|(name, value)| walk(value, &format!("{path}/{name}")));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, path)),
            _ => {}
        }
    }
    let document = document();
    walk(&document["components"], "");
    // One type of problem for each form of errors.
    let mut schemas = BTreeSet::new();
    for problem in document["components"]["responses"].as_object().unwrap().values() {
        let contents = problem["content"].as_object().unwrap().values();
        schemas.extend(contents.map(|content| content["schema"]["$ref"].as_str().unwrap_or_default()));
    }
    let named = |name: &str| format!("#/components/schemas/{name}");
    assert_eq!(
        schemas,
        BTreeSet::from(["Problem", "OpenAiError", "McpError"].map(named).each_ref().map(String::as_str))
    );
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    fn walk(node: &Value, document: &Value) {
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        match node {
            Value::Object(members) => members.values().for_each(|value| walk(value, document)),
            Value::Array(items) => items.iter().for_each(|value| walk(value, document)),
            _ => {}
        }
    }
    walk(&document, &document);
}

pub(super) fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

/// A path as the routing table has it.
fn bare(path: &str) -> String {
    path.split('{')
        .map(|piece| piece.split_once('}').map_or(piece.to_owned(), |(_, rest)| format!("}}{rest}")))
        .collect::<Vec<_>>()
        .join("{")
}
