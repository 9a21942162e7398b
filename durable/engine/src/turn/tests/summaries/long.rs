//! Threads of which a turn cannot read or send all (issue 19, item 3): many turns, a gap between them, one long turn.

use super::*;

// A thread of 500 turns that was never summarised: the oldest turns come first, so its first turn is known at once.
#[test]
fn a_thread_of_500_turns_answers_about_its_first() {
    let mut case = after(500, &gist());
    case.setting.summaries =
        Some(Summaries { models: Some(Chain::of(offer("small", Capabilities::default()))) });
    let case = case.run();
    let requests = case.model.requests.borrow();
    for request in requests.iter() {
        assert!(request_tokens(request) <= case.limits.history_tokens, "{}", request_tokens(request));
    }
    let asked = summaries(&case);
    assert_eq!(asked.len(), 4, "a turn asks for four at most");
    assert!(asked.iter().all(|request| request.model.model == "small"));
    assert!(text(&asked[0]).contains("My name is Ada.") && text(&asked[1]).contains("The user is Ada."));
    assert_eq!(first_of_root(&case)[0], "Still Ada.");
    assert_eq!(first_of_root(&case).last().unwrap(), "go");
    let lines = case.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("summary ")).count(), 4);
    assert_eq!(
        lines.iter().filter(|line| *line == "left out").count(),
        1,
        "the turns between are told of\n{lines:#?}"
    );

    // The next turn goes on where this one stopped.
    let covered = case.end().summary.unwrap().covers.row as usize;
    assert!((20..100).contains(&covered), "{covered}");
    let next = with_summary(501, covered).run();
    assert!(text(&summaries(&next)[0]).contains(&format!("question {}\"", covered + 1)));
}

#[test]
fn turns_before_a_gap_leave_even_where_all_fits() {
    let mut case = after(6, &gist());
    case.before_gap = 2;
    let case = case.run();
    assert_eq!(first_of_root(&case)[..2], ["The user is Ada.", "question 3"]);
    assert_eq!(case.end().summary.unwrap().covers.row, 2);
    assert!(case.lines().contains(&"left out".to_owned()), "the turns in the gap are left out");

    // No summary reaches across the gap, however little fits: it would pass for one of the turns in it.
    let mut case = after(40, &gist());
    case.before_gap = 2;
    let case = case.run();
    assert_eq!((summaries(&case).len(), case.end().summary.unwrap().covers.row), (1, 2));
    assert!(!text(&summaries(&case)[0]).contains("question 3"));
    assert!(case.lines().contains(&"left out".to_owned()));
}

// A turn may continue the one before it, which loses its oldest rounds before the whole of it.
#[test]
fn the_newest_turn_stays_as_long_as_one_of_its_rounds_fits() {
    let mut case = after(3, &gist());
    let rounds = (0..20).map(|round| Message::Assistant {
        content: format!("round {round} {}", "y".repeat(2_000)),
        tool_calls: Vec::new(),
        raw: None,
    });
    case.history.extend([Message::User { content: "begin".into() }].into_iter().chain(rounds));
    let case = case.run();
    let said = first_of_root(&case);
    assert_eq!((said[0].as_str(), said[1].as_str()), ("The user is Ada.", "begin"), "{said:?}");
    assert_eq!(case.end().summary.unwrap().covers.row, 3);
    assert_eq!(said.iter().filter(|words| words.starts_with("round ")).count(), said.len() - 3);
    assert!(case.lines().contains(&"left out".to_owned()), "its oldest rounds are left out");
}
