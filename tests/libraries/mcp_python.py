"""Python's libraries of the Model Context Protocol: `mcp_python.py mcp` has the protocol's own, `mcp_python.py fastmcp` FastMCP."""

import asyncio
import sys

import httpx2
from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from common import CASE, KEY, SAID, play

URL = CASE["service"] + "/mcp"
HEADERS = {"authorization": f"Bearer {KEY}"}


async def ask(message):
    """The text of the tool `chat`, and the names of all tools."""
    if sys.argv[1] == "fastmcp":
        async with FastClient(StreamableHttpTransport(URL, headers=HEADERS)) as client:
            names = [tool.name for tool in await client.list_tools()]
            return (await client.call_tool("chat", {"message": message})).content[0].text, names
    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return (await client.call_tool("chat", {"message": message})).content[0].text, names


def plain():
    text, names = asyncio.run(ask(SAID["plain"]))
    assert "chat" in names and "list_threads" in names, names
    return text


play(plain=plain)
