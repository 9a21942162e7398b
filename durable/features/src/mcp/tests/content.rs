use super::*;
use crate::mcp::content::{Contents, ListPage, MAX_TOLD_BYTES, Prompt, ToolResult, cut};

fn told(result: &Value) -> String {
    serde_json::from_value::<ToolResult>(result.clone()).unwrap().as_text()
}

#[test]
fn each_type_of_content_becomes_text() {
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let audio = json!({"type": "audio", "data": "AAA=", "mimeType": "audio/wav\n"});
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "description": "the first", "mimeType": "text/plain", "size": 5});
    let text = json!({"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "inside"}});
    let blob = json!({"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAAAAAA"}});
    let later = json!({"type": "hologram"});
    let parts = json!([{"type": "text", "text": "one"}, image, audio, link, text, blob, later]);
    let expected = [
        "one",
        "[image that cannot be shown here: image/png, 3 bytes]",
        "[audio that cannot be shown here: audio/wav , 2 bytes]",
        "[resource] file:///a a, text/plain, 5 bytes: the first",
        "[resource file:///b, text/plain]\ninside",
        "[resource file:///c, unknown type, 6 bytes that are no text]",
        "[content of the type hologram cannot be shown here]",
    ];
    assert_eq!(told(&json!({"content": parts})), expected.join("\n"));
    assert_eq!(told(&json!({"content": []})), "(the result is empty)");
    assert_eq!(told(&json!({})), "(the result is empty)");
}

#[test]
fn structured_content_appears_once() {
    let structured = json!({"b": 1, "a": [2]});
    let text = json!({"type": "text", "text": "{\"a\": [2], \"b\": 1}"});
    assert_eq!(told(&json!({"content": [text], "structuredContent": structured})), "{\"a\": [2], \"b\": 1}");
    let other = json!({"type": "text", "text": "warm"});
    assert_eq!(told(&json!({"content": [other], "structuredContent": {"a": 1}})), "warm\n{\"a\":1}");
    assert_eq!(told(&json!({"structuredContent": {"a": 1}})), "{\"a\":1}");
}

#[test]
fn lists_resources_and_prompts_are_text() {
    let page = json!({"resources": [{"uri": "a://1", "name": "one"}], "nextCursor": "p\n2"});
    let page: ListPage = serde_json::from_value(page).unwrap();
    assert_eq!(page.as_text(), "a://1 one\n[there are more: call again with the cursor \"p\\n2\"]");
    let arguments = json!([{"name": "city", "required": true}, {"name": "when"}]);
    let page = json!({"prompts": [{"name": "weather", "description": "asks", "arguments": arguments}]});
    let page: ListPage = serde_json::from_value(page).unwrap();
    assert_eq!(page.as_text(), "weather (city, when?): asks");
    let page: ListPage = serde_json::from_value(json!({"resourceTemplates": []})).unwrap();
    assert_eq!(page.as_text(), "(there are none)");
    let contents = json!({"contents": [{"uri": "a://1", "mimeType": "text/plain", "text": "x"}, {"uri": "a://2", "blob": "AAAA"}]});
    let contents: Contents = serde_json::from_value(contents).unwrap();
    assert_eq!(
        contents.as_text(),
        "[resource a://1, text/plain]\nx\n[resource a://2, unknown type, 3 bytes that are no text]"
    );
    let prompt = json!({"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]});
    let prompt: Prompt = serde_json::from_value(prompt).unwrap();
    assert_eq!(prompt.as_text(), "d\n[user]\nHi");
}

#[test]
fn long_results_are_cut() {
    assert_eq!(cut("x".repeat(MAX_TOLD_BYTES), MAX_TOLD_BYTES), "x".repeat(MAX_TOLD_BYTES));
    let long = cut("x".repeat(MAX_TOLD_BYTES + 1), MAX_TOLD_BYTES);
    assert_eq!(long, format!("{}\n[truncated: 45001 bytes in all]", "x".repeat(MAX_TOLD_BYTES)));
    assert_eq!(cut("üü".to_owned(), 3), "ü\n[truncated: 4 bytes in all]");
    assert!(long.len() < 50_000);
}
