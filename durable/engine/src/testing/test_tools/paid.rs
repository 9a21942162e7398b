//! A tool that costs money.

use std::cell::Cell;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::TestTools;
use crate::journal::Fact;
use crate::ports::{Tool, ToolContext, ToolError};
use crate::testing::scripted::Pace;
use crate::testing::support::Disk;
use crate::toolbelt::{Charge, PermissionClass, ToolSpec, declare};

/// Buys for `costs` what may cost `most`, both in millionths of a US dollar. Without `most` its price is unknown. With `hangs`
/// it pays and does not end; with `fails` it fails before it has paid; with `silent` it does not say what it paid.
struct PaidTool {
    spec: ToolSpec,
    spent: Rc<Cell<u64>>,
    pace: Rc<Pace>,
    disk: Rc<Disk>,
}

impl Tool for PaidTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn charge(&self, arguments: &str) -> Option<Charge> {
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        let microusd = arguments["most"].as_u64();
        Some(Charge { provider: "shop".to_owned(), model: "painter".to_owned(), microusd })
    }

    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let key = context.operation_id.rsplit('_').next().unwrap();
        let begun =
            self.disk.count(|entry| entry.at == key && matches!(entry.fact, Fact::ToolStarted { .. }));
        assert_eq!(begun, 1, "{key} runs once, and after its start is on disk");
        let (takes_ms, spent) = (self.pace.tool_ms(), Rc::clone(&self.spent));
        async move {
            if arguments["fails"] == true {
                context.paid.note(0);
                return Err(ToolError("the shop is closed".to_owned()));
            }
            let costs = arguments["costs"].as_u64().unwrap();
            spent.set(spent.get() + costs);
            context.clock.sleep(takes_ms).await;
            if arguments["hangs"] == true {
                return futures::future::pending().await;
            }
            if arguments["silent"] != true {
                context.paid.note(costs);
            }
            Ok("bought".to_owned())
        }
        .boxed_local()
    }
}

impl TestTools {
    /// Adds the tool `buy`, which costs money.
    pub fn add_paid(&mut self) {
        let spec = declare("buy", PermissionClass::Network, "Buys.", json!({"type": "object"}));
        let spec = ToolSpec { costs: true, idempotent: false, ..spec };
        let (spent, pace, disk) = (Rc::clone(&self.spent), Rc::clone(&self.pace), Rc::clone(&self.disk));
        self.tools.push(Rc::new(PaidTool { spec, spent, pace, disk }));
    }
}
