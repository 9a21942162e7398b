use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::files::in_memory::InMemory;
use super::*;
use crate::web::Browser;
use engine::calls::*;
use engine::offer::{InContext, offered};
use engine::ports::{Clock, ToolContext, ToolError};
use engine::profiles::ContextProfile;
use engine::toolbelt::{PermissionClass, ToolPolicy, ToolSpec, declare};
use wire::protocol::ContextKind;

pub struct At(pub u64);

impl Clock for At {
    fn now_ms(&self) -> u64 {
        self.0
    }

    fn sleep(&self, _: u64) -> LocalBoxFuture<'static, ()> {
        futures::future::pending().boxed_local()
    }
}

/// All resources. The fake web answers every request with `[]`, which no search service sends.
pub fn everything() -> Resources {
    let web = web::testing::FakeWeb::new(|_| Some(web::testing::Answer::page("text/plain", "[]")));
    let browser: Rc<dyn Browser> = web.clone();
    Resources {
        files: Some(Rc::new(InMemory::default())),
        web: Some(web::WebPorts {
            http: web.clone(),
            charsets: web,
            browser: Some(browser),
            config: web::testing::everything(),
        }),
        memories: Some(Rc::new(knowledge::memories::in_memory::InMemory::default())),
        searchable: Some(collections::tests::searchable(&Rc::default())),
    }
}

fn run(name: &str, arguments: &Value) -> Result<String, String> {
    let standard = Standard::new(&everything());
    let tool = standard.all().iter().find(|tool| tool.spec().name == name).unwrap();
    let context = ToolContext {
        clock: Rc::new(At(1_700_000_000_123)),
        operation_id: "call_1".into(),
        workspace_root: Some("root/".into()),
        seen: Rc::default(),
    };
    let result = tool.run(&arguments.to_string(), context).now_or_never();
    result.expect("a safe tool answers at once").map_err(|ToolError(text)| text)
}

#[test]
fn current_time_is_rfc_3339_in_utc() {
    assert_eq!(run("current_time", &json!({})), Ok("2023-11-14T22:13:20Z".to_owned()));
}

/// Generates arguments that the published schema of each tool allows. The Rust types read all of them. They also read
/// near misses (`arguments_tests.rs`), but never a call without its required members.
#[test]
fn types_accept_all_arguments_that_the_schemas_allow() {
    let standard = Standard::new(&everything());
    let registered = standard.all().iter().map(|tool| tool.spec().clone());
    let specs: Vec<ToolSpec> = declarations().into_iter().chain(registered).collect();
    let accepts = |name: &str, arguments: &Value| -> bool {
        let json = arguments.to_string();
        let result = match name {
            run_subtask::NAME => run_subtask::arguments(&json).map(|_| String::new()),
            agent_create_plan::NAME => agent_create_plan::intent(&json).map(|_| String::new()),
            agent_update_plan::NAME => agent_update_plan::arguments(&json).map(|_| String::new()),
            memory::LIST => memory::list(&json, &Default::default()),
            memory::READ => memory::read(&json, &Default::default()),
            memory::WRITE => memory::write(&json, &mut Default::default()),
            other => run(other, arguments).map_err(ToolError),
        };
        !result.is_err_and(|ToolError(text)| text.starts_with("invalid arguments"))
    };
    for spec in specs {
        let schema: Value = serde_json::from_str(spec.input_schema.0.get()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let members = schema["properties"].as_object().unwrap();
        let valid: Value = members
            .iter()
            .map(|(name, member)| {
                let value = match (member["enum"].get(0), member["type"].as_str().unwrap()) {
                    (Some(choice), _) => choice.clone(),
                    (None, "object") => json!({"type": "object"}),
                    (None, "string") => json!("1"),
                    (None, "integer") => json!(1),
                    (None, "boolean") => json!(true),
                    (None, "array") => json!(["echo"]),
                    other => panic!("{other:?}"),
                };
                (name.clone(), value)
            })
            .collect();
        assert!(validator.is_valid(&valid) && accepts(&spec.name, &valid), "{}: {valid}", spec.name);
        for name in members.keys() {
            let mut without = valid.clone();
            without.as_object_mut().unwrap().remove(name);
            assert_eq!(
                accepts(&spec.name, &without),
                validator.is_valid(&without),
                "{}: {without}",
                spec.name
            );
        }
        for wrong in [json!([]), json!("text")] {
            assert!(!accepts(&spec.name, &wrong), "{}: {wrong}", spec.name);
        }
    }
}

// N-010 N-023 N-062 N-085 N-086 N-087 N-088 N-089 N-090 N-092 N-094 N-106 N-109
#[test]
fn offered_tools_are_registered_and_allowed() {
    let Resources { files, web, .. } = everything();
    let tools = Standard::new(&Resources { files, web, ..Resources::default() });
    let in_a_workspace =
        |context| ToolPolicy { workspace_root: Some("root/".to_owned()), ..ToolPolicy::of(context) };
    let names = |policy: &ToolPolicy| -> Vec<String> {
        offered(&tools, &[], policy, in_a_thread()).into_iter().map(|spec| spec.name).collect()
    };
    let nowhere = ["run_subtask", "memory_list", "memory_read", "memory_write", "calculate", "current_time"];
    let file_tools = ["read_file", "write_file", "edit_file", "list_files", "delete_file"];
    let of_the_web = ["fetch_page", "web_search"];
    let thread = [&nowhere[..], &file_tools, &of_the_web].concat();
    assert_eq!(names(&ToolPolicy::of(ContextKind::Thread)), [&nowhere[..], &of_the_web].concat());
    assert_eq!(names(&in_a_workspace(ContextKind::Thread)), thread);
    assert_eq!(names(&in_a_workspace(ContextKind::Editor)), thread);
    // N-106: without a search service there is no `web_search`.
    let web = tools_of_the_web(web::testing::config(&[]));
    assert_eq!(web, ["fetch_page"]);
    // N-090: reading files has the same class as writing, so both depend on one permission.
    let mut policy = in_a_workspace(ContextKind::Thread);
    policy.classes.remove(&PermissionClass::WorkspaceWrite);
    policy.classes.remove(&PermissionClass::Network);
    assert_eq!(names(&policy), nowhere);
    // N-156: only if the request asked for them.
    let remembering = Standard::new(&everything());
    let all = offered(&remembering, &[], &in_a_workspace(ContextKind::Thread), in_a_thread());
    let all_names: Vec<&str> = all.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        all_names,
        [thread.clone(), vec!["remember", "recall", "forget", "search_collection"]].concat()
    );
    for spec in all {
        let class = match spec.name.as_str() {
            "run_subtask" => PermissionClass::Subagent,
            "calculate" | "current_time" => PermissionClass::Safe,
            name if file_tools.contains(&name) => PermissionClass::WorkspaceWrite,
            // N-089
            name if of_the_web.contains(&name) => PermissionClass::Network,
            _ => PermissionClass::Knowledge,
        };
        assert_eq!(spec.permission_class, Some(class), "{}", spec.name);
        // Calls that write are serial; calls that read run in parallel.
        let writes =
            ["write_file", "edit_file", "delete_file", "remember", "forget"].contains(&spec.name.as_str());
        assert_eq!((spec.serial(), spec.parallel_safe), (writes, !writes), "{}", spec.name);
        assert!(is_known(&spec.name), "{} can be named in configuration", spec.name);
    }
}

fn tools_of_the_web(config: web::Config) -> Vec<String> {
    let fake = web::testing::FakeWeb::new(|_| None);
    web::tools(&web::WebPorts { http: fake.clone(), charsets: fake, browser: None, config })
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect()
}

/// Tools of every class, and of none.
struct Catalogue(Vec<Rc<dyn Tool>>);

impl Tools for Catalogue {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.0
    }
}

struct Declared(ToolSpec);

impl Tool for Declared {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: &str, _: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        panic!("a declaration was run")
    }
}

fn specs() -> impl Strategy<Value = Vec<ToolSpec>> {
    let class = prop::option::weighted(0.9, prop::sample::select(PermissionClass::ALL.to_vec()));
    let server = prop::option::weighted(0.3, prop::sample::select(vec!["docs", "mail"]));
    prop::collection::vec((class, server), 0..12).prop_map(|drawn| {
        let spec = |(at, (class, server)): (usize, (Option<PermissionClass>, Option<&str>))| {
            let mut spec = declare(&format!("tool_{at}"), PermissionClass::Safe, "", json!({}));
            (spec.permission_class, spec.mcp_server) = (class, server.map(str::to_owned));
            spec
        };
        drawn.into_iter().enumerate().map(spec).collect()
    })
}

proptest! {
    // N-083 N-085 N-101 N-105 N-109: a context offers all tools that are registered, allowed and unlocked, in the order
    // of registration. Removing a class removes exactly its tools.
    #[test]
    fn the_toolbelt_is_an_intersection(
        specs in specs(),
        classes in prop::collection::btree_set(prop::sample::select(PermissionClass::ALL.to_vec()), 0..7),
        in_editor in any::<bool>(),
        has_root in any::<bool>(),
        servers in prop::collection::btree_set(prop::sample::select(vec!["docs", "mail"]), 0..2),
    ) {
        let catalogue = Catalogue(specs.iter().map(|spec| Rc::new(Declared(spec.clone())) as Rc<dyn Tool>).collect());
        let context = if in_editor { ContextKind::Editor } else { ContextKind::Thread };
        let unlocked = ToolPolicy::of(context).classes;
        let policy = ToolPolicy {
            classes: unlocked.intersection(&classes).copied().collect(),
            workspace_root: has_root.then(|| "/".to_owned()),
            allowed_mcp_servers: servers.iter().map(|name| (*name).to_owned()).collect(),
            ..ToolPolicy::default()
        };
        let given = offered(&catalogue, &[], &policy, in_a_thread());
        let intercepted = declarations().into_iter().filter(|spec| !makes_plans(&spec.name));
        let registered: Vec<ToolSpec> = intercepted.chain(specs).collect();
        let is_in_all = |spec: &&ToolSpec| {
            spec.permission_class.is_some_and(|class| {
                classes.contains(&class)
                    && class != PermissionClass::Secrets
                    && (class != PermissionClass::EditorMutate || in_editor)
                    && (class != PermissionClass::WorkspaceWrite || has_root)
            }) && spec.mcp_server.as_ref().is_none_or(|name| servers.contains(name.as_str()))
        };
        prop_assert_eq!(&given, &registered.iter().filter(is_in_all).cloned().collect::<Vec<_>>());
        prop_assert_eq!(&offered(&catalogue, &[], &policy, in_a_thread()), &given, "the same arguments give the same list");
        for class in PermissionClass::ALL {
            let mut less = policy.clone();
            less.classes.remove(&class);
            let left = given.iter().filter(|spec| spec.permission_class != Some(class)).cloned().collect::<Vec<_>>();
            prop_assert_eq!(offered(&catalogue, &[], &less, in_a_thread()), left);
        }
    }
}

pub fn in_a_thread() -> InContext {
    in_context("thread", true)
}

fn in_context(name: &str, has_draft: bool) -> InContext {
    InContext { profile: *ContextProfile::named(name).unwrap(), has_draft }
}

// B-020 B-069: a context with plans offers them, and `agent_update_plan` only while a plan waits.
#[test]
fn plans_are_offered_in_their_contexts_alone() {
    let tools = Standard::new(&Resources::default());
    let policy = ToolPolicy::of(ContextKind::Thread);
    let plan_tools = |context, has_draft| -> Vec<String> {
        let offered = offered(&tools, &[], &policy, in_context(context, has_draft));
        offered.into_iter().map(|spec| spec.name).filter(|name| makes_plans(name)).collect()
    };
    for context in ["general", "project", "project_create", "project_audit", "task"] {
        assert_eq!(plan_tools(context, false), ["agent_create_plan"], "{context}");
        assert_eq!(plan_tools(context, true), ["agent_create_plan", "agent_update_plan"], "{context}");
    }
    for context in ["thread", "editor"] {
        assert!(plan_tools(context, true).is_empty(), "{context}");
    }
}
