//! `file_changed`: tells the model of files that have changed since this level or its agent read them, whoever changed them.

use super::{Builtin, Choice, Kind, kept, state, text};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use crate::versions::Versions;
use wire::protocol::{Hook, HookDecision, HookPoint};

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

/// The state has the versions of changed files that the model was told of.
struct FileChanged;

impl Rule for FileChanged {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let Some(changed) = asked.changed else { return Ok(Said::default()) };
        let changed = changed.as_ref().map_err(|why| format!("the files could not be compared: {why}"))?;
        let before: Versions = state(asked)?;
        let under = text(asked.hook, "under").unwrap_or_default();
        let changed = || changed.iter().filter(|(path, _)| path.starts_with(under));
        let news: Vec<&str> = changed()
            .filter(|(path, now)| before.get(*path) != Some(*now))
            .map(|(path, _)| path.as_str())
            .take(MOST_NAMED)
            .collect();
        if news.is_empty() {
            return Ok(Said::default());
        }
        let text = format!(
            "These files have changed since you saw them: {}. Read them again before you build on them.",
            news.join(", ")
        );
        let is_told = |path: &str| before.contains_key(path) || news.contains(&path);
        let told = changed().filter(|(path, _)| is_told(path)).map(|(path, now)| (path.clone(), now.clone()));
        let told: Versions = told.collect();
        Ok(Said { state: kept(&told), ..Said::new(HookDecision::Comment, text) })
    }

    /// Before the first model call as well: a person may have changed a file since the last answer.
    fn is_asked_on(&self, _: &Hook, point: HookPoint) -> bool {
        matches!(point, HookPoint::Input | HookPoint::Result)
    }

    fn compares_files(&self) -> bool {
        true
    }
}
