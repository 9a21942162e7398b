//! Changes by a person. Issue 19, item 12.

use std::rc::Rc;

use futures::FutureExt;
use wire::protocol::{DocumentChange, ProjectChange, TaskChange, TaskStatus};

use super::change::{Change, Place, Unchanged, change, delete};
use super::in_memory::InMemory;
use super::item::{Body, Item, ItemKind, Task};

const PROJECT: Place<'static> = Place { kind: ItemKind::Project, project_id: None, id: "p" };

fn of(kind: ItemKind, id: &'static str) -> Place<'static> {
    Place { kind, project_id: Some("p"), id }
}

fn item(kind: ItemKind, id: &str, project_id: Option<&str>, body: Body) -> Item {
    let (project_id, title) = (project_id.map(str::to_owned), format!("The {id}"));
    let operation = "call".to_owned();
    Item {
        kind,
        id: id.to_owned(),
        project_id,
        title,
        body,
        version: 1,
        operation,
        created_at: 1,
        updated_at: 1,
    }
}

/// Two projects; the first has two tasks, of which the second waits for the first, and two documents.
fn memory() -> Rc<InMemory> {
    let memory = InMemory::default();
    let project = || Body::Project { description: "old".into(), template_id: None };
    let task = |blocked_by: &[&str]| {
        Body::Task(Task { blocked_by: blocked_by.iter().map(|id| (*id).into()).collect(), ..Task::default() })
    };
    let document = || Body::Document { content: "old".into() };
    memory.items.replace(vec![
        item(ItemKind::Project, "p", None, project()),
        item(ItemKind::Task, "t1", Some("p"), task(&[])),
        item(ItemKind::Task, "t2", Some("p"), task(&["t1"])),
        item(ItemKind::Document, "d1", Some("p"), document()),
        item(ItemKind::Document, "d2", Some("p"), document()),
        item(ItemKind::Project, "q", None, project()),
        item(ItemKind::Task, "u", Some("q"), task(&[])),
    ]);
    Rc::new(memory)
}

fn changed(memory: &InMemory, place: Place<'_>, to: Change) -> Result<Item, Unchanged> {
    change(memory, place, &to, 7).now_or_never().unwrap()
}

fn task(status: TaskStatus) -> Change {
    Change::Task(TaskChange { title: None, notes: None, status: Some(status) })
}

#[test]
fn a_member_that_a_change_leaves_out_stays() {
    let memory = memory();
    let name = Change::Project(ProjectChange { name: Some("Garden".into()), description: None });
    let project = changed(&memory, PROJECT, name).unwrap();
    assert_eq!((project.title.as_str(), project.version, project.updated_at), ("Garden", 2, 7));
    assert_eq!(project.body, Body::Project { description: "old".into(), template_id: None });
    let notes = TaskChange { title: Some("Dig".into()), notes: Some("deep".into()), status: None };
    let dug = changed(&memory, of(ItemKind::Task, "t2"), Change::Task(notes)).unwrap();
    assert_eq!((dug.title.as_str(), dug.task().unwrap().notes.as_str()), ("Dig", "deep"));
    assert_eq!(dug.task().unwrap().blocked_by, ["t1"]);
    let content = DocumentChange { title: None, content: Some("new".into()) };
    let document = changed(&memory, of(ItemKind::Document, "d1"), Change::Document(content)).unwrap();
    assert_eq!(
        (document.title.as_str(), document.body),
        ("The d1", Body::Document { content: "new".into() })
    );
    assert!(memory.items.borrow().contains(&project), "the change is kept");
}

#[test]
fn a_blocked_task_is_not_done_and_no_two_documents_have_one_title() {
    let memory = memory();
    let blocked = changed(&memory, of(ItemKind::Task, "t2"), task(TaskStatus::Done)).unwrap_err();
    assert!(matches!(&blocked, Unchanged::Conflict(why) if why.contains("The t1")), "{blocked:?}");
    changed(&memory, of(ItemKind::Task, "t2"), task(TaskStatus::InProgress)).unwrap();
    changed(&memory, of(ItemKind::Task, "t1"), task(TaskStatus::Done)).unwrap();
    changed(&memory, of(ItemKind::Task, "t2"), task(TaskStatus::Done)).unwrap();
    let titled = |title: &str| Change::Document(DocumentChange { title: Some(title.into()), content: None });
    let taken = changed(&memory, of(ItemKind::Document, "d1"), titled("The d2")).unwrap_err();
    assert!(matches!(&taken, Unchanged::Conflict(why) if why.contains("this title")), "{taken:?}");
    changed(&memory, of(ItemKind::Document, "d1"), titled("The d1")).unwrap();
}

#[test]
fn an_item_is_found_in_its_own_project_alone() {
    let memory = memory();
    let before = memory.items.borrow().clone();
    let elsewhere = of(ItemKind::Task, "u");
    assert_eq!(changed(&memory, elsewhere, task(TaskStatus::Done)), Err(Unchanged::NotFound));
    assert_eq!(delete(&*memory, elsewhere).now_or_never().unwrap(), Err(Unchanged::NotFound));
    // A task is no document, and no project.
    for place in [of(ItemKind::Document, "t1"), Place { id: "t1", ..PROJECT }, of(ItemKind::Task, "gone")] {
        assert_eq!(delete(&*memory, place).now_or_never().unwrap(), Err(Unchanged::NotFound), "{place:?}");
    }
    assert_eq!(*memory.items.borrow(), before);
}

#[test]
fn a_project_goes_with_its_tasks_and_documents_and_nothing_else_does() {
    let memory = memory();
    let ids = || memory.items.borrow().iter().map(|item| item.id.clone()).collect::<Vec<_>>();
    delete(&*memory, of(ItemKind::Document, "d2")).now_or_never().unwrap().unwrap();
    delete(&*memory, of(ItemKind::Task, "t1")).now_or_never().unwrap().unwrap();
    assert_eq!(ids(), ["p", "t2", "d1", "q", "u"]);
    delete(&*memory, PROJECT).now_or_never().unwrap().unwrap();
    assert_eq!(ids(), ["q", "u"]);
    assert_eq!(delete(&*memory, PROJECT).now_or_never().unwrap(), Err(Unchanged::NotFound));
}

#[test]
fn a_storage_that_does_not_answer_is_told() {
    let memory = memory();
    memory.is_down.set(true);
    let name = Change::Project(ProjectChange { name: Some("Garden".into()), description: None });
    assert!(matches!(changed(&memory, PROJECT, name), Err(Unchanged::Unreachable(_))));
}

// The agent writes at the same time: the change goes on from what it wrote, three times at most.
#[test]
fn a_change_meets_another_one() {
    let memory = memory();
    let name = |name: &str| Change::Project(ProjectChange { name: Some(name.into()), description: None });
    memory.races.set(2);
    assert_eq!(changed(&memory, PROJECT, name("Garden")).unwrap().version, 4);
    memory.races.set(3);
    assert!(matches!(changed(&memory, PROJECT, name("Orchard")), Err(Unchanged::Conflict(_))));
    assert_eq!(memory.items.borrow()[0].title, "Garden");
}
