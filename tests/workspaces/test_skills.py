"""Skills listed for a turn, and reports of broken ones."""

from pathlib import Path, PurePosixPath

import pytest

from workspaces.access import PRIVATE, Access, AgentId, Scope, SessionType
from workspaces.skills import MOST_SKILLS, BrokenSkillError, Skill, read_head, read_skills
from workspaces.workspace import Workspace

MAIN = AgentId("main")
PLACE = PurePosixPath("skills/report/SKILL.md")


def access(kind: SessionType = SessionType.MAIN) -> Access:
    scope = Scope("shared:telegram.home.-100") if kind in {SessionType.GROUP, SessionType.GUEST} else PRIVATE
    return Access(MAIN, kind, scope, "terminal:1", depth=0, grants=frozenset())


def workspace_with(path: Path, **skills: str) -> Workspace:
    workspace = Workspace.create(path / "workspace", MAIN)
    for name, text in skills.items():
        file = path / "workspace" / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return workspace


def head(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n# Steps\n"


@pytest.mark.parametrize(
    "written",
    [
        "name: report\ndescription: How to report",
        "# a remark\nname: 'report'\nlicense: MIT\ndescription: \"How to report\"",
        "name: report\r\ndescription: >-\r\n  How to\r\n  report",
        "metadata:\n  name: other\nname: report\ndescription: How\u202e\n  to report",
    ],
)
def test_a_head_says_what_a_skill_is_for(written: str) -> None:
    """Plain, quoted, folded; other fields are passed over, and what is told is one line."""
    assert read_head(f"---\n{written}\n---\nSteps", PLACE) == Skill("report", "How to report", PLACE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must begin with a line ---"),
        ("# Report", "must begin with a line ---"),
        ("---\nname: report\ndescription: How", "that ends its head is missing"),
        ("---\nname: report\n---\n", "has no description"),
        ("---\ndescription: How\n---\n", "has no name"),
        (f"---\nname: {'x' * 65}\ndescription: How\n---\n", "more than 64 characters"),
    ],
)
def test_a_broken_head_is_told_with_what_is_missing(text: str, why: str) -> None:
    """So that whoever wrote it can mend it."""
    with pytest.raises(BrokenSkillError, match=why):
        read_head(text, PLACE)


def test_a_long_description_is_cut() -> None:
    """Each stands in every request."""
    assert len(read_head(head("report", "x" * 900), PLACE).description) == 200


def test_skills_are_listed_by_folder_and_broken_ones_named(tmp_path: Path) -> None:
    """One that cannot be read hides no other."""
    workspace = workspace_with(tmp_path, b=head("beta", "Second"), a=head("alpha", "First"), c="nothing")
    (tmp_path / "workspace" / "skills" / "empty").mkdir()
    found = read_skills(workspace, access())
    assert [skill.name for skill in found.listed] == ["alpha", "beta"]
    assert [each.split(":")[0] for each in found.broken] == ["skills/c/SKILL.md", "skills/empty/SKILL.md"]


def test_an_agent_without_skills_has_none(tmp_path: Path) -> None:
    """The folder need not be there."""
    assert read_skills(workspace_with(tmp_path), access()).listed == ()


@pytest.mark.parametrize("kind", list(SessionType))
def test_whoever_reads_the_instructions_is_told_of_skills(tmp_path: Path, kind: SessionType) -> None:
    """A light heartbeat reads only its checklist, and pays for no more."""
    workspace = workspace_with(tmp_path, a=head("alpha", "First"))
    assert bool(read_skills(workspace, access(kind)).listed) == (kind is not SessionType.HEARTBEAT)


def test_no_more_are_told_of_than_fit(tmp_path: Path) -> None:
    """And that some are not is said."""
    workspace = workspace_with(tmp_path, **{f"s{number:03}": head(f"s{number}", "x") for number in range(51)})
    found = read_skills(workspace, access())
    assert len(found.listed) == MOST_SKILLS
    assert found.broken == ("skills: 51 skills; only the first 50 are listed",)
