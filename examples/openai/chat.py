"""A chat at the terminal with OpenAI's library, and a tool that runs here:
OPENAI_BASE_URL=http://localhost:8787/v1 OPENAI_API_KEY=espk_… python chat.py"""

import json
import sys

from openai import OpenAI

client = OpenAI()
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "description": "Tells the weather in a city.", "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": TOOL}]

messages = []
for line in sys.stdin:
    messages.append({"role": "user", "content": line.strip()})
    while True:
        answer = client.chat.completions.create(model="espalier", messages=messages, tools=TOOLS)
        message = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        # The turn waits for the results, and goes on with them.
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            result = {"role": "tool", "tool_call_id": call.id, "content": f"It rains in {city}."}
            messages.append(result)
    print(message.content or message.refusal, flush=True)
