//! The money that a model call holds is the most that it may cost. Issue 43.

mod next_turn;

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::json;

pub(crate) use self::next_turn::after;
use super::models::chained;
use super::property::{Random, turns};
use super::random_turns;
use crate::journal::Fact;
use crate::profiles::{Grant, MostTokens, OnLimit, Price, Rates, ServiceTiers, Tier};
use crate::testing::*;
use wire::model::{Message, ModelRequest, ServiceTier, Usage};
use wire::protocol::FinishReason;

/// The prices of a turn's models, and the way in which their provider counts.
#[derive(Clone, Debug)]
pub(super) struct Market {
    price: Price,
    most_tokens: Option<MostTokens>,
    /// Tokens of 1000 bytes, and those around each message.
    per_kilobyte: u64,
    around: u64,
    /// Whether each reply uses all output that it may.
    fills_output: bool,
    /// Whether the provider caches, and serves in other tiers.
    varies: bool,
    /// The cost of all requests so far, in millionths of a US dollar.
    spent: Rc<Cell<f64>>,
}

impl Market {
    /// Sets the prices and the tokenizer of a turn that has not begun.
    pub(super) fn open(&self, case: &mut Case) {
        self.spent.set(0.0);
        (case.price, case.most_tokens) = (Some(self.price.clone()), self.most_tokens);
        let (market, requests) = (self.clone(), Cell::new(0));
        let count = move |request: &ModelRequest, bytes| {
            requests.set(requests.get() + 1);
            let usage = market.usage(request, bytes, requests.get());
            market.spent.set(market.spent.get() + market.price.cost_usd(usage) * 1e6);
            usage
        };
        case.model.tokenizer.replace(Some(Rc::new(count)));
    }

    fn tokens(&self, bytes: usize) -> u64 {
        bytes as u64 * self.per_kilobyte / 1_000
    }

    fn usage(&self, request: &ModelRequest, bytes: usize, number: u64) -> Usage {
        let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.0.get().len());
        let of = |message: &Message| match message {
            Message::User { content } => content.text().len(),
            Message::Tool { content, .. } => content.len(),
            Message::Assistant { content, tool_calls, .. } => {
                content.len() + tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
            }
        };
        let messages = request.messages.iter().map(|message| self.tokens(of(message)) + self.around);
        let fixed = self.tokens(request.system.len()) + tools.map(|bytes| self.tokens(bytes)).sum::<u64>();
        let input_tokens = fixed + messages.sum::<u64>();
        let limit = request.max_output_tokens.unwrap_or(u64::MAX);
        let output_tokens = if self.fills_output { limit } else { self.tokens(bytes).min(limit) };
        let plain = Usage { input_tokens, output_tokens, ..Usage::default() };
        if !self.varies {
            return plain;
        }
        let tiers = [ServiceTier::Standard, ServiceTier::Flex, ServiceTier::Priority];
        Usage {
            cached_tokens: input_tokens * (number % 3) / 4,
            cache_write_tokens: input_tokens * (number % 5) / 10,
            service_tier: tiers[(number % 3) as usize],
            ..plain
        }
    }
}

fn rates() -> impl Strategy<Value = Rates> {
    let write = prop::option::of(0.1..12.0);
    (0.1..10.0, 0.0..1.0, write, 0.1..50.0).prop_map(|(input, cached, cache_write, output)| Rates {
        input,
        cached,
        cache_write,
        output,
        ..Rates::default()
    })
}

fn prices() -> impl Strategy<Value = Price> {
    let tiers = prop::collection::btree_map(300..8_000_u64, rates(), 0..3);
    let factor = || prop::option::of(0.3..2.5);
    (rates(), tiers, factor(), factor()).prop_map(|(rates, tiers, flex, priority)| Price {
        rates,
        tiers: tiers.into_iter().map(|(above_tokens, rates)| Tier { above_tokens, rates }).collect(),
        service_tiers: ServiceTiers { flex, priority },
    })
}

/// A market whose provider counts at most what the table says.
fn markets() -> impl Strategy<Value = Market> {
    let ratios = prop::option::of((100..1_500_u32, 0..=100_u64));
    (prices(), ratios, 0..=16_u64, any::<bool>()).prop_map(|(price, ratios, around, fills_output)| {
        let most_tokens = ratios.map(|(per_kilobyte, _)| MostTokens { per_kilobyte, per_image: 1_000 });
        let share = ratios.map_or(100, |(_, share)| share);
        let per_kilobyte = u64::from(most_tokens.unwrap_or_default().per_kilobyte) * share / 100;
        let spent = Rc::default();
        Market { price, most_tokens, per_kilobyte, around, fills_output, varies: true, spent }
    })
}

/// A market that takes a dollar for a million tokens of input, at four bytes a token.
fn truthful() -> Market {
    Market {
        price: Price::flat(1.0, 1.0, 2.0),
        most_tokens: None,
        per_kilobyte: 250,
        around: 4,
        fills_output: false,
        varies: false,
        spent: Rc::default(),
    }
}

fn config(share: u32) -> ProptestConfig {
    let cases = (random_turns() / share).max(16);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn with_money(mut random: Random, market: Market, limit: u64) -> Random {
    random.market = Some(market);
    random.limits.turn_cost_microusd = Some(limit);
    // A limit of tokens is compared with an estimate, which this provider may exceed.
    (random.limits.turn_tokens, random.limits.quota) = (None, Grant::default());
    random
}

fn spends_within_its_limit(random: &Random) {
    let first = random.play();
    is_within_its_limit(random, &first);
    is_within_its_limit(random, &random.play_on(&first));
}

fn is_within_its_limit(random: &Random, case: &Case) {
    check(case);
    let limit = case.limits.at_most().turn_cost_microusd.unwrap();
    let spent = random.market.as_ref().unwrap().spent.get() + case.tools.spent.get() as f64;
    assert!(spent <= limit as f64 + 1e-3, "{spent} of {limit}\n{:#?}", case.lines());
    let charged = case.end().used.unwrap().microusd;
    assert!(charged <= limit, "{charged} of {limit}\n{:#?}", case.lines());
}

proptest! {
    #![proptest_config(config(4))]

    // Each tier, cache writes, service tiers, lost runs, parallel levels: no turn costs more than its limit.
    #[test]
    fn no_turn_costs_more_than_its_limit(random in turns(0), market in markets(), limit in 0..200_000_u64) {
        spends_within_its_limit(&with_money(random, market, limit));
    }

    #[test]
    fn no_turn_that_dies_costs_more_than_its_limit(random in turns(1), market in markets(), limit in 0..200_000_u64) {
        spends_within_its_limit(&with_money(random, market, limit));
    }
}

/// A turn that never ends by itself: rounds of its own, and subtasks beside each other.
fn endless(rounds: &[u8], width: usize) -> Script {
    let results = |size: u8| ("echo", json!({ "text": "x".repeat(usize::from(size)) }));
    let round = |size: &u8| match size % 3 {
        0 => Reply::Calls(vec![subtask("a"); width]),
        _ => Reply::Calls(vec![results(*size); width]),
    };
    let child = vec![Reply::Calls(vec![results(40)]), Reply::Text("The result of the subtask.")];
    script(&[("go", rounds.iter().map(round).collect()), ("a", child)])
}

proptest! {
    #![proptest_config(config(40))]

    // A bound that nothing could be bought with would keep the limit as well.
    #[test]
    fn a_turn_that_wants_more_spends_most_of_its_limit(
        rounds in prop::collection::vec(any::<u8>(), 1..6),
        width in 1..5_usize,
        seed in 0..u64::MAX,
        limit in 100_000..200_000_u64,
    ) {
        // The pace without a seed counts each reply; with one some providers count nothing.
        let mut case = if seed % 2 == 0 { Case::new(endless(&rounds, width)) } else {
            Case::seeded(endless(&rounds, width), seed)
        };
        let market = truthful();
        market.open(&mut case);
        let mut case = case.limits(|limits| {
            (limits.iterations, limits.llm_calls, limits.tool_calls) = (10_000, 10_000, 10_000);
            (limits.subtasks, limits.history_tokens) = (10_000, 10_000_000);
            (limits.turn_cost_microusd, limits.wall_clock_ms) = (Some(limit), u64::MAX / 2);
        });
        case.run_with(None, |_, _| {});
        prop_assert_eq!(case.end().message.finish_reason, Some(FinishReason::Budget));
        let spent = market.spent.get();
        prop_assert!(spent <= limit as f64 && spent >= limit as f64 * 0.85, "{} of {}", spent, limit);
    }
}

/// The reservation that each model call has journaled: output, and money.
fn holds(case: &Case) -> Vec<(u64, Option<u64>)> {
    let entries = case.disk.entries.borrow();
    let held = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ModelStarted { held, held_microusd, .. } => Some((held.output_tokens, *held_microusd)),
        _ => None,
    });
    held.collect()
}

fn at_truthful(replies: Vec<Reply>, limit: u64) -> Case {
    let mut case = Case::new(script(&[("go", replies)]));
    truthful().open(&mut case);
    case.limits(|limits| limits.turn_cost_microusd = Some(limit))
}

/// A turn that holds money for its calls.
pub(crate) fn golden() -> Case {
    let mut case = chained(script(&[(
        "go",
        vec![Reply::Calls(vec![("echo", json!({ "text": "x" }))]), Reply::Text("Done.")],
    )]));
    case.most_tokens = Some(MostTokens { per_kilobyte: 750, per_image: 1_600 });
    case.limits(|limits| limits.turn_cost_microusd = Some(10_000_000))
}

// A hold takes the price of a cache write, the tier that the bound reaches and the dearest service tier, for each model of
// the chain.
#[test]
fn a_call_holds_the_dearest_that_it_may_cost() {
    let hold = |price: Price| {
        let mut case = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
        case.price = Some(price);
        holds(&case.run())[0].1.unwrap()
    };
    let plain = Price::flat(1.0, 0.1, 0.0);
    let tokens = hold(plain.clone());
    let rates = |input, cache_write| Rates { input, cached: 0.1, cache_write, ..Rates::default() };
    assert_eq!(hold(Price { rates: rates(1.0, Some(1.25)), ..Price::default() }), (tokens * 5).div_ceil(4));
    let tier =
        |above_tokens| Price { tiers: vec![Tier { above_tokens, rates: rates(5.0, None) }], ..plain.clone() };
    assert_eq!([hold(tier(tokens)), hold(tier(tokens - 1))], [tokens, tokens * 5]);
    let service_tiers = ServiceTiers { flex: Some(0.5), priority: Some(2.0) };
    assert_eq!(hold(Price { service_tiers, ..plain.clone() }), tokens * 2);
    let named = |tier: Option<&str>| {
        let mut case = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
        case.price = Some(Price { service_tiers, ..plain.clone() });
        case.options.service_tier = tier.map(str::to_owned);
        holds(&case.run())[0].1.unwrap()
    };
    let of_tiers = [None, Some("auto"), Some("default"), Some("flex"), Some("priority")].map(named);
    assert_eq!(of_tiers, [tokens * 2, tokens * 2, tokens, tokens, tokens * 2]);
    // The third model of the chain takes 100 dollars.
    assert_eq!(holds(&golden().run())[0].1.unwrap() % 100, 0);
}

#[test]
fn the_second_request_is_bounded_by_what_the_first_one_used() {
    let call = Reply::Calls(vec![("echo", json!({ "text": "x".repeat(100) }))]);
    let case = at_truthful(vec![call, Reply::Text("Done.")], 1_000_000).run();
    let (held, output) = (holds(&case), 8_192 * 2);
    let first = held[0].1.unwrap() - output;
    let second = held[1].1.unwrap() - output;
    assert!(first > 3_000 && second < first / 2, "{first} {second}");
    let usage = case.end().message.execution_tree.unwrap().model_calls[1].usage.unwrap();
    assert!(second >= usage.input_tokens, "{second} {usage:?}");
}

// The output of the last calls is what the rest of the money pays for, and a turn ends where that is next to nothing.
#[test]
fn the_output_shrinks_to_what_the_money_pays_for() {
    let play = |limit| at_truthful(vec![Reply::Text("Done.")], limit).run();
    let rich = play(1_000_000);
    let prompt = holds(&rich)[0].1.unwrap() - 2 * 8_192;
    assert_eq!(rich.model.requests.borrow()[0].max_output_tokens, Some(8_192));
    let poorer = play(prompt + 2 * 1_000 + 1);
    assert_eq!(holds(&poorer), [(1_000, Some(prompt + 2_000))]);
    assert_eq!(poorer.model.requests.borrow()[0].max_output_tokens, Some(1_000));
    assert_eq!(holds(&play(prompt + 2 * 256)), [(256, Some(prompt + 512))]);
    let poor = play(prompt + 2 * 256 - 1);
    assert_eq!(
        (holds(&poor), poor.lines()[2].as_str()),
        (vec![], &*format!("budget Cost {} of {}", prompt + 512, prompt + 511))
    );
}

// An answer that is all reasoning would be paid for twice. And a person who may grant more is asked first.
#[test]
fn answers_get_short_only_where_that_helps() {
    let prompt = holds(&at_truthful(vec![Reply::Text("Done.")], 1_000_000).run())[0].1.unwrap() - 2 * 8_192;
    let play = |limit, reasoning, on_limit| {
        let mut case = at_truthful(vec![Reply::Text("Done.")], limit);
        case.capabilities.reasoning = reasoning;
        let mut case = case.limits(|limits| limits.on_limit = on_limit);
        case.run_with(None, |_, _| {});
        holds(&case).first().map(|(output, _)| *output)
    };
    assert_eq!(play(prompt + 2 * 2_048, true, OnLimit::End), Some(2_048));
    assert_eq!(play(prompt + 2 * 2_048 - 1, true, OnLimit::End), None);
    assert_eq!(play(prompt + 2 * 2_048 - 1, false, OnLimit::End), Some(2_047));
    assert_eq!(play(prompt + 2 * 8_192 - 1, false, OnLimit::Ask), None, "the turn waits for a person");
    assert_eq!(play(prompt + 2 * 8_192, false, OnLimit::Ask), Some(8_192));
}

// The operator's limit and the model's own bound what an answer costs.
#[test]
fn a_hold_has_no_more_output_than_the_model_may_write() {
    let hold = |of_model, of_operator| {
        let mut case = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
        case.capabilities.output_tokens = of_model;
        case.options.max_output_tokens = of_operator;
        holds(&case.run())[0].1.unwrap()
    };
    let most = hold(None, None);
    assert_eq!(hold(Some(1_000), None), most - 2 * (8_192 - 1_000));
    assert_eq!(hold(Some(1_000), Some(300)), most - 2 * (8_192 - 300));
    assert_eq!(hold(Some(9_000), Some(9_000)), most);
}

// A call that finds no money waits for another one that gives some back.
#[test]
fn subtasks_beside_each_other_wait_for_money() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b"), subtask("c")]), Reply::Text("Done.")]),
        ("a", vec![Reply::Text("One.")]),
        ("b", vec![Reply::Text("Two.")]),
        ("c", vec![Reply::Text("Three.")]),
    ];
    let mut case = Case::new(script(&levels));
    truthful().open(&mut case);
    let case = case.limits(|limits| limits.turn_cost_microusd = Some(9_000)).run();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop), "{:#?}", case.lines());
    assert_eq!(case.model.requests.borrow().len(), 5);
    assert!(case.end().used.unwrap().microusd < 9_000);
}

// A call that waits for money looks again whenever another one is over, also where nobody hears its end.
#[test]
fn each_end_of_a_model_call_wakes_those_that_wait() {
    let write = Reply::Calls(vec![("write", json!({}))]);
    let levels = [("go", vec![write, Reply::Text("Done.")]), ("guard write {}", vec![Reply::Hang("hm")])];
    let mut case = Case::new(script(&levels));
    let guard = json!([{"name": "guard", "on": "action", "instructions": "guard"}]);
    case.setting.hooks = crate::hooks::from_variable(&guard.to_string()).unwrap();
    let mut most = 0;
    case.run_with(None, |turn, _| {
        let over = turn.record.borrow().tree().model_calls.len();
        assert_eq!(turn.wakes.get(), over as u64);
        most = over.max(most);
    });
    assert!(most >= 2 && case.disk.count(|entry| matches!(entry.fact, Fact::ModelDropped)) == 1);
}

// A run that takes the turn up counts what the journal says that the lost call held.
#[test]
fn a_hold_is_read_from_the_journal() {
    let resumed = |held: Option<u64>| {
        let mut case = at_truthful(vec![Reply::Text("Done.")], 100_000);
        case.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
        for entry in case.disk.entries.borrow_mut().iter_mut() {
            if let Fact::ModelStarted { held_microusd, .. } = &mut entry.fact {
                *held_microusd = held;
            }
        }
        case.resume(None);
        case.end()
    };
    assert_eq!(resumed(Some(99_000)).message.finish_reason, Some(FinishReason::Budget));
    assert_eq!(resumed(Some(99_000)).used.unwrap().microusd, 99_000);
    let end = resumed(Some(7));
    assert_eq!(end.message.finish_reason, Some(FinishReason::Stop));
    assert!(end.used.unwrap().microusd < 2_000);
}

// A turn that former code began goes on as it began: it holds the price of its estimate, and its output does not shrink.
#[test]
fn a_turn_of_former_code_holds_as_before() {
    let play = |limit| {
        let case = at_truthful(vec![Reply::Text("Done.")], limit);
        Case { estimates: 0, ..case }.run()
    };
    let case = play(1_000_000);
    assert_eq!(holds(&case), [(8_192, None)]);
    assert_eq!(case.model.requests.borrow().len(), 1);
    let poor = play(2 * 8_192);
    assert_eq!(poor.end().message.finish_reason, Some(FinishReason::Budget));
    assert!(poor.model.requests.borrow().is_empty());
}
