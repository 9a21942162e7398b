use super::*;
use crate::storage::turn::TurnStatus;

/// The grant that every test's quotas give.
const GRANT: Grant = Grant { tokens: Some(7), microusd: None };

fn turn(turn_id: &str) -> TurnRow {
    TurnRow {
        turn_id: turn_id.to_owned(),
        status: TurnStatus::Running,
        generation: 1,
        resumptions: 0,
        assistant_message_id: "answer".to_owned(),
        seq_first: 1,
        seq_last: None,
        failing: None,
    }
}

fn failure() -> ApiError {
    ApiError::new(ErrorCode::Internal, "this step fails")
}

/// One request, and the thread as each look at it finds it. A look beyond the lists repeats the last one.
#[derive(Clone, Default)]
struct Case {
    manner: Manner,
    request_seq: Option<u64>,
    looks: Vec<Looked>,
    open: Vec<Option<&'static str>>,
    /// The number of the step that fails.
    fails: Option<usize>,
}

impl Case {
    /// The steps of the request up to its end, by their names, and the code of a refusal.
    fn steps(&self) -> Vec<String> {
        let mut admission = Admission::<&str, &str, &str>::new(self.manner, self.request_seq);
        let (mut steps, mut looks, mut opens) = (Vec::new(), 0, 0);
        loop {
            assert!(steps.len() < 100, "it has no end: {steps:?}");
            assert_eq!(admission.next(), admission.next(), "asking changes nothing");
            let step = admission.next();
            steps.push(match &step {
                Step::Start { grant, retrieved, offered } => {
                    assert_eq!((grant, *retrieved, *offered), (&GRANT, &"found", &"tools"));
                    "Start".to_owned()
                }
                Step::Retrieve(collections) => format!("Retrieve({collections})"),
                Step::Answer(turn) => format!("Answer({})", turn.turn_id),
                Step::Refuse(error) => format!("Refuse({}: {})", error.code.as_str(), error.detail),
                step => format!("{step:?}"),
            });
            if matches!(step, Step::Answer(_) | Step::AnswerQueued | Step::Refuse(_)) {
                return steps;
            }
            if self.fails == Some(steps.len() - 1) && !matches!(step, Step::Release) {
                admission.failed(failure());
                continue;
            }
            match step {
                Step::Look => {
                    let last = self.looks.get(looks).or(self.looks.last());
                    looks += 1;
                    admission.looked(last.cloned().unwrap_or_default());
                }
                Step::LookForOpen => {
                    let last = self.open.get(opens).or(self.open.last());
                    opens += 1;
                    admission.found(last.copied().flatten());
                }
                Step::Check => admission.checked(),
                Step::Supersede(_) => admission.superseded(),
                Step::Queue => admission.queued(),
                Step::Lock => admission.locked(),
                Step::LookUpCollections => admission.asked("named"),
                Step::Admit => admission.granted(GRANT),
                Step::Retrieve(_) => admission.retrieved("found"),
                Step::Offer => admission.offered("tools"),
                Step::Start { .. } => admission.started(turn("new")),
                Step::Release => admission.released(),
                Step::Answer(_) | Step::AnswerQueued | Step::Refuse(_) => {}
            }
        }
    }
}

/// A request that starts its turn: after each step that awaits it looks again, and checks again until it is charged.
const STARTS: [&str; 20] = [
    "Look",
    "LookForOpen",
    "Check",
    "Lock",
    "Look",
    "LookForOpen",
    "Check",
    "LookUpCollections",
    "Look",
    "LookForOpen",
    "Check",
    "Admit",
    "Look",
    "LookForOpen",
    "Retrieve(named)",
    "Look",
    "LookForOpen",
    "Offer",
    "Look",
    "LookForOpen",
];

/// A request that stops the open turn.
fn superseding() -> Case {
    Case { manner: Manner::Supersede, request_seq: Some(5), ..Case::default() }
}

fn starts() -> Vec<&'static str> {
    STARTS.into_iter().chain(["Start", "Answer(new)"]).collect()
}

#[test]
fn a_request_is_checked_charged_and_started() {
    assert_eq!(Case::default().steps(), starts());
    let newer = Looked { highest_seq: Some(4), ..Looked::default() };
    assert_eq!(Case { request_seq: Some(5), looks: vec![newer], ..Case::default() }.steps(), starts());
}

#[test]
fn a_retry_gets_the_turn_that_is_there_and_is_not_charged_again() {
    let known = Looked { turn: Some(turn("known")), highest_seq: Some(5), ..Looked::default() };
    // A retry is not refused for the `request_seq` that the thread has from the same request.
    let retry = Case { request_seq: Some(5), looks: vec![known.clone()], ..Case::default() };
    assert_eq!(retry.steps(), ["Look", "Answer(known)"]);
    // The same while it waited for the lock.
    let looks = vec![Looked::default(), known];
    let both = Case { looks, ..Case::default() };
    assert_eq!(both.steps(), ["Look", "LookForOpen", "Check", "Lock", "Look", "Answer(known)"]);
}

#[test]
fn only_the_newest_request_goes_on() {
    for (request_seq, highest, goes_on) in [(4, 5, false), (5, 5, false), (6, 5, true)] {
        let looks = vec![Looked { highest_seq: Some(highest), ..Looked::default() }];
        let steps = Case { request_seq: Some(request_seq), looks, ..Case::default() }.steps();
        match goes_on {
            true => assert_eq!(steps, starts()),
            false => {
                assert_eq!(steps, ["Look", "Refuse(stale_request_seq: request_seq must be greater than 5)"]);
            }
        }
    }
}

#[test]
fn a_request_without_a_number_stops_no_turn() {
    let case = Case { open: vec![Some("other")], ..Case::default() };
    let refused = "Refuse(turn_in_progress: the turn other is running)";
    assert_eq!(case.steps(), ["Look", "LookForOpen", refused]);
}

#[test]
fn a_request_with_a_number_is_checked_before_it_stops_the_open_turn() {
    let case = Case { open: vec![Some("other"), None], ..superseding() };
    let superseding = ["Look", "LookForOpen", "Check", "Supersede(Some(5))"];
    assert_eq!(case.steps(), superseding.into_iter().chain(starts()).collect::<Vec<_>>());
}

// A newer request came while this one waited for the end of the turn that it stopped.
#[test]
fn a_request_that_is_overtaken_while_it_waits_is_refused() {
    let looks = vec![Looked::default(), Looked { highest_seq: Some(6), ..Looked::default() }];
    let case = Case { looks, open: vec![Some("other"), None], ..superseding() };
    let refused = "Refuse(stale_request_seq: request_seq must be greater than 6)";
    assert_eq!(case.steps(), ["Look", "LookForOpen", "Check", "Supersede(Some(5))", "Look", refused]);
}

#[test]
fn a_turn_that_opens_after_the_charge_is_stopped_or_the_grant_is_given_back() {
    let open = vec![None, None, None, Some("other"), None];
    let case = Case { open: open.clone(), ..superseding() };
    let steps = case.steps();
    assert_eq!(steps[..14], STARTS[..14]);
    // The request was charged, so it is not checked again, and it is charged once.
    assert_eq!(steps[14..17], ["Supersede(Some(5))", "Look", "LookForOpen"]);
    assert_eq!(steps[17..], starts()[14..]);
    let steps = Case { open, ..Case::default() }.steps();
    assert_eq!(steps[..14], STARTS[..14]);
    assert_eq!(steps[14..], ["Release", "Refuse(turn_in_progress: the turn other is running)"]);
}

// A request that was charged and does not start gives its grant back; one that was not charged has none to give back.
#[test]
fn a_failure_of_any_step_refuses_the_request_and_releases_what_it_was_granted() {
    let (all, admit) = (starts(), 11);
    assert_eq!(all[admit], "Admit");
    for fails in 0..all.len() - 1 {
        let steps = Case { fails: Some(fails), ..Case::default() }.steps();
        assert_eq!(steps[..=fails], all[..=fails]);
        let refused = "Refuse(internal: this step fails)";
        match fails > admit {
            true => assert_eq!(steps[fails + 1..], ["Release", refused]),
            false => assert_eq!(steps[fails + 1..], [refused]),
        }
    }
}

// Issue 19, item 5.
#[test]
fn a_request_names_its_manner() {
    let of = |json: &str| Manner::of(&ChatRequest::parse(json.as_bytes()).unwrap());
    let table = [
        (r#"{"content":"x"}"#, Manner::Refuse),
        (r#"{"content":"x","request_seq":1}"#, Manner::Supersede),
        (r#"{"content":"x","if_running":"supersede"}"#, Manner::Supersede),
        (r#"{"content":"x","if_running":"queue"}"#, Manner::Queue),
        (r#"{"content":"x","if_running":"queue","request_seq":1}"#, Manner::Queue),
    ];
    for (json, manner) in table {
        assert_eq!(of(json), manner, "{json}");
    }
}

fn queueing() -> Case {
    Case { manner: Manner::Queue, ..Case::default() }
}

#[test]
fn a_message_is_queued_while_a_turn_is_open_or_others_wait_before_it() {
    let queued = ["Look", "LookForOpen", "Check", "Queue", "AnswerQueued"];
    assert_eq!(Case { open: vec![Some("other")], ..queueing() }.steps(), queued);
    let others = Looked { queue_goes_on: true, ..Looked::default() };
    assert_eq!(Case { looks: vec![others], ..queueing() }.steps(), queued);
    assert_eq!(queueing().steps(), starts(), "nothing runs, and a queue that is held keeps nobody waiting");
    let again = Looked { is_queued: true, ..Looked::default() };
    assert_eq!(Case { looks: vec![again], ..queueing() }.steps(), ["Look", "AnswerQueued"], "a repetition");
    let removed = Looked { is_removed: true, ..Looked::default() };
    let gone =
        "Refuse(message_removed: this message was removed from the queue: send it with another turn_id)";
    for open in [None, Some("other")] {
        let late = Case { looks: vec![removed.clone()], open: vec![open], ..queueing() };
        assert_eq!(late.steps(), ["Look", gone], "a repetition after the removal");
    }
    let full = Case { open: vec![Some("other")], fails: Some(3), ..queueing() };
    assert_eq!(full.steps(), ["Look", "LookForOpen", "Check", "Queue", "Refuse(internal: this step fails)"]);
}

// The message holds no grant while it waits.
#[test]
fn a_message_that_finds_another_turn_after_its_charge_gives_its_grant_back_and_is_queued() {
    let open = vec![None, None, None, Some("other")];
    let steps = Case { open, ..queueing() }.steps();
    assert_eq!(steps[..14], STARTS[..14]);
    assert_eq!(steps[14..], ["Release", "Look", "LookForOpen", "Check", "Queue", "AnswerQueued"]);
    let repeated = Looked { is_queued: true, ..Looked::default() };
    let looks = [vec![Looked::default(); 3], vec![repeated]].concat();
    let steps = Case { looks, ..queueing() }.steps();
    assert_eq!(steps[12..], ["Look", "Release", "Look", "AnswerQueued"]);
}

#[test]
fn the_next_message_starts_while_it_is_the_next_and_no_turn_is_open() {
    let is_next = Looked { is_queued: true, queue_goes_on: true, ..Looked::default() };
    let next = Case { manner: Manner::Next, looks: vec![is_next.clone()], ..Case::default() };
    assert_eq!(next.steps(), starts());
    let gone = "Refuse(queued_message_not_found: the message is not the next one of the queue)";
    for left in
        [Looked { queue_goes_on: true, ..Looked::default() }, Looked { is_queued: true, ..Looked::default() }]
    {
        assert_eq!(Case { looks: vec![left.clone()], ..next.clone() }.steps(), ["Look", gone], "{left:?}");
        let looks = [vec![is_next.clone(); 3], vec![left]].concat();
        assert_eq!(Case { looks, ..next.clone() }.steps()[12..], ["Look", "Release", gone]);
    }
    let busy = Case { open: vec![Some("other")], ..next };
    assert_eq!(busy.steps()[2..], ["Refuse(turn_in_progress: the turn other is running)"]);
}
