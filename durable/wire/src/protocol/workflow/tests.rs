use serde_json::{Map, Value, json};

use super::*;
use crate::protocol::{ChatRequest, ErrorCode};

fn step(id: &str) -> Value {
    json!({ "id": id, "title": "Look", "instructions": "Look at it." })
}

fn one(members: Value) -> Value {
    let mut step = step("look");
    step.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({ "name": "A procedure", "steps": [step] })
}

fn with(members: Value) -> Value {
    let mut definition = json!({ "name": "A procedure", "steps": [step("look")] });
    definition.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    definition
}

fn parse(definition: &Value) -> Result<WorkflowDefinition, (String, Option<String>)> {
    WorkflowDefinition::parse(definition.to_string().as_bytes())
        .map_err(|error| (error.code.as_str().to_owned(), error.field.clone()))
}

// W-007 W-011 W-036 W-045 W-056: unknown members are ignored, and everything new is optional.
#[test]
fn a_definition_needs_a_name_and_steps_alone() {
    let plain = parse(&with(json!({ "author": "somebody" }))).unwrap();
    let first = plain.steps.first().unwrap();
    assert_eq!((first.kind, first.output_mode), (StepType::Agent, OutputMode::ToolUse));
    assert_eq!(
        (plain.stuck, &plain.notify, &first.verifier, first.review),
        (Stuck::Abort, &None, &None, false)
    );
    let camel = parse(&one(json!({ "stepType": "planned", "review": true, "anything": [1] }))).unwrap();
    assert_eq!((camel.steps[0].kind, camel.steps[0].review), (StepType::Planned, true));
    let structured = parse(&one(json!({ "outputMode": "structured_output" }))).unwrap();
    assert_eq!(structured.steps[0].output_mode, OutputMode::StructuredOutput);
    let verifier = json!({ "verifier": { "model": "speed", "threshold": "high" } });
    let verified = parse(&one(verifier)).unwrap();
    assert_eq!(verified.steps[0].verifier.as_ref().unwrap().threshold, Threshold::High);
    // Stored and read again it is the same, and no longer.
    let text = serde_json::to_string(&plain).unwrap();
    assert_eq!(WorkflowDefinition::parse(text.as_bytes()).unwrap(), plain);
    assert!(!text.contains("author") && !text.contains("null"));
}

fn written(definition: &Value) -> WrittenDefinition {
    WrittenDefinition::parse(definition.to_string().as_bytes()).unwrap()
}

// W-007 W-069
#[test]
fn a_definition_may_have_the_names_of_another_engine() {
    let step = json!({ "id": "look", "title": "Look", "prompt": "Look at it.", "agentRole": "x" });
    let theirs = json!({
        "id": "p", "name": "A procedure", "version": "1.0.0", "description": "To see.", "steps": [step],
        "notify": { "url": "https://a.example", "method": "POST" },
    });
    let WrittenDefinition { definition, ignored } = written(&theirs);
    let goal = json!({ "goal": "To see.", "notify": { "url": "https://a.example" } });
    assert_eq!(definition, parse(&with(goal)).unwrap());
    assert_eq!(ignored, ["id", "version", "notify.method", "steps[0].agentRole"]);
    // Our names go before theirs.
    let WrittenDefinition { definition, ignored } =
        written(&one(json!({ "prompt": "x", "description": "y" })));
    assert_eq!(definition, parse(&with(json!({}))).unwrap());
    assert_eq!(ignored, ["steps[0].description", "steps[0].prompt"]);
    // An error names the member of the body.
    let blank = json!({ "name": "n", "description": "é".repeat(4_001), "steps": [{ "id": "a", "title": "a", "prompt": "a" }] });
    assert_eq!(parse(&blank).unwrap_err().1.as_deref(), Some("description"));
    let blank = json!({ "name": "n", "steps": [{ "id": "a", "title": "a", "prompt": " " }] });
    assert_eq!(parse(&blank).unwrap_err().1.as_deref(), Some("steps[0].prompt"));
    let many: Map<String, Value> = (0..60).map(|at| (format!("x{at}"), json!(at))).collect();
    assert_eq!(written(&with(Value::Object(many))).ignored.len(), 50);
}

// W-046
#[test]
fn a_verifier_has_instructions_and_no_unknown_member() {
    let of = |members: Value| {
        let mut verifier = json!({ "threshold": "low" });
        verifier.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        parse(&one(json!({ "verifier": verifier })))
    };
    for name in ["instructions", "systemPrompt", "system_prompt", "prompt"] {
        let definition = of(json!({ (name): "Count the sources." })).unwrap();
        let verifier = definition.steps[0].verifier.clone().unwrap();
        assert_eq!(verifier.instructions.as_deref(), Some("Count the sources."));
        for wrong in [" ".to_owned(), "é".repeat(4_001)] {
            let refused = of(json!({ (name): wrong })).unwrap_err();
            assert_eq!(refused.1, Some(format!("steps[0].verifier.{name}")));
        }
        assert!(of(json!({ (name): "é".repeat(4_000) })).is_ok());
    }
    assert_eq!(
        of(json!({ "temperature": 1 })).unwrap_err().1.as_deref(),
        Some("steps[0].verifier.temperature")
    );
    // Stored definitions are read leniently.
    let stored = one(json!({ "verifier": { "threshold": "low", "temperature": 1 } }));
    assert!(serde_json::from_value::<WorkflowDefinition>(stored).is_ok());
}

// Long: a row for each limit.
#[test]
fn each_limit_is_kept_at_its_member() {
    let steps = |count: usize| -> Value { (0..count).map(|at| step(&format!("s{at}"))).collect() };
    let text = |chars: usize| "é".repeat(chars);
    let ascii = |bytes: usize| "x".repeat(bytes);
    let tools = |count: usize| vec!["calculate"; count];
    let url = |bytes: usize| format!("https://{}", ascii(bytes - 8));
    let table = [
        (with(json!({ "name": text(200) })), with(json!({ "name": text(201) })), "name"),
        (with(json!({ "goal": text(4_000) })), with(json!({ "goal": text(4_001) })), "goal"),
        (with(json!({ "steps": steps(50) })), with(json!({ "steps": steps(51) })), "steps"),
        (with(json!({ "steps": steps(1) })), with(json!({ "steps": [] })), "steps"),
        (one(json!({ "id": ascii(64) })), one(json!({ "id": ascii(65) })), "steps[0].id"),
        (one(json!({ "title": text(200) })), one(json!({ "title": text(201) })), "steps[0].title"),
        (
            one(json!({ "instructions": text(20_000) })),
            one(json!({ "instructions": text(20_001) })),
            "steps[0].instructions",
        ),
        (one(json!({ "tools": tools(128) })), one(json!({ "tools": tools(129) })), "steps[0].tools"),
        (
            one(json!({ "tools": [ascii(128)] })),
            one(json!({ "tools": ["a", ascii(129)] })),
            "steps[0].tools[1]",
        ),
        (
            with(json!({ "notify": { "url": url(2_000) } })),
            with(json!({ "notify": { "url": url(2_001) } })),
            "notify.url",
        ),
    ];
    for (at, beyond, field) in table {
        assert!(parse(&at).is_ok(), "{field}: {:?}", parse(&at));
        let refused = ("invalid_request".to_owned(), Some(field.to_owned()));
        assert_eq!(parse(&beyond), Err(refused), "{field}");
    }
}

#[test]
fn a_wrong_member_is_named_by_its_path() {
    let two = |second: Value| with(json!({ "steps": [step("look"), second] }));
    let table = [
        (with(json!({ "name": " " })), "name"),
        (json!({ "steps": [step("look")] }), "name"),
        (json!({ "name": "A procedure" }), "steps"),
        (two(step("look")), "steps[1].id"),
        (two(step("a b")), "steps[1].id"),
        (two(step("")), "steps[1].id"),
        (two(json!({ "id": "b", "title": "", "instructions": "x" })), "steps[1].title"),
        (two(json!({ "id": "b", "title": "x", "instructions": "\n" })), "steps[1].instructions"),
        (two(json!({ "id": "b", "title": "x" })), "steps[1].instructions"),
        (one(json!({ "type": "scripted" })), "steps[0].type"),
        (one(json!({ "tools": [""] })), "steps[0].tools[0]"),
        (one(json!({ "verifier": { "threshold": "utmost" } })), "steps[0].verifier.threshold"),
        (one(json!({ "verifier": { "model": "speed" } })), "steps[0].verifier.threshold"),
        (one(json!({ "verifier": { "model": "gpt-5", "threshold": "low" } })), "steps[0].verifier.model"),
        (one(json!({ "type": "planned", "output_mode": "structured_output" })), "steps[0].output_mode"),
        (one(json!({ "review": true })), "steps[0].review"),
        (with(json!({ "stuck": "panic" })), "stuck"),
        (with(json!({ "notify": { "url": "ftp://example.com" } })), "notify.url"),
        (with(json!({ "notify": { "url": "https://" } })), "notify.url"),
        (with(json!({ "notify": { "url": "https:///x" } })), "notify.url"),
        (with(json!({ "notify": { "url": "https://example.com/a b" } })), "notify.url"),
        (with(json!({ "notify": {} })), "notify.url"),
    ];
    for (definition, field) in table {
        let refused = ("invalid_request".to_owned(), Some(field.to_owned()));
        assert_eq!(parse(&definition), Err(refused), "{definition}");
    }
}

#[test]
fn a_definition_has_64_kib() {
    let of = |bytes: usize| {
        let mut text = with(json!({})).to_string();
        text.push_str(&" ".repeat(bytes - text.len()));
        WorkflowDefinition::parse(text.as_bytes()).map_err(|error| error.code)
    };
    assert!(of(64 << 10).is_ok());
    assert_eq!(of((64 << 10) + 1), Err(ErrorCode::BodyTooLarge));
}

#[test]
fn an_id_is_a_segment_of_an_address() {
    for id in ["a", "7", "code-review", "a_b", &"x".repeat(64)] {
        assert!(check_workflow_id(id).is_ok(), "{id}");
    }
    for id in ["", "-a", "_a", "A", "a.b", "a/b", "é", &"x".repeat(65)] {
        assert!(check_workflow_id(id).is_err(), "{id}");
    }
}

// W-068 W-071 W-074 W-077: 49 characters are too few, 50 are enough, and bytes do not count.
#[test]
fn notes_have_at_least_50_characters() {
    let of = |notes: String| {
        let body = json!({ "continue_token": "t", "notesMarkdown": notes }).to_string();
        ContinueSession::parse(body.as_bytes()).map_err(|error| error.field.clone().unwrap_or_default())
    };
    let refused = Err("notesMarkdown".to_owned());
    assert_eq!(of("é".repeat(49)), refused);
    assert_eq!(of(format!("  {}\n\n", "x".repeat(49))), refused, "space does not count");
    assert!(of("é".repeat(50)).is_ok());
    assert!(of("é".repeat(20_000)).is_ok());
    assert_eq!(of("é".repeat(20_001)), refused);
    let missing = ContinueSession::parse(br#"{"continue_token": "t"}"#).unwrap_err();
    assert_eq!(missing.field.as_deref(), Some("notesMarkdown"));
    let plain = json!({ "continue_token": "t", "notes": "x".repeat(50) }).to_string();
    assert!(ContinueSession::parse(plain.as_bytes()).is_ok(), "a shorter name of the same member");
}

#[test]
fn a_continuation_is_bounded() {
    let of = |members: Value| {
        let mut body = json!({ "continue_token": "t", "notesMarkdown": "x".repeat(50) });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        ContinueSession::parse(body.to_string().as_bytes())
            .map_err(|error| error.field.clone().unwrap_or_default())
    };
    let context = |bytes: usize| json!({ "contextUpdates": { "k": "x".repeat(bytes - 8) } });
    let artifacts = |count: usize| json!({ "artifacts": vec!["a"; count] });
    let long = |chars: usize| json!({ "artifacts": ["é".repeat(chars)] });
    let token = |bytes: usize| json!({ "continue_token": "x".repeat(bytes) });
    let table = [
        (context(64 << 10), context((64 << 10) + 1), "contextUpdates"),
        (artifacts(50), artifacts(51), "artifacts"),
        (long(500), long(501), "artifacts[0]"),
        (token(1_024), token(1_025), "continue_token"),
    ];
    for (at, beyond, field) in table {
        assert!(of(at).is_ok(), "{field}");
        assert_eq!(of(beyond), Err(field.to_owned()));
    }
    let goal = |chars: usize| NewSession::parse(json!({ "goal": "é".repeat(chars) }).to_string().as_bytes());
    assert!(goal(4_000).is_ok() && goal(4_001).is_err() && NewSession::parse(b"{}").is_ok());
}

// N-019: a request for a workflow names it, and asks for nothing else that decides its turn.
#[test]
fn a_request_for_a_workflow_names_it() {
    let of = |members: &str| {
        let body = format!(r#"{{"content": "Go", "workflow_target": "workflow"{members}}}"#);
        ChatRequest::parse(body.as_bytes()).map_err(|error| error.field.clone().unwrap_or_default())
    };
    let request = of(r#", "workflow_id": "code-review", "chat_context": {"kind": "editor"}"#).unwrap();
    assert!(request.targets_workflow());
    assert_eq!(of(""), Err("workflow_id".to_owned()));
    assert_eq!(of(r#", "workflow_id": "Code Review""#), Err("workflow_id".to_owned()));
    assert_eq!(of(r#", "workflow_id": "a", "agent": "critic""#), Err("agent".to_owned()));
    assert_eq!(of(r#", "workflow_id": "a", "mode_profile": "swarm""#), Err("mode_profile".to_owned()));
    let other = ChatRequest::parse(br#"{"content": "Go", "workflow_target": "elsewhere"}"#).unwrap();
    assert!(!other.targets_workflow(), "other values have no effect");
}
