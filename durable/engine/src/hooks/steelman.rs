//! `steelman`: before the agent turns against what the user thinks, a model checks that it has met the strongest form of it.

use super::{Builtin, Choice, Kind, smart};
use crate::turn::hooking::Judge;
use wire::protocol::HookPoint;

/// Looks at disagreement `about` a subject; at all of it where it has none.
pub(super) const HOOK: Builtin = Builtin {
    name: "steelman",
    points: &[HookPoint::Action, HookPoint::Input, HookPoint::Result, HookPoint::Answer],
    calls: &[],
    options: &[Choice { name: ABOUT, kind: Kind::Text }],
    judge: Judge::Model(&smart::Instructed),
};

/// The option with the subject.
pub(super) const ABOUT: &str = "about";

/// The words by which the model judges.
pub(super) const INSTRUCTIONS: &str = "Look whether the agent disagrees with the user, or acts against what the user thinks. If it does, it must first have \
     put the user's view in its strongest form, and have answered that form and not a weaker one. If it has not, do not \
     let it go on: say which point of the user's view it has passed over. Where it agrees with the user, or has met the \
     strongest form before, have no objection.";
