import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gateway.admission.policy import Policy
from gateway.channels.settings import channel_settings
from gateway.cli.main import COMMANDS as ENTRIES
from gateway.commands.loading import load_commands
from gateway.commands.registry import Commands
from gateway.config import ChannelsSettings, Config
from gateway.config.reading import fields_of
from gateway.plugins import CHANNELS, plugins
from scripts.cli_page import PAGE, page

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
CHAT_COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")
DOCS = "\n".join(file.read_text("utf-8") for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


# --- settings


def tables(section: type, heading: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Give each table of the configuration by its heading in the docs: its keys with their defaults as TOML."""
    keys: dict[str, str] = {}
    for name, field in fields_of(section).items():
        if field.annotation is ChannelsSettings:
            for channel, plugin in plugins(CHANNELS).items():
                yield from tables(channel_settings(plugin), f"channels.{channel}.<name>")
            continue
        inside, way = _table_within(field.annotation)
        if inside is not None:
            yield from tables(inside, heading + _heading(name, way, heading))
        if inside is None or (way == "dict" and heading.startswith("channels.")):
            keys[name] = _default(field)
    if keys:
        yield heading, keys


def _table_within(annotation: object) -> tuple[type | None, str]:
    if isinstance(annotation, type) and fields_of(annotation):
        return annotation, ""
    for choice in get_args(annotation):
        if isinstance(choice, type) and fields_of(choice):
            return choice, "dict" if str(annotation).startswith("dict") else "list"
    return None, ""


def _heading(name: str, way: str, parent: str) -> str:
    own = f".{name}" if parent else name
    if way == "dict":
        return f"{own}.<id>" if name == "groups" else f"{own}.<name>"
    return own


def _default(field: FieldInfo) -> str:
    """Return the default as TOML writes it, or in words where there is none."""
    if field.default is PydanticUndefined:
        return "required"
    if field.default is None:
        return "not set"
    is_decimal = float in (field.annotation, *get_args(field.annotation))
    value = float(field.default) if is_decimal else field.default
    return json.dumps(value, ensure_ascii=False)


def documented() -> dict[str, dict[str, str]]:
    """Return what docs/settings.md says: the defaults of the keys, by heading."""
    found: dict[str, dict[str, str]] = {}
    for part in re.split(r"^## ", SETTINGS, flags=re.MULTILINE)[1:]:
        heading = re.match(r"`\[+([^\]]+)\]+`", part)
        if heading:
            rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", part, flags=re.MULTILINE)
            assert len({key for key, _ in rows}) == len(rows), heading[1]
            found[heading[1]] = {key: default.strip("`") for key, default in rows}
    return found


def test_every_setting_is_documented_with_its_default_and_no_other() -> None:
    """A key, a table or a default that is in one place only is found here."""
    assert documented() == dict(tables(Config))


def test_every_setting_is_read_by_somebody() -> None:
    """A setting that nothing outside the configuration uses would promise what does not happen."""
    assembly = {"gateway/config", "gateway/settings", "gateway/channels/settings.py"}
    files = [file.relative_to(ROOT) for wing in ("gateway", "workspaces") for file in (ROOT / wing).rglob("*.py")]
    files = [file for file in files if assembly.isdisjoint({str(file), str(file.parent)})]
    importing = re.compile(
        r"(gateway\.config|settings(\.\w+)?|prompt_limits|pydantic|annotated_types) import"
    )  # or its own
    readers = "\n".join(text for text in ((ROOT / file).read_text("utf-8") for file in files) if importing.search(text))
    of_the_config_itself = {"token_env", "token_file", "api_key_env", "api_key_file", "password_env"} | {
        "webhook_secret_env",
        "webhook_secret_file",
        "preset",
        "allow_remote",
        "allow_plain_http",
    }
    keys = {key for _, table in tables(Config) for key in table} - of_the_config_itself
    assert not {key for key in keys if not re.search(rf"\.{key}\b", readers)}


# --- commands and tools


def leaves() -> dict[str, set[str]]:
    """Return the options of each command, by the words that call it."""
    found: dict[str, set[str]] = {}

    def walk(command: object, words: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))
        if not hasattr(command, "commands") or getattr(command, "invoke_without_command", False):
            parameters = getattr(command, "params", [])
            found[" ".join(words)] = {option for each in parameters for option in each.opts if option.startswith("-")}

    for entry in ENTRIES:
        walk(entry.load(), (entry.name,))
    return found


COMMANDS = leaves()


def test_the_page_of_commands_is_the_help_of_the_program() -> None:
    """Whoever changes a command writes the page again: `python -m scripts.cli_page`."""
    assert PAGE.read_text("utf-8") == page()
    assert {f"`strandline {words}`" for words in COMMANDS} <= set(re.findall(r"`.*?`", PAGE.read_text("utf-8")))


def test_every_command_of_a_chat_is_documented() -> None:
    """Each with what may follow its name, in the table of commands, and none that is not there."""
    unused: Any = Unused()
    registry = Commands(load_commands(unused).commands, Policy(frozenset(), {}))
    rows = re.findall(r"^\| (`/.*?`) \|", CHAT_COMMANDS, re.MULTILINE)
    shown = {call for row in rows for call in re.findall(r"`(/.*?)`", row)}
    assert shown == {f"/{command.name} {command.usage}".strip() for command in registry.all}


class Unused:
    """Stands where a command closes over something that it uses only when it is run."""

    def __getattr__(self, name: str) -> Any:
        return self


def test_every_tool_is_documented() -> None:
    """By the name that a model calls."""
    files = (ROOT / "gateway" / "agent" / "tools").glob("*.py")
    tools = {name for file in files for name in re.findall(r"\b(?:tool|unoffered)\((\w+)\)", file.read_text("utf-8"))}
    assert {"memory_search", "read_file"} < tools
    assert not {name for name in tools if f"`{name}`" not in CHAT_COMMANDS}


def test_every_channel_is_in_the_settings() -> None:
    """An adapter that can be configured has its table."""
    for channel in plugins(CHANNELS):
        assert f"## `[channels.{channel}.<name>]`" in SETTINGS


def called(program: str) -> list[list[str]]:
    """Return the words of each call of *program* that the docs show, in code blocks and between backticks."""
    blocks = "\n".join(re.findall(r"```\w*\n(.*?)```", DOCS, re.DOTALL))
    shown = [*re.findall(r"`([^`\n]+)`", DOCS), *blocks.splitlines()]
    calls = [re.search(rf"(?:^|[\s/=]){program} ((?:\"[^\"]*\"|'[^']*'|[^#:])*)", line) for line in shown]
    return [shlex.split(call[1]) for call in calls if call]


def test_every_call_in_the_docs_is_a_right_one() -> None:
    """Each `strandline …` names a command that exists, with options that it takes."""
    calls = called("strandline")
    assert len(calls) > 8
    for call in calls:
        words = max((w for w in COMMANDS if call[: len(w.split())] == w.split()), key=len, default=None)
        if words is None and call and call[0] in {"…", "--help", "--version", "--install-completion"}:
            continue
        assert words is not None, call
        own = call[: call.index("--")] if "--" in call else call  # the rest are another program's words
        assert {word for word in own if word.startswith("--")} <= COMMANDS[words], call


def test_every_make_target_in_the_docs_exists() -> None:
    """And the two that a newcomer needs come first."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    wanted = {call[0] for call in called("make") if call}
    assert {"up", "test", "check", "bench"} <= wanted <= targets


def test_what_the_docs_test_exists() -> None:
    """Each promise names tests that are there."""
    for paths in re.findall(r'ARGS="?(tests/[^"`]*)', README):
        for path in paths.split():
            assert (ROOT / path).exists(), path


def test_every_test_that_a_document_names_is_there() -> None:
    """A table that says `file::test` speaks of a function of that file."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", DOCS)
    assert len(named) > 20
    for file, test in named:
        assert re.search(rf"def {test}\b", (ROOT / file).read_text("utf-8")), f"{file}::{test}"


def test_links_between_documents_lead_somewhere() -> None:
    """A moved file takes its links along."""
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", file.read_text("utf-8")):
            assert (file.parent / target).exists(), f"{file.name}: {target}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub and the site name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_anchors_of_links_are_headings() -> None:
    """A renamed heading takes its links along."""
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#([^)]+)\)", file.read_text("utf-8")):
            assert anchor in anchors(file.parent / target if target else file), f"{file.name}: {target}#{anchor}"


def test_every_page_is_in_the_index_once() -> None:
    """docs/README.md lists each page for one reader; a decision is listed by its folder."""
    folder = ROOT / "docs"
    listed = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \| ", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    pages = {str(page.relative_to(folder)) for page in folder.rglob("*.md")} - {"README.md"}
    assert len(listed) == len(set(listed))
    assert {page for page in listed if not page.startswith("../")} == {
        "decisions/" if page.startswith("decisions/") else page for page in pages
    }


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_and_folder_that_a_page_for_newcomers_names_exists(page: str) -> None:
    """A path between backticks is one from the root."""
    named = re.findall(
        r"`((?:adapters|gateway|workspaces|tests|docs|bench|scripts|deploy)/[\w./-]*)`",
        (ROOT / page).read_text("utf-8"),
    )
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_program_says_how_it_is_used() -> None:
    """The first thing that a newcomer types, as installed."""
    program = Path(sys.executable).parent / "strandline"
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    assert {"init", "up", "chat", "status", "doctor", "memory", "history", "import"} <= set(shown.split())


def test_every_test_and_room_of_the_requirements_exists() -> None:
    """The table of requirements names files that are there; a name alone stands beside its room's first one."""
    table = (ROOT / "docs" / "requirements.md").read_text("utf-8")
    for row in re.findall(r"^\| [A-DP]\d.*$", table, re.MULTILINE):
        for cell in row.split(" | ")[2:4]:
            named = [ROOT / each for each in re.findall(r"`([^`]+)`", cell)]
            here = [path if path.exists() else named[0].parent / path.relative_to(ROOT) for path in named]
            assert all(path.exists() for path in here), row
