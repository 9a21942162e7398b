//! The projects of a user in D1.

use std::rc::Rc;

use uuid::Uuid;

use crate::thread::Thread;
use engine::toolbelt::ToolPolicy;
use features::Resources;
use features::projects::store::D1Projects;
use wire::protocol::{ApiError, Owner};

/// Adds the user's projects.
pub fn provide(
    resources: &mut Resources,
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    _: &ToolPolicy,
) -> Result<(), ApiError> {
    let thread_id = Uuid::try_parse(thread_id).ok();
    resources.projects = Some(Rc::new(D1Projects::new(&thread.env, owner, thread_id)));
    Ok(())
}
