//! Dumps of agents with agents of their own.

use serde_json::json;

use super::*;
use crate::pace::{Pace, at_once, no_pause};
use crate::protocol::ApiError;

fn parse(dump: &Value) -> Result<SentDump, ApiError> {
    at_once(SentDump::parse(dump.to_string().as_bytes(), &Pace::new(&no_pause))).unwrap()
}

fn refused(dump: &Value) -> (Option<String>, String) {
    let refused = parse(dump).unwrap_err();
    (refused.field.clone(), refused.detail.clone())
}

fn agent(name: &str, rounds: Value, agents: Value) -> Value {
    json!({"name": name, "instructions": "A.", "rounds": rounds, "agents": agents})
}

fn round(text: &str) -> Value {
    json!([{"user": {"content": text}}, {"assistant": {"content": "Yes."}}])
}

// the rounds of an agent come before those of its own agents.
#[test]
fn a_dump_has_agents_of_agents() {
    let leaf = agent("c", json!([round("c")]), json!([]));
    let all = json!([
        agent("b", json!([round("b"), round("b2")]), json!([leaf])),
        agent("d", json!([]), json!([]))
    ]);
    let mut whole = agent("a", json!([round("a")]), all);
    whole["speakers"] = json!(["d"]);
    whole["cut"] = json!(true);
    let SentDump { dump, rounds } = parse(&whole).unwrap();
    let texts: Vec<Vec<bool>> = rounds
        .iter()
        .zip(["a", "b", "c", "d"])
        .map(|(rounds, name)| rounds.iter().map(|round| round.contains(&format!("\"{name}"))).collect())
        .collect();
    assert_eq!(texts, [vec![true], vec![true, true], vec![true], vec![]]);
    assert_eq!((dump.name.as_str(), dump.cut, dump.speakers.as_slice()), ("a", true, &["d".to_owned()][..]));
    let names: Vec<&str> = dump.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!((names, dump.agents[0].agents[0].name.as_str()), (vec!["b", "d"], "c"));
    assert!(dump.agents[0].rounds.is_empty() && dump.agents[0].agents[0].rounds.is_empty());
}

// a mistake below is told by its path.
#[test]
fn an_agent_below_has_the_rules_of_the_first() {
    let user = json!({"user": {"content": "Hello."}});
    let call = json!({"assistant": {"content": "", "tool_calls": [{"call_id": "1", "name": "f", "arguments": "{}"}]}});
    let raw = json!({"assistant": {"content": "Hi.", "raw": {}}});
    let far = json!({"user": {"content": [{"type": "image", "data": "http://10.0.0.7/a.png"}]}});
    for (rounds, place) in [
        (json!([[user], [user, raw]]), "rounds[1][1].assistant.raw"),
        (json!([[far]]), "rounds[0][0].user.content[0].data"),
        (json!([[user], [user, call]]), "rounds.1"),
        (json!([[{"user": {"content": "x".repeat(MAX_ROUND_BYTES)}}]]), "rounds.0"),
    ] {
        let deep =
            agent("a", json!([]), json!([agent("b", json!([]), json!([agent("c", rounds, json!([]))]))]));
        assert_eq!(refused(&deep).0, Some(format!("agents[0].agents[0].{place}")));
    }
    let mut odd = agent("a", json!([]), json!([agent("b", json!([]), json!([]))]));
    odd["agents"][0]["parent"] = json!("a");
    assert_eq!(refused(&odd).0.as_deref(), Some("agents[0].parent"));
}

/// A dump of so many agents, each below the one before it.
fn nested(agents: usize, rounds: &Value) -> Value {
    (1..agents)
        .fold(agent("a", rounds.clone(), json!([])), |below, _| agent("a", rounds.clone(), json!([below])))
}

// at each limit, and just beyond it. They hold for all agents of a dump together.
#[test]
fn the_limits_of_a_dump_are_those_of_all_its_agents() {
    assert_eq!(parse(&nested(MAX_DUMP_AGENTS, &json!([round("x")]))).unwrap().rounds.len(), MAX_DUMP_AGENTS);
    let (field, detail) = refused(&nested(MAX_DUMP_AGENTS + 1, &json!([])));
    assert_eq!((field.as_deref(), detail.as_str()), (Some("agents"), "a dump has at most 17 agents in all"));
    let half: Value = vec![round("x"); MAX_ROUNDS / 2].into();
    assert!(parse(&nested(2, &half)).is_ok());
    let beyond = agent("a", json!([round("x")]), json!([nested(2, &half)]));
    assert_eq!(refused(&beyond).0.as_deref(), Some("rounds"));
}

fn made(name: &str, heard: &[&str]) -> AgentDump {
    let heard = json!(heard);
    serde_json::from_value(json!({"name": name, "instructions": "A.", "heard": heard})).unwrap()
}

fn messages(text: &str) -> Vec<AgentMessage> {
    serde_json::from_value(round(text)).unwrap()
}

fn contents(dump: &AgentDump) -> Vec<String> {
    let first = |round: &Vec<AgentMessage>| match &round[0] {
        AgentMessage::User { content } => content.text().into_owned(),
        other => panic!("{other:?}"),
    };
    dump.rounds.iter().map(first).collect()
}

//
#[test]
fn a_dump_is_built_from_the_newest_round_to_the_oldest() {
    let agents = || {
        vec![
            (None, made("a", &[])),
            (Some(0), made("b", &["h"])),
            (Some(1), made("c", &[])),
            (Some(0), made("d", &[])),
        ]
    };
    let mut dump = DumpBuilder::new(agents(), MAX_DUMP_BYTES).unwrap();
    for (agent, text) in [(0, "5"), (2, "4"), (0, "3"), (1, "2"), (1, "1")] {
        assert_eq!(dump.add(agent, messages(text)), Ok(true));
    }
    let whole = dump.whole().unwrap();
    assert_eq!((contents(&whole), whole.cut), (vec!["3".to_owned(), "5".to_owned()], false));
    let names: Vec<&str> = whole.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["b", "d"]);
    assert_eq!(
        (contents(&whole.agents[0]), &whole.agents[0].heard),
        (vec!["1".to_owned(), "2".to_owned()], &vec!["h".to_owned()])
    );
    assert_eq!(contents(&whole.agents[0].agents[0]), ["4"]);
    assert_eq!(parse(&json!(whole)).unwrap().rounds.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1, 0]);
}

// 17 agents that remember as much as they may have more than a dump. Whatever stays, it can be restored.
#[test]
fn the_oldest_rounds_are_left_out_across_all_agents() {
    let agents: Vec<_> =
        (0..MAX_DUMP_AGENTS).map(|place| (place.checked_sub(1), made(&format!("a{place}"), &[]))).collect();
    let mut dump = DumpBuilder::new(agents, MAX_DUMP_BYTES).unwrap();
    let text = "x".repeat(400_000);
    let added = (0..MAX_DUMP_AGENTS).take_while(|place| dump.add(*place, messages(&text)).unwrap()).count();
    assert_eq!(added, 4);
    let whole = dump.whole().unwrap();
    assert!(whole.cut);
    let json = json!(whole).to_string();
    assert!((1_600_000..=MAX_DUMP_BYTES).contains(&json.len()), "{}", json.len());
    let sent = parse(&json!(whole)).unwrap();
    assert_eq!(sent.rounds.iter().map(Vec::len).sum::<usize>(), 4);
    // So many rounds fit at most, however short they are.
    let mut dump = DumpBuilder::new(vec![(None, made("a", &[]))], MAX_DUMP_BYTES).unwrap();
    let added = (0..2 * MAX_ROUNDS).take_while(|_| dump.add(0, messages("x")).unwrap()).count();
    let whole = dump.whole().unwrap();
    assert_eq!((added, whole.rounds.len(), whole.cut), (MAX_ROUNDS, MAX_ROUNDS, true));
    assert!(parse(&json!(whole)).is_ok());
}

// texts that nobody answered yet give way only where the agents alone are too large. Those refuse.
#[test]
fn what_was_heard_stays_longer_than_rounds() {
    let heard = "\u{1}".repeat(100_000);
    let agents: Vec<_> =
        (0..4_usize).map(|place| (place.checked_sub(1), made("a", &["old", &heard]))).collect();
    let mut dump = DumpBuilder::new(agents, MAX_DUMP_BYTES).unwrap();
    assert_eq!(dump.add(0, messages(&"x".repeat(300_000))), Ok(false));
    let whole = dump.whole().unwrap();
    let lengths =
        std::iter::successors(Some(&whole), |dump| dump.agents.first()).map(|dump| dump.heard.len());
    assert_eq!((lengths.collect::<Vec<_>>(), whole.cut), (vec![2, 2, 2, 0], true));
    assert!(json!(whole).to_string().len() <= MAX_DUMP_BYTES);
    let long = AgentDump { instructions: "x".repeat(1_000), ..made("a", &[]) };
    let refused = DumpBuilder::new(vec![(None, long)], 1_000).err().unwrap();
    assert_eq!(refused.detail, "the agents have more than 1000 bytes beside what they remember");
}

// a turn that was stopped may leave a call without its result.
#[test]
fn a_round_that_is_not_whole_keeps_its_words() {
    let call = json!({"call_id": "1", "name": "f", "arguments": "{}"});
    let broken = json!([{"assistant": {"content": "Before."}}, {"user": {"content": "Go."}},
        {"assistant": {"content": "Well.", "tool_calls": [call]}}, {"assistant": {"content": ""}}]);
    let mut dump = DumpBuilder::new(vec![(None, made("a", &[]))], MAX_DUMP_BYTES).unwrap();
    assert_eq!(dump.add(0, serde_json::from_value(broken).unwrap()), Ok(true));
    assert_eq!(dump.add(0, Vec::new()), Ok(true));
    let whole = json!(dump.whole().unwrap());
    assert_eq!(whole["rounds"], json!([[{"user": {"content": "Go."}}, {"assistant": {"content": "Well."}}]]));
    assert_eq!(whole.get("cut"), None);
}
