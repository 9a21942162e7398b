//! Tools whose schemas others wrote: offered, called, and checked where that can be.

use std::rc::Rc;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::journal::{Answer, Fact};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::toolbelt::ToolPolicy;
use crate::turn::Ran;
use wire::model::RawValueEq;
use wire::protocol::{Awaited, ClientTool, ContextKind};

/// A turn whose model calls the client's tool of this schema with these arguments, one round after the other.
fn calling(schema: &Value, calls: &[&Value]) -> Case {
    let rounds = calls.iter().map(|arguments| Reply::Calls(vec![("ui_t", (*arguments).clone())]));
    let replies = rounds.chain([Reply::Text("Done.")]).collect();
    let mut case = Case::new(script(&[("go", replies)]));
    let tool = json!({"name": "ui_t", "description": "Does it.", "input_schema": schema});
    case.client_tools = vec![serde_json::from_value::<ClientTool>(tool).unwrap()];
    case.policy = ToolPolicy::of(ContextKind::Editor);
    case.offered_by = case.policy.clone();
    case.run_with(None, |_, _| {});
    case
}

// Issue 44: each schema of `tests/schemas` is offered, its tool is called, and the model hears of arguments that miss it.
#[test]
fn a_tool_of_any_library_is_called() {
    for row in foreign_schemas() {
        let calls: &[&Value] = if row.unchecked { &[&row.fits] } else { &[&row.misses, &row.fits] };
        let case = calling(&row.schema, calls);
        assert_eq!(case.ran, Some(Ok(Ran::Parked)), "{row:?}: {:?}", case.lines());
        let requests = case.model.requests.borrow();
        assert!(requests[0].tools.iter().any(|tool| tool.name == "ui_t"), "{row:?}");
        assert_eq!(requests.len(), calls.len(), "{row:?}");
        let refused = case.lines().iter().filter(|line| line.contains("invalid arguments")).count();
        assert_eq!(refused, calls.len() - 1, "{row:?}: {:?}", case.lines());
    }
}

// Issue 44: a pattern that does not compile here is the model's and the client's matter, and the operator's once.
#[test]
fn a_schema_that_does_not_compile_is_offered_whole() {
    let pattern = "^(?!\\.)[a-z.]+@[a-z.]+$";
    let given = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"to": {"type": "string", "pattern": pattern, "nullable": true}},
    });
    let case = calling(&given, &[&json!({"to": 5}), &json!([]), &json!({"to": ".x@"})]);
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    let normal =
        json!({"type": "object", "properties": {"to": {"type": ["string", "null"], "pattern": pattern}}});
    let requests = case.model.requests.borrow();
    let tool = requests[0].tools.iter().find(|tool| tool.name == "ui_t").unwrap();
    assert_eq!(serde_json::from_str::<Value>(tool.input_schema.0.get()).unwrap(), normal);
    let entries = case.disk.entries.borrow();
    let Fact::Started(spec) = &entries[0].fact else { panic!("{:?}", entries[0]) };
    let tool = spec.tools.iter().find(|tool| tool.name == "ui_t").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(tool.schema_as_given()).unwrap(),
        given,
        "entry 0 keeps the original"
    );
    let warned = case.disk.warned.borrow();
    assert!(
        warned.len() == 1
            && warned[0].starts_with("the patterns of the tool ui_t are not checked: the pattern"),
        "{warned:?}"
    );
}

// Issue 44: a turn that older code began has its schemas as that code froze them, with bounds as wide as then.
#[test]
fn a_turn_of_older_code_keeps_the_schema_that_it_began_with() {
    let schema = json!({"type": "object", "definitions": {"a": {"type": "integer"}}, "properties": {
        "a": {"$ref": "#/definitions/a"}, "b": {"enum": (0..500).collect::<Vec<_>>()},
    }});
    let mut case = calling(&json!({}), &[&json!({}), &json!({"a": "x"})]);
    if let Fact::Started(spec) = &mut case.disk.entries.borrow_mut()[0].fact {
        let tool = spec.tools.iter_mut().find(|tool| tool.name == "ui_t").unwrap();
        tool.input_schema = Rc::new(RawValueEq(to_raw_value(&schema).unwrap()));
        tool.given_schema = None;
    }
    case.say(None, |turn| {
        let answer = Answer::Result { content: "ok".to_owned(), is_error: false };
        turn.answer(&WireIds::new("turn").tool_call("0.0"), Awaited::Client, answer).unwrap()
    });
    let refused = case.lines().iter().filter(|line| line.contains("invalid arguments")).count();
    assert_eq!(refused, 1, "{:?}", case.lines());
    let requests = case.model.requests.borrow();
    let tool = requests[1].tools.iter().find(|tool| tool.name == "ui_t").unwrap();
    assert_eq!(tool.input_schema.0.get(), schema.to_string());
}
