"""`langchain` and `langchain-openai` of PyPI: `chat` over Chat Completions, `responses` over Responses."""

import sys

from langchain.agents import create_agent
from langchain.tools import tool as as_tool
from langchain_openai import ChatOpenAI
from common import BASE, INSTRUCTIONS, KEY, MODEL, SAID, TOO_LONG, Answer, Trip, book, collect, play, refusal, taken

given = {"use_responses_api": True} if sys.argv[1] == "responses" else {}
model = ChatOpenAI(model=MODEL, base_url=BASE, api_key=KEY, **given)


@as_tool("book_trip", args_schema=Trip, description="Books a trip.")
def book_trip(**arguments):
    return book(Trip(**arguments))


agent = create_agent(model, tools=[book_trip], system_prompt=INSTRUCTIONS)
conversation = []


def ask(text, instructions=INSTRUCTIONS):
    return [("system", instructions), ("user", text)]


def turn(text):
    conversation.append({"role": "user", "content": text})
    conversation[:] = agent.invoke({"messages": conversation})["messages"]
    return conversation[-1].text


def plain():
    return model.invoke(ask(SAID["plain"])).text


def streamed():
    return collect(chunk.text for chunk in model.stream(ask(SAID["streamed"])))


def tool():
    return {"text": turn(SAID["tool"]), "calls": taken()}


def streamed_calls():
    messages = [("user", SAID["streamedCalls"])]
    chunks = agent.stream({"messages": messages}, stream_mode="messages")
    text = "".join(message.text for message, _ in chunks if message.type == "AIMessageChunk")
    return {"text": text, "calls": taken()}


def second():
    return turn(SAID["second"])


def unauthorized():
    wrong = ChatOpenAI(model=MODEL, base_url=BASE, api_key="espk_wrong", **given)
    return refusal(lambda: wrong.invoke("Hello"))


def too_long():
    return refusal(lambda: model.invoke(ask("Hello", TOO_LONG)))


def structured():
    return model.with_structured_output(Answer).invoke(ask(SAID["structured"])).model_dump()


def structured_agent():
    answers = create_agent(model, tools=[], system_prompt=INSTRUCTIONS, response_format=Answer)
    return answers.invoke({"messages": [("user", SAID["structuredAgent"])]})["structured_response"].model_dump()


play(plain=plain, streamed=streamed, tool=tool, second=second, streamedCalls=streamed_calls, unauthorized=unauthorized,
     tooLong=too_long, structured=structured, structuredAgent=structured_agent)
