"""httpx, which leaves in the middle of the turn and reads on with Last-Event-ID. `tests/e2e/clients.rs` judges its report."""

import json
import os

import httpx


def frames(response):
    response.raise_for_status()
    fields = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, value = line.split(": ", 1)
            fields[name] = value
        elif fields:
            event = json.loads(fields["data"])
            assert (str(event["seq"]), event["type"]) == (fields["id"], fields["event"]), fields
            yield event
            fields = {}


with httpx.Client(base_url=os.environ["ESPALIER_URL"], timeout=60) as client:
    # The client keeps the cookie, as a browser does.
    client.post("/api/session").raise_for_status()
    with client.stream("POST", "/api/chat", json={"content": os.environ["CLIENT_CONTENT"]}) as response:
        events = []
        for event in frames(response):
            events.append(event)
            if event["type"] == "chunk":
                break
    body = {"barrier": os.environ["CLIENT_BARRIER"]}
    httpx.post(f"{os.environ['ESPALIER_FAKE_LLM_URL']}/_fake/release", json=body).raise_for_status()
    thread, last = events[0]["thread_id"], events[-1]["seq"]
    headers = {"last-event-id": str(last)}
    with client.stream("GET", f"/api/threads/{thread}/stream", headers=headers) as response:
        events.extend(frames(response))
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    print(json.dumps({"cookie": cookie, "events": events}))
