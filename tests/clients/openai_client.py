"""OpenAI's own library (`openai` of PyPI): a tool of the client in both APIs, the helper for streams, a response that is read
on. `tests/e2e/openai.rs` judges its report."""

import json
import os
from typing import Literal

import httpx
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

CASE = json.loads(os.environ["CLIENT_CASE"])
client = OpenAI(base_url=os.environ["ESPALIER_URL"] + "/v1", api_key=os.environ["CLIENT_KEY"])
MODEL = "espalier"


class Weather(BaseModel):
    city: str
    unit: Literal["c", "f"] | None
    stop: tuple[str, int]


TOOL = pydantic_function_tool(Weather, name="getWeather", description="Tells the weather.")


def completion():
    messages = [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": CASE["chat"]}]
    tools = [TOOL]
    answer = client.chat.completions.parse(model=MODEL, messages=messages, tools=tools)
    call = answer.choices[0].message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "It rains."}
    messages += [answer.choices[0].message, result]
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as stream:
        for _ in stream:
            pass
        last = stream.get_final_completion()
    return {"name": call.function.name, "arguments": call.function.parsed_arguments.model_dump(), "text": last.choices[0].message.content}


def response():
    with client.responses.stream(model=MODEL, input=CASE["respond"]) as stream:
        kinds = [event.type for event in stream]
        last = stream.get_final_response()
    return {"kinds": kinds, "text": last.output_text, "status": last.status, "total": last.usage.total_tokens}


def background():
    begun = client.responses.create(model=MODEL, input=CASE["background"], background=True)
    first = []
    for event in client.responses.retrieve(begun.id, stream=True):
        first.append(event)
        if event.type == "response.output_text.delta":
            break
    rest = client.responses.retrieve(begun.id, stream=True, starting_after=first[-1].sequence_number)
    body = {"barrier": os.environ["CLIENT_BARRIER"]}
    httpx.post(f"{os.environ['ESPALIER_FAKE_LLM_URL']}/_fake/release", json=body).raise_for_status()
    rest = list(rest)
    deltas = [event.delta for event in first + rest if event.type == "response.output_text.delta"]
    return {"status": begun.status, "text": "".join(deltas), "last": rest[-1].response.output_text}


print(json.dumps({"completion": completion(), "response": response(), "background": background()}))
