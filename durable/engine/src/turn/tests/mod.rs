//! The engine against a scripted model, an injected clock and a log in memory: whole event lists, natively, in
//! milliseconds.

mod asking;
mod budget;
#[path = "../../../examples/by_hand.rs"]
mod by_hand;
mod continued;
pub(crate) mod cuts;
pub(crate) mod denied;
pub(crate) mod direct;
mod everywhere;
pub(crate) mod faults;
mod first_word;
mod foreign;
pub(crate) mod forms;
mod golden;
mod guards;
pub(crate) mod holds;
pub(crate) mod local_time;
mod long_texts;
mod loop_shapes;
mod models;
pub(crate) mod paid;
mod parked;
mod property;
mod round;
mod stops;
mod summaries;
pub(crate) mod uncounted;
mod writes;

/// The number of random turns: those of `make test`, or ESPALIER_TURNS. `make nightly` plays a million.
pub(crate) fn random_turns() -> u32 {
    std::env::var("ESPALIER_TURNS").map_or(2_000, |turns| turns.parse().unwrap())
}

#[test]
fn the_example_steps_a_level_to_its_end() {
    let expected = [
        "model call with 1 messages",
        "weather {\"city\":\"Bern\"}",
        "model call with 3 messages",
        "It is sunny.",
    ];
    assert_eq!(by_hand::run(), expected);
}
