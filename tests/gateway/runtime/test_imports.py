"""Imports of libraries without the parts that nobody here uses."""

import subprocess
import sys


def test_the_http_server_loads_no_command_until_somebody_uses_it() -> None:
    """A hook that runs uvicorn itself finds all of it."""
    code = """
import sys
import gateway.runtime.http_server
print([name for name in ("click", "uvicorn.main") if name in sys.modules])
import uvicorn
print(hasattr(uvicorn, "unknown"), callable(uvicorn.run), uvicorn.main.name)
print(uvicorn.Server is gateway.runtime.http_server.Server)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:3] == ["[]", "False True main", "True"]


def test_the_page_loads_its_templates_with_the_first_view() -> None:
    """A gateway whose page nobody opens has 1.8 MB less."""
    code = "import sys, gateway.web.server; print('jinja2' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
