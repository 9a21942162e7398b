use super::play::{FIRST, Play};
use super::*;
use std::rc::Rc;

const ALL: [&str; 6] =
    ["calculate", "current_time", "memory_list", "memory_read", "memory_write", "run_subtask"];

fn text(question: &str, tools: &[&str]) -> String {
    let reply = Play::ask(question, tools).reply();
    assert_eq!((reply.tool_calls.len(), reply.finish), (0, ReplyFinish::Stop));
    reply.text
}

/// The calls of the first reply, as `name arguments`.
fn calls(question: &str) -> Vec<String> {
    let reply = Play::ask(question, &ALL).reply();
    assert_eq!(reply.finish, ReplyFinish::ToolCalls);
    reply.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
}

/// The last reply if every tool returns `result`.
fn ending(question: &str, result: Result<&str, &str>) -> String {
    let mut play = Play::ask(question, &ALL);
    for _ in 0..4 {
        let reply = play.reply();
        if reply.tool_calls.is_empty() {
            return reply.text;
        }
        play.answer(&reply, |_| result.map(String::from).map_err(String::from));
    }
    panic!("{question:?} comes to no end");
}

/// Plays a whole tree. Lists each level's calls in order, indented by depth.
fn tree(question: &str, depth: usize, told: &mut Vec<String>) -> String {
    let tools = if depth < 3 { &ALL[..] } else { &ALL[..5] };
    let mut play = Play::ask(question, tools);
    for _ in 0..20 {
        let reply = play.reply();
        if reply.tool_calls.is_empty() {
            return reply.text;
        }
        let results: Vec<String> = reply
            .tool_calls
            .iter()
            .map(|call| {
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                let title = arguments["title"].as_str().or(arguments["key"].as_str()).unwrap_or_default();
                told.push(format!("{}{} {title}", "  ".repeat(depth), call.name).trim_end().into());
                match &*call.name {
                    "run_subtask" => tree(arguments["instructions"].as_str().unwrap(), depth + 1, told),
                    "calculate" => "42".into(),
                    _ => "stored".into(),
                }
            })
            .collect();
        play.answer(&reply, |call| {
            Ok(results[reply.tool_calls.iter().position(|c| c.call_id == call.call_id).unwrap()].clone())
        });
    }
    panic!("{question:?} comes to no end");
}

#[test]
fn a_plain_question_hears_who_answers() {
    for tools in [&[][..], &ALL] {
        let text = text("Hello, who are you?", tools);
        assert!(text.contains("demo model") && text.contains("\"Hello, who are you?\""), "{text}");
    }
    assert!(text("", &[]).contains("demo model"));
}

#[test]
fn words_come_one_by_one_at_their_pace() {
    let beats = script(&Play::ask("hi", &[]).request, Stage { work_ms: 500, ..FIRST });
    let first: Vec<_> = beats.iter().take(3).cloned().collect();
    let word = |text: &str| Beat { after_ms: 12, event: ModelEvent::Text(text.into()) };
    assert_eq!(first, [word("I "), word("am "), word("Espalier's ")]);
    let usage = match &beats.last().unwrap().event {
        ModelEvent::Finished(reply) => reply.usage.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(usage, Usage { input_tokens: 3, output_tokens: beats.len() as u64 - 1, ..Usage::default() });
}

#[test]
fn counting_is_slow_enough_to_be_stopped() {
    let beats = script(&Play::ask("Please count to 40", &ALL).request, Stage { work_ms: 500, ..FIRST });
    assert_eq!(beats.len(), 41);
    assert_eq!(beats[0], Beat { after_ms: 250, event: ModelEvent::Text("1, ".into()) });
    assert_eq!(beats[39].event, ModelEvent::Text("40.".into()));
    assert_eq!(text("count from 1 to 3", &[]), "1, 2, 3.");
    assert!(text("count to 99999999", &[]).ends_with(" 500."));
    assert!(text("count to the moon", &[]).contains("demo model"));
}

#[test]
fn arithmetic_is_calculated() {
    assert_eq!(calls("What is 17 * 23?"), [r#"calculate {"expression":"17 * 23"}"#]);
    assert_eq!(ending("What is 17 * 23?", Ok("391")), "17 * 23 = 391.");
    assert_eq!(ending("What is 1 / 0?", Err("not finite")), "calculate did not work: not finite.");
    assert!(text("What is 17 * 23?", &["current_time"]).contains("demo model"));
}

#[test]
fn calculations_are_found_in_questions() {
    let table: [(&str, &[&str]); 16] = [
        ("(17 + 3) * 2^10 =", &["(17 + 3) * 2^10"]),
        ("what is 17 x 23", &["17 * 23"]),
        ("2 plus 2 times 3?", &["2 + 2 * 3"]),
        ("10 divided by 4 and 2 to the power of 8.", &["10 / 4", "2 ^ 8"]),
        ("3.5×2 − 1", &["3.5*2 - 1"]),
        ("sqrt(16) + 1, please", &["sqrt(16) + 1"]),
        ("-5 + 3", &["-5 + 3"]),
        ("what was on 2026-11-17?", &[]),
        ("50% of them", &[]),
        ("version 1.2.3", &[]),
        ("a - b / c", &[]),
        ("(1 + 2", &[]),
        ("1 + 2)", &[]),
        ("((", &[]),
        ("x", &[]),
        ("ü 1+1 ü", &["1+1"]),
    ];
    for (question, expected) in table {
        assert_eq!(reading::expressions(question), expected, "{question}");
    }
}

#[test]
fn one_question_makes_all_its_calls_at_once() {
    let question = "What is 17 * 23, and what time is it?";
    assert_eq!(calls(question), [r#"calculate {"expression":"17 * 23"}"#, "current_time {}"]);
    assert_eq!(ending(question, Ok("7")), "17 * 23 = 7. It is 7.");
    let three = "2 + 2, 3 + 3, and remember that Ada likes tea.";
    let note = r#"memory_write {"key":"note/ada-likes-tea","value":"Ada likes tea"}"#;
    assert_eq!(
        calls(three),
        [r#"calculate {"expression":"2 + 2"}"#, r#"calculate {"expression":"3 + 3"}"#, note]
    );
}

#[test]
fn the_memory_is_written_and_listed() {
    let expected = "I noted \"tea is green\" under note/tea-is-green; the memory lasts until this turn ends.";
    assert_eq!(ending("Remember: tea is green", Ok("stored")), expected);
    assert_eq!(ending("remember that tea is green!", Ok("stored")), expected);
    assert_eq!(calls("What is in your memory?"), ["memory_list {}"]);
    assert!(text("Do you remember me?", &ALL).contains("demo model"));
}

// Issue 53, fault 18
#[test]
fn a_memory_lasts_where_the_person_has_memories() {
    let tools = [&ALL[..], &["recall", "remember"]].concat();
    let plays = |question| {
        let mut play = Play::ask(question, &tools);
        let reply = play.reply();
        let calls: Vec<_> =
            reply.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
        play.answer(&reply, |_| Ok("tea is green".to_owned()));
        (calls, play.reply().text)
    };
    let (calls, ending) = plays("Remember that tea is green");
    assert_eq!(calls, [r#"remember {"content":"tea is green"}"#]);
    assert_eq!(ending, "I remember \"tea is green\" from now on. Your memories stand in the settings.");
    assert_eq!(plays("What is in your memory?").0, ["recall {}"]);
}

#[test]
fn topics_of_a_research() {
    let table: [(&str, &[&str]); 12] = [
        ("Research Rust, Go and Zig, then compare them", &["Rust", "Go", "Zig"]),
        ("Research Rust, Go, and Zig.", &["Rust", "Go", "Zig"]),
        ("please compare tea with coffee?", &["tea", "coffee"]),
        ("Compare A vs B", &["A", "B"]),
        ("research Rust and compare it", &["Rust"]),
        ("Research “Zürich” and Köln; then compare them", &["“Zürich”", "Köln"]),
        ("compare them", &[]),
        ("research ", &[]),
        ("compare ", &[]),
        ("hello", &[]),
        ("research , and , then", &[]),
        ("Compare 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10", &["1", "2", "3", "4", "5", "6", "7", "8"]),
    ];
    for (question, expected) in table {
        assert_eq!(reading::topics(question), expected, "{question}");
    }
}

#[test]
fn a_research_is_a_tree_of_subtasks() {
    let mut told = vec![];
    let answer = tree("Research Rust, Go and Zig, then compare them", 0, &mut told);
    let expected = [
        "run_subtask Research Rust",
        "  run_subtask Research the history of Rust",
        "    calculate",
        "    memory_write research/rust/history",
        "  run_subtask Research the uses of Rust",
        "    calculate",
        "    memory_write research/rust/uses",
        "  memory_write research/rust",
        "run_subtask Research Go",
        "  calculate",
        "  memory_write research/go",
        "run_subtask Research Zig",
        "  calculate",
        "  memory_write research/zig",
    ];
    assert_eq!(told, expected);
    for part in ["Rust, Go and Zig, side by side:", "- **Go**: The demo score of Go is 42.", "demo model"] {
        assert!(answer.contains(part), "{answer}");
    }
    assert!(
        answer
            .contains("- **Rust**: The demo score of the history of Rust is 42. The demo score of the uses")
    );
}

#[test]
fn a_research_describes_its_work_and_starts_all_subtasks_at_once() {
    let reply = Play::ask("Research Rust, Go and Zig, then compare them", &ALL).reply();
    assert_eq!(reply.text, "I research Rust, Go and Zig in 3 subtasks at the same time. ");
    let ids: Vec<_> = reply.tool_calls.iter().map(|call| &*call.call_id).collect();
    assert_eq!(ids, ["demo_call_0", "demo_call_1", "demo_call_2"]);
    assert!(text("Research Rust and Go", &ALL[..5]).contains("demo model"), "run_subtask is not offered");
}

#[test]
fn subtasks_that_fail_are_named_as_such() {
    let answer = ending("Compare A and B", Err("the budget is used up"));
    assert!(answer.contains("- **A**: the subtask failed: the budget is used up"), "{answer}");
}

#[test]
fn a_subtask_works_with_the_offered_tools() {
    let assignment = assignment::Assignment::of_topic("Rust", 0);
    assert_eq!(assignment::Assignment::parse(&assignment.instructions()), Some(assignment.clone()));
    let instructions = assignment.instructions();
    assert_eq!(text(&instructions, &[]), "There is nothing that I could look up about Rust here.");
    let told = ending(&instructions, Err("no"));
    assert_eq!(told, "run_subtask did not work: no. run_subtask did not work: no.");
}

// Issue 19, item 14.
#[test]
fn subtasks_take_their_time_where_somebody_watches() {
    let instructions = assignment::Assignment::of_topic("Rust", 1).instructions();
    let waits = |question: &str, work_ms| {
        script(&Play::ask(question, &ALL).request, Stage { work_ms, ..FIRST })[0].after_ms
    };
    assert_eq!((waits(&instructions, 0), waits(&instructions, 900)), (12, 912));
    assert_eq!(waits("Research Rust", 900), 12, "the root does not wait");
}

#[test]
fn the_examples_of_the_page_have_answers_of_their_own() {
    let espalier = text("What is an espalier?", &ALL);
    assert!(espalier.contains("trained to grow flat") && espalier.contains("demo model"), "{espalier}");
    assert!(!espalier.contains("Try one of these"));
    let compared = tree("Research apples, pears and figs, then compare them", 0, &mut vec![]);
    for known in ["Central Asia", "suit a warm wall", "ripen best as a fan"] {
        assert!(compared.contains(known), "{known}: {compared}");
    }
    assert_eq!(calls("Remember that espaliers grow along a frame").len(), 1);
}

// Issue 23, 9
#[test]
fn a_conversation_is_named_by_its_first_words() {
    let question = "<message from=\"user\">\nWhat is 17 * 23, and why?\n</message>\n<message from=\"assistant\">\n391.\n</message>";
    let reply = |system| Play::with_system(system, question, &[]).reply().text;
    assert_eq!(reply("You name a conversation."), "<title>Demo: What is 17 * 23,</title>");
    assert!(!reply("You are an assistant.").contains("<title>"));
}

#[test]
fn a_conversation_is_summarised_by_its_questions() {
    let mut play = Play::ask(
        "The summary so far:\n- Earlier\nuser: \"What is\\n1 + 1?\"\nassistant: \"2\"\nuser: \"Continue.\"\nuser: not quoted\n",
        &ALL,
    );
    play.request.system = "You summarise the earlier part of a conversation.".into();
    let reply = play.reply();
    assert_eq!(reply.text, "The user asked, in this order:\n\n- Earlier\n- What is 1 + 1?\n- Continue.");
    assert!(reply.tool_calls.is_empty());
    let many: String = (0..30).map(|n| format!("user: \"question {n}\"\n")).collect();
    let questions = reading::questions(&many);
    assert_eq!((questions.len(), &*questions[0], &*questions[19]), (20, "question 10", "question 29"));
    assert!(reading::questions("").is_empty());
}

#[test]
fn a_turn_goes_on_with_what_is_missing() {
    let question = "Research Rust, Go and Zig, then compare them";
    let mut play = Play::ask(question, &ALL);
    let first = play.reply();
    play.answer(&first, |call| match call.arguments.contains("Research Go") {
        true => Ok("Go was found.".into()),
        false => Err("The call was not made.".into()),
    });
    let stopped =
        Message::Assistant { content: "[This turn was stopped.]".into(), tool_calls: vec![], raw: None };
    play.request.messages.push(Rc::new(stopped));
    // The time of a message is no message of the user.
    let time = LocalTime::new(1_795_335_330_999, "Europe/Berlin", 60).unwrap().message();
    let told = format!("user: {:?}\nuser: \"Hello\"", time_of(&time));
    assert_eq!(reading::questions(&told), ["Hello"]);
    play.request.messages.push(Rc::new(time));
    play.request.messages.push(Rc::new(Message::User { content: "Continue.".into() }));
    let second = play.reply();
    let titles: Vec<String> = second
        .tool_calls
        .iter()
        .map(|call| serde_json::from_str::<Value>(&call.arguments).unwrap()["title"].as_str().unwrap().into())
        .collect();
    assert_eq!(titles, ["Research Rust", "Research Zig"]);
    assert_eq!(second.text, "I go on with the 2 subtasks that are missing. ");
    play.answer(&second, |_| Ok("It was found.".into()));
    let answer = play.reply();
    assert!(
        answer.tool_calls.is_empty() && answer.text.contains("- **Go**: Go was found."),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("- **Zig**: It was found."), "{}", answer.text);
    assert!(text("Continue.", &ALL).contains("demo model"), "there is nothing to go on with");
}

fn time_of(message: &Message) -> String {
    let Message::User { content } = message else { panic!("{message:?}") };
    content.text().into_owned()
}

#[test]
fn only_the_last_question_counts() {
    let mut play = Play::ask("What is 1 + 1?", &ALL);
    let first = play.reply();
    play.answer(&first, |_| Ok("2".into()));
    let answer = play.reply();
    play.answer(&answer, |_| Ok(String::new()));
    play.request.messages.push(Rc::new(Message::User { content: "And 2 + 2?".into() }));
    let second = play.reply();
    assert_eq!(second.tool_calls[0].call_id, "demo_call_1");
    assert_eq!(second.tool_calls[0].arguments, r#"{"expression":"2 + 2"}"#);
}

proptest::proptest! {
    #[test]
    fn every_question_has_a_script(question in "(research |compare |count to |remember |[0-9]+ ?[*/+-] ?|[(]|x |and |, |ü|\\PC{0,3}){0,12}") {
        tree(&question, 0, &mut vec![]);
    }
}

// Issue 19, item 14: a version differs from the ones before it, and says so where its work ends.
#[test]
fn each_version_of_an_answer_is_another_one() {
    let told = |question: &str, version: usize| {
        let beats = script(&Play::ask(question, &ALL).request, Stage { version, ..FIRST });
        let Some(Beat { event: ModelEvent::Finished(reply), .. }) = beats.last() else { panic!("no end") };
        reply.text.clone()
    };
    for question in ["What is an espalier?", "Hello"] {
        let [first, second, third] = [1, 2, 3].map(|version| told(question, version));
        assert!(!first.contains("version"), "{first}");
        assert!(second.starts_with("This is version 2. ") && third.starts_with("This is version 3. "));
    }
    assert!(told("What is an espalier?", 2).contains("as flat as a picture"));
    assert!(told("What is an espalier?", 3).contains("trained to grow flat"));
    // Neither work on its way nor a subtask is an answer.
    let assignment = assignment::Assignment::of_topic("figs", 1).instructions();
    for question in ["What is 1 + 1?", "Research figs", "Count to 3", &*assignment] {
        assert_eq!(told(question, 2), told(question, 1), "{question}");
    }
}
