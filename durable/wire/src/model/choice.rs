//! A model with its abilities, and the options that a deployment sets for it.

use serde::{Deserialize, Serialize};

use super::ServiceTier;

/// A model with its abilities and options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelChoice {
    /// The provider's name: `demo`, `openai` …
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// The codec's name for its wire, of a provider that speaks several under one name. Absent: the wire that the name
    /// meant before turns had this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
    pub capabilities: Capabilities,
    /// Whether the model writes its calls into its text, because it has no other way to call tools
    /// (`providers::text_calls`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_calls: bool,
    #[serde(default)]
    pub options: ModelOptions,
}

impl ModelChoice {
    /// The most tokens of a reply whose request is limited to `limit`: the operator's limit and all that the model can write
    /// hold as well.
    pub fn output_limit(&self, limit: u64) -> u64 {
        let others = self.options.max_output_tokens.into_iter().chain(self.capabilities.output_tokens);
        others.fold(limit, u64::min)
    }

    /// A model with the default capabilities.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        ModelChoice {
            provider: provider.into(),
            model: model.into(),
            wire: None,
            capabilities: Capabilities::default(),
            text_calls: false,
            options: ModelOptions::default(),
        }
    }

    /// Whether the model can call tools at all.
    pub fn calls(&self) -> bool {
        self.capabilities.tools || self.text_calls
    }

    /// The name by which operators and clients know the model: `PROVIDER:MODEL`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }
}

/// The options that a deployment sets for a model in every call. The codec leaves out an absent option, and the
/// provider uses its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The provider's word for it: `low`, `medium`, `high` … Each provider has its own words and adds new ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The most tokens of a reply, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The provider's word for the class of service: `flex`, `priority` … It may serve the request in another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
}

impl ModelOptions {
    /// The service tier that each request asks for.
    pub fn asked_tier(&self) -> ServiceTier {
        self.service_tier.as_deref().map_or(ServiceTier::Standard, ServiceTier::of)
    }
}

/// The abilities of a model. `providers/src/catalogue` has those of known models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capabilities {
    /// Without it the toolbelt is empty and a level is one text reply (N-170).
    pub tools: bool,
    /// Whether the model may emit several calls at once. The loop works either way (N-168, N-169).
    pub parallel_tool_calls: bool,
    /// Whether the model reasons before it answers. Such models need other request parameters.
    pub reasoning: bool,
    /// Whether its reasoning adapts to each request, and is shown only where a request asks for that (Anthropic). Absent:
    /// unknown; then a request asks for it where an effort is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_thinking: Option<bool>,
    /// Whether the provider enforces a schema on its text.
    pub structured_output: bool,
    /// Whether it reads images, and PDFs as well unless `pdf` says otherwise.
    pub vision: bool,
    /// Whether it reads PDFs; absent: as images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdf: Option<bool>,
    /// The most tokens of a request; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The most tokens of a reply, reasoning included; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Default for Capabilities {
    /// The defaults of an unknown model: tools, which nearly all models have, and no option that a server might refuse.
    fn default() -> Self {
        Capabilities {
            tools: true,
            parallel_tool_calls: true,
            reasoning: false,
            adaptive_thinking: None,
            structured_output: false,
            vision: false,
            pdf: None,
            context_tokens: None,
            output_tokens: None,
        }
    }
}

impl Capabilities {
    /// Whether the model reads PDFs.
    pub fn reads_pdfs(&self) -> bool {
        self.pdf.unwrap_or(self.vision)
    }
}
