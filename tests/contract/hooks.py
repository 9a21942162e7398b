"""The knowledge that schemathesis lacks: real ids for its requests, rules that no schema can say, and the form of events."""

import itertools
import json
import os
import random
import re

import jsonschema_rs
import requests
import schemathesis
from schemathesis.specs.openapi.checks import RejectedPositiveData, positive_data_acceptance

URL = os.environ["ESPALIER_URL"]
FAKE = os.environ["ESPALIER_FAKE_LLM_URL"]
KEY = {"authorization": f"Bearer {os.environ['ESPALIER_CONTRACT_KEY']}"}
# With one of these revoked, every later request would be refused.
OWN_KEYS = (os.environ["ESPALIER_CONTRACT_KEY"].split("_")[1], "e2eadmin")

# Refusals of requests that the schema allows: the operation, the member that the problem names, and the reason why no
# schema can say it.
BEYOND_SCHEMAS = [
    ("Chat", r"model", "the deployment decides which models exist"),
    ("Chat", r"content(\[\d+\]\.data)?", "base64 must be a picture, and all parts together neither blank nor too large"),
    ("Chat", r"client_tools\[\d+\]\.(name|input_schema)", "names must differ, and a schema must satisfy the meta-schema"),
    ("Chat", r"replaces_message_id", "the thread must have the message"),
    ("Chat", r"if_running", "a message that replaces another one cannot wait"),
    ("Chat", r"continue|content|thread_id", "a limit must have ended the turn, which stands instead of a message and needs its thread"),
    ("Chat", r"agent", "an agent has no mode"),
    ("RestoreAgent", r"as|(agents\[\d+\]\.)*(name|instructions|heard|speakers.*|listeners.*|agents|rounds.*|hooks.*)", "no agent below is main, names differ, people are own agents, bytes are bounded, and each call needs its result"),
    ("ChangeThread", r"title|current_turn_id", "one member at a time, and the thread must have the turn"),
    ("(Put|Delete)?(Workspace)?File", r"path", "a path must have one reading only"),
    ("AiSdkChat", r"(messages|tools)(\[\d+\].*)?|system", "the newest message must be one to answer, a tool must be one of ours, and bytes are bounded"),
    ("Chat", r"instructions", "bytes are bounded"),
    ("Chat|AiSdkChat", r"response_schema|must_call(\[\d+\])?", "a schema must satisfy the meta-schema, a tool must be brought, and a plain turn alone has a shape"),
    ("Chat|AiSdkChat|ChatCompletion|CreateResponse", r"(metadata\.)?time_zone", "the platform knows the names of zones"),
    ("AiSdkChat", r"id", "its bytes are bounded"),
    ("AiSdkChat", r"model|browser_context\.tab_count", "as of Chat"),
    ("ChatCompletion|CreateResponse", r"response_format.*|text(\.format.*)?|tool_choice", "a form has a type, a schema must satisfy the meta-schema, and a function must be there"),
    ("ChatCompletion|CreateResponse", r"(messages|input|tools)(\[\d+\].*)?|instructions|model|previous_response_id|metadata\.thread_id", "as of AiSdkChat; and an answer must be there"),
    ("Chat", r"request_seq|browser_context\.tab_count", "72.0 is an integer to JSON Schema, and none to the service"),
    ("Share", r"expires_in_days", "as of request_seq"),
    ("Put(Workspace)?File", r"", "one condition at a time"),
    ("Chat", r"workflow_id", "a target needs its workflow"),
    ("PutWorkflow", r"steps(\[\d+\]\.(id|title|instructions|output_mode|review))?|name|notify\.url", "ids differ, and a plan has no other form"),
    ("ContinueSession", r"notesMarkdown|contextUpdates", "space does not count, and bytes are bounded"),
    ("PutHook", r"on|match|builtin|options(\..+)?|instructions|reads", "a built-in hook has its own options, every other one instructions and a point"),
    ("Approval", r"content(\..*)?", "the answer to a form alone has a content, and satisfies the form's schemas"),
    ("Put(Project)?Instructions", r"content", "bytes are bounded"),
    ("MintKey", r"expires_at", "it must be in the future"),
    ("AddDocument", r"", "HTML must have visible text, and JSON be JSON"),
    ("Mcp", r"", "an id is a number of 64 bits, and headers may ask for another revision"),
    ("Export|Threads|Messages|Records|AgentRounds|Bookmarks|Memories|Collections|Documents|Audit", r"cursor", "only the service makes cursors"),
]


def post(path, body):
    answer = requests.post(URL + path, json=body, headers=KEY, timeout=30)
    answer.raise_for_status()
    return answer


def say(body, *steps):
    """A turn in which the model does this; its events."""
    marker = f"contract-{next(NUMBERS)}"
    requests.post(f"{FAKE}/_fake/scripts", json={marker: {"steps": list(steps)}}, timeout=30).raise_for_status()
    body["content"] = f"Hello [[fake:{marker}]]"
    events = []
    with requests.post(f"{URL}/api/chat", json=body, headers=KEY, timeout=30, stream=True) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith(b"data:"):
                events.append(json.loads(line[5:]))
                if events[-1].get("state") == "waiting_on_user":
                    break
    return events


NUMBERS = itertools.count()
DICE = random.Random(1)
CALL = {"calls": [{"name": "calculate", "arguments": {"expression": "6*7"}}]}


def thread():
    events = say({}, CALL, {"text": ["42."]})
    return {"id": events[0]["thread_id"], "message": events[0]["user_message_id"], "turn": events[0]["turn_id"]}


def with_file():
    known = thread()
    known["path"] = "notes.md"
    requests.put(f"{URL}/api/threads/{known['id']}/files/notes.md", data=b"Hello", headers=KEY, timeout=30).raise_for_status()
    return known


def with_workspace():
    name = f"contract-{next(NUMBERS)}"
    put = requests.put(f"{URL}/api/workspaces/{name}/files/notes.md", data=b"Hello", headers=KEY, timeout=30)
    put.raise_for_status()
    return {"workspace": name, "path": "notes.md"}


def with_collection():
    # A user has at most 100: delete the oldest.
    there = requests.get(f"{URL}/api/collections?limit=200", headers=KEY, timeout=30).json()["collections"]
    for one in there[:-50]:
        requests.delete(f"{URL}/api/collections/{one['id']}", headers=KEY, timeout=30).raise_for_status()
    return {"collection": post("/api/collections", {"name": "Handbook"}).json()["id"]}


def with_document():
    known = with_collection()
    path = f"/api/collections/{known['collection']}/documents?name=guide.md"
    kind = {"content-type": "text/markdown"}
    answer = requests.post(URL + path, data=b"# Guide\n\nHello.", headers=KEY | kind, timeout=30)
    answer.raise_for_status()
    return known | {"document": answer.json()["id"]}


def with_memory():
    number = next(NUMBERS)
    call = {"name": "remember", "arguments": {"content": f"The user counts to {number}."}}
    say({"memory_enabled": True}, {"calls": [call]}, {"text": ["Noted."]})
    answer = requests.get(f"{URL}/api/memories", headers=KEY, timeout=30)
    return {"memory": next(one["id"] for one in answer.json()["memories"] if one["content"] == call["arguments"]["content"])}


def with_project():
    # A user has at most 100: delete the oldest.
    there = requests.get(f"{URL}/api/projects", headers=KEY, timeout=30).json()["projects"]
    for one in there[:-50]:
        requests.delete(f"{URL}/api/projects/{one['id']}", headers=KEY, timeout=30).raise_for_status()
    context = {"chat_context": {"context_type": "project"}}
    new = {"name": "Garden", "description": "Roses.", "template_id": "template_research"}
    making = {"chat_context": {"context_type": "project_create"}}
    say(making, {"calls": [{"name": "create_project", "arguments": new}]}, {"text": ["Made."]})
    project = requests.get(f"{URL}/api/projects", headers=KEY, timeout=30).json()["projects"][-1]["id"]
    publish = {"project_id": project, "title": "Brief", "content": "Roses."}
    say(context, {"calls": [{"name": "publish_context_document", "arguments": publish}]}, {"text": ["There."]})
    known = requests.get(f"{URL}/api/projects/{project}", headers=KEY, timeout=30).json()
    return {"project": project, "document": known["documents"][0]["id"], "task": known["tasks"][0]["id"]}


def with_sign_in():
    key = KEY["authorization"].removeprefix("Bearer ")
    requests.post(f"{URL}/api/session", json={"key": key}, timeout=30).raise_for_status()
    return {"sign_in": requests.get(f"{URL}/api/me/sessions", headers=KEY, timeout=30).json()["sessions"][0]["id"]}


def with_bookmark():
    events = say({}, {"text": ["Hello."]})
    known = {"id": events[0]["thread_id"], "message": events[0]["assistant_message_id"], "thread_id": events[0]["thread_id"]}
    path = f"{URL}/api/threads/{known['id']}/bookmarks/{known['message']}"
    requests.put(path, headers=KEY, timeout=30).raise_for_status()
    # A user has at most 1,000.
    for one in requests.get(f"{URL}/api/bookmarks?limit=200", headers=KEY, timeout=30).json()["bookmarks"][100:]:
        requests.delete(f"{URL}/api/bookmarks/{one['message_id']}", headers=KEY, timeout=30).raise_for_status()
    return known


def with_share():
    # A user has at most 100: delete the oldest.
    for one in requests.get(f"{URL}/api/shares", headers=KEY, timeout=30).json()["shares"][50:]:
        requests.delete(f"{URL}/api/shares/{one['id']}", headers=KEY, timeout=30).raise_for_status()
    known = thread()
    made = post(f"/api/threads/{known['id']}/shares", {}).json()
    return known | {"share": made["id"], "token": made["token"], "thread_id": known["id"]}


def with_agent():
    known = thread()
    name = f"agent{next(NUMBERS)}"
    post(f"/api/threads/{known['id']}/agents", {"name": name, "instructions": "Be brief."})
    return known | {"agent": name}


def the_project():
    ONCE["project"] = ONCE.get("project") or with_project()
    return ONCE["project"]


def with_hook():
    known = thread()
    hook = {"builtin": "loop_guard", "options": {"times": 9}}
    requests.put(f"{URL}/api/threads/{known['id']}/hooks/guard", json=hook, headers=KEY, timeout=30).raise_for_status()
    return known | {"hook": "guard"}


def with_chat(steps=({"text": ["Hello."]},), **body):
    """A chat of the AI SDK whose turn plays these steps."""
    name = f"contract-{next(NUMBERS)}"
    requests.post(f"{FAKE}/_fake/scripts", json={name: {"steps": list(steps)}}, timeout=30).raise_for_status()
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": f"Hello [[fake:{name}]]"}]}
    post("/api/ai-sdk/chat", {"id": name, "messages": [message], **body})
    return {"chat": name}


def with_waiting_chat():
    tool = {"name": "getWeather", "description": "Tells it.", "inputSchema": {"type": "object"}}
    return with_chat([{"calls": [{"name": "ui_get_weather", "arguments": {}}]}, {"text": ["Done."]}], tools=[tool])


def with_workflow():
    name = f"contract-{next(NUMBERS)}"
    # A user has at most 100: delete the oldest.
    there = requests.get(f"{URL}/api/workflows", headers=KEY, timeout=30).json()["workflows"]
    for one in [one for one in there if not one["built_in"]][50:]:
        requests.delete(f"{URL}/api/workflows/{one['workflow_id']}", headers=KEY, timeout=30).raise_for_status()
    definition = {"name": "A procedure", "steps": [{"id": "a", "title": "A", "instructions": "Do it."}]}
    put = requests.put(f"{URL}/api/workflows/{name}", json=definition, headers=KEY, timeout=30)
    put.raise_for_status()
    return {"workflow": name}


def with_session():
    known = with_workflow()
    started = post(f"/api/workflows/{known['workflow']}/sessions", {}).json()
    return known | {"session": started["session_id"], "id": started["thread_id"], "token": started["continue_token"]}


def mark(messages):
    """Has the fake model answer a conversation. A turn that fails is an error of that route, as the client expects it."""
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            message["content"] = f"{content} [[fake:contract-hello]]"
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                part["text"] = f"{part['text']} [[fake:contract-hello]]"


requests.post(f"{FAKE}/_fake/scripts", json={"contract-hello": {"steps": [{"text": ["Hello."]}]}}, timeout=30).raise_for_status()


def with_response(steps=({"text": ["Hello."]},), **body):
    """A response of OpenAI's Responses whose turn plays these steps."""
    name = f"contract-{next(NUMBERS)}"
    requests.post(f"{FAKE}/_fake/scripts", json={name: {"steps": list(steps)}}, timeout=30).raise_for_status()
    answer = post("/v1/responses", {"input": f"Hello [[fake:{name}]]", **body})
    return {"response": answer.json()["id"]}


def everything():
    others = {"approval": "ui_erase", "hook": "guard", "provider": "acme"}
    return with_workspace() | with_document() | with_file() | others


MCP_CALLS = [
    {"name": "chat", "arguments": {"message": "Hello [[fake:contract-hello]]"}},
    {"name": "list_threads", "arguments": {"limit": 3}},
    {"name": "read_thread", "arguments": {"thread_id": "nonsense"}},
    {"name": "list_workflows"},
]


def waiting(tool):
    declared = {"name": tool, "description": "Does it.", "input_schema": {"type": "object"}}
    body = {"chat_context": {"kind": "editor"}, "client_tools": [declared]}
    events = say(body, {"calls": [{"name": tool, "arguments": {}}]}, {"text": ["Done."]})
    asked = next(event for event in events if "tool_call_id" in event)
    return {"id": events[0]["thread_id"], "call": asked["tool_call_id"], "approval": asked.get("approval_id")}


def queued():
    known = waiting("ui_open")
    answer = post("/api/chat", {"thread_id": known["id"], "content": "Hello", "if_running": "queue"})
    return known | {"message": answer.json()["messages"][-1]["id"]}


def to_be_erased():
    """A user of their own, by their key."""
    key = post("/api/keys", {"name": "to be erased", "scopes": ["erase"]}).json()["key"]
    return {"authorization": f"Bearer {key}"}


def with_erasure():
    answer = requests.delete(f"{URL}/api/me", json={"confirm": "erase"}, headers=to_be_erased(), timeout=30)
    answer.raise_for_status()
    return {"receipt": answer.json()["receipt"]}


# The data of each operation: made once, or each time where the operation uses it up.
ONCE = {}
MAKE = {
    "Response": with_response,
    "CancelResponse": with_response,
    "AiSdkStream": with_waiting_chat,
    "AiSdkCancel": with_waiting_chat,
    "DeleteThread": thread,
    "ToolResults": lambda: waiting("ui_open"),
    "Approval": lambda: waiting("ui_erase"),
    "Bookmarks": with_bookmark,
    "PutBookmark": with_bookmark,
    "DeleteBookmark": with_bookmark,
    "Hooks": with_hook,
    "DeleteHook": with_hook,
    "Queue": queued,
    "HoldQueue": queued,
    "EditQueued": queued,
    "RemoveQueued": queued,
    "EndSignIn": with_sign_in,
    "Erasure": with_erasure,
    "Share": with_share,
    "Shares": with_share,
    "RevokeShare": with_share,
    "Shared": with_share,
    "SharedPage": with_share,
    "Agents": with_agent,
    "RestoreAgent": thread,
    "AgentRounds": with_agent,
    "DumpAgent": with_agent,
    "EndAgent": with_agent,
    "DeleteFile": with_file,
    "DeleteWorkspace": with_workspace,
    "DeleteWorkspaceFile": with_workspace,
    "DeleteCollection": with_collection,
    "DeleteDocument": with_document,
    "ForgetMemory": with_memory,
    "Project": the_project,
    "ProjectInstructions": the_project,
    "PutProjectInstructions": the_project,
    "ChangeProject": the_project,
    "ChangeTask": the_project,
    "ProjectDocument": the_project,
    "ChangeProjectDocument": the_project,
    "DeleteProject": with_project,
    "DeleteTask": with_project,
    "DeleteProjectDocument": with_project,
    "Workflow": with_workflow,
    "PutWorkflow": with_workflow,
    "DeleteWorkflow": with_workflow,
    "StartSession": with_workflow,
    "ContinueSession": with_session,
    "EndSession": with_session,
    # Lists that would otherwise be empty.
    "Memories": with_memory,
    "RevokeKey": lambda: {"prefix": post("/api/keys", {"name": "to be revoked"}).json()["prefix"]},
}


def data_for(name):
    """The ids of data that is there for an operation."""
    if name in MAKE:
        return MAKE[name]()
    ONCE["everything"] = ONCE.get("everything") or everything()
    return ONCE["everything"]


def is_sent_empty(value):
    """Whether nothing stands behind the name of a parameter in a query: an empty text, a list of such, or an object, of which
    the names are sent."""
    return value == "" or isinstance(value, (dict, list)) and all(map(is_sent_empty, value))


@schemathesis.hook
def filter_case(context, case):
    """What is sent as text is text: no type is the wrong one there. An empty value in a query or a header is the same as
    none."""
    if any(map(is_sent_empty, (case.query or {}).values())):
        return False
    if "" in (case.headers or {}).values():
        return False
    return not (case.media_type or "").startswith("text/") or not isinstance(case.body, (dict, list, int, float, type(None)))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Three of four requests that are in order ask for something that is there."""
    name = case.operation.definition.raw["operationId"]
    # Schemathesis uses again what it read, such as the prefix of its own key, and of the key that minted it.
    if name == "RevokeKey" and case.path_parameters["prefix"] in OWN_KEYS:
        case.path_parameters |= MAKE[name]()
    in_order = case.meta is not None and case.meta.generation.mode.is_positive
    # Each new name makes another workspace, and there are at most 100.
    if not in_order or (name != "PutWorkspaceFile" and DICE.random() < 0.25):
        return
    known = data_for(name)
    for parameter in case.path_parameters or {}:
        # Another file half of the time, until the workspace is full.
        if parameter != "path" or not name.startswith("Put") or DICE.random() < 0.5:
            case.path_parameters[parameter] = known[parameter]
    if name == "Erasure":
        case.query["receipt"] = known["receipt"]
    if name == "Session" and isinstance(case.body, dict) and DICE.random() < 0.5:
        case.body["key"] = os.environ["ESPALIER_CONTRACT_KEY"]
    if name == "SearchCollection" and DICE.random() < 0.5:
        case.query["q"] = "hello"
    zone = case.body.get("time_zone") if isinstance(case.body, dict) else None
    if isinstance(zone, str) and len(zone) <= 64 and DICE.random() < 0.75:
        case.body["time_zone"] = "Europe/Berlin"
    if name == "AiSdkChat" and isinstance(case.body, dict) and DICE.random() < 0.5:
        case.body["messages"] = [{"id": "m", "role": "user", "parts": [{"type": "text", "text": " "}]}]
    if name == "ChatCompletion" and isinstance(case.body, dict):
        if DICE.random() < 0.5:
            case.body["messages"] = [{"role": "user", "content": "Hello"}]
        mark(case.body.get("messages"))
    if name == "CreateResponse" and isinstance(case.body, dict) and DICE.random() < 0.5:
        case.body["input"] = "Hello"
    if name == "Mcp" and isinstance(case.body, dict) and DICE.random() < 0.75:
        case.body["method"] = DICE.choice(["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read"])
        if case.body["method"] == "tools/call":
            case.body["params"] = DICE.choice(MCP_CALLS)
    if name == "ToolResults" and isinstance(case.body, dict):
        case.body["tool_call_id"] = known["call"]
    if name == "ContinueSession" and isinstance(case.body, dict) and DICE.random() < 0.5:
        case.body["continue_token"] = known["token"]


@schemathesis.check
def a_problem_has_a_code_of_its_answer(ctx, response, case):
    """The document has one schema for all problems, and the codes of each answer beside it."""
    document, promised = case.operation.schema.raw_schema, case.operation.definition.raw["responses"].get(str(response.status_code))
    if not promised or "$ref" not in promised or not response.content:
        return None
    codes = document["components"]["responses"][promised["$ref"].rsplit("/", 1)[1]].get("x-codes")
    problem = response.json()
    code = problem.get("code") or problem.get("error", {}).get("code")
    assert not codes or code in codes, f"{code} is none of {codes}"
    assert "status" not in problem or problem["status"] == response.status_code, problem
    return None


@schemathesis.check
def what_the_schema_allows_is_accepted(ctx, response, case):
    try:
        return positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        problem = response.json()
        field = problem.get("field") or problem.get("error", {}).get("param") or ""
        name = case.operation.definition.raw["operationId"]
        if response.status_code == 400 and any(
            re.fullmatch(operation, name) and re.fullmatch(member, field) for operation, member, _ in BEYOND_SCHEMAS
        ):
            return None
        raise


@schemathesis.check
def events_are_what_the_document_says(ctx, response, case):
    if "text/event-stream" in response.headers.get("content-type", [""])[0]:
        check_events(case.operation.path, response, case.operation.schema.raw_schema)


def check_events(path, response, document):
    if "x-vercel-ai-ui-message-stream" in response.headers:
        assert response.content.endswith(b"data: [DONE]\n\n"), "a stream without its end"
        return
    if path == "/mcp":
        data = [json.loads(line[6:]) for line in response.content.decode().split("\n") if line.startswith("data: ")]
        assert data and data[-1].keys() & {"result", "error"}, "a stream without a response"
        return
    if path.startswith("/v1/"):
        data = [line[6:] for line in response.content.decode().split("\n") if line.startswith("data: ")]
        assert data and all(line == "[DONE]" or json.loads(line) for line in data), "a stream without events"
        return
    schemas = document["components"]["schemas"]
    event = {**schemas["Numbered"], "components": {"schemas": schemas}}
    validator = ONCE.setdefault("validator", jsonschema_rs.validator_for(event))
    frames = [frame for frame in response.content.decode().split("\n\n") if "data:" in frame]
    assert frames, "a stream without events"
    for frame in frames:
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        data = json.loads(fields["data"])
        validator.validate(data)
        assert (fields["event"], fields["id"]) == (data["type"], str(data["seq"])), frame
