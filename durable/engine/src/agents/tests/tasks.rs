//! `task`: agents that are made, asked, copied and ended.

use serde_json::json;

use super::*;

// A-007 A-022 A-028 A-034 A-036 A-037 A-039 A-051 A-101
#[test]
fn an_agent_is_made_and_answers_in_its_call() {
    let case = with_agents(script(&[
        ("go", vec![Reply::Calls(vec![task("critic", "Be strict.", "Is it good?")]), Reply::Text("Done.")]),
        ("Be strict.", vec![Reply::TextAndCalls("Hm. ", vec![("echo", json!({}))]), Reply::Text("no")]),
    ]))
    .run();
    assert_eq!(
        case.lines()[2..],
        [
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:task",
            "tool 0.0 task Start",
            "agent critic Created in 0.0",
            "tool 0.0-d0.0 agent_reply Start in 0.0 depth 1",
            "agent critic Speaking in 0.0-d0.0",
            "model 0.0-d0.0-0 start in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-0.0 \"Hm. \" in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-0.0 \"\" done in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-0 End tool_calls in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0-0.0 echo Start in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0-0.0 echo End \"echo {}\" in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-1 start in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-1.0 \"no\" in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-1.0 \"\" done in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-1 End stop in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0 agent_reply End \"no\" in 0.0 depth 1",
            "agent critic Silent in 0.0-d0.0",
            "tool 0.0 task End \"no\"",
            "state thinking",
            "model 1 start",
            "chunk 1.0 \"Done.\"",
            "chunk 1.0 \"\" done",
            "model 1 End stop",
            "cost 4 llm 3 tools 1 subtasks",
            "done Stop",
        ]
    );
    let first = &requests_of(&case, "Be strict.")[0];
    assert_eq!(texts(first), ["user: Is it good?"], "it sees its prompt and nothing else");
    let tree = case.end().message.execution_tree.unwrap();
    let names: Vec<_> = tree.nodes.iter().map(|node| (node.name.as_str(), node.title.as_deref())).collect();
    assert_eq!(names, [("task", None), ("agent_reply", Some("critic")), ("echo", None)]);
    assert!(tree.nodes[1].usage.is_some(), "a speaker's tokens stand at its node");
    let by: Vec<_> = tree.model_calls.iter().map(|call| call.agent.as_deref()).collect();
    assert_eq!(by, [None, Some("critic"), Some("critic"), None]);
}

// A-005 A-008 A-009 A-030 A-031: a second question finds the first exchange, calls and results included.
#[test]
fn an_agent_remembers_and_can_be_asked_again() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("clerk", "Count.", "How many?")]),
                Reply::Calls(vec![("task", json!({"name": "clerk", "prompt": "Pears."}))]),
                Reply::Calls(vec![discuss(json!({"prompt": "Thanks."}))]),
                Reply::Text("Done."),
            ],
        ),
        (
            "Count.",
            vec![
                Reply::TextAndCalls("Let me see. ", vec![("echo", json!({}))]),
                Reply::Text("Of what?"),
                Reply::Text("Three."),
                Reply::Text("Welcome."),
            ],
        ),
    ]))
    .run();
    assert_eq!(results(&case), ["Of what?".to_owned(), "Three.".to_owned(), says("clerk", "Welcome.")]);
    let all = requests_of(&case, "Count.");
    let before = ["user: How many?", "agent: Let me see. echo", "tool: echo {}", "agent: Of what?"];
    assert_eq!(texts(&all[2]), [&before[..], &["user: Pears."]].concat());
    assert_eq!(texts(&all[3]), [&before[..], &["user: Pears.", "agent: Three.", "user: Thanks."]].concat());
    assert_eq!(case.agents.reads.get(), 0, "what this turn made is not read");
}

// Long: the story of three turns.
// A-029 A-095 A-108 CF-05: agents live on in later turns, whose first request has what they heard and said before. The
// memory of a turn ends with it.
// Long: four turns of one thread.
#[test]
fn an_agent_lives_on_in_later_turns() {
    let instructions = "Keep a diary.";
    let first = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![
                    task("diary", instructions, "It rained."),
                    ("memory_write", json!({"key": "k", "value": "v"})),
                ]),
                Reply::Text("Noted."),
            ],
        ),
        (instructions, vec![Reply::Text("I wrote: rain.")]),
    ]))
    .run();
    let second = after(
        &first,
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![discuss(json!({"prompt": "And then?"})), ("memory_list", json!({}))]),
                    Reply::Text("Good."),
                ],
            ),
            (instructions, vec![Reply::Text("never"), Reply::Text("Sun.")]),
        ]),
    )
    .run();
    assert_eq!(
        results(&second),
        [says("diary", "Sun."), "the memory is empty".to_owned()],
        "the people of the last turn are still those of this one"
    );
    let asked = &requests_of(&second, instructions)[0];
    assert_eq!(texts(asked), ["user: It rained.", "agent: I wrote: rain.", "user: And then?"]);
    assert_eq!(second.agents.reads.get(), 1);
    let third = after(
        &second,
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![("terminate", json!({"name": "diary"}))]),
                    Reply::Calls(vec![
                        discuss(json!({"prompt": "There?"})),
                        task("diary", "Begin anew.", "Hello."),
                    ]),
                    Reply::Text("Good."),
                ],
            ),
            ("Begin anew.", vec![Reply::Text("A new page.")]),
        ]),
    )
    .run();
    assert!(third.lines().contains(&"agent diary Terminated in 0.0".to_owned()));
    assert_eq!(texts(&requests_of(&third, "Begin anew.")[0]), ["user: Hello."], "the new one knows nothing");
    let fourth = after(&third, script(&[("go", vec![Reply::Text("Hi.")])]));
    let kept = fourth.setting.agents.unwrap().kept;
    let names: Vec<_> = kept.iter().map(|agent| (agent.name.as_str(), agent.instructions.as_str())).collect();
    assert_eq!(names, [("diary", "Begin anew."), ("main", "")]);
}

//
#[test]
fn an_agent_without_a_prompt_is_only_made() {
    let case =
        with_agents(script(&[("go", vec![Reply::Calls(vec![task("a", "A.", "")]), Reply::Text("Done.")])]))
            .run();
    assert!(results(&case)[0].starts_with("a is there."), "{:?}", results(&case));
    assert_eq!(case.model.requests.borrow().len(), 2);
    let usage = case.end().message.usage.unwrap();
    assert_eq!((usage.subtasks, usage.tool_calls), (0, 1), "nobody answered");
}

// A-011 A-024 A-035 A-087 A-088 A-103: it refuses what the agent may not do, and its maker may.
#[test]
fn a_template_gives_instructions_and_takes_tools_away() {
    let levels = script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![(
                    "task",
                    json!({"name": "a", "template": "workspace:critic.md", "prompt": "x", "tools": ["echo", "fail", "task", "secret"]}),
                )]),
                Reply::Calls(vec![("fail", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("Be strict.", vec![Reply::Calls(vec![("fail", json!({}))]), Reply::Text("yes")]),
    ]);
    let text = "---\ndeny: fail, discuss\n---\nBe strict.";
    let case = with_texts(levels, &[("critic.md", text)]).run();
    assert_eq!(
        results(&case),
        ["yes\n\n[These tools are not yours to give and were left out: secret]", "error: fail {} failed"]
    );
    let asked = requests_of(&case, "Be strict.");
    let names: Vec<_> = asked[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["task", "echo"]);
    assert!(texts(&asked[1])[2].contains("the tool \"fail\" is not available"), "{:?}", texts(&asked[1]));
}

//
#[test]
fn a_copy_remembers_what_its_source_remembers() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("a", "A.", "One.")]),
                Reply::Calls(vec![
                    ("task", json!({"name": "b", "from": "a", "prompt": "Two."})),
                    ("task", json!({"name": "c", "from": "a", "instructions": "C.", "prompt": "Two."})),
                ]),
                Reply::Text("Done."),
            ],
        ),
        ("A.", vec![Reply::Text("first"), Reply::Text("second")]),
        ("C.", vec![Reply::Text("never"), Reply::Text("third")]),
    ]))
    .run();
    assert_eq!(results(&case), ["first", "second", "third"]);
    for asked in [&requests_of(&case, "A.")[1], &requests_of(&case, "C.")[0]] {
        assert_eq!(texts(asked), ["user: One.", "agent: first", "user: Two."]);
    }
    let rows = case.end().agents;
    assert_eq!(rows.iter().map(|row| row.rounds.len()).collect::<Vec<_>>(), [1, 2, 2, 0], "a, b, c and main");
    // A copy of an agent that an earlier turn left reads its rounds, and so does the agent itself.
    let later = after(
        &case,
        script(&[(
            "go",
            vec![
                Reply::Calls(vec![("task", json!({"name": "d", "from": "b", "instructions": "D."}))]),
                Reply::Text("Done."),
            ],
        )]),
    )
    .run();
    let rows = later.end().agents;
    let d = rows.iter().find(|row| row.agent.name == "d").unwrap();
    assert_eq!((d.rounds.len(), later.agents.reads.get()), (2, 1));
}

// the words of one agent are the instructions of another.
#[test]
fn an_answer_may_be_anothers_instructions() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("author", "Write prompts.", "One for a critic.")]),
                Reply::Calls(vec![task("critic", "Find the flaw.", "Apples fall.")]),
                Reply::Text("Done."),
            ],
        ),
        ("Write prompts.", vec![Reply::Text("Find the flaw.")]),
        ("Find the flaw.", vec![Reply::Text("Not up.")]),
    ]))
    .run();
    assert_eq!(results(&case), ["Find the flaw.", "Not up."]);
}

// A-023 A-063 A-108: agents make agents, which nobody else may address, and end with their maker.
#[test]
fn an_agent_makes_agents_of_its_own() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("head", "Lead.", "Begin.")]),
                Reply::Calls(vec![
                    discuss(json!({"prompt": "Hello.", "speakers": ["hand"]})),
                    task("hand", "Mine.", "Hello."),
                    ("terminate", json!({"name": "hand"})),
                ]),
                Reply::Calls(vec![("terminate", json!({"name": "head"}))]),
                Reply::Calls(vec![task("hand", "Mine.", "Hello.")]),
                Reply::Text("Done."),
            ],
        ),
        ("Lead.", vec![Reply::Calls(vec![task("hand", "Work.", "Dig.")]), Reply::Text("It digs.")]),
        ("Work.", vec![Reply::Text("Dug.")]),
        ("Mine.", vec![Reply::Text("Hi.")]),
    ]))
    .run();
    let results = results(&case);
    assert_eq!(results[0], "It digs.");
    assert!(
        results[1].contains("you have no agent hand; nobody was asked. Your agents are: head"),
        "{}",
        results[1]
    );
    assert!(results[2].contains("there is an agent \"hand\" already"), "{}", results[2]);
    assert!(results[3].starts_with("error: you have no agent \"hand\""), "{}", results[3]);
    assert_eq!(results[4..], ["ended: hand, head", "Hi."]);
    let lines = case.lines();
    assert!(lines.contains(&"agent hand of head Created in 0.0-d0.0-0.0".to_owned()), "{lines:#?}");
}

// the list stands in the turn's memory, each agent's under its own name.
#[test]
fn a_list_of_things_to_do_stands_in_the_memory() {
    let todos = |text: &str| ("todo_write", json!({"todos": [{"text": text}]}));
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![todos("read"), task("a", "A.", "x")]),
                Reply::Calls(vec![("memory_list", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("A.", vec![Reply::Calls(vec![todos("write")]), Reply::Text("ok")]),
    ]))
    .run();
    assert_eq!(results(&case), ["1 of 1 to do", "ok", "todo (33 bytes)\ntodo:a (34 bytes)"]);
}
