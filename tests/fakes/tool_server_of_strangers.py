"""Tool server that passes on what a stranger wrote, and writes down what it is told.

`python -m tests.fakes.tool_server_of_strangers FILE`: `fetch` returns the text of FILE, `record` appends to FILE.out.
"""

import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("strangers")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def fetch(about: str) -> str:
    """Return what was written about something."""
    return "\n".join(line for line in Path(sys.argv[1]).read_text("utf-8").splitlines() if f"{about}." in line)


@server.tool()
def record(text: str) -> str:
    """Tell the world."""
    with Path(f"{sys.argv[1]}.out").open("a", encoding="utf-8") as out:
        out.write(f"{text}\n")
    return "recorded"


if __name__ == "__main__":
    server.run("stdio")
