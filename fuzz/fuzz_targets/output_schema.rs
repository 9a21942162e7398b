//! A schema that a model wrote (first line), and a payload for it: bounded, compiled and checked, all of it quickly.
//! Where the first line does not compile, the payload meets a schema that has one of every keyword.

#![no_main]

use std::rc::Rc;

use wire::model::RawValueEq;
use engine::toolbelt::OutputSchema;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fn compile(text: &str) -> Option<OutputSchema> {
    let raw = RawValue::from_string(text.to_owned()).ok()?;
    match OutputSchema::compile(Rc::new(RawValueEq(raw))) {
        Ok(schema) => Some(schema),
        Err(told) => {
            assert!(told.len() < 8_000, "what the model is told is short");
            None
        }
    }
}

thread_local! {
    static EVERYTHING: OutputSchema = compile(include_str!("../seeds/output_schema/everything").lines().next().unwrap()).unwrap();
}

fn check(schema: &OutputSchema, payload: &str) {
    if let Err(told) = schema.check(payload) {
        assert!(told.len() < 8_000, "what the model is told is short");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema, payload) = text.split_once('\n').unwrap_or((text, "{}"));
    match compile(schema) {
        Some(schema) => check(&schema, payload),
        None => EVERYTHING.with(|schema| check(schema, payload)),
    }
});
