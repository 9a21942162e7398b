//! The policy that allows or refuses tools by their class. Guards only narrow. The engine hides a disallowed
//! tool from the model, and refuses a call of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{PermissionClass, ToolSpec};
use wire::protocol::ContextKind;

/// The rule for the calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    On,
    /// A person must approve each call.
    Ask,
    /// The engine hides the tool from the model, and refuses a call of it.
    Off,
}

/// The operator's rules, by the name of a class or of a tool; a tool's own rule wins over that of its class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ToolRules(BTreeMap<String, Rule>);

impl ToolRules {
    /// The names of the classes and tools that have a rule.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Sets the rule for a name that has none.
    pub fn unless_said(&mut self, name: &str, rule: Rule) {
        self.0.entry(name.to_owned()).or_insert(rule);
    }

    /// Raises the tool from `on` to `ask`, unless it has a rule of its own.
    pub fn at_least_ask(&mut self, spec: &ToolSpec) {
        let class = spec.permission_class;
        if class.is_some_and(|class| self.of(class, &spec.name) == Rule::On) {
            self.unless_said(&spec.name, Rule::Ask);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of(&self, class: PermissionClass, name: &str) -> Rule {
        self.0.get(name).or_else(|| self.0.get(class.as_str())).copied().unwrap_or(Rule::On)
    }
}

/// The tools and data that a session allows. The service builds it once for each turn and freezes it in entry
/// 0. The engine checks it when it offers tools and again at each call. The default allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolPolicy {
    pub classes: BTreeSet<PermissionClass>,
    /// The root directory for tools of the class `workspace_write`. Without it these tools are off (N-104).
    /// The tools themselves must stay inside it.
    pub workspace_root: Option<String>,
    /// Whether the turn may use the memories about its user (N-156).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// The collections that the turn may search: those that the request names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
    /// The only MCP servers whose tools the turn may offer (N-105).
    pub allowed_mcp_servers: BTreeSet<String>,
    /// The operator's rules; they can only narrow what the classes allow.
    #[serde(skip_serializing_if = "ToolRules::is_empty")]
    pub rules: ToolRules,
    /// The tools that a person has approved for the whole thread: their calls run without asking again.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub approved: BTreeSet<String>,
}

impl ToolPolicy {
    /// The classes of a context: `editor_mutate` only in the editor, `secrets` nowhere, and `media` where a deployment adds it.
    /// No workspace and no MCP server.
    pub fn of(context: ContextKind) -> Self {
        use PermissionClass::{EditorMutate, Knowledge, Network, Safe, Subagent, WorkspaceWrite};
        let mut classes = BTreeSet::from([Safe, Knowledge, Subagent, Network, WorkspaceWrite]);
        if context == ContextKind::Editor {
            classes.insert(EditorMutate);
        }
        ToolPolicy { classes, ..ToolPolicy::default() }
    }

    /// The same policy with the operator's rules and the tools that a person has approved for the whole
    /// thread.
    pub fn narrowed(self, rules: ToolRules, approved: BTreeSet<String>) -> Self {
        ToolPolicy { rules, approved, ..self }
    }

    /// Whether a tool may be offered and run.
    pub fn allows(&self, spec: &ToolSpec) -> bool {
        self.rule(spec) != Rule::Off
    }

    /// The rule for a tool. Off where it has no class, or where the session lacks its class, server or
    /// workspace.
    pub fn rule(&self, spec: &ToolSpec) -> Rule {
        let Some(class) = spec.permission_class.filter(|class| self.classes.contains(class)) else {
            return Rule::Off;
        };
        let has_server = spec.mcp_server.as_ref().is_none_or(|name| self.allowed_mcp_servers.contains(name));
        let has_root = class != PermissionClass::WorkspaceWrite || self.workspace_root.is_some();
        if !has_server || !has_root {
            return Rule::Off;
        }
        match self.rules.of(class, &spec.name) {
            Rule::Ask if self.approved.contains(&spec.name) => Rule::On,
            rule => rule,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(permission_class: Option<PermissionClass>) -> ToolSpec {
        let mut spec = crate::compose::declarations().remove(0);
        spec.permission_class = permission_class;
        spec
    }

    fn in_a_workspace(context: ContextKind) -> ToolPolicy {
        ToolPolicy { workspace_root: Some("/".to_owned()), ..ToolPolicy::of(context) }
    }

    // N-016 N-086 N-097 N-098 N-099 N-100 N-101 N-200
    #[test]
    fn each_context_allows_its_classes() {
        use PermissionClass::*;
        for (class, thread, editor) in [
            (Some(Safe), true, true),
            (Some(Knowledge), true, true),
            (Some(Subagent), true, true),
            (Some(Network), true, true),
            (Some(WorkspaceWrite), true, true),
            (Some(EditorMutate), false, true),
            (Some(Secrets), false, false),
            (Some(Media), false, false),
            (None, false, false),
        ] {
            assert_eq!(
                in_a_workspace(ContextKind::Thread).allows(&spec(class)),
                thread,
                "{class:?} in a thread"
            );
            assert_eq!(
                in_a_workspace(ContextKind::Editor).allows(&spec(class)),
                editor,
                "{class:?} in the editor"
            );
        }
    }

    // N-096
    #[test]
    fn a_policy_is_data() {
        let policy = ToolPolicy {
            allowed_mcp_servers: BTreeSet::from(["docs".to_owned()]),
            ..in_a_workspace(ContextKind::Editor)
        };
        let json = serde_json::to_value(&policy).unwrap();
        let classes = ["safe", "knowledge", "network", "workspace_write", "editor_mutate", "subagent"];
        let expected =
            serde_json::json!({"classes": classes, "workspace_root": "/", "allowed_mcp_servers": ["docs"]});
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<ToolPolicy>(json).unwrap(), policy);
        let none: ToolPolicy = wire::json::from_str("{}").unwrap();
        assert!(!none.allows(&spec(Some(PermissionClass::Safe))), "what says nothing allows nothing");
    }

    // N-104
    #[test]
    fn without_a_workspace_there_are_no_file_tools() {
        let file_tool = spec(Some(PermissionClass::WorkspaceWrite));
        for context in [ContextKind::Thread, ContextKind::Editor] {
            assert!(
                !ToolPolicy::of(context).allows(&file_tool) && in_a_workspace(context).allows(&file_tool)
            );
        }
    }

    // N-105
    #[test]
    fn an_mcp_server_must_be_listed() {
        let tool = |server: &str| ToolSpec {
            mcp_server: Some(server.to_owned()),
            ..spec(Some(PermissionClass::Network))
        };
        let mut policy = ToolPolicy::of(ContextKind::Thread);
        assert!(!policy.allows(&tool("docs")));
        policy.allowed_mcp_servers.insert("docs".to_owned());
        assert!(
            policy.allows(&tool("docs")) && !policy.allows(&tool("Docs")) && !policy.allows(&tool("other"))
        );
        policy.classes.remove(&PermissionClass::Network);
        assert!(!policy.allows(&tool("docs")), "a listed server's tools need their class as well");
    }

    #[test]
    fn rules_narrow_and_never_widen() {
        use PermissionClass::*;
        let named = |name: &str, class| ToolSpec { name: name.to_owned(), ..spec(Some(class)) };
        let rules = r#"{"network": "ask", "fetch": "on", "safe": "off", "secrets": "on", "write": "ask"}"#;
        let rules: ToolRules = wire::json::from_str(rules).unwrap();
        let approved = BTreeSet::from(["allowed".to_owned()]);
        let policy = in_a_workspace(ContextKind::Thread).narrowed(rules, approved);
        for (name, class, rule) in [
            ("search", Network, Rule::Ask),
            ("fetch", Network, Rule::On),
            ("allowed", Network, Rule::On),
            ("calculate", Safe, Rule::Off),
            ("write", WorkspaceWrite, Rule::Ask),
            ("other", WorkspaceWrite, Rule::On),
            ("key", Secrets, Rule::Off),
            ("paste", EditorMutate, Rule::Off),
        ] {
            assert_eq!(policy.rule(&named(name, class)), rule, "{name}");
        }
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(wire::json::from_str::<ToolPolicy>(&json).unwrap(), policy, "it is frozen in entry 0");
    }
}
