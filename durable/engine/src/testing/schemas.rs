//! The schemas of tools as the libraries of others emit them, from `tests/schemas`.

use serde::Deserialize;
use serde_json::Value;

use crate::toolbelt::{OutputSchema, ToolSpec};

const FILES: [&str; 3] = [
    include_str!("../../../../tests/schemas/javascript.json"),
    include_str!("../../../../tests/schemas/pydantic.json"),
    include_str!("../../../../tests/schemas/written.json"),
];

/// One of them, and arguments that fit it or not.
#[derive(Clone, Debug, Deserialize)]
pub struct ForeignSchema {
    pub library: String,
    pub dialect: String,
    pub shape: String,
    pub schema: Value,
    pub fits: Value,
    #[serde(default)]
    pub misses: Value,
    /// It does not compile here.
    #[serde(default)]
    pub unchecked: bool,
}

/// All of them.
pub fn foreign_schemas() -> Vec<ForeignSchema> {
    FILES.into_iter().flat_map(|file| serde_json::from_str::<Vec<ForeignSchema>>(file).unwrap()).collect()
}

impl ForeignSchema {
    /// Checks a declaration that some door made of it: models get the form of 2020-12, entry 0 keeps the original, and the
    /// arguments are checked.
    pub fn check(&self, spec: &ToolSpec) {
        let normal: Value = serde_json::from_str(spec.input_schema.0.get()).unwrap();
        let text = normal.to_string();
        assert_eq!(normal["type"], "object", "{self:?}");
        for old in
            ["\"$schema\":\"", "\"definitions\"", "\"nullable\"", "exclusiveMinimum\":true", "\"items\":["]
        {
            assert!(!text.contains(old), "{old} in {text}");
        }
        let given: Value = serde_json::from_str(spec.schema_as_given()).unwrap();
        let original =
            if self.schema.is_null() { Value::Object(serde_json::Map::new()) } else { self.schema.clone() };
        assert_eq!(given, original, "{self:?}");
        let (schema, problem) = OutputSchema::compile_tool(&spec.input_schema);
        assert_eq!(schema.is_none(), self.unchecked, "{self:?}: {problem:?}");
        let Some(schema) = schema else { return };
        assert_eq!(schema.check(&self.fits.to_string()), Ok(()), "{self:?}: {text}");
        assert!(schema.check(&self.misses.to_string()).is_err(), "{self:?}: {text}");
    }
}
