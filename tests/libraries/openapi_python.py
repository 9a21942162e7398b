"""A client that `openapi-python-client` of PyPI makes of the service's own description, by its defaults."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import CASE, INSTRUCTIONS, KEY, SAID, collect, play

DIRECTORY = tempfile.mkdtemp()
sys.path.insert(0, DIRECTORY)
subprocess.run(
    [Path(sys.executable).with_name("openapi-python-client"), "generate", "--url", CASE["service"] + "/openapi.json",
     "--output-path", f"{DIRECTORY}/espalier", "--meta", "none"],
    check=True, capture_output=True, cwd=DIRECTORY,
)
from espalier import AuthenticatedClient  # noqa: E402
from espalier.api.chat import chat as ask  # noqa: E402
from espalier.api.threads import messages, threads  # noqa: E402
from espalier.models import ChatRequest, Problem  # noqa: E402

client = AuthenticatedClient(base_url=CASE["service"], token=KEY)


def say(content):
    """The events of a turn. The generator knows no streams, so the program reads one with the request that it makes."""
    request = ask._get_kwargs(body=ChatRequest(content=content, instructions=INSTRUCTIONS))
    with client.get_httpx_client().stream(**request) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data:"):
                yield json.loads(line[5:])


def chunks(events):
    return (event["content"] for event in events if event["type"] == "chunk")


def plain():
    events = list(say(SAID["plain"]))
    stored = messages.sync(events[0]["thread_id"], client=client).messages[-1]
    assert stored.content == "".join(chunks(events)), stored
    return stored.content


def streamed():
    return collect(chunks(say(SAID["streamed"])))


def unauthorized():
    problem = threads.sync(client=AuthenticatedClient(base_url=CASE["service"], token="espk_wrong"))
    assert isinstance(problem, Problem), problem
    return {"error": type(problem).__name__, "status": problem.status, "message": problem.detail}


play(plain=plain, streamed=streamed, unauthorized=unauthorized)
