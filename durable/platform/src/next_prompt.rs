//! The prompt of a thread's next turn, for a person who reads it before the turn.

use std::collections::BTreeSet;

use engine::plan::update;
use engine::profiles::ContextProfile;
use engine::prompt;
use engine::toolbelt::ToolPolicy;
use wire::protocol::{ApiError, ContextKind};

use super::thread::Thread;
use super::{compose, limits};

/// The prompt of a next turn without a chat context, memories and servers: the one that a person reads while no turn is
/// open. It has the plan that waits, where the operator lets models act on plans.
pub fn plain_prompt(thread: &Thread) -> Result<String, ApiError> {
    let context = &ContextProfile::of(None);
    let roles = &compose::configuration(thread)?.roles;
    let has_tools = roles.of(context.role).unwrap_or(&roles.primary).first.choice.calls();
    let policy = ToolPolicy::of(ContextKind::default());
    let rules = thread.deployment.once(|var| limits::tool_rules(var)).map_err(compose::misconfigured)?;
    let ruled = policy.clone().narrowed(rules.as_ref().clone(), BTreeSet::new());
    let draft = thread.store.draft(&thread.store.path()?)?.filter(|_| ruled.allows(&update::spec()));
    let draft = draft.as_ref();
    let about = prompt::About { context, entity_id: None, has_tools, draft, browser: None, session: None };
    Ok(prompt::root(about, &compose::limits(&thread.deployment, context)?) + &features::guidance(&policy))
}
