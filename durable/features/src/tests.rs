use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use engine::calls::{memory, subtask};
use engine::compose::declarations;
use engine::offer::{InContext, offered};
use engine::plan::{create, update};
use engine::ports::{ToolContext, ToolError};
use engine::profiles::ContextProfile;
use engine::testing::FakeClock;
use engine::toolbelt::{PermissionClass, ToolPolicy, ToolSpec, declare};
use wire::protocol::ContextKind;

/// All resources. The fake web answers every request with `[]`, which no search service sends.
pub fn everything() -> Resources {
    let web = web::testing::FakeWeb::new(|_| Some(web::testing::Answer::page("text/plain", "[]")));
    Resources {
        files: Some(Rc::new(files::in_memory::InMemory::default())),
        web: Some(web::WebPorts {
            http: web.clone(),
            charsets: web.clone(),
            browser: Some(web),
            config: web::testing::everything(),
        }),
        knowledge: knowledge::Knowledge {
            memories: Some(Rc::new(knowledge::memories::in_memory::InMemory::default())),
            searchable: Some(knowledge::collections::tests::searchable(&Rc::default())),
        },
        projects: Some(Rc::new(projects::in_memory::InMemory::default())),
    }
}

fn makes_plans(name: &str) -> bool {
    [create::NAME, update::NAME].contains(&name)
}

fn run(name: &str, arguments: &Value) -> Result<String, String> {
    run_in(None, name, arguments)
}

/// The call of a user whose request names this time zone.
fn run_in(time_zone: Option<&str>, name: &str, arguments: &Value) -> Result<String, String> {
    let standard = Standard::new(&everything());
    let tool = standard.all().iter().find(|tool| tool.spec().name == name).unwrap();
    let context = ToolContext {
        clock: Rc::new(FakeClock::at(1_700_000_000_123)),
        operation_id: "call_1".into(),
        time_zone: time_zone.map(Rc::from),
        workspace_root: Some("root/".into()),
        seen: Rc::default(),
        paid: Rc::default(),
    };
    let result = tool.run(&arguments.to_string(), context).now_or_never();
    result.expect("a safe tool answers at once").map_err(|ToolError(text)| text)
}

#[test]
fn current_time_is_rfc_3339_in_utc() {
    assert_eq!(run("current_time", &json!({})), Ok("2023-11-14T22:13:20Z".to_owned()));
}

// Issue 44: the zone of the call, else that of the request, else UTC.
#[test]
fn current_time_tells_the_time_of_a_zone() {
    let time = |zone: Option<&str>, arguments: Value| run_in(zone, "current_time", &arguments);
    let of_zone = |time: &str| Ok(format!("{time}, 2023-11-14T22:13:20Z (UTC)"));
    let india = of_zone("2023-11-15T03:43:20+05:30 (Wednesday, Asia/Kolkata)");
    let canada = of_zone("2023-11-14T18:43:20-03:30 (Tuesday, America/St_Johns)");
    assert_eq!(time(None, json!({"time_zone": "Asia/Kolkata"})), india);
    assert_eq!(time(Some("Asia/Kolkata"), json!({})), india);
    assert_eq!(time(Some("Asia/Kolkata"), json!({"time_zone": " America/St_Johns "})), canada);
    assert_eq!(
        time(Some("Asia/Kolkata"), json!({"time_zone": "utc"})),
        Ok("2023-11-14T22:13:20Z".to_owned())
    );
    for unknown in ["CEST", "Europe/Nowhere", &"x".repeat(1_000)] {
        let told = time(Some("Asia/Kolkata"), json!({"time_zone": unknown})).unwrap_err();
        assert_eq!(
            told,
            "time_zone is unknown: give a name of the IANA time zone database, such as Europe/Berlin or \
             America/New_York, or leave it out"
        );
    }
}

/// Generates arguments that the published schema of each tool allows. The Rust types read all of them. They also read
/// near misses (`arguments_tests.rs`), but never a call without its required members.
#[test]
fn types_accept_all_arguments_that_the_schemas_allow() {
    // Some arguments of the project tools are lists of objects; `arguments_tests` has calls of them.
    let standard = Standard::new(&Resources { projects: None, ..everything() });
    let registered = standard.all().iter().map(|tool| tool.spec().clone());
    let specs: Vec<ToolSpec> = declarations().into_iter().chain(registered).collect();
    let accepts = |name: &str, arguments: &Value| -> bool {
        let json = arguments.to_string();
        let result = match name {
            subtask::NAME => subtask::arguments(&json).map(|_| String::new()),
            create::NAME => create::intent(&json).map(|_| String::new()),
            update::NAME => update::arguments(&json).map(|_| String::new()),
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

/// A tool that is offered: name, class, and whether its calls run one after the other.
type Offered = (&'static str, PermissionClass, bool);

/// The tools of a turn in a thread without any resource, in their order.
const OF_EVERY_DEPLOYMENT: &[Offered] = &[
    ("run_subtask", PermissionClass::Subagent, false),
    ("memory_list", PermissionClass::Knowledge, false),
    ("memory_read", PermissionClass::Knowledge, false),
    ("memory_write", PermissionClass::Knowledge, false),
    ("calculate", PermissionClass::Safe, false),
    ("current_time", PermissionClass::Safe, false),
];

/// The tools that come with all resources, in their order.
const OF_FEATURES: &[Offered] = &[
    // N-090: reading files has the same class as writing, so both depend on one permission.
    ("read_file", PermissionClass::WorkspaceWrite, false),
    ("write_file", PermissionClass::WorkspaceWrite, true),
    ("edit_file", PermissionClass::WorkspaceWrite, true),
    ("list_files", PermissionClass::WorkspaceWrite, false),
    ("delete_file", PermissionClass::WorkspaceWrite, true),
    // N-089
    ("fetch_page", PermissionClass::Network, false),
    ("web_search", PermissionClass::Network, false),
    // N-156: only if the request asked for them.
    ("remember", PermissionClass::Knowledge, true),
    ("recall", PermissionClass::Knowledge, false),
    ("forget", PermissionClass::Knowledge, true),
    ("search_collection", PermissionClass::Knowledge, false),
];

// N-010 N-023 N-062 N-085 N-086 N-087 N-088 N-089 N-090 N-092 N-094 N-106 N-109 N-156
#[test]
fn offered_tools_are_registered_and_allowed() {
    let in_a_workspace =
        |context| ToolPolicy { workspace_root: Some("root/".to_owned()), ..ToolPolicy::of(context) };
    let offered = |resources: &Resources, policy: &ToolPolicy| {
        offered(&Standard::new(resources), &[], policy, in_a_thread())
    };
    let names = |resources: &Resources, policy: &ToolPolicy| -> Vec<String> {
        offered(resources, policy).into_iter().map(|spec| spec.name).collect()
    };
    let all = || OF_EVERY_DEPLOYMENT.iter().chain(OF_FEATURES);
    let expected = |may: &dyn Fn(PermissionClass) -> bool| -> Vec<&str> {
        all().filter(|(_, class, _)| may(*class)).map(|(name, ..)| *name).collect()
    };
    let everything = everything();
    let thread = ToolPolicy::of(ContextKind::Thread);
    assert_eq!(names(&everything, &thread), expected(&|class| class != PermissionClass::WorkspaceWrite));
    assert_eq!(names(&everything, &in_a_workspace(ContextKind::Thread)), expected(&|_| true));
    assert_eq!(names(&everything, &in_a_workspace(ContextKind::Editor)), expected(&|_| true));
    for class in PermissionClass::ALL {
        let mut policy = in_a_workspace(ContextKind::Thread);
        policy.classes.remove(&class);
        assert_eq!(names(&everything, &policy), expected(&|other| other != class), "{class:?}");
    }
    let with_nothing = names(&Resources::default(), &in_a_workspace(ContextKind::Thread));
    assert!(with_nothing.iter().eq(OF_EVERY_DEPLOYMENT.iter().map(|(name, ..)| name)), "{with_nothing:?}");
    // Calls that write are serial; calls that read run in parallel.
    let offered = offered(&everything, &in_a_workspace(ContextKind::Thread));
    for (spec, (name, class, serial)) in offered.into_iter().zip(all()) {
        assert_eq!(spec.permission_class, Some(*class), "{name}");
        assert_eq!((spec.serial(), spec.parallel_safe), (*serial, !serial), "{name}");
        assert!(is_known(name), "{name} can be named in configuration");
    }
}

// `websearch` needs the tools that search and read. The operator's configuration may name each call of agents.
#[test]
fn agents_search_with_the_tools_of_the_web() {
    let offered = |config| {
        let web = web::testing::FakeWeb::new(|_| None);
        let ports = web::WebPorts { http: web.clone(), charsets: web, browser: None, config };
        let tools = Standard::new(&Resources { web: Some(ports), ..Resources::default() });
        let context = InContext { agents: true, ..in_a_thread() };
        let specs = offered(&tools, &[], &ToolPolicy::of(ContextKind::Thread), context);
        specs.into_iter().map(|spec| spec.name).collect::<Vec<_>>()
    };
    let (with, without) = (offered(web::testing::everything()), offered(web::testing::config(&[])));
    let of_agents = ["task", "discuss", "terminate", "todo_write", "websearch", "list_agents"];
    for name in of_agents {
        assert!(with.iter().any(|offered| offered == name) && is_known(name), "{name}");
        assert_eq!(without.iter().any(|offered| offered == name), name != "websearch", "{name}");
    }
}

// dumps stand in files of the workspace. A turn without files, or whose policy has them off, offers no dumps.
#[test]
fn agents_are_dumped_into_files_of_the_workspace() {
    let tools = Standard::new(&everything());
    let has = |policy: &ToolPolicy, agents: bool| {
        let specs = engine::offer::offered(&tools, &[], policy, InContext { agents, ..in_a_thread() });
        ["list_agents", "dump_agent", "restore_agent"].map(|name| specs.iter().any(|spec| spec.name == name))
    };
    let workspace_root = Some("root/".to_owned());
    let with = ToolPolicy { workspace_root, ..ToolPolicy::of(ContextKind::Thread) };
    assert_eq!(has(&with, true), [true, true, true]);
    assert_eq!(has(&with, false), [false, false, false]);
    assert_eq!(has(&ToolPolicy::of(ContextKind::Thread), true), [true, false, false]);
    let rules = serde_json::from_value(json!({"write_file": "off"})).unwrap();
    let reading = with.narrowed(rules, std::collections::BTreeSet::new());
    assert_eq!(has(&reading, true), [true, false, true]);
}

// N-106: without a search service there is no `web_search`.
#[test]
fn a_search_needs_a_service() {
    let fake = web::testing::FakeWeb::new(|_| None);
    let ports = web::WebPorts {
        http: fake.clone(),
        charsets: fake,
        browser: None,
        config: web::testing::config(&[]),
    };
    let tools = web::tools(&ports);
    assert_eq!(tools.iter().map(|tool| tool.spec().name.as_str()).collect::<Vec<_>>(), ["fetch_page"]);
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
                    && class != PermissionClass::Media
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
    in_context("thread", false)
}

pub fn in_context(name: &str, has_draft: bool) -> InContext {
    let profile = *ContextProfile::named(name).unwrap();
    let (agent_hooks, agents, todos, session, clients_at_once) = (false, false, false, false, false);
    InContext { profile, has_draft, agent_hooks, agents, todos, session, clients_at_once }
}

// B-020 B-069 B-101: a context with plans offers them, and each context `agent_update_plan` while a plan waits.
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
        assert!(plan_tools(context, false).is_empty(), "{context}");
        assert_eq!(plan_tools(context, true), ["agent_update_plan"], "{context}");
    }
}
