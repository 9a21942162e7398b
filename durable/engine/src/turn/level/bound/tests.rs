//! Issue 43.

use super::*;
use wire::model::{ModelChoice, RawMessage, RawValueEq, ReplyFinish, ToolCall, Usage};

fn user(text: &str) -> Rc<Message> {
    Rc::new(Message::User { content: text.into() })
}

fn offer(model: &str, per_kilobyte: Option<u32>) -> PricedModel {
    let most_tokens = per_kilobyte.map(|per_kilobyte| MostTokens { per_kilobyte, per_image: 1_600 });
    PricedModel { choice: Rc::new(ModelChoice::new("p", model)), price: None, most_tokens }
}

fn request(messages: Vec<Rc<Message>>) -> ModelRequest {
    let choice = Rc::new(ModelChoice::new("p", "m"));
    ModelRequest { messages, ..ModelRequest::new(choice, "x".repeat(1_000).into()) }
}

fn reply(text: &str, usage: Option<Usage>) -> ModelReply {
    let text = text.to_owned();
    ModelReply { text, tool_calls: Vec::new(), finish: ReplyFinish::Stop, usage, raw: None }
}

#[test]
fn a_byte_is_at_most_a_token_where_nothing_is_known() {
    let one = request(vec![user(&"y".repeat(500))]);
    let around = AROUND_REQUEST + AROUND_PART;
    assert_eq!(most_tokens(&one, &offer("m", None), None), 1_500 + around);
    assert_eq!(most_tokens(&one, &offer("m", Some(301)), None), 452 + around, "rounded up");
    let mut small = offer("m", None);
    Rc::make_mut(&mut small.choice).capabilities.context_tokens = Some(1_024);
    assert_eq!(most_tokens(&one, &small, None), 1_024, "a provider takes no more than the context");
}

#[test]
fn images_and_files_have_bounds() {
    let part = |kind: &str, media_type: &str, bytes: usize| {
        let data = format!("data:{media_type};base64,{}", "A".repeat(bytes));
        serde_json::json!({"type": kind, "name": "n", "data": data})
    };
    let of = |parts: serde_json::Value| {
        let message = Message::User { content: serde_json::from_value(parts).unwrap() };
        size(&message).most_tokens(MostTokens { per_kilobyte: 500, per_image: 1_600 })
    };
    let image = of(serde_json::json!([part("image", "image/png", 400_000)]));
    assert_eq!(image, 1_600 + 2 * AROUND_PART);
    let files =
        serde_json::json!([part("file", "application/pdf", 400_000), part("file", "text/plain", 4_000)]);
    assert_eq!(of(files), 400_000 + 1_600 + 2_000 + 3 * AROUND_PART);
    assert_eq!(
        of(serde_json::json!([part("file", "application/pdf", 400)])),
        3_000 + 1_600 + 2 * AROUND_PART
    );
}

// Request n + 1 begins with request n, and the provider has said how long that was.
#[test]
fn a_request_that_goes_on_costs_only_its_own_part_more() {
    let one = request(vec![user("first")]);
    let usage = Usage { input_tokens: 260, output_tokens: 7, ..Usage::default() };
    let counted = Counted::of("m", one.clone(), &reply("hello", Some(usage))).unwrap();
    let raw =
        RawValueEq(serde_json::value::RawValue::from_string(format!("{:?}", "t".repeat(9_000))).unwrap());
    let raw = Some(RawMessage::of(&ModelChoice::new("p", "m"), "w", raw));
    let call = ToolCall { call_id: "c".to_owned(), name: "echo".to_owned(), arguments: "{}".to_owned() };
    let said = Message::Assistant { content: "hello".to_owned(), tool_calls: vec![call], raw };
    let answer = Message::Tool {
        call_id: "c".to_owned(),
        name: "echo".to_owned(),
        content: "z".repeat(100),
        is_error: false,
    };
    let next = ModelRequest {
        messages: [one.messages.clone(), vec![Rc::new(said), Rc::new(answer)]].concat(),
        ..one.clone()
    };
    let bound = |request: &ModelRequest, model, known| most_tokens(request, &offer(model, None), known);
    // The text and the call are 12 bytes, so their bound is above the output that was counted, as are thoughts of 9 kB not.
    let reply_tokens = 12 + 2 * AROUND_PART;
    let expected = 260 + AROUND_REQUEST + reply_tokens + 105 + AROUND_PART;
    assert_eq!(bound(&next, "m", Some(&counted)), expected);
    let thought = Usage { output_tokens: 5_000, ..usage };
    let thinking = Counted::of("m", one.clone(), &reply("hello", Some(thought))).unwrap();
    let expected = 260 + AROUND_REQUEST + 5_000 + AROUND_PART + 105 + AROUND_PART;
    assert_eq!(bound(&next, "m", Some(&thinking)), expected);

    let alone = bound(&next, "m", None);
    assert!(alone > 10_000);
    assert_eq!(bound(&next, "other", Some(&counted)), alone, "another model counts in another way");
    let changed = ModelRequest { messages: vec![user("second")], ..one.clone() };
    assert_eq!(bound(&changed, "m", Some(&counted)), bound(&changed, "m", None), "not the same beginning");
    let shorter = ModelRequest { messages: Vec::new(), ..one.clone() };
    assert_eq!(bound(&shorter, "m", Some(&counted)), 1_000 + AROUND_REQUEST);
    let prompted = ModelRequest { system: "y".into(), ..next.clone() };
    assert_eq!(bound(&prompted, "m", Some(&counted)), bound(&prompted, "m", None));
    let estimate = Usage { estimated: true, ..usage };
    assert!(Counted::of("m", one.clone(), &reply("", Some(estimate))).is_none());
    assert!(Counted::of("m", one, &reply("", None)).is_none());
}
