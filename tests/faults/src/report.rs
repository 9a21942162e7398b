//! The results of a run, as a table. A row that has a limit is a check.

use std::time::Duration;

use crate::harness::Outcome;
use crate::ledger::Death;

/// How late a turn that no client asks for may act. Its alarm, which stands at most 10 s ahead, takes it up within 12 s;
/// the rest is for the first call of its model to arrive, on a busy machine.
const TAKEN_UP: Duration = Duration::from_secs(14);

/// One line of the table.
pub struct Row {
    name: String,
    value: String,
    /// The required value, where there is one, and whether the row has it.
    check: Option<(String, bool)>,
}

fn fact(name: &str, value: impl ToString) -> Row {
    Row { name: name.to_owned(), value: value.to_string(), check: None }
}

fn zero(name: &str, value: u32) -> Row {
    Row { name: name.to_owned(), value: value.to_string(), check: Some(("0".to_owned(), value == 0)) }
}

fn least(name: &str, value: u32, least: u32) -> Row {
    let check = (least > 0).then(|| (format!(">= {least}"), value >= least));
    Row { name: name.to_owned(), value: value.to_string(), check }
}

/// The rows of a run; `quota` has the kills, aborts, cuts and upstream faults that the run needs.
// Long: a table with a line for each row.
pub fn rows(outcome: &Outcome, quota: [u32; 4]) -> Vec<Row> {
    let Outcome { ledger, seen, missing_in_d1, recorded, wrongly_marked, objects, kept, took } = outcome;
    let counts = ledger.counts();
    let deaths = |death| counts.deaths.get(&death).copied().unwrap_or(0);
    let [kills, aborts, cuts, upstream] = quota;
    let kinds = |kinds: &std::collections::BTreeMap<&'static str, u32>| {
        let each: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    };
    let finishes: Vec<String> = seen.finishes.iter().map(|(why, count)| format!("{why} {count}")).collect();
    let mut rows = vec![
        fact("seconds", took.as_secs()),
        least("kills of the runtime", deaths(Death::Kill), kills),
        least("ctx.abort()", deaths(Death::Abort), aborts),
        fact("panics", deaths(Death::Panic)),
        least("client cuts", seen.cuts, cuts),
        least("upstream faults", counts.upstream.values().sum(), upstream),
        fact("  of which", kinds(&counts.upstream)),
        fact("D1 faults", kinds(&counts.d1)),
        fact("R2 faults", kinds(&counts.r2)),
        fact("versions / choices of a path", format!("{} / {}", seen.versions, seen.choices)),
        fact("cancels / superseded", format!("{} / {}", seen.cancels, seen.superseded)),
        fact("messages that waited for a turn", seen.queued),
        fact(
            "answers from outside / calls that waited for one at a kill",
            format!("{} / {}", seen.answers, seen.killed_waiting),
        ),
        fact("turns that continued one that a limit ended", seen.continued),
        fact("requests answered 5xx while their object ended", seen.errors_5xx),
        fact("requests that met a turn on hold, after three deaths or more", counts.holds),
        fact("turns accepted", seen.accepted),
        fact("  ended as", finishes.join(", ")),
        zero("turns lost: no single terminal event", seen.accepted.abs_diff(seen.ended)),
        zero("turns lost: no message and tree in D1", *missing_in_d1),
        zero("turns whose place beside the path D1 does not know", *wrongly_marked),
        zero("turns unfinished in their object", objects.unfinished),
        zero("outbox rows that D1 never took", objects.undelivered),
        zero("turns without a whole record in R2", recorded.missing),
        zero("rows of journals whose record R2 never took", objects.unrecorded),
        zero("records whose replay takes other steps", recorded.different),
        fact("records / written more than once", format!("{} / {}", recorded.records, recorded.rewritten)),
        zero("rows of the quotas that refused requests left", *kept),
        fact("side effects", format!("{}, {} of them again", counts.effects, counts.effects_again)),
        zero("side effects of journaled outcomes repeated", counts.journaled_repeated),
        zero("side effects of not idempotent tools repeated", counts.once_repeated),
        fact(
            "model calls",
            format!(
                "{}, {} again; {} under way at a death",
                counts.model_calls, counts.model_repeated, counts.under_way
            ),
        ),
        fact("  for summaries of earlier turns", counts.summaries),
        zero("deaths with more calls repeated than levels in flight", counts.kills_over),
        zero("calls repeated without a death that excuses it", counts.unexcused),
        zero("reconnected clients: differences", seen.differences),
        zero("reconnected clients: duplicates", seen.duplicates),
        zero("reconnected clients: holes", seen.holes),
        zero("turns that break the wire's rules", seen.malformed),
        fact("tool calls in the stored histories", objects.calls),
        zero("  without exactly one result", objects.unpaired),
        zero("  histories that a provider would refuse", counts.refused_histories),
        fact("restart of the runtime", times(&ledger.restarts())),
        fact("kill to the first new event, client comes back", times(&seen.back)),
    ];
    let by_alarm = ledger.resumed_by_alarm();
    let (from_kill, from_start): (Vec<_>, Vec<_>) = by_alarm.iter().copied().unzip();
    let late = from_start.iter().filter(|time| **time > TAKEN_UP).count() as u32;
    rows.push(fact("kill to the first act, by the alarm alone", times(&from_kill)));
    rows.push(fact("  from when the runtime answers again", times(&from_start)));
    let allowed = by_alarm.len() as u32 / 20;
    let check = (format!("<= {allowed}"), late <= allowed);
    rows.push(Row {
        name: format!("  later than {} s", TAKEN_UP.as_secs()),
        value: late.to_string(),
        check: Some(check),
    });
    rows.push(zero("violations in all", ledger.violations().len() as u32));
    rows
}

fn times(times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at =
        |per_cent: usize| sorted.get((sorted.len() * per_cent / 100).min(sorted.len().saturating_sub(1)));
    match (at(50), at(95), sorted.last()) {
        (Some(p50), Some(p95), Some(max)) => format!(
            "p50 {} ms, p95 {} ms, max {} ms ({} samples)",
            p50.as_millis(),
            p95.as_millis(),
            max.as_millis(),
            sorted.len()
        ),
        _ => "no sample".to_owned(),
    }
}

/// Prints the table. Returns whether all checks hold.
pub fn print(title: &str, rows: &[Row]) -> bool {
    println!("\n{title}");
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for Row { name, value, check } in rows {
        let verdict = match check {
            None => String::new(),
            Some((want, true)) => format!("   ok ({want})"),
            Some((want, false)) => format!("   FAILED, must be {want}"),
        };
        println!("  {name:width$}  {value}{verdict}");
    }
    rows.iter().all(|row| row.check.as_ref().is_none_or(|(_, holds)| *holds))
}
