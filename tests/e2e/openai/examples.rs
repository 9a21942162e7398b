//! The examples with OpenAI's libraries, as their readers run them.

use std::process::Stdio;

use espalier_test_support::{call, deltas, env, json, text};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::keyed;

/// Runs an example with these lines as its input.
async fn example(program: &str, file: &str, lines: &[String], key: &str) -> String {
    let mut child = Command::new(program)
        .arg(format!("{}/examples/openai/{file}", env!("CARGO_MANIFEST_DIR")))
        .env("OPENAI_BASE_URL", format!("{}/v1", env("ESPALIER_URL")))
        .env("OPENAI_API_KEY", key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(format!("{}\n", lines.join("\n")).as_bytes()).await.expect("it reads");
    drop(input);
    let output = child.wait_with_output().await.expect("it ends");
    assert!(output.status.success(), "{file}");
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn the_examples_hold_a_conversation() {
    let (case, key) = keyed().await;
    case.script("first", [call("current_time", json!({})), deltas(["It is ", "late."])]).await;
    case.script("second", [text("Later still.")]).await;
    let lines = [case.said("The time", "first"), case.said("And now", "second")];
    let said = example("node", "chat.mjs", &lines, &key).await;
    assert!(said.contains("[a tool runs] It is late.\n") && said.ends_with("Later still.\n"), "{said}");

    let (case, key) = keyed().await;
    case.script("first", [call("ui_get__weather", json!({ "city": "Oslo" })), text("It rains.")]).await;
    case.script("second", [text("Still.")]).await;
    let lines = [case.said("The weather", "first"), case.said("And now", "second")];
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/.tools/contract/bin/python");
    assert_eq!(example(python, "chat.py", &lines, &key).await, "It rains.\nStill.\n");
    let seen = case.requests("second").await.requests[0].contents();
    assert!(seen.iter().any(|content| content == "It rains."), "the conversation is imported: {seen:?}");
}
