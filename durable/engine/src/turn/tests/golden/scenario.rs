//! A turn whose journals lie in `journal/golden`.

use std::collections::BTreeSet;

use crate::journal::{ESTIMATES, MARKS};
use crate::testing::*;
use crate::toolbelt::ToolRules;
use crate::turn::Turn;

/// A turn, and the action that a test takes on it between two steps of the executor.
pub struct Scenario {
    pub name: &'static str,
    pub case: fn() -> Case,
    pub during: fn(&Turn, usize),
    /// Whether the turn parks, and goes on with [`answer`](super::scenarios::answer).
    pub parks: bool,
    /// Whether former code of this format wrote its journals, in a shape that this code does not write any more. They stay
    /// as they are.
    pub is_former: bool,
    /// The rules for estimates with which the turn begins. Turns of before these had a number go on as they began.
    pub estimates: u32,
    /// The marks with which it begins. Turns of before go on with theirs.
    pub marks: u32,
}

impl Scenario {
    /// The turn, before it begins.
    pub fn begin(&self) -> Case {
        Case { estimates: self.estimates, marks: self.marks, ..(self.case)() }
    }
}

/// A turn that the test only runs.
pub const fn plain(name: &'static str, case: fn() -> Case) -> Scenario {
    Scenario { name, case, during: |_, _| {}, parks: false, is_former: false, estimates: 0, marks: 0 }
}

/// A turn that the test only runs, with journals of former code.
pub const fn former(name: &'static str, case: fn() -> Case) -> Scenario {
    Scenario { is_former: true, ..plain(name, case) }
}

/// A turn that follows the present rules for estimates.
pub const fn estimated(name: &'static str, case: fn() -> Case) -> Scenario {
    Scenario { estimates: ESTIMATES, ..plain(name, case) }
}

/// A turn with the present marks.
pub const fn marked(name: &'static str, case: fn() -> Case) -> Scenario {
    Scenario { marks: MARKS, ..plain(name, case) }
}

/// A turn that parks.
pub const fn parked(name: &'static str, case: fn() -> Case) -> Scenario {
    Scenario { parks: true, ..plain(name, case) }
}

/// A turn that calls for ever.
pub fn more() -> Case {
    Case::new(script(&[("go", vec![Reply::TextAndCalls("More. ", vec![("echo", serde_json::json!({}))])])]))
}

/// A turn with agents that were offered neither a list nor dumps, as by former code.
pub fn before_dumps(mut case: Case) -> Case {
    let rules: ToolRules = serde_json::from_str(r#"{"list_agents": "off", "restore_agent": "off"}"#).unwrap();
    case.offered_by = case.offered_by.narrowed(rules, BTreeSet::new());
    case
}
