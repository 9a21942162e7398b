//! The names of levels and questions in a script.

/// The name of a level in a script: its instructions, for a planner or reviewer the kind of work and the objective, for a
/// summary whether it continues an earlier one; the level of a page goes by its address, and the one that answers from pages
/// by the question.
pub(super) fn script_key(text: &str) -> String {
    if text.starts_with("<earlier_summary>") {
        return "summary again".to_owned();
    }
    if text.starts_with("<messages>") {
        return "summary".to_owned();
    }
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.to_owned());
    if let Some(step) = text.strip_prefix("Step ").and_then(|text| text.split_once(": ")) {
        return step.1.lines().next().unwrap_or_default().to_owned();
    }
    let marked = [("verified_step", "verify"), ("planned_step", "plan"), ("step_of_results", "notes of")];
    let of_step = marked.iter().find_map(|(mark, work)| {
        let title = text.strip_prefix(&format!("<{mark}>\n"))?.lines().next()?;
        Some(format!("{work} {title}"))
    });
    if let Some(of_step) = of_step {
        return of_step;
    }
    if text.starts_with("All steps of the procedure") {
        return "all done".to_owned();
    }
    if text.starts_with("<conversation>") {
        return "judge".to_owned();
    }
    if let Some(address) = between("<page>\n", "\n</page>").filter(|_| text.starts_with("<page>")) {
        return format!("page {address}");
    }
    if let Some(question) =
        between("<question>\n", "\n</question>").filter(|_| text.starts_with("<question>"))
    {
        return format!("answer {question}");
    }
    if let Some(objective) = between("<objective>\n", "\n</objective>").filter(|_| text.starts_with('<')) {
        let kind = match () {
            () if text.starts_with("<plan>") => "review",
            () if text.contains("<changes>") => "change",
            () => "plan",
        };
        return format!("{kind} {objective}");
    }
    text.split_once("\n<plan_objective>").map_or(text, |(instructions, _)| instructions).to_owned()
}

/// The name of a hook's question in a script: its instructions, and the call or the answer that it judges if that is scripted
/// apart.
pub(super) fn judge_key(system: &str, text: &str) -> String {
    let between =
        |text: &str, from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.to_owned());
    let of = between(system, "<instructions>\n", "\n</instructions>").unwrap_or_default();
    let call = between(text, "<call>\n", "\n</call>");
    let judged = call.or_else(|| between(text, "<answer>\n", "\n</answer>")).unwrap_or_default();
    format!("{of} {judged}")
}

/// The name of a verifier's question in a script, where it is scripted apart by what the notes are about.
pub(super) fn verdict_key(text: &str) -> String {
    let notes = text.split_once("<notes>\n").and_then(|(_, notes)| notes.split_once(':'));
    format!("{}, {}", script_key(text), notes.map(|(about, _)| about).unwrap_or_default())
}
