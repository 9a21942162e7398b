use super::*;

// N-136 N-141 N-142 N-143 N-119
#[test]
fn each_counter_refuses_just_beyond_its_limit() {
    let limits = Limits { subtasks: 2, llm_calls: 3, tool_calls: 4, ..Limits::default() };
    for (what, limit, reason) in [
        (Counted::Subtask, 2, BudgetReason::Subtasks),
        (Counted::LlmCall, 3, BudgetReason::LlmCalls),
        (Counted::ToolCall, 4, BudgetReason::ToolCalls),
    ] {
        let mut budget = TurnBudget::new(limits);
        for _ in 0..limit {
            assert_eq!(budget.exceeded_by(what, 1), None);
            budget.count(what);
        }
        let observed = u64::from(limit) + 1;
        assert_eq!(
            budget.exceeded_by(what, 1),
            Some(Exceeded { reason, limit: limit.into(), observed, raised_to: None })
        );
        assert_eq!(budget.used(what), limit);
    }
}

// N-144
#[test]
fn the_wall_clock_ends_at_its_limit() {
    let budget = TurnBudget::new(Limits { wall_clock_ms: 1_000, ..Limits::default() });
    assert_eq!(budget.exceeded_by_tokens(Spending::default()), None);
    assert_eq!(budget.wall_clock(999), None);
    let at_limit =
        Exceeded { reason: BudgetReason::WallClock, limit: 1_000, observed: 1_000, raised_to: None };
    assert_eq!(budget.wall_clock(1_000), Some(at_limit));
}

fn tokens(input_tokens: u64, output_tokens: u64) -> Spending {
    Spending::of(Usage { input_tokens, output_tokens, ..Usage::default() }, None)
}

// N-118 N-195
#[test]
fn tokens_are_held_then_settled() {
    let limits = Limits { turn_tokens: Some(100), history_tokens: 90, ..Limits::default() };
    let mut budget = TurnBudget::new(limits);
    assert_eq!(budget.exceeded_by_tokens(tokens(60, 40)), None);
    budget.hold("0", tokens(60, 40));
    let refused = budget.exceeded_by_tokens(tokens(1, 0));
    assert_eq!(
        refused,
        Some(Exceeded { reason: BudgetReason::Tokens, limit: 100, observed: 101, raised_to: None })
    );
    budget.settle("0", Some(tokens(50, 10)));
    assert_eq!(budget.exceeded_by_tokens(tokens(30, 10)), None);
    budget.hold("1", tokens(10, 0));
    budget.hold("1", tokens(10, 0));
    assert_eq!(budget.charged(), Amount { tokens: 80, microusd: 0 }, "settled, lost and open calls");
    assert!(budget.exceeded_by_tokens(tokens(20, 1)).is_some(), "a call whose run was lost stays paid for");
    budget.settle("1", Some(tokens(u64::MAX, u64::MAX)));
    assert!(budget.exceeded_by_tokens(tokens(0, 0)).is_some(), "a count beyond all measure is one still");
    let long = TurnBudget::new(limits).exceeded_by_tokens(tokens(91, 0));
    assert_eq!(
        long,
        Some(Exceeded { reason: BudgetReason::Tokens, limit: 90, observed: 91, raised_to: None })
    );
}

#[test]
fn money_and_result_bytes() {
    let limits = Limits { turn_cost_microusd: Some(10), turn_result_bytes: Some(5), ..Limits::default() };
    let price = Price::flat(1.0, 0.5, 2.0);
    let mut budget = TurnBudget::new(limits);
    let priced = |input, output| Spending::of(tokens(input, output).tokens, Some(&price));
    assert_eq!(budget.exceeded_by_tokens(priced(6, 2)), None);
    let refused = budget.exceeded_by_tokens(priced(7, 2));
    let beyond = Some(Exceeded { reason: BudgetReason::Cost, limit: 10, observed: 11, raised_to: None });
    assert_eq!(refused, beyond);
    // The budget holds a call at the dearest price of its chain and settles it at its own.
    budget.hold("0", priced(6, 2));
    assert_eq!(budget.exceeded_by_tokens(priced(1, 0)), beyond);
    budget.settle("0", Some(Spending { microusd: 0.1, ..priced(6, 2) }));
    for step in 1..=9 {
        assert_eq!(budget.exceeded_by_tokens(priced(0, 0)), None);
        budget.settle(&step.to_string(), Some(Spending { microusd: 1.1, ..Spending::default() }));
    }
    assert_eq!(budget.exceeded_by_tokens(priced(0, 0)), None, "ten, whatever adding made of it");
    assert_eq!(budget.exceeded_by_tokens(priced(1, 0)), beyond);
    assert_eq!(budget.charged(), Amount { tokens: 8, microusd: 10 });
    budget.hold("10", priced(2, 1));
    assert_eq!(budget.charged(), Amount { tokens: 11, microusd: 14 }, "what is open may still be used");
    budget.count_result(5);
    assert_eq!(budget.exceeded_by_result(0), None);
    let refused = budget.exceeded_by_result(1);
    assert_eq!(
        refused,
        Some(Exceeded { reason: BudgetReason::Bytes, limit: 5, observed: 6, raised_to: None })
    );
}

// Issue 19, 4.
#[test]
fn a_person_is_asked_only_where_a_grant_makes_room() {
    let limits = Limits {
        on_limit: OnLimit::Ask,
        llm_calls: 2,
        subtasks: 0,
        root_tool_calls: Some(3),
        turn_tokens: Some(100),
        ..Limits::default()
    };
    let mut budget = TurnBudget::new(limits);
    let raised =
        |budget: &TurnBudget, more| budget.exceeded_by(Counted::LlmCall, more).map(|it| it.raised_to);
    assert_eq!(
        [2, 3, 4, 5].map(|more| raised(&budget, more)),
        [None, Some(Some(4)), Some(Some(4)), Some(None)]
    );
    assert_eq!(budget.exceeded_by(Counted::Subtask, 1).unwrap().raised_to, None, "twice nothing is nothing");
    assert_eq!(budget.exceeded_at_root(4).unwrap().raised_to, Some(6));
    let of_tokens = |budget: &TurnBudget, input| {
        let exceeded = budget.exceeded_by_tokens(Spending {
            tokens: Usage { input_tokens: input, ..Usage::default() },
            microusd: 0.0,
        });
        exceeded.map(|exceeded| (exceeded.limit, exceeded.raised_to))
    };
    assert_eq!(of_tokens(&budget, 200), Some((100, Some(200))));
    assert_eq!(of_tokens(&budget, 201), Some((100, None)), "one grant would not do");
    assert_eq!(of_tokens(&budget, 128_001), Some((128_000, None)), "a request has its own bound");
    for grants in 1..=MAX_GRANTS {
        assert_eq!(budget.grants_left(), MAX_GRANTS - grants + 1);
        budget.grant();
        assert_eq!((budget.limits().llm_calls, budget.limits().depth), (2 + 2 * grants, 3));
    }
    assert_eq!((budget.grants_left(), raised(&budget, 9)), (0, Some(None)), "the operator allows no more");
    let ends = TurnBudget::new(Limits { on_limit: OnLimit::End, ..limits });
    assert_eq!((ends.grants_left(), raised(&ends, 3)), (0, Some(None)));
}
