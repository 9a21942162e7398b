//! The models that judge the steps of a session. Pure.

use std::collections::BTreeMap;

use engine::profiles::{Chain, Role};
use providers::config::Roles;
use wire::protocol::WorkflowDefinition;

/// The models of each role under which a verifier judges: `quality`, else the primary ones, and the roles that steps name and
/// the deployment has. A turn freezes all of them, also where they are its own, so no request chooses who judges.
pub fn judges(roles: &Roles, definition: &WorkflowDefinition) -> BTreeMap<Role, Chain> {
    let verifiers = definition.steps.iter().filter_map(|step| step.verifier.as_ref());
    let named = verifiers.flat_map(|verifier| {
        let named = verifier.model.as_deref().and_then(Role::of).filter(|role| roles.of(*role).is_some());
        [Some(Role::Quality), named].into_iter().flatten()
    });
    named.map(|role| (role, roles.of(role).unwrap_or(&roles.primary).clone())).collect()
}

#[cfg(test)]
mod tests {
    use providers::config::Configuration;
    use serde_json::json;

    use super::*;

    // Issue 42, M3
    #[test]
    fn quality_judges_else_the_primary_models() {
        let judged_by = |more: &[(&str, &str)], verifiers: &[serde_json::Value]| {
            let all =
                [&[("MODEL_PRIMARY", "own:first"), ("OWN_BASE_URL", "http://own.test/v1")], more].concat();
            let var = |name: &str| {
                all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            let step = |verifier: &serde_json::Value| json!({"id": "a", "title": "A", "instructions": "Do it.", "verifier": verifier});
            let steps: Vec<_> = verifiers.iter().map(step).collect();
            let definition = json!({"name": "Report", "steps": steps});
            let definition: WorkflowDefinition = serde_json::from_value(definition).unwrap();
            let roles = Configuration::from_env(var, 0).unwrap().roles;
            let judges = judges(&roles, &definition).into_iter();
            judges.map(|(role, chain)| format!("{} {chain}", role.as_str())).collect::<Vec<_>>()
        };
        let (plain, fast) = (json!({"threshold": "high"}), json!({"threshold": "high", "model": "speed"}));
        assert_eq!(judged_by(&[], &[json!(null)]), [""; 0]);
        for verifier in [&plain, &fast] {
            assert_eq!(judged_by(&[], std::slice::from_ref(verifier)), ["quality own:first"]);
        }
        let more = [("MODEL_QUALITY", "own:good"), ("MODEL_SPEED", "own:fast")];
        assert_eq!(judged_by(&more, &[plain, fast]), ["speed own:fast", "quality own:good"]);
    }
}
