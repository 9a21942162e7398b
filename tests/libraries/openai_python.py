"""`openai` of PyPI, over Chat Completions."""

import json

import openai
from openai import OpenAI
from common import BASE, INSTRUCTIONS, KEY, MODEL, SAID, TOO_LONG, Answer, Trip, book, collect, play, refusal, taken

client = OpenAI(base_url=BASE, api_key=KEY)
tools = [openai.pydantic_function_tool(Trip, name="book_trip", description="Books a trip.")]
messages = []


def ask(text, instructions=INSTRUCTIONS):
    return [{"role": "system", "content": instructions}, {"role": "user", "content": text}]


def plain():
    return client.chat.completions.create(model=MODEL, messages=ask(SAID["plain"])).choices[0].message.content


def streamed():
    with client.chat.completions.stream(model=MODEL, messages=ask(SAID["streamed"])) as stream:
        return collect(event.delta for event in stream if event.type == "content.delta")


def loop(messages, complete):
    """Runs the tool until the model has an answer."""
    while True:
        answer = complete(model=MODEL, messages=messages, tools=tools).choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            return {"calls": taken(), "text": answer.content}
        for call in answer.tool_calls:
            result = book(call.function.parsed_arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def stream_complete(**given):
    with client.chat.completions.stream(**given) as stream:
        return stream.get_final_completion()


def tool():
    messages.extend(ask(SAID["tool"]))
    return loop(messages, client.chat.completions.parse)


def streamed_calls():
    return loop(ask(SAID["streamedCalls"]), stream_complete)


def second():
    messages.append({"role": "user", "content": SAID["second"]})
    return client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message.content


def unauthorized():
    wrong = OpenAI(base_url=BASE, api_key="espk_wrong")
    return refusal(lambda: wrong.chat.completions.create(model=MODEL, messages=ask("Hello")))


def too_long():
    return refusal(lambda: client.chat.completions.create(model=MODEL, messages=ask("Hello", TOO_LONG)))


def structured():
    completion = client.chat.completions.parse(model=MODEL, messages=ask(SAID["structured"]), response_format=Answer)
    return completion.choices[0].message.parsed.model_dump()


play(plain=plain, streamed=streamed, tool=tool, second=second, streamedCalls=streamed_calls,
     unauthorized=unauthorized, tooLong=too_long, structured=structured)
