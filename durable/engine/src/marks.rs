//! Text that is data, within a prompt.

/// Wraps text that is data in marks that the text cannot close.
pub(crate) fn data(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>", text.replace('<', "\\u003c"))
}

/// A text as a string of JSON, on one line.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
