//! What the catalogue says against the configured models. Turns start all the same, so these are warnings: the catalogue
//! may be older than the model. It has the names in them, so none of these is a secret.

use std::collections::BTreeMap;

use providers::catalogue::{Row, row};
use providers::config::Configuration;
use wire::model::{ModelChoice, ModelOptions};
use wire::time::{Day, date};

/// How many days before the end of a model the report warns.
const WARNED_DAYS: u64 = 30;

/// The warnings of this day, by model.
pub fn configuration_warnings(configuration: &Configuration, today: Day) -> Vec<String> {
    let models: BTreeMap<String, &ModelChoice> =
        configuration.models().map(|choice| (choice.id(), choice)).collect();
    let known =
        models.iter().filter_map(|(id, choice)| Some((id, choice, row(&choice.provider, &choice.model)?)));
    let warnings = known.flat_map(|(id, choice, row)| {
        let refused = refuses_effort(&choice.options, row)
            .then(|| format!("{id} refuses the reasoning_effort that MODEL_OPTIONS sets."));
        ending(row, today).map(|when| format!("{id} {when}")).into_iter().chain(refused)
    });
    let without = configuration.without_temperature.iter();
    let left_out = without.map(|id| format!("{id} takes no temperature here, so requests leave it out."));
    warnings.chain(left_out).collect()
}

/// The end of a model that has ended or ends within a month.
fn ending(row: &Row, today: Day) -> Option<String> {
    let ends = row.ends.filter(|ends| *ends <= today + WARNED_DAYS)?;
    let verb = if ends <= today { "ended" } else { "ends" };
    let successor = row.successor.map(|it| format!(" Its maker names {it} as its successor."));
    Some(format!("{verb} on {}.{}", date(ends)?, successor.unwrap_or_default()))
}

/// Whether each request of this model would be refused for its effort.
fn refuses_effort(options: &ModelOptions, row: &Row) -> bool {
    let efforts = row.forms.efforts;
    let is_unknown = |effort: &String| !efforts.is_empty() && !efforts.contains(&effort.as_str());
    options.reasoning_effort.as_ref().is_some_and(is_unknown)
}

#[cfg(test)]
mod tests {
    use providers::catalogue::rows;

    use super::*;

    fn warnings(vars: &[(&str, &str)], today: Day) -> String {
        let all =
            [&[("MODEL_PRIMARY", "demo:demo"), ("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")], vars]
                .concat();
        let var = |name: &str| all.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned());
        configuration_warnings(&Configuration::from_env(var, today).unwrap(), today).join(" ")
    }

    // Issue 43
    #[test]
    fn a_model_that_ends_within_a_month_is_a_warning() {
        // The model of OpenAI that ends last, whichever the catalogue has.
        let ends = |row: &&Row| row.ends.filter(|_| row.provider == "openai");
        let row = rows().filter(|row| ends(row).is_some()).max_by_key(ends).unwrap();
        let (end, id) = (row.ends.unwrap(), format!("openai:{}", row.model));
        let on = date(end).unwrap();
        for variable in ["MODELS", "MODEL_SPEED", "MODEL_GUARD"] {
            let said = warnings(&[(variable, &id)], end - 30);
            assert!(said.starts_with(&format!("{id} ends on {on}.")), "{variable}: {said}");
            assert!(said.contains(row.successor.unwrap()), "{said}");
        }
        assert_eq!(warnings(&[("MODELS", &id)], end - 31), "");
        assert!(warnings(&[("MODELS", &id)], end).starts_with(&format!("{id} ended on {on}.")));
        let dated = format!("{id}-2026-01-31");
        assert!(warnings(&[("MODELS", &dated)], end).starts_with(&format!("{dated} ended on {on}.")));
        assert_eq!(warnings(&[("MODELS", "openai:mine")], end), "");
    }

    // Issue 43
    #[test]
    fn an_option_that_a_model_refuses_is_a_warning() {
        let of = |model: &str, options: &str| warnings(&[("MODELS", model), ("MODEL_OPTIONS", options)], 0);
        let temperature = r#"{"*": {"temperature": 1}}"#;
        for refusing in ["anthropic:claude-opus-5-5", "anthropic:claude-opus-9", "openai:gpt-6-luna"] {
            let left_out = format!("{refusing} takes no temperature here, so requests leave it out.");
            assert_eq!(of(refusing, temperature), left_out);
        }
        let with_effort = r#"{"*": {"temperature": 1, "reasoning_effort": "none"}}"#;
        assert_eq!(of("openai:gpt-6-luna", with_effort), "", "OpenAI takes one without reasoning");
        assert_eq!(of("anthropic:claude-haiku-4-5", temperature), "");
        let effort = |word: &str| format!(r#"{{"*": {{"reasoning_effort": "{word}"}}}}"#);
        assert_eq!(of("openai:gpt-6.1-sol", &effort("low")), "");
        assert!(of("openai:gpt-6.1-sol", &effort("none")).contains("refuses the reasoning_effort"));
        assert_eq!(of("openai:mine", &effort("none")), "");
        assert_eq!(of("anthropic:claude-haiku-4-5", &effort("1024")), "", "its efforts are not known");
    }
}
