import errno
import json
import stat
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.config import read_config
from gateway.home import Home
from gateway.importers.imported import ImportFormatError
from gateway.importers.loading import imported
from tests.fakes.operator import FakeGateway, FakeOperator
from tests.fakes.packages import Install
from tests.journeys.test_tutorial import blocks
from workspaces.access import AgentId, owner_access
from workspaces.bootstrap import bootstrap_files
from workspaces.history import History, LineOrigin, LineOrigins
from workspaces.prompt_limits import Limits
from workspaces.workspace import Workspace


def sample(name: str, said: str) -> dict[str, object]:
    """Return one conversation of two days in LoCoMo's format."""
    turn = {"speaker": "Ada", "dia_id": "D1:1", "text": said}
    other = {"speaker": "Bo", "dia_id": "D2:1", "text": "Good night."}
    conversation = {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn],
        "session_2_date_time": "9:05 am on 9 May, 2023",
        "session_2": [other],
    }
    return {"sample_id": name, "conversation": conversation, "qa": []}


class Typed(StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


class Importer:
    """Imports one file into one home."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = Home(folder / "home")
        self.file = folder / "locomo.json"
        self.file.write_text(json.dumps([sample("conv-1", "The boat is red."), sample("Conv 2", "Tea is ready.")]))
        self._capsys = capsys

    def __call__(self, *options: str) -> tuple[int, str, str]:
        argv = ["import", "locomo", str(self.file), *options, "--home", str(self.home.path)]
        status = main.run(argv, {}, "strandline", FakeGateway(FakeOperator()))
        shown = self._capsys.readouterr()
        return status, shown.out, shown.err

    def agents(self) -> list[str]:
        return list(read_config(self.home.config_file).agents)

    def note(self, agent: str, day: str) -> str:
        return (self.home.agent(agent).workspace / "memory" / f"{day}.md").read_text("utf-8")


@pytest.fixture
def importer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Importer:
    return Importer(tmp_path, capsys)


def test_each_conversation_becomes_an_agent_with_a_note_a_day(importer: Importer) -> None:
    """The agents are configured, their notes dated, and the next command is named."""
    status, out, _ = importer()
    assert status == 0
    assert importer.agents() == ["main", "conv-1", "conv-2"]
    assert importer.note("conv-1", "2023-05-08") == "- 13:56 Ada: The boat is red.\n"
    assert importer.note("conv-2", "2023-05-09") == "- 09:05 Bo: Good night.\n"
    assert "Agent conv-1: imported 2 notes and 0 conversations" in out
    assert "memory index --agent conv-1" in out


def test_one_conversation_goes_into_a_chosen_agent(importer: Importer) -> None:
    """By number or by name; no other agent is made."""
    assert importer("--conversation", "2", "--agent", "main")[0] == 0
    assert importer.agents() == ["main"]
    assert "Tea is ready." in importer.note("main", "2023-05-08")
    assert importer("--conversation", "conv-2", "--agent-prefix", "test-")[0] == 0
    assert importer.agents() == ["main", "test-conv-2"]


def test_a_second_import_changes_nothing(importer: Importer) -> None:
    """What is there already is left as it is, and said so."""
    importer()
    config = importer.home.config_file.read_bytes()
    status, out, _ = importer()
    assert status == 0
    assert "Agent conv-1: nothing new; 2 were here before" in out
    assert importer.home.config_file.read_bytes() == config


def test_another_note_of_that_day_is_never_overwritten(importer: Importer) -> None:
    """The owner's own words stay, and the imported day stands beside them; importing it again adds nothing."""
    importer("--conversation", "1", "--agent", "main")
    mine = importer.home.agent("main").workspace / "memory" / "2023-05-08.md"
    mine.write_text("- my own words\n", "utf-8")
    assert importer("--conversation", "2", "--agent", "main")[0] == 0
    assert mine.read_text("utf-8") == "- my own words\n"
    assert "Tea is ready." in importer.note("main", "2023-05-08-locomo")
    assert "nothing new" in importer("--conversation", "2", "--agent", "main")[1]


@pytest.mark.parametrize(
    ("option", "answer", "is_own"),
    [((), None, False), (("--own",), None, True), ((), "y\n", True), ((), "n\n", False), (("--own",), "n\n", True)],
)
def test_imported_notes_are_the_owners_words_if_they_say_so(
    importer: Importer, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], answer: str | None, *, is_own: bool
) -> None:
    """By the option, or asked at a terminal; otherwise another program's model, or anybody, may have written them."""
    if answer is not None:
        monkeypatch.setattr("sys.stdin", Typed(answer))
    status, out, _ = importer("--conversation", "1", "--agent", "main", *option)
    assert status == 0
    assert ("Did you write these notes" in out) is (answer is not None and not option)
    assert ("count as other people's words" in out) is not is_own
    home = importer.home.agent("main")
    workspace, origins = Workspace.open(home.workspace, AgentId("main")), LineOrigins()
    History.open(home.history, workspace, lambda: datetime.now(UTC)).trace(origins)
    workspace.folder.close()
    assert origins.origin_of("- 13:56 Ada: The boat is red.") is (LineOrigin.OWN if is_own else LineOrigin.OTHERS)


def test_an_imported_persona_stands_in_the_prompt(importer: Importer) -> None:
    """It is what the owner wants the agent to be; what another program's agent noted is not theirs by that."""
    folder = importer.file.parent / "openclaw"
    for name, text in (("SOUL.md", "You are Nell, and brief.\n"), ("MEMORY.md", "- The boat is red.\n")):
        (folder / "workspace" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "workspace" / name).write_text(text, "utf-8")
    main.run(["import", "openclaw", str(folder), "--home", str(importer.home.path)], {}, "strandline")
    home = importer.home.agent("main")
    workspace, origins = Workspace.open(home.workspace, AgentId("main")), LineOrigins()
    History.open(home.history, workspace, lambda: datetime.now(UTC)).trace(origins)
    files = bootstrap_files(
        workspace, owner_access(AgentId("main"), "owner"), date(2026, 3, 1), Limits(), origins.others_in
    )
    workspace.folder.close()
    shown = "\n".join(file.text for file in files)
    assert "You are Nell" in shown
    assert "The boat is red" not in shown
    assert "memory_get has them: MEMORY.md#L" in shown


def test_the_configuration_keeps_its_comments_and_its_mode(importer: Importer) -> None:
    """The file belongs to its owner: only a table is added."""
    importer.home.create()
    importer.home.write(importer.home.config_file, "# mine\n[agents.main]  # first\n")
    assert importer("--conversation", "1")[0] == 0
    text = importer.home.config_file.read_text("utf-8")
    assert text.startswith("# mine\n[agents.main]  # first\n")
    assert stat.S_IMODE(importer.home.config_file.stat().st_mode) == 0o600
    assert importer.agents() == ["main", "conv-1"]


def test_an_agent_that_was_there_by_default_stays(importer: Importer) -> None:
    """A configuration without agents means `main`; a table for another one would take it away."""
    importer.home.create()
    importer.home.write(importer.home.config_file, "[owner]\n")
    assert importer("--conversation", "1")[0] == 0
    assert importer.agents() == ["main", "conv-1"]


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--agent", "main"), 2, "--agent takes one conversation, these are 2"),
        (("--conversation", "7"), 2, "--conversation 7: 1 to 2, or one of conv-1, conv-2"),
        (("--conversation", "1", "--agent", "Not a name"), 2, "names consist of lowercase letters"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    importer: Importer, options: tuple[str, ...], status: int, said: str
) -> None:
    """The refusal names the option, and the configuration stays as it was."""
    failed = importer(*options)
    assert failed[0] == status
    assert said in failed[2]
    assert importer.agents() == ["main"]


def test_a_file_of_another_format_is_refused(importer: Importer) -> None:
    """One sentence that says where it differs."""
    importer.file.write_text('[{"sample_id": "x"}]')
    status, _, err = importer()
    assert status == 1
    assert err.startswith("strandline: not LoCoMo's format at 0.")


WHATSAPP = """31.12.25, 23:58 - Anna: Where is
the key?
31.12.25, 23:59 - Bo: Below the mat.
01.01.26, 00:01 - Anna: Thanks!
"""


def imports_whatsapp(home: Home, file: Path) -> int:
    argv = ["import", "whatsapp", str(file), "--agent", "main", "--home", str(home.path)]
    return main.run(argv, {}, "strandline", FakeGateway(FakeOperator()))


def test_a_packages_importer_is_used_by_its_name(
    importer: Importer, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's importer makes notes of a chat, and refuses another file with its own sentence."""
    shown = blocks("An importer")
    entries = shown["pyproject.toml"].replace('[project.entry-points."strandline.importers"]', "[strandline.importers]")
    install("whatsapp-importer", entries.replace('"', ""), shown["whatsapp_importer.py"])
    assert imports_whatsapp(importer.home, importer.file) == 1
    assert "locomo.json is no exported chat" in capsys.readouterr().err
    importer.file.write_text(WHATSAPP, "utf-8")
    assert imports_whatsapp(importer.home, importer.file) == 0
    assert importer.note("main", "2025-12-31") == "- 23:58 Anna: Where is the key?\n- 23:59 Bo: Below the mat.\n"
    assert importer.note("main", "2026-01-01") == "- 00:01 Anna: Thanks!\n"


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import not_there", 2, "cannot be loaded: ModuleNotFoundError: No module named 'not_there'; update"),
        ("def read(file): return 1 / 0", 2, "cannot read locomo.json: ZeroDivisionError: division by zero; update"),
        ("def read(file): return [3]", 2, "cannot read locomo.json: it returns something else than ImportedConv"),
        ("read = 3", 2, "cannot be loaded: it is not a function"),
        ("def read(file): return []", 1, "locomo.json has no conversation that the importer whatsapp can read"),
        ("", 2, "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_packages_importer_that_fails_is_one_line(
    importer: Importer, install: Install, capsys: pytest.CaptureFixture[str], code: str, status: int, said: str
) -> None:
    """It names the package and the remedy; nothing is written."""
    install("whatsapp-importer", "[strandline.importers]\nwhatsapp = whatsapp_importer:read\n", code)
    assert imports_whatsapp(importer.home, importer.file) == status
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert importer.agents() == ["main"]


def test_an_unknown_format_names_the_known_ones(importer: Importer, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever lacks a package reads which formats there are."""
    assert imports_whatsapp(importer.home, importer.file) == 2
    known = "chatgpt, claude, hermes, locomo, markdown, oneclaw, openclaw, realtalk"
    assert f"there is no importer whatsapp; there are: {known}" in capsys.readouterr().err


def test_a_folder_that_the_system_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its place and the system's reason."""

    def refuse(folder: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    (vault := tmp_path / "vault").mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ImportFormatError, match=r"/vault cannot be read: Permission denied"):
        imported("markdown", vault)


def test_the_command_that_takes_an_import_back_works_as_printed(importer: Importer) -> None:
    """It names the agent and the home; without an agent, the one that has such an import is found."""
    status, out, _ = importer("--conversation", "1", "--agent", "kitchen")
    printed = next(line for line in out.splitlines() if line.startswith("Take it back: "))
    assert (status, "Agent kitchen is new." in out) == (0, True)
    assert printed == f"Take it back: strandline import --undo locomo-1 --agent kitchen --home {importer.home.path}"
    argv = ["import", "--undo", "locomo-1", "--home", str(importer.home.path)]
    assert main.run(argv, {}, "strandline", FakeGateway(FakeOperator())) == 0


@pytest.mark.parametrize("option", ["--dry-run", "--undo=locomo-1"])
def test_an_agent_is_made_by_an_import_alone(importer: Importer, option: str) -> None:
    """Neither a look before it nor an undo of a misspelt agent adds one."""
    importer("--agent", "kitchen", "--conversation", "1")
    status, out, err = importer(option, "--agent", "kitchn", "--conversation", "1")
    assert importer.agents() == ["main", "kitchen"]
    if option != "--dry-run":
        assert (status, err) == (2, "strandline: agents.kitchn: no such agent; known here: main, kitchen\n")
    else:
        assert "Agent kitchn: would be new, and get 2 notes and 0 conversations" in out
