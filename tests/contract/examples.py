"""Plays the example of each operation in openapi.json, with the ids of real things in it, and compares the answer with the
document: its status, its type and its form. Run by `scripts/contract`."""

import copy
import json
import sys

import jsonschema_rs
import requests

from hooks import KEY, URL, check_events, data_for, to_be_erased


def mark(owner, member):
    """Has the fake model answer this message."""
    owner[member] += " [[fake:contract-hello]]"


# The members of bodies that name something real. Everything else is sent as the document has it.
REAL = {
    "Session": lambda body, known: body.update(key=KEY["authorization"].removeprefix("Bearer ")),
    "Chat": lambda body, known: mark(body, "content"),
    "AiSdkChat": lambda body, known: mark(body["messages"][-1]["parts"][-1], "text"),
    "ChatCompletion": lambda body, known: mark(body["messages"][-1], "content"),
    "CreateResponse": lambda body, known: mark(body, "input"),
    "ToolResults": lambda body, known: body.update(tool_call_id=known["call"]),
    "ContinueSession": lambda body, known: body.update(continue_token=known["token"]),
}

# The operations that this instance refuses, and the status: it takes API keys, tokens of no issuer, and nobody's word for who
# somebody is.
REFUSED = {"ProtectedResource": "404", "ProtectedMcp": "404", "StartSignIn": "404", "EndOfSignIn": "404"}


def example(method, path, operation, media, content):
    """The arguments of the example's request."""
    known = data_for(operation["operationId"])
    query, headers = {}, dict(KEY)
    if operation["operationId"] == "EraseMe":
        headers = to_be_erased()
    for parameter in operation.get("parameters", []):
        name, place = parameter["name"], parameter["in"]
        if place == "path":
            path = path.replace(f"{{{name}}}", str(known.get(name, parameter["example"])))
        elif "example" in parameter:
            {"query": query, "header": headers}[place][name] = str(known.get(name, parameter["example"]))
    arguments = {"method": method, "url": URL + path, "params": query, "headers": headers}
    if content is None:
        return arguments
    body = copy.deepcopy(content["example"])
    if operation["operationId"] in REAL:
        REAL[operation["operationId"]](body, known)
    if media == "application/json":
        body = json.dumps(body)
    headers["content-type"] = media
    return arguments | {"data": body.encode()}


def problem(path, operation, response, document):
    """How the answer differs from the document; None if it does not."""
    status = str(response.status_code)
    said = f"{status} {response.text[:300]}"
    refusal = REFUSED.get(operation["operationId"])
    is_expected = status == refusal if refusal else response.ok
    if not is_expected or status not in operation["responses"]:
        return said
    promised = operation["responses"][status]
    if "$ref" in promised:
        promised = document["components"]["responses"][promised["$ref"].rsplit("/", 1)[1]]
    content = promised.get("content")
    if not content:
        return f"a body: {said}" if response.content else None
    media = response.headers.get("content-type", "").split(";")[0]
    if media not in content:
        return f"{media} instead of {', '.join(content)}"
    if not response.content:
        return f"no body: {said}"
    try:
        if media == "text/event-stream":
            check_events(path, response, document)
        elif media.endswith(("/json", "+json")):
            schema = {"allOf": [content[media]["schema"]], "components": document["components"]}
            jsonschema_rs.validator_for(schema).validate(response.json())
    except (AssertionError, jsonschema_rs.ValidationError) as error:
        return f"{error}: {said}"
    return None


def main():
    document = requests.get(f"{URL}/openapi.json", timeout=30).json()
    played, problems = 0, []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            bodies = operation.get("requestBody", {}).get("content", {None: None})
            for media, content in bodies.items():
                response = requests.request(**example(method.upper(), path, operation, media, content), timeout=30)
                found = problem(path, operation, response, document)
                played += 1
                if found:
                    problems.append(f"{operation['operationId']}: {method.upper()} {response.url}: {found}")
    print(f"{played} examples of {sum(map(len, document['paths'].values()))} operations were played.")
    for found in problems:
        print(found, file=sys.stderr)
    return 1 if problems or not played else 0


sys.exit(main())
