//! `file_changed`: tells the model of files that another level of the turn has changed since this one read them.

use super::{Builtin, Choice, Kind, kept, state, text};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use crate::versions::Versions;
use wire::protocol::{HookDecision, HookPoint};

/// Looks at the files below the path `under`; at all of them where it has none.
pub(super) const HOOK: Builtin = Builtin {
    name: "file_changed",
    points: &[HookPoint::Result],
    calls: &[],
    options: &[Choice { name: "under", kind: Kind::Text }],
    judge: Judge::Rule(&FileChanged),
};

/// The most files that one comment names.
const MOST_NAMED: usize = 20;

/// The state has the versions that the model was told of.
struct FileChanged;

impl Rule for FileChanged {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let told: Versions = state(asked)?;
        let under = text(asked.hook, "under").unwrap_or_default();
        let record = asked.turn.record.borrow();
        let changed = asked.level.known_files().iter().filter(|(path, known)| {
            let newest = record.hooks.files.get(*path);
            path.starts_with(under)
                && newest.is_some_and(|newest| newest != *known && told.get(*path) != Some(newest))
        });
        let changed: Vec<&str> = changed.map(|(path, _)| path.as_str()).take(MOST_NAMED).collect();
        if changed.is_empty() {
            return Ok(Said::default());
        }
        let newest = |path: &&str| Some(((*path).to_owned(), record.hooks.files.get(*path)?.clone()));
        let told: Versions = told.into_iter().chain(changed.iter().filter_map(newest)).collect();
        let text = format!(
            "These files have changed since you saw them: {}. Read them again before you build on them.",
            changed.join(", ")
        );
        Ok(Said { state: kept(&told), ..Said::new(HookDecision::Comment, text) })
    }
}
