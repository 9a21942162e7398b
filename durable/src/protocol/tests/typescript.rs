//! The page's types are made from the wire's. `make types` writes them, every other test run compares.

use std::path::Path;

use ts_rs::{Config, TS};

use super::*;
use crate::model::Usage;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/src/wire.generated.ts");
/// Set by `make types`.
const WRITE: &str = "ESPALIER_WRITE_TYPES";

#[test]
fn the_page_has_the_wires_types() {
    // All our integers are below 2^53 (docs/wire-protocol.md), so that JavaScript's numbers hold them.
    let config = Config::default().with_large_int("number");
    let declared = |docs: Option<String>, declaration: String| {
        format!("\n{}export {declaration}\n", docs.unwrap_or_default())
    };
    let mut file = "// Made from durable/src/protocol by `make types`: change it there.\n".to_owned();
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
        ClientTool,
        ToolResult,
        Approval,
        ThreadChange,
        Numbered,
        TurnLimits,
        AgentState,
        Awaited,
        Decision,
        CallStatus,
        ChunkKind,
        BudgetReason,
        FinishReason,
        Usage,
        CostSummary,
        ModelCost,
        StoredMessage,
        Role,
        StopNote,
        ExecutionTree,
        TreeNode,
        MessageList,
        SentContent,
        FileEntry,
        FileList,
        ThreadSummary,
        ThreadList,
        ThreadDetail,
        Memory,
        MemoryList,
        NewCollection,
        Collection,
        CollectionList,
        Document,
        DocumentList,
        Passage,
        PassageList,
    );
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(FILE, &file).unwrap();
    }
    let written = std::fs::read_to_string(Path::new(FILE)).unwrap_or_default();
    assert!(written == file, "web/src/wire.generated.ts is not what the wire is: run `make types`");
}
