//! The body of `GET /api/models`: the models that this deployment offers.

use std::collections::BTreeMap;

use engine::profiles::Chain;
use providers::config::{Configuration, Offered};
use serde::Serialize;
use wire::protocol::{ApiError, ErrorCode};
use wire::time::Day;

/// The answer's body.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelList<'a> {
    /// The ids of each role's models, in the order in which they are asked.
    pub roles: BTreeMap<&'static str, Vec<String>>,
    /// Each model once.
    pub models: Vec<Offered<'a>>,
}

impl<'a> ModelList<'a> {
    /// The models of a configuration.
    pub fn of(configuration: &'a Configuration) -> Self {
        let ids = |chain: &Chain| chain.iter().map(|offer| offer.choice.id()).collect();
        let roles = configuration.roles.iter().map(|(role, chain)| (role.as_str(), ids(chain)));
        ModelList { roles: roles.collect(), models: configuration.offered() }
    }
}

/// Reads the configuration of these variables, with the binding AI or without, and the prices of today. `/api/health`
/// tells the operator its problems.
pub fn configuration(
    var: &dyn Fn(&str) -> Option<String>,
    ai: bool,
    today: Day,
) -> Result<Configuration, ApiError> {
    Configuration::from_env(var, today).and_then(|configuration| configuration.bound(ai)).map_err(|_| {
        ApiError::new(ErrorCode::Misconfigured, "the models are not configured: see GET /api/health")
    })
}

#[cfg(test)]
mod tests {
    use providers::catalogue::DATE;
    use serde_json::{Value, json};

    use super::*;

    fn list(vars: &[(&str, &str)]) -> Result<Value, ApiError> {
        let var =
            |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned());
        Ok(serde_json::to_value(ModelList::of(&configuration(&var, false, DATE)?)).unwrap())
    }

    #[test]
    fn each_model_with_its_capabilities_and_its_price() {
        let vars = [
            ("MODEL_PRIMARY", "openai:gpt-6-luna, own:m:7b"),
            ("MODEL_SPEED", "own:m:7b"),
            ("MODELS", "openai:gpt-6-luna,own:big"),
            ("OPENAI_API_KEY", "SECRET"),
            ("OWN_BASE_URL", "http://own.test/v1"),
        ];
        let known = |provider: &str, model: &str, table: bool| {
            let capabilities = if table {
                json!({
                    "tools": true, "parallel_tool_calls": true, "reasoning": true, "structured_output": true,
                    "vision": true, "context_tokens": 922_000, "output_tokens": 128_000,
                })
            } else {
                json!({
                    "tools": true, "parallel_tool_calls": true, "reasoning": false, "structured_output": false,
                    "vision": false,
                })
            };
            let price = json!({
                "input": 0.1, "cached": 0.01, "cache_write": 0.125, "output": 0.5,
                "tiers": [{"above_tokens": 272_000, "input": 0.2, "cached": 0.02, "cache_write": 0.25, "output": 0.75}],
                "service_tiers": {"flex": 0.5, "priority": 2.0},
            });
            let price = if table { price } else { Value::Null };
            json!({
                "id": format!("{provider}:{model}"), "provider": provider, "model": model,
                "capabilities": capabilities,
                "price": price,
            })
        };
        let expected = json!({
            "roles": { "primary": ["openai:gpt-6-luna", "own:m:7b"], "speed": ["own:m:7b"] },
            "models": [known("openai", "gpt-6-luna", true), known("own", "m:7b", false), known("own", "big", false)],
        });
        assert_eq!(list(&vars).unwrap(), expected);
    }

    #[test]
    fn a_wrong_configuration_is_told_to_the_operator() {
        let error = list(&[("MODEL_PRIMARY", "gpt")]).unwrap_err();
        assert_eq!((error.code, error.code.status()), (ErrorCode::Misconfigured, 503));
    }
}
