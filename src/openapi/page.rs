//! The routes for people: `docs/routes.md`, made of the document and of the routes' own refusals.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;
use wire::protocol::ErrorCode;

use super::contract::Contract;
use super::document::{document, named_path};
use crate::auth::scope::Access;
use crate::body::Body;
use crate::resources::{NAMES, ROUTES};
use crate::router::Row;

const HEAD: &str = "# The routes

`make openapi` makes this page of the routes in `src/resources`; do not change it by hand. `GET /openapi.json` has the same \
for machines, with the members of all types. [wire-protocol.md](wire-protocol.md) explains what routes share: credentials, \
events, turns.

A route needs a credential with the scope that it names. It may refuse each request with `rate_limited`, `uri_too_long`, \
`headers_too_large` and `internal`, a credential with `unauthenticated`, `insufficient_scope`, `forbidden_origin`, \
`misconfigured` and `issuer_unavailable`, and a body with `invalid_json`, `invalid_request`, `unsupported_media_type`, \
`body_too_large`, `request_timeout` and `overloaded`. The other refusals stand beside each route.
";

/// The page.
pub fn page() -> String {
    let document = document();
    let mut page = HEAD.to_owned();
    let mut codes = BTreeMap::new();
    for (name, routes) in NAMES.iter().zip(ROUTES) {
        let _ = write!(page, "\n## {}\n", title(name));
        for row in *routes {
            let path = named_path(row);
            let operation = &document["paths"][&path][row.method.as_str().to_lowercase()];
            let _ = write!(page, "\n### `{} {path}`\n\n{}\n\n", row.method.as_str(), row.comment.trim());
            let contract = (row.contract)(Contract::of(row));
            codes.extend(contract.refusals().into_iter().map(|code| ((code.status(), code.as_str()), code)));
            for (word, value) in [
                ("Scope", access(row.access)),
                ("Query", parameters(operation, "query")),
                ("Headers", parameters(operation, "header")),
            ] {
                line(&mut page, word, &value);
            }
            line(&mut page, "Body", &body(row.body, operation));
            line(&mut page, "Answers", &answers(operation));
            line(&mut page, "Refusals", &refusals(row, &contract));
        }
    }
    page.push_str("\n## Types\n\nA member with `?` may be absent. The page says of a type what its members are called and of \
        which types they are.\n\n");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let _ = writeln!(page, "- `{name}`: `{}`", shape(schema));
    }
    page.push_str("\n## Codes\n\n| code | status | meaning |\n|---|---|---|\n");
    for ((status, name), code) in codes {
        let _ = writeln!(page, "| `{name}` | {status} | {} |", code.title());
    }
    page
}

fn line(page: &mut String, word: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(page, "- {word}: {value}");
    }
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn access(access: Access) -> String {
    match access {
        Access::Needs(scope) | Access::NeedsAtOrigin(scope) => format!("`{}`", scope.as_str()),
        Access::Erases => "`erase`, or a visitor's or a new session".to_owned(),
        Access::Unlimited | Access::Open | Access::KnownOrigin => "none".to_owned(),
    }
}

fn parameters(operation: &Value, place: &str) -> String {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let told = all.filter(|parameter| parameter["in"] == place).map(|parameter| {
        let description = parameter["description"].as_str().unwrap().trim_end_matches('.');
        format!("`{}` ({description})", parameter["name"].as_str().unwrap())
    });
    told.collect::<Vec<_>>().join(", ")
}

fn body(body: Body, operation: &Value) -> String {
    let content = &operation["requestBody"]["content"];
    let most = match body {
        Body::Nothing => return String::new(),
        Body::Json(_) | Body::OptionalJson(_) | Body::File | Body::Document => body.most(),
    };
    let optional = if matches!(body, Body::OptionalJson(_)) { ", or none" } else { "" };
    format!("{}{optional}; at most {most} bytes", shapes(content))
}

fn answers(operation: &Value) -> String {
    let given =
        operation["responses"].as_object().unwrap().iter().filter(|(_, answer)| answer.get("$ref").is_none());
    let told = given.map(|(status, answer)| match answer.get("content") {
        Some(content) => format!("{status} {}", shapes(content)),
        None => status.clone(),
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The types of a content, by their names where they have one.
fn shapes(content: &Value) -> String {
    let all = content.as_object().unwrap().iter().map(|(media, content)| {
        let named = content["schema"]["$ref"].as_str().map(|name| name.rsplit('/').next().unwrap());
        match named.filter(|_| media == "application/json") {
            Some(name) => format!("`{name}`"),
            None => format!("`{media}`"),
        }
    });
    all.collect::<Vec<_>>().join(" or ")
}

/// The refusals that do not follow from access and body.
fn refusals(row: &Row, contract: &Contract) -> String {
    let common = Contract::of(row).refusals();
    let own =
        contract.refusals().into_iter().filter(|code| !common.contains(code)).collect::<Vec<ErrorCode>>();
    let told = own.chunk_by(|one, other| one.status() == other.status()).map(|same| {
        let names: Vec<_> = same.iter().map(|code| format!("`{}`", code.as_str())).collect();
        format!("{} {}", same[0].status(), names.join(", "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// A type in short: the members of an object, the words of a choice, or the name of another type.
fn shape(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    let choices =
        ["oneOf", "anyOf", "allOf"].into_iter().find_map(|word| Some((word, schema[word].as_array()?)));
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(members) = schema["properties"].as_object() {
        let required: Vec<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let told = members.iter().map(|(name, member)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            match shape(member) {
                plain if plain.is_empty() => format!("{name}{mark}"),
                shape => format!("{name}{mark}: {shape}"),
            }
        });
        return format!("{{ {} }}", told.collect::<Vec<_>>().join(", "));
    }
    if let Some((word, all)) = choices {
        let between = if word == "allOf" { " & " } else { " | " };
        return all.iter().map(shape).filter(|shape| !shape.is_empty()).collect::<Vec<_>>().join(between);
    }
    match schema.get("items").map(shape) {
        Some(item) if !item.is_empty() => format!("[{item}]"),
        _ => match &schema["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
            _ => String::new(),
        },
    }
}
