//! Who may have which class of tools. Guards only narrow; what is not allowed is not offered, and refused if called.

use std::collections::BTreeSet;

use super::{PermissionClass, ToolSpec};
use crate::protocol::ContextKind;

/// What a session allows, by class (DESIGN §8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPolicy {
    classes: BTreeSet<PermissionClass>,
}

impl ToolPolicy {
    /// The table of DESIGN §8: `editor_mutate` only in the editor, `secrets` nowhere.
    pub fn of(context: ContextKind) -> Self {
        use PermissionClass::{EditorMutate, Knowledge, Network, Safe, Subagent, WorkspaceWrite};
        let mut classes = BTreeSet::from([Safe, Knowledge, Subagent, Network, WorkspaceWrite]);
        if context == ContextKind::Editor {
            classes.insert(EditorMutate);
        }
        ToolPolicy { classes }
    }

    /// Whether a tool may be offered and run. One without a class may not.
    pub fn allows(&self, spec: &ToolSpec) -> bool {
        spec.permission_class.is_some_and(|class| self.classes.contains(&class))
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
                ToolPolicy::of(ContextKind::Thread).allows(&spec(class)),
                thread,
                "{class:?} in a thread"
            );
            assert_eq!(
                ToolPolicy::of(ContextKind::Editor).allows(&spec(class)),
                editor,
                "{class:?} in the editor"
            );
        }
    }
}
