"""`litellm` of PyPI, over Chat Completions."""

import json

from litellm import completion
from common import BASE, INSTRUCTIONS, KEY, MODEL, SAID, TOO_LONG, Answer, collect, play, refusal


def ask(content, key=KEY, system=INSTRUCTIONS, **more):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": content}]
    return completion(model=f"openai/{MODEL}", api_base=BASE, api_key=key, messages=messages, **more)


def plain():
    return ask(SAID["plain"]).choices[0].message.content


def streamed():
    return collect(chunk.choices[0].delta.content or "" for chunk in ask(SAID["streamed"], stream=True))


def structured():
    return json.loads(ask(SAID["structured"], response_format=Answer).choices[0].message.content)


def unauthorized():
    return refusal(lambda: ask("Hello", key="espk_wrong"))


def too_long():
    return refusal(lambda: ask("Hello", system=TOO_LONG))


play(plain=plain, streamed=streamed, structured=structured, unauthorized=unauthorized, tooLong=too_long)
