//! The prompt of a thread's next turn, for a person who reads it before the turn.

use crate::respond::misconfigured;
use std::collections::BTreeSet;

use engine::plan::update;
use engine::profiles::ContextProfile;
use engine::prompt;
use engine::toolbelt::ToolPolicy;
use wire::protocol::{ApiError, ContextKind, Owner, Plan};

use super::thread::Thread;
use super::{compose, limits};

/// The prompt of the user's next turn without a chat context, memories and servers: the one that a person reads while no turn
/// is open. It has the plan that waits, where the operator lets the models of this user act on plans.
pub fn next_prompt(thread: &Thread, owner: &Owner) -> Result<String, ApiError> {
    let policy = policy(thread, owner)?;
    let draft = thread.store.draft(&thread.store.path()?)?.filter(|_| policy.allows(&update::spec()));
    prompt_with(thread, &policy, draft.as_ref())
}

/// The prompt of `main` without anything that belongs to a turn or to this thread.
pub fn plain_prompt(thread: &Thread, owner: &Owner) -> Result<String, ApiError> {
    prompt_with(thread, &policy(thread, owner)?, None)
}

/// The tools of a turn without a chat context, as the operator's rules leave them to this user.
fn policy(thread: &Thread, owner: &Owner) -> Result<ToolPolicy, ApiError> {
    let rules = thread.deployment.once(|var| limits::tool_rules(var)).map_err(misconfigured)?;
    let users = compose::tool_users(&thread.deployment)?;
    let mut policy = ToolPolicy::of(ContextKind::default());
    policy.classes.retain(|class| users.may_have(*class, owner));
    Ok(policy.narrowed(rules.as_ref().clone(), BTreeSet::new()))
}

fn prompt_with(thread: &Thread, policy: &ToolPolicy, draft: Option<&Plan>) -> Result<String, ApiError> {
    let context = &ContextProfile::of(None);
    let roles = &compose::configuration(thread)?.roles;
    let has_tools = roles.of(context.role).unwrap_or(&roles.primary).first.choice.calls();
    let about = prompt::About {
        context,
        entity_id: None,
        has_tools,
        draft,
        browser: None,
        session: None,
        shape: None,
    };
    Ok(prompt::root(about, &compose::limits(&thread.deployment, context)?) + &features::guidance(policy))
}
