//! This test makes the page's types from the wire types. `make types` writes the file; every other run compares it.

use std::path::Path;

use ts_rs::{Config, TS};

use super::*;
use crate::model::{ServiceTier, Usage};
use crate::protocol::TaskStatus;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/wire.generated.ts");
/// Set by `make types`.
const WRITE: &str = "ESPALIER_WRITE_TYPES";

// Long: the list of all types.
#[test]
fn the_page_has_the_wires_types() {
    // All our integers are below 2^53 (docs/wire-protocol.md), so that JavaScript's numbers hold them.
    let config = Config::default().with_large_int("number");
    let declared = |docs: Option<String>, declaration: String| {
        format!("\n{}export {declaration}\n", docs.unwrap_or_default())
    };
    let mut file = "// Made from durable/wire/src/protocol by `make types`: change it there.\n".to_owned();
    macro_rules! declare {
        ($($type:ty),* $(,)?) => { $(file += &declared(<$type>::docs(), <$type>::decl(&config));)* };
    }
    declare!(
        ChatRequest,
        Content,
        ContentPart,
        DataUrl,
        ChatContext,
        ContextKind,
        ModeProfile,
        IfRunning,
        QueuedMessage,
        MessageQueue,
        QueuedPreview,
        QueueChange,
        QueuedChange,
        BrowserContext,
        ClientTool,
        ToolResult,
        Approval,
        ThreadChange,
        Numbered,
        TurnLimits,
        AgentState,
        Awaited,
        Decision,
        Form,
        FormQuestion,
        HookDecision,
        HookPoint,
        HookReach,
        Hook,
        NewHook,
        HookList,
        CallStatus,
        ChunkKind,
        BudgetReason,
        FinishReason,
        Usage,
        ServiceTier,
        CostSummary,
        CountedRequest,
        ModelCost,
        StoredMessage,
        MessagePart,
        Source,
        Role,
        StopNote,
        ReachedLimit,
        LeftUndone,
        ExecutionTree,
        TreeHook,
        Instructions,
        InstructionsOf,
        NewInstructions,
        TreeInstructions,
        ClientInstructions,
        Bookmark,
        BookmarkList,
        NewShare,
        ShareSummary,
        ShareList,
        CreatedShare,
        SharedConversation,
        SharedMessage,
        SharedPart,
        TreeNode,
        TreeModelCall,
        MessageList,
        TurnVersion,
        SentContent,
        FileEntry,
        FileList,
        FileVersion,
        FileVersionList,
        ThreadState,
        ThreadSummary,
        ThreadList,
        ThreadDetail,
        ExecutionMode,
        PlanStatus,
        StepStatus,
        Verdict,
        PlanReview,
        PlanStep,
        Plan,
        TemplateEntry,
        TemplateList,
        ProjectChange,
        TaskChange,
        DocumentChange,
        ProjectEntry,
        ProjectList,
        ProjectDetail,
        ProjectTask,
        TaskStatus,
        DocumentEntry,
        DocumentDetail,
        UsageRow,
        UsageList,
        SessionSummary,
        StartedSignIn,
        SignInWay,
        SessionList,
        AuditAction,
        AuditEntry,
        AuditPage,
        AgentStatus,
        AgentSummary,
        AgentList,
        MainAgent,
        AgentRound,
        AgentRounds,
        StandingApproval,
        ApprovalList,
        Memory,
        MemoryList,
        NewCollection,
        Collection,
        CollectionList,
        Document,
        DocumentList,
        Passage,
        PassageList,
        SessionStatus,
        SessionMode,
        StepNotes,
        StepTitle,
        StepType,
        OutputMode,
        Threshold,
        Stuck,
        WorkflowVerifier,
        WorkflowNotify,
        WorkflowStep,
        WorkflowDefinition,
        WorkflowSummary,
        WorkflowList,
        WorkflowDetail,
        WorkflowSession,
    );
    for (name, rule) in [("AGENT_NAME", AGENT_NAME), ("WORKFLOW_ID", WORKFLOW_ID)] {
        let (max, pattern) = (rule.max, rule.whole_pattern());
        file += &format!("\nexport const {name} = {{ max: {max}, pattern: /{pattern}/ }};\n");
    }
    for (name, max) in [
        ("MAX_LINE_CHARS", MAX_LINE_CHARS),
        ("MAX_DESCRIPTION_CHARS", knowledge::MAX_DESCRIPTION_CHARS),
        ("MAX_TITLE_CHARS", change::MAX_TITLE_CHARS),
        ("MAX_REASON_BYTES", form::MAX_REASON_BYTES),
    ] {
        file += &format!("export const {name} = {max};\n");
    }
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(FILE, &file).unwrap();
    }
    let written = std::fs::read_to_string(Path::new(FILE)).unwrap_or_default();
    assert!(written == file, "web/src/wire.generated.ts is not what the wire is: run `make types`");
}

// B-011 B-056 B-057 B-061 B-066 B-096: retired names. The protocol's examples have those of today.
#[test]
fn retired_events_are_not_on_the_wire() {
    let config = Config::default();
    let (events, states) = (Event::decl(&config), AgentState::decl(&config));
    for retired in ["analysis", "strategy_selected", "clarifying_questions"] {
        assert!(!events.contains(retired), "{retired}");
    }
    assert_eq!(states.matches('"').count() / 2, 3, "three states, and no more: {states}");
}
