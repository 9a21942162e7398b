use serde_json::{json, value::RawValue};

use super::*;
use crate::testing::hungry;

fn compile(schema: &Value) -> Result<OutputSchema, String> {
    let raw = RawValue::from_string(schema.to_string()).unwrap();
    OutputSchema::compile(Rc::new(RawValueEq(raw)))
}

fn object(members: &Value) -> Value {
    json!({"type": "object", "properties": members})
}

// N-071 N-072
#[test]
fn a_violation_names_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let schema = compile(&schema).unwrap();
    assert_eq!(schema.check(r#"{"n": 1, "tags": ["a"]}"#), Ok(()));
    for (payload, told) in [
        (r#"{"n": "one"}"#, "/n: "),
        (r#"{"n": 1, "tags": ["a", 2]}"#, "/tags/1: "),
        (r#"{}"#, "\"n\" is a required property"),
        (r#"{"n": 1, "more": 1}"#, "more"),
        (r#"[1]"#, "is not of type \"object\""),
        (r#"{"n": 1"#, "not valid JSON"),
        ("", "not valid JSON"),
    ] {
        let refusal = schema.check(payload).unwrap_err();
        assert!(refusal.contains(told), "{payload}: {refusal}");
        assert!(refusal.chars().count() <= MAX_TOLD_CHARS);
    }
}

#[test]
fn recursion_is_accepted_within_the_depth_limit() {
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}},
            "additionalProperties": false,
        }},
    });
    let schema = compile(&tree).unwrap();
    assert_eq!(schema.check(r#"{"root": {"left": {"right": {}}}}"#), Ok(()));
    assert!(schema.check(r#"{"root": {"left": {"wrong": {}}}}"#).is_err());
    let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let any = compile(&json!({"type": "object"})).unwrap();
    assert_eq!(any.check(&nested(MAX_PAYLOAD_DEPTH)), Ok(()));
    assert!(any.check(&nested(MAX_PAYLOAD_DEPTH + 1)).unwrap_err().contains("deeper than 12"));
}

#[test]
fn exploding_schemas_are_refused_before_they_are_compiled() {
    let deep = (0..40)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let wide = object(&Value::Object((0..1_001).map(|n| (format!("p{n}"), json!(true))).collect()));
    let values: Vec<u32> = (0..501).collect();
    // Each level names the next one twice: two to the power of thirty checks.
    let mut doubling = json!({"type": "object", "$ref": "#/$defs/d0"});
    for n in 0..30 {
        let next = format!("#/$defs/d{}", n + 1);
        doubling["$defs"][format!("d{n}")] = json!({"anyOf": [{"$ref": next}, {"$ref": next}]});
    }
    doubling["$defs"]["d30"] = json!(true);
    let recursive_doubling = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}},
    });
    let mut chain = json!({"type": "object", "$ref": "#/$defs/c0"});
    for n in 0..300 {
        chain["$defs"][format!("c{n}")] = json!({"$ref": format!("#/$defs/c{}", n + 1)});
    }
    chain["$defs"]["c300"] = json!(true);
    let long = "x".repeat(MAX_BYTES);
    for (name, schema, told) in [
        ("deep", deep, "deeper than 32"),
        ("wide", wide, "larger than 1000 nodes"),
        ("enum", object(&json!({"e": {"enum": values}})), "501 values"),
        ("doubling", doubling, "multiply too much"),
        ("recursive doubling", recursive_doubling, "multiply too much"),
        (
            "loop",
            json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
            "back to themselves",
        ),
        ("chain", chain, "back to themselves"),
        ("remote", object(&json!({"a": {"$ref": "https://example.com/s.json"}})), "only point into"),
        ("file", object(&json!({"a": {"$ref": "other.json#/x"}})), "only point into"),
        ("anchor", object(&json!({"a": {"$ref": "#name"}})), "only point into"),
        ("nowhere", object(&json!({"a": {"$ref": "#/$defs/none"}})), "points nowhere"),
        ("dynamic", object(&json!({"a": {"$dynamicRef": "#x"}})), "not supported"),
        ("id", json!({"type": "object", "$id": "https://example.com/x"}), "not supported"),
        ("long", json!({"type": "object", "description": long}), "the limit is 65536"),
        ("array", json!({"type": "array"}), "\"type\": \"object\""),
        ("not a schema", json!(7), "\"type\": \"object\""),
        ("bad keyword", json!({"type": "object", "minProperties": "x"}), "is not of type"),
        ("bad pattern", object(&json!({"a": {"pattern": "("}})), ""),
        ("look-around", object(&json!({"a": {"pattern": "(?=a)b"}})), ""),
    ] {
        let refusal = compile(&schema).map(|_| ()).unwrap_err();
        assert!(refusal.contains(told), "{name}: {refusal}");
    }
}

#[test]
fn a_pattern_takes_linear_time() {
    let schema = compile(&object(&json!({"a": {"pattern": "^(a+)+$"}}))).unwrap();
    let payload = json!({"a": format!("{}b", "a".repeat(40_000))}).to_string();
    assert!(schema.check(&payload).is_err());
}

/// The refusal of a schema. The time limit proves that nothing was compiled: one of these patterns alone
/// takes longer.
#[allow(clippy::disallowed_types, reason = "this measures, and no turn's clock runs here")]
fn refused_at_once(schema: &Value) -> String {
    let began = std::time::Instant::now();
    let refusal = compile(schema).map(|_| ()).unwrap_err();
    assert!(began.elapsed().as_millis() < 50, "{:?}: {refusal}", began.elapsed());
    refusal
}

#[test]
fn hungry_patterns_are_refused_at_once() {
    // Builds the validator of the metaschema, which happens once for a process, before the measurement.
    compile(&object(&json!({}))).unwrap();
    assert!(refused_at_once(&hungry(40)).contains("more than 32 patterns"));
    assert!(OutputSchema::within_bounds(&hungry(40).to_string()).is_err());
    // This number passes the count, so the pattern engine must refuse the patterns.
    assert!(OutputSchema::within_bounds(&hungry(MAX_PATTERNS).to_string()).is_ok());
    for few in [hungry(1), hungry(MAX_PATTERNS)] {
        let refusal = refused_at_once(&few);
        assert!(refusal.contains("too large when its repetitions are written out"), "{refusal}");
    }
}

#[test]
fn patterns_are_counted_wherever_they_stand() {
    let names = |count: usize, length: usize| -> Value {
        let name = |n: usize| format!("^{n:03}{}$", "x".repeat(length.saturating_sub(5)));
        Value::Object((0..count).map(|n| (name(n), json!(true))).collect())
    };
    let with = |names: Value| json!({"type": "object", "patternProperties": names});
    assert!(compile(&with(names(MAX_PATTERNS, 5))).is_ok());
    assert!(compile(&with(names(MAX_PATTERNS + 1, 5))).unwrap_err().contains("more than 32 patterns"));
    let each = MAX_PATTERN_BYTES / MAX_PATTERNS;
    assert!(OutputSchema::within_bounds(&with(names(MAX_PATTERNS, each)).to_string()).is_ok());
    let longer = OutputSchema::within_bounds(&with(names(MAX_PATTERNS, each + 1)).to_string());
    assert!(longer.unwrap_err().contains("4096 bytes"));
    // Both kinds count together, at any depth.
    let mut both = with(names(MAX_PATTERNS, 5));
    both["properties"] = json!({"a": {"items": {"anyOf": [{"pattern": "x"}]}}});
    assert!(compile(&both).unwrap_err().contains("more than 32 patterns"));
    // A property named `pattern` is no pattern, and neither is a value.
    let named = object(&json!({"pattern": {"type": "string"}, "e": {"enum": [{"pattern": "x"}]}}));
    assert!(compile(&named).is_ok());
}

#[test]
fn the_patterns_that_models_write_fit() {
    for pattern in [
        r"^\d{4}-\d{2}-\d{2}$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
        r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$",
        r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
        r"^https?://[^\s/$.?#].[^\s]*$",
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^\+?[1-9]\d{1,14}$",
        r"^\S+( \S+){0,4}$",
        r"^\p{Lu}\p{Ll}+$",
    ] {
        let schema = compile(&object(&json!({"a": {"pattern": pattern}})));
        assert!(schema.is_ok(), "{pattern}: {:?}", schema.err());
    }
}
