//! Calls as weak models write them.

/// A tool, its arguments as a model wrote them, and what the model is told.
pub type Call = (&'static str, &'static str, Result<&'static str, &'static str>);

/// The calls by the part that declares their tools.
pub const CALLS: &[&[Call]] = &[
    OF_EVERY_DEPLOYMENT,
    FILES, // feature: files
    WEB, // feature: web
    KNOWLEDGE, // feature: knowledge
    PROJECTS, // feature: projects
];

/// Calls whose meaning is clear, and calls that are refused with their mistake. The example of a right call follows each
/// refusal.
const OF_EVERY_DEPLOYMENT: &[Call] = &[
    // The two that the issue was about: one argument too many.
    ("calculate", r#"{"expression": "17 * 23", "output_schema": {}}"#, Ok("391")),
    ("current_time", r#"{"timezone": "UTC"}"#, Ok("2023-11-14T22:13:20Z")),
    // No arguments, in all the ways to write none.
    ("current_time", "", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "  \n", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "null", Ok("2023-11-14T22:13:20Z")),
    ("current_time", r#""{}""#, Ok("2023-11-14T22:13:20Z")),
    ("current_time", "```\n```", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "[]", Err(": they must be a JSON object")),
    ("current_time", "now", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("memory_list", r#"{"key": null}"#, Ok("pears (5 bytes)")),
    // A string that is not one.
    ("calculate", r#"{"expression": 42}"#, Ok("42")),
    ("calculate", r#"{"expression": 2.5}"#, Ok("2.5")),
    ("calculate", r#"{"expression": ["17", "*", "23"]}"#, Err(" at expression: it must be a string, not a list")),
    ("calculate", r#"{"expression": {"a": 17, "b": 23}}"#, Err(" at expression: it must be a string, not an object")),
    ("calculate", r#"{"expression": null}"#, Err(" at expression: it must be a string, not null")),
    ("memory_write", r#"{"key": 7, "value": true}"#, Ok(r#"{"7": "true"}"#)),
    ("memory_write", r#"{"key": "a", "value": {"b": 1}}"#, Err(" at value: it must be a string, not an object")),
    ("memory_write", r#"{"key": "a", "value": ["b"]}"#, Err(" at value: it must be a string, not a list")),
    ("memory_write", r#"{"key": "a", "value": null}"#, Err(" at value: it must be a string, not null")),
    // A member that is missing, or has another name.
    ("calculate", "{}", Err(" at expression: it is missing; it must be a string")),
    ("calculate", "", Err(" at expression: it is missing; it must be a string")),
    ("calculate", r#"{"expr": "1 + 1"}"#, Err(r#" at expression: it is missing; it must be a string; there is no member "expr""#)),
    ("calculate", r#"{"a": 17, "b": 23, "op": "*", "precision": 2}"#, Err(r#" at expression: it is missing; it must be a string; there is no member "a", "b", "op""#)),
    ("memory_write", r#"{"key": "a"}"#, Err(" at value: it is missing; it must be a string")),
    ("memory_write", r#"{"key": "a", "content": "b"}"#, Err(r#" at value: it is missing; it must be a string; there is no member "content""#)),
    ("memory_read", r#"{"name": "pears"}"#, Err(r#" at key: it is missing; it must be a string; there is no member "name""#)),
    ("run_subtask", r#"{"instructions": "x"}"#, Err(" at title: it is missing; it must be a string")),
    ("run_subtask", r#"{"task": "x"}"#, Err(r#" at instructions: it is missing; it must be a string; there is no member "task""#)),
    // The same name, spelt otherwise.
    ("calculate", r#"{"Expression": "1 + 1"}"#, Ok("2")),
    ("calculate", r#"{"EXPRESSION": "1 + 1"}"#, Ok("2")),
    // Unknown members.
    ("memory_read", r#"{"key": "pears", "default": ""}"#, Ok("cheap")),
    ("memory_write", r#"{"key": "a", "value": "b", "overwrite": true}"#, Ok(r#"{"a": "b"}"#)),
    // Null and empty strings for optional members.
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": null, "output_schema": null}"#, Ok(r#""t" "i" None None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "", "output_schema": ""}"#, Ok(r#""t" "i" None None"#)),
    // True and false.
    ("agent_create_plan", r#"{"objective": "o", "auto_execute": "false"}"#, Ok(r#""o" DraftOnly []"#)),
    // One of a few.
    ("agent_update_plan", r#"{"plan_id": 1, "action": "Run"}"#, Ok(r#""1" Run """#)),
    ("agent_update_plan", r#"{"plan_id": "p", "action": "execute"}"#, Err(r#" at action: it must be one of "run", "change", "drop", not "execute""#)),
    ("agent_update_plan", r#"{"plan_id": "p"}"#, Err(r#" at action: it is missing; it must be one of "run", "change", "drop""#)),
    ("agent_update_plan", r#"{"plan_id": "p", "action": "change"}"#, Err(" at changes: it must say in 1 to 4000 characters what to change")),
    ("agent_create_plan", r#"{"objective": "o", "execution_mode": "Draft only"}"#, Ok(r#""o" DraftOnly []"#)),
    ("agent_create_plan", r#"{"objective": "o", "execution_mode": "fast"}"#, Ok(r#""o" AutoExecute []"#)),
    ("agent_create_plan", r#"{"objective": ""}"#, Err(" at objective: it must have 1 to 4000 characters")),
    // Lists.
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "calculate"}"#, Ok(r#""t" "i" Some(["calculate"]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "[\"calculate\"]"}"#, Ok(r#""t" "i" Some(["calculate"]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": []}"#, Ok(r#""t" "i" Some([]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": {"calculate": true}}"#, Err(" at tools: it must be a list of strings, not an object")),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": true}"#, Err(" at tools: it must be a list of strings, not true")),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": [{"name": "calculate"}]}"#, Err(" at tools[0]: it must be a string, not an object")),
    ("agent_create_plan", r#"{"objective": "o", "requested_outputs": "a report"}"#, Ok(r#""o" AutoExecute ["a report"]"#)),
    ("agent_create_plan", r#"{"objective": "o", "requested_outputs": [1]}"#, Ok(r#""o" AutoExecute ["1"]"#)),
    // Objects.
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": {"type": "object", "a": 1}}"#, Ok(r#""t" "i" None Some("{\"type\": \"object\", \"a\": 1}")"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": "{\"type\": \"object\"}"}"#, Ok(r#""t" "i" None Some("{\"type\":\"object\"}")"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": "a table"}"#, Err(" at output_schema: it must be an object: a JSON Schema")),
    // The arguments within something else.
    ("calculate", "```json\n{\"expression\": \"1 + 1\"}\n```", Ok("2")),
    ("calculate", "```{\"expression\": \"1 + 1\"}```", Ok("2")),
    ("calculate", r#""{\"expression\": \"1 + 1\"}""#, Ok("2")),
    ("calculate", r#"{"arguments": {"expression": "1 + 1"}}"#, Ok("2")),
    ("calculate", r#"{"name": "calculate", "parameters": {"expression": "1 + 1"}}"#, Ok("2")),
    ("calculate", r#"{"type": "object", "properties": {"expression": "1 + 1"}}"#, Ok("2")),
    ("calculate", r#"{"properties": {"expression": {"type": "string"}}}"#, Err(" at expression: it must be a string, not an object")),
    ("calculate", r#"[{"expression": "1 + 1"}]"#, Err(": they must be a JSON object")),
    ("calculate", r#""1 + 1""#, Err(": they must be a JSON object")),
    ("calculate", "42", Err(": they must be a JSON object")),
    // No JSON.
    ("calculate", r#"{"expression": "1 + 1""#, Err(": not valid JSON: it ends before it is complete")),
    ("calculate", r#"{"expression": "1 + "#, Err(": not valid JSON: it ends before it is complete")),
    ("calculate", "{'expression': '1 + 1'}", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{expression: 1}", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "1 + 1", Err(": not valid JSON from line 1, character 3 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", r#"{"expression": "1 + 1",}"#, Err(": not valid JSON from line 1, character 24 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{\"expression\": \"1 + 1\"} I will now wait.", Err(": not valid JSON from line 1, character 25 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{\"expression\": \"1\"}\n{\"expression\": \"2\"}", Err(": not valid JSON from line 2, character 1 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    // What a tool itself refuses, in words as well.
    ("calculate", r#"{"expression": "two plus two"}"#, Err(r#"!this cannot be calculated: "two" is neither a number nor a function that is known here"#)),
    ("calculate", r#"{"expression": ""}"#, Err("!this cannot be calculated: it ends where a number is expected")),
    ("run_subtask", r#"{"title": " ", "instructions": "i"}"#, Err(" at title: it must not be blank")),
];

// feature: files
const FILES: &[Call] = &[
    ("write_file", r#"{"path": "n.txt", "content": 12}"#, Ok(r#"wrote 2 bytes to "n.txt""#)),
    ("write_file", r#"{"path": "n.json", "content": {"a": 1}}"#, Err(" at content: it must be a string, not an object")),
    ("edit_file", r#"{"path": "notes.md", "old": "one", "new": "1"}"#, Err(r#" at new_text: it is missing; it must be a string; there is no member "new", "old""#)),
    ("read_file", r#"{"path": "notes.md", "fromLine": 3}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"Path": "notes.md", "from-line": "3"}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("edit_file", r#"{"path": "notes.md", "oldText": "", "newText": "1"}"#, Err("!old_text must not be empty, and new_text must be another text")),
    ("read_file", r#"{"path": "notes.md", "encoding": "utf-8"}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("read_file", r#"{"path": "notes.md", "from_line": null, "lines": null}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("read_file", r#"{"path": "notes.md", "from_line": "", "lines": "None"}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("list_files", r#"{"folder": null}"#, Ok("notes.md (14 bytes)")),
    ("list_files", r#"{"folder": ""}"#, Ok("notes.md (14 bytes)")),
    ("read_file", r#"{"path": "notes.md", "from_line": "2", "lines": "1"}"#, Ok("!\ntwo\n</file_content>\n[lines 2 to 2 of 3, read on from line 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": " 3 "}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": 3.0}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": "3.0"}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": 2.5}"#, Err(" at from_line: it must be a whole number of at least 1, not 2.5")),
    ("read_file", r#"{"path": "notes.md", "from_line": 0}"#, Err(" at from_line: it must be a whole number of at least 1, not 0")),
    ("read_file", r#"{"path": "notes.md", "from_line": "-1"}"#, Err(" at from_line: it must be a whole number of at least 1, not -1")),
    ("read_file", r#"{"path": "notes.md", "from_line": "two"}"#, Err(r#" at from_line: it must be a whole number of at least 1, not "two""#)),
    ("read_file", r#"{"path": "notes.md", "lines": true}"#, Err(" at lines: it must be a whole number of at least 1, not true")),
    ("read_file", r#"{"path": "notes.md", "lines": [1, 2]}"#, Err(" at lines: it must be a whole number of at least 1, not a list")),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": "true"}"#, Err(r#"!"notes.md" is there and was not read here"#)),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": "yes"}"#, Err(r#" at replace_all: it must be true or false, not "yes""#)),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": 1}"#, Err(" at replace_all: it must be true or false, not 1")),
];
// end

// feature: web
const WEB: &[Call] = &[
    ("fetch_page", r#"{"link": "https://example.com/"}"#, Err(r#" at url: it is missing; it must be a string; there is no member "link""#)),
    ("fetch_page", r#"{"url": "https://example.com/", "method": "GET", "headers": {}}"#, Ok("!https://example.com/")),
    ("web_search", r#"{"query": "pears", "site": "example.com"}"#, Err("!the search service answered with something that is no list of results; try again later")),
    ("fetch_page", r#"{"url": "https://example.com/", "from": null, "render": null}"#, Ok("!https://example.com/")),
    ("fetch_page", r#"{"url": "https://example.com/", "from": "0"}"#, Ok("!https://example.com/")),
    ("fetch_page", r#"{"url": "https://example.com/", "from": -1}"#, Err(" at from: it must be a whole number of at least 0, not -1")),
    ("fetch_page", r#"{"url": "https://example.com/", "render": "false"}"#, Ok("!https://example.com/")),
    ("fetch_page", r#"{"url": "https://example.com/", "render": "False"}"#, Ok("!https://example.com/")),
];
// end

// feature: knowledge
const KNOWLEDGE: &[Call] = &[
    ("remember", r#"{"content": 7}"#, Ok("remembered as call_1")),
    ("forget", "{}", Err(" at id: it is missing; it must be a string")),
    ("recall", r#"{"user": "ada"}"#, Ok("nothing is remembered yet")),
    ("recall", r#"{"query": null, "limit": null}"#, Ok("nothing is remembered yet")),
    ("recall", r#"{"query": "", "limit": "null"}"#, Ok("nothing is remembered yet")),
    ("search_collection", r#"{"query": "x", "collection_id": null}"#, Ok("no passage has these words; try others")),
    ("search_collection", r#"{"query": "x", "collection_id": ""}"#, Ok("no passage has these words; try others")),
    ("recall", r#"{"limit": "5"}"#, Ok("nothing is remembered yet")),
    ("recall", r#"{"limit": 0}"#, Err(" at limit: it must be a whole number of at least 1, not 0")),
    ("recall", r#"{"limit": 5000000000}"#, Err(": they are not what the tool takes")),
    ("search_collection", r#"{"query": "x", "limit": "100"}"#, Ok("no passage has these words; try others")),
    ("recall", r#"{"input": {"limit": 3}}"#, Ok("nothing is remembered yet")),
];
// end

// feature: projects
const PROJECTS: &[Call] = &[
    ("update_task", r#"{"status": "done"}"#, Err(" at task_id: it is missing; it must be a string")),
    ("list_projects", r#"{"limit": 10}"#, Ok(r#"{"projects":[]}"#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": null}"#, Ok(r#"!"template_id""#)),
    ("list_tasks", r#"{"project_id": "p", "status": "In Progress"}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": "DONE"}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": ""}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": "finished"}"#, Err(r#" at status: it must be one of "open", "in_progress", "done", not "finished""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": {"title": "Pack"}}"#, Ok(r#"!"template_id""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": [{"title": "Pack", "blocked_by": null, "done": false}]}"#, Ok(r#"!"template_id""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": ["Pack"]}"#, Err(r#" at tasks[0]: it must be an object, not "Pack""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": [{"name": "Pack"}]}"#, Err(r#" at tasks[0].title: it is missing; it must be a string; there is no member "name""#)),
];
// end
