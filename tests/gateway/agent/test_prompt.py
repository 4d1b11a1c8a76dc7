"""What a model is told at the start of every request."""

from datetime import datetime
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

import pytest

from gateway.agent.prompt import build_prompt
from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile
from workspaces.skills import Skill

NOW = datetime(2026, 11, 22, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
FILES = [BootstrapFile("AGENTS.md", "Be brief.\n"), BootstrapFile("MEMORY.md", "- tea\n")]


def test_the_workspace_stands_under_project_context_in_order() -> None:
    """Each file has its name above it, and the files keep the order that they are given in."""
    stable = build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW).stable
    assert stable.endswith("# Project Context\n## AGENTS.md\nBe brief.\n\n## MEMORY.md\n- tea\n")


def test_blank_forms_are_named_after_the_files() -> None:
    """One line tells which are to be filled in, behind all that stays when one is; without any there is no line."""
    blank = [BootstrapFile(name, "", is_blank=True) for name in ("TOOLS.md", "USER.md")]
    stable = build_prompt([blank[0], *FILES, blank[1]], SessionType.MAIN, recall=True, now=NOW).stable
    assert stable.endswith("## MEMORY.md\n- tea\n\nBlank forms (read before filling in): TOOLS.md, USER.md")
    assert "## TOOLS.md" not in stable
    assert "Blank" not in build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW).stable


def test_memory_recall_is_asked_for_where_the_tools_are() -> None:
    """A turn without memory tools is not told to use them."""
    assert "## Memory Recall" in build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW).stable
    assert "memory_search" not in build_prompt(FILES, SessionType.SUBAGENT, recall=False, now=NOW).stable


def test_skills_are_told_of_by_a_line_each() -> None:
    """What they say is read when it is needed; they stand in the part that stays the same."""
    skills = [Skill("report", "How to report", PurePosixPath("skills/report/SKILL.md"))]
    stable = build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW, skills=skills).stable
    assert "read its file with read_file and follow it.\n- report: How to report (skills/report/SKILL.md)\n" in stable
    assert "## Skills" not in build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW).stable


def test_only_the_volatile_part_knows_the_day() -> None:
    """The owner's day and zone come last, so that a provider's cache of the rest holds."""
    today = build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW)
    later = build_prompt(FILES, SessionType.MAIN, recall=True, now=NOW.replace(day=23))
    assert today.stable == later.stable
    assert "Sunday, 2026-11-22 (Europe/Berlin)" in today.note


@pytest.mark.parametrize("session_type", list(SessionType))
def test_every_kind_of_session_knows_who_listens(session_type: SessionType) -> None:
    """A group is told that everybody reads along; nobody but main is told that it is alone with its owner."""
    stable = build_prompt([], session_type, recall=True, now=NOW).stable
    assert ("alone" in stable) == (session_type is SessionType.MAIN)


def test_a_job_is_told_nothing_else_than_its_note() -> None:
    """Its answer goes to nobody, as the note on its turn says; the system prompt does not promise otherwise."""
    assert "answer goes" not in build_prompt([], SessionType.CRON, recall=False, now=NOW).stable


@pytest.mark.parametrize("session_type", list(SessionType))
def test_only_a_group_is_offered_silence(session_type: SessionType) -> None:
    """Whoever asks in a direct chat waits for an answer; jobs and heartbeats have their own word for silence."""
    stable = build_prompt([], session_type, recall=True, now=NOW).stable
    assert ("NO_REPLY" in stable) == (session_type is SessionType.GROUP)


@pytest.mark.parametrize("session_type", list(SessionType))
def test_forms_are_named_where_they_can_be_filled_in(session_type: SessionType) -> None:
    """That is the owner's own chat."""
    blank = [BootstrapFile("TOOLS.md", "", is_blank=True)]
    stable = build_prompt(blank, session_type, recall=True, now=NOW).stable
    assert ("Blank forms" in stable) == (session_type is SessionType.MAIN)
