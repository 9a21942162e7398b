//! OTLP in JSON, as far as we write it: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>. Ids are
//! hexadecimal, and numbers of 64 bits are texts.

use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Export {
    pub resource_spans: [ResourceSpans; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpans {
    pub resource: Resource,
    pub scope_spans: [ScopeSpans; 1],
    pub schema_url: &'static str,
}

#[derive(Serialize)]
pub struct Resource {
    pub attributes: Attributes,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeSpans {
    pub scope: Scope,
    pub spans: Vec<Span>,
    pub schema_url: &'static str,
}

#[derive(Serialize)]
pub struct Scope {
    pub name: &'static str,
    pub version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    pub trace_id: String,
    pub span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    pub name: String,
    /// 1: internal, 3: client.
    pub kind: u8,
    pub start_time_unix_nano: String,
    pub end_time_unix_nano: String,
    pub attributes: Attributes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

#[derive(Serialize)]
pub struct Status {
    /// 2: an error.
    pub code: u8,
}

/// The attributes of a span, in their order.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub struct Attributes(Vec<Attribute>);

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Serialize)]
enum Value {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "doubleValue")]
    Amount(f64),
    #[serde(rename = "arrayValue")]
    Only { values: [Box<Value>; 1] },
}

impl Attributes {
    pub fn text(&mut self, key: &'static str, text: impl Into<String>) {
        self.0.push(Attribute { key, value: Value::Text(text.into()) });
    }

    /// A list of one text.
    pub fn only(&mut self, key: &'static str, text: impl Into<String>) {
        let values = [Box::new(Value::Text(text.into()))];
        self.0.push(Attribute { key, value: Value::Only { values } });
    }

    pub fn number(&mut self, key: &'static str, number: u64) {
        self.0.push(Attribute { key, value: Value::Number(number.to_string()) });
    }

    pub fn amount(&mut self, key: &'static str, amount: f64) {
        self.0.push(Attribute { key, value: Value::Amount(amount) });
    }
}
