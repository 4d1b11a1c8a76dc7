"""The history of any work on files is what a plain list of their pasts would be."""

import tempfile
from pathlib import Path, PurePosixPath

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workspaces.history.home import ORIGIN, Home
from tests.workspaces.turns import MAIN, OWN
from workspaces.errors import WorkspaceError
from workspaces.history import History, LogQuery

ALL = LogQuery(limit=1000)
PATHS = st.sampled_from(["MEMORY.md", "memory/2026-03-01.md", "notes/a.md", "notes", f"{OWN}/x.md"])
STEPS = st.tuples(st.sampled_from(["edit", "remove", "record", "record_all", "restore"]), PATHS, st.text(max_size=8))


@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_the_history_is_what_a_list_of_pasts_would_be(steps: list[tuple[str, str, str]]) -> None:
    """Whatever is edited, removed, recorded and restored: every commit has the texts that a plain model says."""
    with tempfile.TemporaryDirectory() as root:
        home = Home(Path(root))
        history = home.open()
        past: list[dict[str, str]] = [{}]
        for act, path, text in steps:
            _step(home, history, past, act, (path, text))
        assert history.repairs == ()
        commits = history.view(MAIN).log(ALL)
        assert len(commits) == len(past)
        for commit, texts in zip(reversed(commits), past, strict=True):
            found = history.view(MAIN).as_of(commit.at)
            assert {str(path): text for path, text in found.items()} == texts
        assert home.is_sound()


def _step(home: Home, history: History, past: list[dict[str, str]], act: str, what: tuple[str, str]) -> None:
    """Do one step with the history and with the model."""
    path, text = what
    place = home.root / "workspace" / path
    if act == "edit" and not place.is_dir() and not place.parent.is_file():
        home.put(path, text)
    elif act == "remove" and place.is_file():
        home.remove(path)
    elif act == "record":
        history.record([PurePosixPath(path)], None, ORIGIN)
        _remember(past, _recorded(past[-1], path, home.texts()))
    elif act == "record_all":
        history.record_all(None, None)
        _remember(past, {name: data.decode() for name, data in home.texts().items() if b"\0" not in data})
    elif act == "restore":
        _restore(home, history, past, path, len(text))


def _restore(home: Home, history: History, past: list[dict[str, str]], path: str, back: int) -> None:
    then, before = past[-1 - back % len(past)], home.texts()
    revision = history.view(MAIN).log(ALL)[back % len(past)].id
    try:
        restored = history.restore(revision, path, MAIN, ORIGIN)
    except WorkspaceError:
        assert home.texts() == before
        if path in then and path in before and before[path] != then[path].encode():
            _remember(past, _recorded(past[-1], path, before))
        return
    assert home.texts() == before | {path: then[path].encode()}
    if restored.changed:
        if path in before:
            _remember(past, _recorded(past[-1], path, before))
        _remember(past, _recorded(past[-1], path, home.texts()))


def _remember(past: list[dict[str, str]], texts: dict[str, str]) -> None:
    if texts != past[-1]:
        past.append(texts)


def _recorded(known: dict[str, str], path: str, disk: dict[str, bytes]) -> dict[str, str]:
    rest = {name: text for name, text in known.items() if name != path}
    if path not in disk or b"\0" in disk[path]:
        return rest
    kept = {n: t for n, t in rest.items() if not n.startswith(f"{path}/") and not path.startswith(f"{n}/")}
    return {**kept, path: disk[path].decode()}
