use std::rc::Rc;

use futures::FutureExt;
use serde_json::{Value, json};

use super::in_memory::InMemory;
use super::*;
use crate::projects::item::{Body, ItemKind, MAX_DOCUMENT, MAX_DOCUMENTS, MAX_PROJECTS, MAX_TEXT, MAX_TITLE};
use engine::testing::FakeClock;
use engine::versions::Seen;

struct Room {
    memory: Rc<InMemory>,
    tools: Vec<Rc<dyn Tool>>,
    calls: std::cell::Cell<u32>,
}

impl Room {
    fn new() -> Self {
        let memory = Rc::new(InMemory::default());
        let projects = Rc::clone(&memory) as Rc<dyn Projects>;
        Room { memory, tools: tools(&projects).collect(), calls: Default::default() }
    }

    fn as_operation(&self, operation: &str, name: &str, arguments: Value) -> Result<String, String> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let context = ToolContext {
            clock: Rc::new(FakeClock::at(12)),
            operation_id: operation.into(),
            time_zone: None,
            workspace_root: None,
            seen: Rc::new(Seen::new(Rc::default())),
            paid: Rc::default(),
        };
        let result = tool.run(&arguments.to_string(), context).now_or_never().unwrap();
        result.map_err(|ToolError(text)| text)
    }

    fn call(&self, name: &str, arguments: Value) -> Result<String, String> {
        self.calls.set(self.calls.get() + 1);
        self.as_operation(&format!("call_t_{}", self.calls.get()), name, arguments)
    }

    fn done(&self, name: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.call(name, arguments).unwrap()).unwrap()
    }

    fn project(&self) -> String {
        let new = json!({"name": "Site", "description": "a site", "template_id": "template_software"});
        self.done("create_project", new)["project_id"].as_str().unwrap().to_owned()
    }
}

// B-013 B-115: from the templates to a project with its tasks and its document.
#[test]
fn a_project_from_a_template() {
    let room = Room::new();
    let templates = room.done("list_templates", json!({}));
    assert_eq!(templates["templates"][1]["template_id"], "template_software");
    let id = room.project();
    room.call("publish_context_document", json!({"project_id": id, "title": "Brief", "content": "one"}))
        .unwrap();
    room.call("publish_context_document", json!({"project_id": id, "title": "Brief", "content": "two"}))
        .unwrap();
    let project = room.done("get_project", json!({"project_id": id}));
    assert_eq!(project["tasks"], json!({"open": 5, "in_progress": 0, "done": 0, "blocked": 4}));
    let documents = project["documents"].as_array().unwrap();
    assert_eq!((documents.len(), &documents[0]["content"]), (1, &json!("two")));
    assert_eq!(room.done("list_projects", json!({}))["projects"][0]["name"], "Site");
}

#[test]
fn a_template_of_ones_own() {
    let room = Room::new();
    let tasks = json!([{"title": "First"}, {"title": "Second", "blocked_by": ["First"]}]);
    let new = json!({"name": "Mine", "description": "d", "tasks": tasks});
    let template = room.done("create_template", new)["template_id"].clone();
    assert_eq!(room.done("get_template", json!({"template_id": template}))["name"], "Mine");
    let new = json!({"name": "P", "description": "d", "template_id": template});
    let project = room.done("create_project", new);
    let tasks = room.done("list_tasks", json!({"project_id": project["project_id"]}));
    assert_eq!(tasks["tasks"][1]["blockers"][0]["title"], "First");
    let circular = json!([{"title": "First", "blocked_by": ["Second"]}, {"title": "Second"}]);
    let told = room.call("create_template", json!({"name": "N", "description": "d", "tasks": circular}));
    assert!(told.unwrap_err().contains("blocked by \"Second\", which no task before it is"));
}

// B-015: the tools list the blockers of a task, and a blocked task cannot be done.
#[test]
fn blockers() {
    let room = Room::new();
    let id = room.project();
    let tasks = room.done("list_tasks", json!({"project_id": id}));
    let task = |at: usize| tasks["tasks"][at]["task_id"].clone();
    assert_eq!(tasks["tasks"][1]["blockers"][0]["task_id"], task(0));
    let early = room.call("update_task", json!({"task_id": task(1), "status": "done"})).unwrap_err();
    assert!(early.contains("is blocked") && early.contains("Write down what it must do"), "{early}");
    room.call("update_task", json!({"task_id": task(0), "status": "done", "notes": "ok"})).unwrap();
    let done = room.done("update_task", json!({"task_id": task(1), "status": "done", "title": "Drawn"}));
    assert_eq!((&done["status"], &done["title"]), (&json!("done"), &json!("Drawn")));
    let circle = room.call("update_task", json!({"task_id": task(2), "blocked_by": [task(4)]})).unwrap_err();
    assert!(circle.contains("wait for each other"), "{circle}");
    let unknown = room.call("create_task", json!({"project_id": id, "title": "x", "blocked_by": ["nobody"]}));
    assert!(unknown.unwrap_err().contains("no task \"nobody\""));
    let done = room.done("list_tasks", json!({"project_id": id, "status": "done"}));
    assert_eq!(done["tasks"].as_array().unwrap().len(), 2);
}

// B-016
#[test]
fn an_audit_lists_its_findings() {
    let room = Room::new();
    let id = room.project();
    let first = room.done("list_tasks", json!({"project_id": id}))["tasks"][0]["task_id"].clone();
    room.call("delete_task", json!({"task_id": first})).unwrap();
    let audit = room.done("audit_project", json!({"project_id": id}));
    let findings = audit["findings"].to_string();
    assert!(findings.contains("waits for 1 deleted task(s)"), "{findings}");
    assert!(findings.contains("no context document"), "{findings}");
    assert_eq!(audit["blocked"].as_array().unwrap().len(), 3);
}

// A repeated call finds its own items.
#[test]
fn a_repeated_call_changes_nothing_more() {
    let room = Room::new();
    let new = json!({"name": "Site", "description": "d", "template_id": "template_software"});
    let made = room.as_operation("call_t_x", "create_project", new.clone()).unwrap();
    assert_eq!(room.as_operation("call_t_x", "create_project", new.clone()).unwrap(), made);
    assert_eq!(room.memory.items.borrow().len(), 6);
    let other = room.as_operation("call_t_y", "create_project", new).unwrap();
    assert_ne!(other, made);
    let id = room.project();
    let task = room.done("list_tasks", json!({"project_id": id}))["tasks"][0]["task_id"].clone();
    let change = json!({"task_id": task, "status": "in_progress"});
    for _ in 0..2 {
        room.as_operation("call_t_z", "update_task", change.clone()).unwrap();
    }
    let items = room.memory.items.borrow();
    let item = items.iter().find(|item| json!(item.id) == task).unwrap();
    assert_eq!((item.version, item.operation.as_str()), (2, "s_t_z"));
}

// B-014: a deletion asks first, and deletes the project's items, too.
#[test]
fn deletions_ask_first_and_include_the_items() {
    let asking: Vec<String> = specs().filter(|spec| spec.ask).map(|spec| spec.name).collect();
    assert_eq!(asking, ["delete_project", "delete_task"]);
    let room = Room::new();
    let (gone, stays) = (room.project(), room.project());
    room.call("delete_project", json!({"project_id": gone})).unwrap();
    let items = room.memory.items.borrow();
    assert!(items.iter().all(|item| item.id == stays || item.project_id.as_ref() == Some(&stays)));
    assert_eq!(items.len(), 6);
}

#[test]
fn the_numbers_of_items_are_bounded() {
    let room = Room::new();
    let id = room.project();
    let publish = |n: usize, content: &str| {
        let arguments = json!({"project_id": id, "title": format!("t{n}"), "content": content});
        room.call("publish_context_document", arguments)
    };
    (0..MAX_DOCUMENTS).for_each(|n| drop(publish(n, "x").unwrap()));
    assert!(publish(MAX_DOCUMENTS, "x").unwrap_err().contains("the limit is 50 documents"));
    publish(0, "another").unwrap();
    assert!(publish(0, &"x".repeat(crate::projects::item::MAX_DOCUMENT)).is_ok());
    assert!(
        publish(0, &"x".repeat(crate::projects::item::MAX_DOCUMENT + 1)).unwrap_err().contains("content")
    );
    let blank = json!({"name": "n", "description": "d", "template_id": "template_blank"});
    (1..MAX_PROJECTS).for_each(|_| drop(room.call("create_project", blank.clone()).unwrap()));
    assert!(room.call("create_project", blank).unwrap_err().contains("the limit is 100 projects"));
}

#[test]
fn missing_items_and_a_failing_storage_are_errors() {
    let room = Room::new();
    let told = room.call("get_project", json!({"project_id": "p"})).unwrap_err();
    assert!(told.contains("no project with the id \"p\""), "{told}");
    let id = room.project();
    let items = room.memory.items.borrow().clone();
    assert!(matches!(&items[0].body, Body::Project { .. }) && items[0].kind == ItemKind::Project);
    room.memory.is_down.set(true);
    let told = room.call("get_project", json!({"project_id": id})).unwrap_err();
    assert!(told.contains("not available at the moment") && !told.contains("down"), "{told}");
}

// The file of declarations has the limits of the code.
#[test]
fn the_declarations_have_the_limits_of_the_code() {
    let lengths = |member: &str, name: &str| {
        let specs = specs().filter(|spec| spec.name == name);
        specs.map(|spec| schema(&spec)["properties"][member]["maxLength"].clone()).collect::<Vec<_>>()
    };
    for (name, member, most) in [
        ("create_template", "name", MAX_TITLE),
        ("create_template", "description", MAX_TEXT),
        ("create_project", "name", MAX_TITLE),
        ("create_project", "description", MAX_TEXT),
        ("publish_context_document", "title", MAX_TITLE),
        ("publish_context_document", "content", MAX_DOCUMENT),
        ("create_task", "title", MAX_TITLE),
        ("create_task", "notes", MAX_TEXT),
        ("update_task", "title", MAX_TITLE),
        ("update_task", "notes", MAX_TEXT),
    ] {
        assert_eq!(lengths(member, name), [json!(most)], "{name}: {member}");
    }
}

fn schema(spec: &ToolSpec) -> Value {
    serde_json::from_str(spec.input_schema.0.get()).unwrap()
}
