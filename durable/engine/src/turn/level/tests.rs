use super::*;
use crate::compose;
use crate::journal::ESTIMATES;
use crate::toolbelt::ToolSpec;

// N-030 N-037 N-038: a level asks its model with exactly the parts that it was given, and asking changes
// nothing.
#[test]
fn a_level_sends_exactly_the_parts_that_it_was_given() {
    let model = Rc::new(ModelChoice::new("p", "m"));
    let before = Rc::new(Message::User { content: "before".into() });
    let level = |depth, iterations| {
        let start = LevelStart {
            path: LevelPath::default(),
            place: Place { parent_id: Some("parent".to_owned()), depth },
            nested: depth,
            models: None,
            model: Rc::clone(&model),
            system: "system".into(),
            history: vec![Rc::clone(&before)],
            earlier: Earlier::default(),
            preface: None,
            life: None,
            hooked: Hooked::default(),
            instructions: "now".into(),
            belt: Toolbelt::new(compose::declarations()),
            schema: None,
            shape: Shape::default(),
            opening: None,
            memory: AgentMemory::default(),
            digest: Digest::new(),
            own: compose::PARTS.facts,
            estimates: ESTIMATES,
        };
        Level::new(start, Limits { iterations, ..Limits::default() })
    };
    let asked = |depth| match (level(depth, 1).next(), level(depth, 1).next()) {
        (Step::CallModel(request), Step::CallModel(again)) => {
            assert_eq!(request, again);
            request
        }
        other => panic!("{other:?}"),
    };
    let request = asked(0);
    assert_eq!((&*request.system, request.model.model.as_str()), ("system", "m"));
    let now = Rc::new(Message::User { content: "now".into() });
    assert_eq!(request.messages, [Rc::clone(&before), now]);
    let offered: Vec<_> = compose::declarations().iter().map(ToolSpec::definition).collect();
    assert_eq!(*request.tools, offered);
    let deepest = offered.iter().filter(|tool| compose::PARTS.facts.levels(&tool.name) == 0).cloned();
    let deepest: Vec<_> = deepest.collect();
    assert_eq!(
        (deepest.len(), &*asked(3).tools),
        (3, &*deepest),
        "calls that would be refused are not offered"
    );
    assert!(matches!(level(0, 0).next(), Step::Finish(LevelEnd::IterationLimit(0))));
}
