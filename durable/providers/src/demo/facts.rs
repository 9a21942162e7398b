//! The sentences that the demo model knows by heart, for the examples of the page.

/// The answer to the first example, and to the next version of it another one.
pub fn espalier(version: usize) -> &'static str {
    if version % 2 == 1 { ESPALIER } else { ESPALIER_TOLD }
}

const ESPALIER: &str = "An **espalier** is a tree that is trained to grow flat along a frame: a wall, a fence or wires. The gardener ties \
     young branches to the frame and prunes the others, year after year.\n\n\
     - **Why:** the tree needs little room, and a warm wall ripens its fruit.\n\
     - **Which trees:** apples and pears above all, and figs, peaches or cherries.\n\
     - **Shapes:** horizontal tiers, a fan, a candelabra.\n\n\
     This service has the name because it lets an agent's work branch within a frame, its budget.\n\n\
     I am the demo model: a few fixed rules, no language model, and this is one of the few answers that I know by heart.";

const ESPALIER_TOLD: &str = "Imagine a pear tree as flat as a picture on the wall. It began as a single shoot. Each summer the gardener bent two \
     new branches to the wires, one to each side, and cut away all that grew towards the room. Ten years later it covers \
     the wall and bears more fruit than a tree of its size in the open: that is an **espalier**.\n\n\
     Gardeners in France and Italy have grown them for centuries, and monks in small courtyards before them.\n\n\
     I am the demo model: I know this answer by heart, too.";

const ABOUT: [(&str, &str); 5] = [
    ("the history of apples", "Apples come from Central Asia and reached Europe along the trade routes."),
    ("the uses of apples", "They are eaten fresh, baked, dried, and pressed into juice and cider."),
    ("apples", "Apple trees bear on old wood, so they are the easiest to train."),
    ("pears", "Pear trees grow upright, live long and suit a warm wall; most pears ripen off the tree."),
    ("figs", "Figs need the warmest wall; in cool summers they ripen best as a fan."),
];

/// The sentence about a subject, where there is one.
pub fn about(subject: &str) -> Option<&'static str> {
    ABOUT.iter().find(|(known, _)| subject.eq_ignore_ascii_case(known)).map(|(_, sentence)| *sentence)
}
