//! The declarations of our own tools. A folder has those of its tools in a file `tools.json`: the members are those of
//! [`ToolSpec`], and the schema is JSON.

use serde::Deserialize;
use serde_json::Value;

use super::{PermissionClass, Reads, Serves, ToolSpec, declare};

/// A declaration in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    name: String,
    description: String,
    permission_class: PermissionClass,
    input_schema: Value,
    #[serde(default = "yes")]
    parallel_safe: bool,
    exclusive_lock: Option<String>,
    #[serde(default)]
    read_only: bool,
    #[serde(default = "half_a_minute")]
    timeout_ms: Option<u64>,
    #[serde(default)]
    ask: bool,
    #[serde(default)]
    costs: bool,
    serves: Option<Serves>,
    reads: Option<Reads>,
}

fn yes() -> bool {
    true
}

fn half_a_minute() -> Option<u64> {
    Some(30_000)
}

/// The declarations of a file.
pub fn declarations(text: &str) -> Vec<ToolSpec> {
    let declared: Vec<Declared> = wire::json::from_str(text).unwrap_or_default();
    declared.into_iter().map(ToolSpec::from).collect()
}

/// The declaration of this name. One that is missing in its file has no class: it is refused, never offered.
pub fn declaration(all: &[ToolSpec], name: &str) -> ToolSpec {
    let missing =
        || ToolSpec { permission_class: None, ..declare(name, PermissionClass::Safe, "", Value::Null) };
    all.iter().find(|spec| spec.name == name).cloned().unwrap_or_else(missing)
}

impl From<Declared> for ToolSpec {
    fn from(declared: Declared) -> Self {
        let Declared {
            parallel_safe, exclusive_lock, read_only, timeout_ms, ask, costs, serves, reads, ..
        } = declared;
        // A call that was paid for is never made again.
        let idempotent = !costs;
        let Declared { name, description, permission_class, input_schema, .. } = declared;
        let spec = declare(&name, permission_class, &description, input_schema);
        ToolSpec {
            parallel_safe,
            exclusive_lock,
            read_only,
            idempotent,
            timeout_ms,
            costs,
            ask,
            serves,
            reads,
            ..spec
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"[{"name": "look", "description": "Looks.", "permission_class": "safe", "read_only": true,
        "timeout_ms": null, "input_schema": {"type": "object", "properties": {"at": {"type": "string"}, "by": {}}}}]"#;

    #[test]
    fn a_declaration_is_read_with_the_defaults() {
        let schema =
            serde_json::json!({"type": "object", "properties": {"at": {"type": "string"}, "by": {}}});
        let declared = declare("look", PermissionClass::Safe, "Looks.", schema);
        let expected = ToolSpec { read_only: true, timeout_ms: None, ..declared };
        let specs = declarations(ONE);
        assert_eq!(specs, [expected]);
        let [paid] = declarations(&ONE.replace("\"read_only\"", "\"costs\"")).try_into().unwrap();
        assert!(paid.costs && !paid.idempotent, "a call that was paid for is never made again");
        let schema = specs[0].clone().without_argument("by").input_schema;
        assert_eq!(schema.0.get(), r#"{"properties":{"at":{"type":"string"}},"type":"object"}"#);
    }

    #[test]
    fn a_declaration_that_is_missing_is_never_offered() {
        assert_eq!(declaration(&declarations(ONE), "see").permission_class, None);
        assert_eq!(declarations(&ONE.replace("read_only", "reads_only")), []);
    }
}
