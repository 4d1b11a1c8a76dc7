"""Tool server as a separate program, built with the same library, that misbehaves on request.

`python -m tests.fakes.tool_server [garbage|silent|wrong|nonsense|unset]`: prints invalid messages; never answers;
offers tools that no model accepts; answers everything with the same nonsense; lacks a setting, says so, and ends.
"""

import json
import os
import sys
import time
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

server = MCPServer("fake")
_OUTPUT = os.dup(1)
"""Descriptor of the messages: the library redirects descriptor 1, for printed text."""


@server.tool()
def echo(text: str) -> str:
    """Say what was said."""
    return f"echo: {text}"


@server.tool()
def environment() -> str:
    """Name the variables of the environment."""
    return " ".join(sorted(os.environ))


@server.tool()
def refuse() -> str:
    """Fail as a tool does."""
    raise ToolError("the moon is full")


@server.tool()
async def hang() -> str:
    """Never answer."""
    await anyio.sleep_forever()
    return ""


@server.tool()
def die() -> str:
    """End in the middle of a call."""
    os._exit(3)


@server.tool()
def flood(megabytes: int) -> str:
    """Write without end to the output, in lines that are no messages."""
    for _ in range(megabytes):
        os.write(_OUTPUT, (b"x" * 999 + b"\n") * 1_000)
    return "done"


@server.tool()
def torrent(megabytes: int) -> str:
    """Write without end to the output, and no line."""
    for _ in range(megabytes):
        os.write(_OUTPUT, b"x" * 1_000_000)
    return "done"


@server.tool()
def pid() -> str:
    """Say which process this is."""
    return str(os.getpid())


async def offer_what_nobody_takes() -> None:
    """Serve one good tool among invalid ones."""
    listed = [
        Tool(name="good", input_schema={"type": "object"}),
        Tool(name="a name", input_schema={"type": "object"}),
        Tool(name="huge", input_schema={"type": "object", "description": "x" * 9_000}),
        Tool(name="good", input_schema={"type": "object"}),
    ]

    async def tools(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    wrong = Server("wrong", on_list_tools=tools)
    async with stdio_server() as (read, write):
        await wrong.run(read, write, wrong.create_initialization_options())


def answer_nonsense() -> None:
    """Send the same answer to every request."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": "many"}}), flush=True)


def main(manner: str) -> None:
    """Serve by standard input and output."""
    match manner:
        case "silent":
            time.sleep(600)
        case "unset":
            print("starting", "Error: NOTES_DIR is not set", "", sep="\n", file=sys.stderr)
            sys.exit(3)
        case "nonsense":
            answer_nonsense()
        case "wrong":
            anyio.run(offer_what_nobody_takes)
        case "garbage":
            print("Welcome to my server!", '{"jsonrpc": "1.0"}', "\x00\x01{[\x80", "", "[]", sep="\n", flush=True)
            server.run("stdio")
        case _:
            server.run("stdio")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(str(os.getpid()), "ascii")
    main(sys.argv[1] if len(sys.argv) > 1 else "")
