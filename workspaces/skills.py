"""An agent's skills: instructions for one kind of task each, read by a turn when needed."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import Access, rights
from workspaces.errors import NoSuchFileError, WorkspaceError
from workspaces.workspace import Workspace

FOLDER = PurePosixPath("skills")
FILE = "SKILL.md"
MOST_SKILLS = 50
DESCRIPTION_CHARS = 200
"""Longest description in the prompt, as each one is part of every request; our choice."""
_NAME_CHARS = 64
_BORDER = "---"
_FOLDED = frozenset({">", ">-", ">+", "|", "|-", "|+"})
"""YAML markers of multi-line texts."""


class Skill(Struct, frozen=True):
    """A skill as listed in the prompt."""

    name: str
    description: str
    """One line."""
    path: PurePosixPath


class Skills(Struct, frozen=True):
    """An agent's skills by name, and the faults of those not listed."""

    listed: tuple[Skill, ...] = ()
    broken: tuple[str, ...] = ()
    """Messages, one line each."""


class BrokenSkillError(ValueError):
    """The head of a skill's file has no description; the text names the missing part."""


def read_skills(workspace: Workspace, access: Access) -> Skills:
    """Return the skills for a turn with *access*: turns that get `AGENTS.md` get skills too."""
    if "AGENTS.md" not in rights(access).files:
        return Skills()
    try:
        folders = [entry.name for entry in workspace.list(FOLDER, access).entries if entry.is_folder]
    except NoSuchFileError:
        return Skills()
    listed: list[Skill] = []
    broken: list[str] = []
    for folder in folders:
        path = FOLDER / folder / FILE
        try:
            listed.append(read_head(workspace.read(path, access).whole, path))
        except BrokenSkillError as exc:
            broken.append(f"{path}: {exc}")
        except WorkspaceError as exc:
            broken.append(str(exc))
    if len(listed) > MOST_SKILLS:
        broken.append(f"{FOLDER}: {len(listed)} skills; only the first {MOST_SKILLS} are listed")
    return Skills(tuple(listed[:MOST_SKILLS]), tuple(broken))


def read_head(text: str, path: PurePosixPath) -> Skill:
    """Return the skill of the file at *path* with the content *text*. Raises BrokenSkillError."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _BORDER:
        raise BrokenSkillError("it must begin with a line ---, then name: and description:, then a line ---")
    ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _BORDER]
    if not ends:
        raise BrokenSkillError("the line --- that ends its head is missing")
    fields = _fields(lines[1 : ends[0]])
    for key in ("name", "description"):
        if not fields.get(key):
            raise BrokenSkillError(f"its head has no {key}; write for example {key}: {_EXAMPLES[key]}")
    name, description = fields["name"], fields["description"]
    if len(name) > _NAME_CHARS:
        raise BrokenSkillError(f"its name has more than {_NAME_CHARS} characters")
    if len(description) > DESCRIPTION_CHARS:
        description = f"{description[: DESCRIPTION_CHARS - 1]}…"
    return Skill(name, description, path)


_EXAMPLES = {"name": "weekly-report", "description": "How to write the report on Fridays."}


def _fields(lines: list[str]) -> Mapping[str, str]:
    """Return the head's fields, each on one line; the supported YAML is plain, quoted and folded texts."""
    fields: dict[str, str] = {}
    key = ""
    for line in lines:
        if line[:1].isspace() and key:
            fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif ":" in line and not line.startswith("#"):
            key, _, value = line.partition(":")
            key = key.strip()
            fields[key] = "" if value.strip() in _FOLDED else value.strip()
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: str) -> str:
    """Return *value* without its quotes, on one line of visible characters."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return " ".join("".join(each if each.isprintable() else " " for each in value).split())
