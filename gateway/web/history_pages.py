"""Views of an agent's history: changes by kind and text, their differences, and ways back."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from gateway.control.wire import HistoryOrder
from gateway.web.view_frame import ViewFrame, act_given

SHOWN = 30
"""Changes in one view."""
_LONGEST_TEXT = 200
_Topic = Literal["all", "memory", "daily", "files"]
TOPICS: tuple[tuple[_Topic, str], ...] = (
    ("all", "All"),
    ("memory", "Memory"),
    ("daily", "Daily logs"),
    ("files", "Files"),
)


class HistoryPages(Struct, frozen=True):
    """The views below `/agents/<agent>/history`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        get, post, inside = self.frame.get, self.frame.post, "/agents/{agent}/history"
        return [
            self.frame.shorthand("history"),
            get(inside, self.log),
            get(f"{inside}/change", self.change),
            get(f"{inside}/preview", self.preview),
            post(f"{inside}/restore", self.restore),
            post(f"{inside}/bundle", self.bundle),
        ]

    async def log(self, request: Request) -> Response:
        agent, query = self.frame.agent(request), request.query_params
        topic = next((each for each, _ in TOPICS if each == query.get("topic")), TOPICS[0][0])
        words, path, before = (
            query.get("q", "")[:_LONGEST_TEXT],
            query.get("path") or None,
            query.get("before") or None,
        )
        order = HistoryOrder("log", agent, path or None, before or None, limit=SHOWN + 1, topic=topic, words=words)
        found = (await self.frame.ask(order)).commits
        older = found[SHOWN - 1].revision if len(found) > SHOWN else ""
        facts = {"commits": found[:SHOWN], "older": older, "topic": topic, "topics": TOPICS, "path": path}
        return await self.frame.show(request, "history.html", facts)

    async def change(self, request: Request) -> Response:
        agent, revision = self.frame.agent(request), request.query_params.get("revision", "")
        shown = await self.frame.ask(HistoryOrder("show", agent, request.query_params.get("path") or None, revision))
        facts = {"commit": shown.commits[0], "files": shown.files, "omitted": shown.omitted, "sides": sides}
        return await self.frame.show(request, "history_change.html", facts)

    async def preview(self, request: Request) -> Response:
        """Show the difference that a restoration would make."""
        order = structs.replace(_restoration(self.frame.agent(request), request.query_params), is_preview=True)
        answer = await self.frame.ask(order)
        is_shared = any(each.path.startswith("memory/shared/") for each in answer.files)
        facts = {"files": answer.files, "is_shared": is_shared, "sides": sides}
        return await self.frame.show(request, "history_preview.html", facts)

    async def restore(self, request: Request, form: dict[str, str]) -> Response:
        agent = self.frame.agent(request)
        order = structs.replace(_restoration(agent, form), is_for_others=form.get("for_others") == "yes")
        answer = await self.frame.ask(order)
        return self.frame.done(answer.outcome, f"/agents/{agent}/history")

    async def bundle(self, request: Request, _: dict[str, str]) -> Response:
        """Send the whole history as one file for `git clone`."""
        agent = self.frame.agent(request)
        answer = await self.frame.ask(HistoryOrder("bundle", agent))
        file = Path(answer.outcome)
        return FileResponse(file, media_type="application/octet-stream", filename=f"{agent}-{file.name}")


def _restoration(agent: str, fields: Mapping[str, str]) -> HistoryOrder:
    """Return the order to restore a file as it was, or to take back one change. Raises HttpError 400."""
    revision, path = fields.get("revision", ""), fields.get("path", "")
    act: Literal["restore", "revert"] = act_given(fields, "restore", "revert")
    return HistoryOrder(act, agent, path if act == "restore" else None, revision)


def sides(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a unified diff for two columns: the kind of row, its old line and its new one."""
    gone: list[str] = []
    come: list[str] = []
    for line in [*text.split("\n"), " "]:
        if line.startswith(("---", "+++")):
            continue
        if line.startswith("-"):
            gone.append(line[1:])
        elif line.startswith("+"):
            come.append(line[1:])
        else:
            for number in range(max(len(gone), len(come))):
                yield "change", "".join(gone[number : number + 1]), "".join(come[number : number + 1])
            gone, come = [], []
            if line.startswith("@"):
                yield "hunk", line, ""
            elif line.strip():
                yield "same", line[1:], line[1:]
