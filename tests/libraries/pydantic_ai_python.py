"""`pydantic-ai` of PyPI."""

import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from common import (
    BASE, INSTRUCTIONS, KEY, MODEL, SAID, TOO_LONG, Answer, Email, Literal, Optional, Seats, Trip, book, collect,
    play, refusal, taken,
)

MODELS = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


def model(key=KEY):
    return MODELS[sys.argv[1]](MODEL, provider=OpenAIProvider(base_url=BASE, api_key=key))


agent = Agent(model(), instructions=INSTRUCTIONS)


@agent.tool_plain
def book_trip(
    to: Email, note: Optional[str], kind: Literal["train", "boat"], stop: tuple[str, float],
    remark: Optional[str] = None, seats: Seats = 1,
) -> str:
    """Books a trip."""
    return book(Trip(to=to, note=note, kind=kind, stop=stop, remark=remark, seats=seats))


conversation = []


def turn(text):
    result = agent.run_sync(text, message_history=conversation)
    conversation[:] = result.all_messages()
    return result.output


def plain():
    return agent.run_sync(SAID["plain"]).output


def streamed():
    return collect(agent.run_stream_sync(SAID["streamed"]).stream_text(delta=True, debounce_by=None))


def tool():
    return {"text": turn(SAID["tool"]), "calls": taken()}


def streamed_calls():
    return {"text": "".join(agent.run_stream_sync(SAID["streamedCalls"]).stream_text(delta=True)), "calls": taken()}


def second():
    return turn(SAID["second"])


def unauthorized():
    return refusal(lambda: Agent(model("espk_wrong")).run_sync("Hello"))


def too_long():
    return refusal(lambda: Agent(model(), instructions=TOO_LONG).run_sync("Hello"))


def structured():
    answers = Agent(model(), instructions=INSTRUCTIONS, output_type=Answer)
    return answers.run_sync(SAID["structured"]).output.model_dump()


play(plain=plain, streamed=streamed, tool=tool, second=second, streamedCalls=streamed_calls,
     unauthorized=unauthorized, tooLong=too_long, structured=structured)
