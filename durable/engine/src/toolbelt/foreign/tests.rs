use std::rc::Rc;

use serde_json::{Value, json};
use wire::protocol::ClientTool;

use super::normalised;
use crate::testing::foreign_schemas;
use crate::toolbelt::{OutputSchema, client};

fn normal(given: &Value) -> Value {
    normalised(given.as_object().unwrap()).unwrap()
}

// Issue 44: the old forms, and what each becomes.
// Long: a row for each form.
#[test]
fn old_forms_become_those_of_2020_12() {
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    for (name, given, expected) in [
        ("no type", json!({}), json!({"type": "object"})),
        (
            "annotations of the root",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "id": "y", "$comment": "c", "title": "t",
                "description": "d", "type": "object", "properties": {"title": {"title": "T"}, "id": {}, "$schema": {}},
            }),
            json!({"description": "d", "type": "object", "properties": {"title": {"title": "T"}, "id": {}, "$schema": {}}}),
        ),
        ("nulls", json!({"type": null, "properties": null, "required": null}), json!({"type": "object"})),
        ("a list for a map", json!({"properties": []}), json!({"type": "object", "properties": {}})),
        ("object or null", json!({"type": ["object", "null"]}), json!({"type": "object"})),
        (
            "exclusive",
            of(json!({"minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false})),
            of(json!({"exclusiveMinimum": 0, "maximum": 9})),
        ),
        ("exclusive of nothing", of(json!({"exclusiveMaximum": true})), of(json!({}))),
        (
            "a tuple",
            of(json!({"items": [{"type": "string"}, true], "additionalItems": {"type": "number"}})),
            of(json!({"prefixItems": [{"type": "string"}, true], "items": {"type": "number"}})),
        ),
        ("no tuple", of(json!({"items": {}, "additionalItems": false})), of(json!({"items": {}}))),
        (
            "nullable",
            of(json!({"type": "string", "nullable": true})),
            of(json!({"type": ["string", "null"]})),
        ),
        ("not nullable", of(json!({"type": "string", "nullable": false})), of(json!({"type": "string"}))),
        (
            "a nullable enum",
            of(json!({"type": "string", "enum": ["b"], "nullable": true})),
            of(json!({"type": ["string", "null"], "enum": ["b", null]})),
        ),
        (
            "a nullable reference",
            json!({
                "properties": {"a": {"$ref": "#/definitions/A", "nullable": true, "description": "d"}},
                "definitions": {"A": {"type": "string"}},
            }),
            json!({
                "type": "object",
                "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "description": "d"}},
                "$defs": {"A": {"type": "string"}},
            }),
        ),
        (
            "required as a flag",
            json!({"properties": {"a": {"type": "any", "required": true}, "b": {"required": false}}}),
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}),
        ),
        (
            "dependencies",
            json!({"dependencies": {"a": ["b"], "b": {"minProperties": 2}}}),
            json!({
                "type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"minProperties": 2}},
            }),
        ),
        (
            "values",
            of(json!({"default": null, "const": null, "enum": [{"nullable": true}], "items": null})),
            of(json!({"default": null, "const": null, "enum": [{"nullable": true}]})),
        ),
        (
            "a reference at the root",
            json!({"$ref": "#/definitions/A", "definitions": {"A": {"type": "object", "title": "A", "required": ["b"]}}}),
            json!({"type": "object", "required": ["b"]}),
        ),
        ("the root itself", json!({"$ref": "#"}), json!({"type": "object"})),
    ] {
        assert_eq!(normal(&given), expected, "{name}");
        assert_eq!(normal(&expected), expected, "{name}, once more");
    }
}

// Issue 44: references to ids, to anchors, and through what the rewriting moves.
#[test]
fn references_lead_where_they_led() {
    let to = |target: &str| {
        let given = json!({
            "$id": "https://example.com/root",
            "properties": {
                "r": {"$ref": target},
                "t": {"items": [{"type": "string"}, {"properties": {"x y": {"const": 1}}}], "additionalItems": {"const": 2}},
                "n": {"nullable": true, "allOf": [{"const": 3}]},
                "node": {"$id": "Node", "properties": {"next": {"$ref": "Node"}}},
                "definitions": {"const": 4},
                "size/weight": {"const": 5},
            },
            "definitions": {"A<B>": {"const": 6}, "C": {"$anchor": "here", "definitions": {"D": {"const": 7}}}},
            "$defs": {"C": {"const": 8}},
        });
        normal(&given)["properties"]["r"]["$ref"].as_str().unwrap().to_owned()
    };
    for (given, expected) in [
        ("#", "#"),
        ("https://example.com/root", "#"),
        ("https://example.com/root#/$defs/C", "#/$defs/C"),
        ("Node", "#/properties/node"),
        ("#here", "#/$defs/C_"),
        ("#/definitions/A%3CB%3E", "#/$defs/A_B_"),
        ("#/definitions/A<B>", "#/$defs/A_B_"),
        ("#/definitions/C/definitions/D", "#/$defs/C_/definitions/D"),
        ("#/properties/t/items/0", "#/properties/t/prefixItems/0"),
        ("#/properties/t/items/1/properties/x y", "#/properties/t/prefixItems/1/properties/x%20y"),
        ("#/properties/t/additionalItems", "#/properties/t/items"),
        ("#/properties/n", "#/properties/n"),
        ("#/properties/n/allOf/0", "#/properties/n/anyOf/0/allOf/0"),
        ("#/properties/definitions", "#/properties/definitions"),
        ("#/properties/size~1weight", "#/properties/size~1weight"),
    ] {
        assert_eq!(to(given), expected, "{given}");
    }
}

// Issue 44: a tool that no model could call, or whose schema leads elsewhere, is not taken.
#[test]
fn schemas_that_no_tool_can_have_are_refused() {
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    let deep = (0..18).fold(json!({}), |inner, _| of(inner));
    let wide: serde_json::Map<String, Value> = (0..1_100).map(|n| (format!("p{n}"), json!(true))).collect();
    for (given, told) in [
        (json!({"type": "string"}), "arguments are an object"),
        (json!({"type": ["string", "null"]}), "arguments are an object"),
        (
            json!({"$ref": "#/definitions/A", "definitions": {"A": {"type": "array"}}}),
            "arguments are an object",
        ),
        (of(json!({"$ref": "https://example.com/s.json"})), "only point into"),
        (of(json!({"$ref": "other.json#/x"})), "only point into"),
        (of(json!({"$ref": "#/$defs/none"})), "points nowhere"),
        (of(json!({"$ref": "#/properties/a"})), "back to themselves"),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}), "back to themselves"),
        (of(json!({"$dynamicRef": "#x"})), "only point into"),
        (deep, "deeper than 32 levels"),
        (json!({"properties": wide}), "larger than 1000 nodes"),
        (of(json!({"enum": (0..1_001).collect::<Vec<_>>()})), "more than 1000 enum values"),
    ] {
        let refusal = normalised(given.as_object().unwrap()).unwrap_err();
        assert!(refusal.contains(told), "{given}: {refusal}");
    }
    assert!(normalised(of(json!({"enum": (0..1_000).collect::<Vec<_>>()})).as_object().unwrap()).is_ok());
}

// Names that differ by signs alone, which no path takes as they are: each stays a definition of its own.
#[test]
fn definitions_with_names_alike_stay_apart() {
    let names: Vec<String> = (0..300).map(|at| char::from_u32(0xA1 + at).unwrap().to_string()).collect();
    let definitions: serde_json::Map<_, _> =
        names.iter().enumerate().map(|(at, name)| (name.clone(), json!({ "const": at }))).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({ "$ref": format!("#/definitions/{name}") }))).collect();
    let given = json!({ "properties": properties, "definitions": definitions });
    let schema = normalised(given.as_object().unwrap()).unwrap();
    assert_eq!(schema["$defs"].as_object().unwrap().len(), names.len());
    for (at, name) in names.iter().enumerate() {
        let target = schema["properties"][name]["$ref"].as_str().unwrap();
        let target = schema.pointer(target.strip_prefix('#').unwrap()).unwrap();
        assert_eq!(*target, json!({ "const": at }), "{name}");
    }
}

// Issue 44: what does not compile here checks nothing: the patterns alone where that can be told apart.
#[test]
fn patterns_that_do_not_compile_leave_the_other_checks() {
    let compiled = |schema: &Value| {
        let raw = serde_json::value::to_raw_value(schema).unwrap();
        OutputSchema::compile_tool(&Rc::new(wire::model::RawValueEq(raw)))
    };
    let around = json!({"type": "string", "pattern": "(?=a)b"});
    let of = |property: &Value| json!({"type": "object", "properties": {"a": property}});
    let (schema, problem) = compiled(&of(&around));
    let schema = schema.unwrap();
    assert!(problem.unwrap().contains("look-around"));
    assert_eq!(schema.check(r#"{"a": "c"}"#), Ok(()));
    assert!(schema.check(r#"{"a": 5}"#).is_err());
    // Without the pattern this would refuse what it accepts with it.
    let (schema, problem) = compiled(&of(&json!({"not": around})));
    assert!(schema.is_none() && problem.unwrap().contains("look-around"));
    let (schema, problem) = compiled(&json!({"type": "object", "minProperties": "x"}));
    assert!(schema.is_none() && problem.is_some());
}

// Issue 44: each schema of `tests/schemas` as a client's tool of `/api/chat`: taken, offered as 2020-12 with the original
// beside it, and checked.
#[test]
fn the_schemas_of_libraries_are_taken_and_checked() {
    let schemas = foreign_schemas();
    assert!(schemas.len() >= 100, "{}", schemas.len());
    for row in schemas {
        let tool = json!({"name": "ui_t", "description": "d", "input_schema": row.schema});
        let tool: ClientTool = serde_json::from_value(tool).unwrap();
        assert_eq!(client::check(std::slice::from_ref(&tool)), Ok(()), "{row:?}");
        row.check(&client::spec(&tool, false));
    }
}
