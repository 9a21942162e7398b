//! Who may have which class of tools. Guards only narrow; what is not allowed is not offered, and refused if called.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{PermissionClass, ToolSpec};
use crate::protocol::ContextKind;

/// What a session allows. Built once for each turn and frozen in its entry 0, it holds when tools are offered and again
/// when they are called. The default allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolPolicy {
    pub classes: BTreeSet<PermissionClass>,
    /// Where tools of the class `workspace_write` may work. Without it there are none of them (N-104); staying inside is
    /// the tools' own duty.
    pub workspace_root: Option<String>,
    /// The MCP servers whose tools may be offered: only those (N-105).
    pub allowed_mcp_servers: BTreeSet<String>,
}

impl ToolPolicy {
    /// The classes of a context: `editor_mutate` only in the editor, `secrets` nowhere. No workspace and no MCP server.
    pub fn of(context: ContextKind) -> Self {
        use PermissionClass::{EditorMutate, Knowledge, Network, Safe, Subagent, WorkspaceWrite};
        let mut classes = BTreeSet::from([Safe, Knowledge, Subagent, Network, WorkspaceWrite]);
        if context == ContextKind::Editor {
            classes.insert(EditorMutate);
        }
        ToolPolicy { classes, ..ToolPolicy::default() }
    }

    /// Whether a tool may be offered and run. One without a class may not.
    pub fn allows(&self, spec: &ToolSpec) -> bool {
        let Some(class) = spec.permission_class else { return false };
        let has_server = spec.mcp_server.as_ref().is_none_or(|name| self.allowed_mcp_servers.contains(name));
        let has_root = class != PermissionClass::WorkspaceWrite || self.workspace_root.is_some();
        self.classes.contains(&class) && has_server && has_root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn spec(permission_class: Option<PermissionClass>) -> ToolSpec {
        let mut spec = tools::intercepted().remove(0);
        spec.permission_class = permission_class;
        spec
    }

    fn in_a_workspace(context: ContextKind) -> ToolPolicy {
        ToolPolicy { workspace_root: Some("/".to_owned()), ..ToolPolicy::of(context) }
    }

    // N-016 N-086 N-097 N-098 N-099 N-100 N-101
    #[test]
    fn the_table_of_classes() {
        use PermissionClass::*;
        for (class, thread, editor) in [
            (Some(Safe), true, true),
            (Some(Knowledge), true, true),
            (Some(Subagent), true, true),
            (Some(Network), true, true),
            (Some(WorkspaceWrite), true, true),
            (Some(EditorMutate), false, true),
            (Some(Secrets), false, false),
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
        let none: ToolPolicy = serde_json::from_str("{}").unwrap();
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
}
