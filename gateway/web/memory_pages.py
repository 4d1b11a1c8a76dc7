"""Views of an agent's memory: long-term notes, days, shared notes, search, and changes in place."""

from calendar import Calendar
from collections.abc import Mapping, Sequence
from datetime import MAXYEAR, date, timedelta
from itertools import groupby
from typing import Literal

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.agent.entries import HOW_USED
from gateway.control.admission_wire import RoomsOrder
from gateway.control.notes_wire import NoteEntry, NoteRow, NotesAnswer, NotesOrder
from gateway.control.wire import OriginOrder, SearchHit, SearchOrder, WhyOrder
from gateway.web.errors import HttpError
from gateway.web.view_frame import ViewFrame, day_given, number_given
from workspaces.errors import NoSuchFileError

SHOWN = 60
"""Notes of a file in one view."""
_LATEST = 14
_SHARED = "memory/shared/"
_FILES_SHOWN = 60
_LEVELS = (0, 500, 2_000, 6_000)
"""Bytes from which on a day is drawn darker."""
KINDS = (("", "everything"), ("long", "long-term"), ("daily", "days"), ("shared", "shared"), ("talk", "conversations"))
_DISTANCES = ((7, "a week ago"), (30, "a month ago"), (182, "half a year ago"), (365, "a year ago"))


class FilePart(Struct, frozen=True):
    """The part of a file of notes that a view shows."""

    path: str
    readers: str
    """The chat whose people read it too, in words; empty if only the owner does."""
    total: int
    index: Sequence[tuple[str, int, int]]
    """Each section with its number of notes and the number of its first one."""
    start: int
    sections: Sequence[tuple[str, int, Sequence[NoteEntry]]]
    before: int | None
    """Number of the first note of the part before; `None` at the beginning."""
    after: int | None


class SharedChat(Struct, frozen=True):
    """A chat whose people share notes with the agent."""

    name: str
    readers: str
    notes: int
    bytes: int
    latest: Sequence[NoteRow]
    older: Sequence[NoteRow]


class MemoryPages(Struct, frozen=True):
    """The views below `/agents/<agent>/memory`."""

    frame: ViewFrame

    def routes(self) -> list[Route]:
        get, post, inside = self.frame.get, self.frame.post, "/agents/{agent}/memory"
        return [
            self.frame.shorthand("memory"),
            get(inside, self.long_term),
            get(f"{inside}/days", self.days),
            get(f"{inside}/day", self.day),
            get(f"{inside}/note", self.note),
            get(f"{inside}/shared", self.shared),
            get(f"{inside}/files", self.files),
            get(f"{inside}/search", self.search),
            get(f"{inside}/line", self.line),
            get(f"{inside}/why", self.why),
            get(f"{inside}/edit", self.edit),
            post(f"{inside}/edit", self.save),
            post(f"{inside}/change", self.change),
        ]

    # --- reading

    async def long_term(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        paths = [each.path for each in await self._rows(agent) if each.path.casefold() == "memory.md"]
        files = await self._parts(request, agent, paths[:1])
        return await self.frame.show(request, "memory_note.html", _note_facts("Long-term", "", files))

    async def day(self, request: Request) -> Response:
        agent, day = self.frame.agent(request), day_given(request, "day")
        paths = [each.path for each in await self._rows(agent) if day is not None and each.day == day]
        files = await self._parts(request, agent, paths)
        title = f"{day:%A}, {day.day} {day:%B %Y}" if day else "No day"
        return await self.frame.show(request, "memory_note.html", _note_facts("Days", title, files))

    async def note(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        files = await self._parts(request, agent, [request.query_params.get("path", "")])
        tab = "Shared" if files[0].readers else "Files"
        return await self.frame.show(request, "memory_note.html", _note_facts(tab, "", files))

    async def days(self, request: Request) -> Response:
        agent, today = self.frame.agent(request), self.frame.now().astimezone(self.frame.zone).date()
        written: dict[date, int] = {}
        for each in await self._rows(agent):
            if each.day is not None:
                written[each.day] = written.get(each.day, 0) + each.size
        months: dict[date, int] = {}
        for day, size in sorted(written.items(), reverse=True):
            months[day.replace(day=1)] = months.get(day.replace(day=1), 0) + size
        month = self._month(request) or next(iter(months), today.replace(day=1))
        facts = {
            "tab": "Days",
            "month": month,
            "weeks": [
                [(day, written.get(day, 0), _level(written.get(day, 0))) for day in week] for week in _weeks(month)
            ],
            "months": list(months.items()),
            "written": sum(day.replace(day=1) == month for day in written),
            "total": months.get(month, 0),
            "earlier": max((each for each in months if each < month), default=None),
            "later": min((each for each in months if each > month), default=None),
        }
        return await self.frame.show(request, "memory_days.html", facts)

    async def shared(self, request: Request) -> Response:
        agent = self.frame.agent(request)
        rows = sorted((each for each in await self._rows(agent) if each.chat), key=lambda each: each.chat)
        people = await self._people()
        chats = [_chat(chat, list(notes), people) for chat, notes in groupby(rows, key=lambda each: each.chat)]
        return await self.frame.show(request, "memory_shared.html", {"tab": "Shared", "chats": chats})

    async def files(self, request: Request) -> Response:
        rows = sorted(await self._rows(self.frame.agent(request)), key=_order)
        more = len(rows) - _FILES_SHOWN
        facts = {"tab": "Files", "notes": rows[:_FILES_SHOWN], "more": max(more, 0)}
        return await self.frame.show(request, "memory_files.html", facts)

    async def search(self, request: Request) -> Response:
        agent, query = self.frame.agent(request), request.query_params.get("q", "")
        most, kind = number_given(request, "most", 6, 50), request.query_params.get("kind", "")
        facts: dict[str, object] = {"hits": (), "reason": "", "is_clear": True}
        if query.strip():
            bounds = [day_given(request, name) for name in ("as_of", "since", "until")]
            found = await self.frame.ask(SearchOrder(query, agent, 50 if kind else most, *bounds))
            hits = [hit for hit in found.hits if not kind or _kind(hit) == kind][:most]
            facts = {
                "hits": hits,
                "reason": found.reason,
                "is_clear": any(hit.score for hit in hits) and found.is_clear,
            }
            facts["best_keyword"] = max((hit.parts.keyword for hit in hits), default=0) or 1
        today = self.frame.now().astimezone(self.frame.zone).date()
        days = [("now", ""), *((name, str(today - timedelta(days))) for days, name in _DISTANCES)]
        facts |= {"tab": "Search", "kinds": KINDS, "days": days}
        return await self.frame.show(request, "memory_search.html", facts)

    async def line(self, request: Request) -> Response:
        agent, citation = self.frame.agent(request), request.query_params.get("cite", "")
        source = await self.frame.ask(OriginOrder(citation, agent))
        path, _, place = source.citation.rpartition("#")
        entries: list[NoteEntry] = []
        is_note = "@" not in place and not path.startswith("sessions/")
        if is_note:
            first, last = (int(each.lstrip("L")) for each in place.split("-"))
            known = await self._read(agent, path)
            entries = [each for each in known.entries if each.first_line <= last and each.last_line >= first]
        facts = {
            "tab": "",
            "source": source,
            "path": path if is_note else "",
            "entries": entries[:SHOWN],
            "readers": await self._readers(agent, path),
        }
        return await self.frame.show(request, "memory_line.html", facts)

    async def why(self, request: Request) -> Response:
        """Show the memories that an answer of the chat had in view, and the parts of their scores."""
        agent = self.frame.agent(request)
        known = await self.frame.ask(WhyOrder(agent, request.query_params.get("turn") or None))
        best = max((each.keyword for each in known.used), default=0) or 1
        return await self.frame.show(
            request, "memory_why.html", {"tab": "", "why": known, "how": HOW_USED, "best": best}
        )

    # --- changing

    async def edit(self, request: Request) -> Response:
        agent, path = self.frame.agent(request), request.query_params.get("path", "")
        try:
            known = await self.frame.ask(NotesOrder("open", agent, path))
        except NoSuchFileError:
            known = NotesAnswer()
        return await self._editor(request, path, known)

    async def save(self, request: Request, form: dict[str, str]) -> Response:
        """Write a whole file; 409 with the difference if it is not the one that was read."""
        agent, path, text = self.frame.agent(request), form.get("path", ""), form.get("text", "")
        is_meant = form.get("for_others") == "yes"
        order = NotesOrder("write", agent, path, text, form.get("digest", ""), is_for_others=is_meant)
        answer = await self.frame.ask(order)
        if answer.difference:
            return await self._editor(request, path, structs.replace(answer, text=text), 409)
        return self.frame.done(answer.outcome, f"/agents/{agent}/memory/note", path=path)

    async def change(self, request: Request, form: dict[str, str]) -> Response:
        """Correct or forget one note."""
        agent, path = self.frame.agent(request), form.get("path", "")
        act: Literal["correct", "forget"] = "forget" if form.get("act") == "forget" else "correct"
        is_meant = form.get("for_others") == "yes"
        text, mark = form.get("text", "").replace("\r\n", "\n"), form.get("mark", "")
        answer = await self.frame.ask(NotesOrder(act, agent, path, text, mark=mark, is_for_others=is_meant))
        return self.frame.done(answer.outcome, f"/agents/{agent}/memory/note", path=path)

    # --- parts

    async def _editor(self, request: Request, path: str, known: NotesAnswer, status: int = 200) -> Response:
        readers = await self._readers(self.frame.agent(request), path)
        facts = {"text": known.text, "digest": known.digest, "difference": known.difference, "readers": readers}
        facts |= {"tab": "", "path": path}
        return await self.frame.show(request, "memory_edit.html", facts, status)

    async def _read(self, agent: str, path: str) -> NotesAnswer:
        return await self.frame.ask(NotesOrder("read", agent, path))

    async def _rows(self, agent: str) -> Sequence[NoteRow]:
        return (await self.frame.ask(NotesOrder("list", agent))).notes

    async def _parts(self, request: Request, agent: str, paths: Sequence[str]) -> list[FilePart]:
        start = number_given(request, "from", 0, 10**9)
        return [
            _part(path, (await self._read(agent, path)).entries, start, await self._readers(agent, path))
            for path in paths
        ]

    async def _readers(self, agent: str, path: str) -> str:
        if not path.startswith(_SHARED):
            return ""
        chat = next((each.chat for each in await self._rows(agent) if each.path == path), "")
        return _chat_name(chat, await self._people()) if chat else ""

    async def _people(self) -> Mapping[str, str]:
        """Return the names of people and groups, by person and by chat."""
        return (await self.frame.ask(RoomsOrder())).names

    def _month(self, request: Request) -> date | None:
        text = request.query_params.get("month", "")
        try:
            return date.fromisoformat(f"{text}-01") if text else None
        except ValueError as exc:
            raise HttpError(400, f"{text[:20]!r} is not a month; write one such as 2026-03") from exc


def _part(path: str, entries: Sequence[NoteEntry], start: int, readers: str) -> FilePart:
    """Return the part of a file from note *start* on, and the way to the others. Pure."""
    start = start if start < len(entries) else 0
    title = _shared_heading(entries)
    groups = [
        (name.removeprefix(title).removeprefix(" > "), [*each])
        for name, each in groupby(enumerate(entries), lambda each: each[1].section)
    ]
    index = [(name, len(within), within[0][0]) for name, within in groups]
    parts = [(name, [each for each in within if start <= each[0] < start + SHOWN]) for name, within in groups]
    sections = [(name, within[0][0], [entry for _, entry in within]) for name, within in parts if within]
    before = max(start - SHOWN, 0) if start else None
    after = start + SHOWN if start + SHOWN < len(entries) else None
    return FilePart(path, readers, len(entries), index, start, sections, before, after)


def _shared_heading(entries: Sequence[NoteEntry]) -> str:
    """Return the heading that stands above every note of a file, such as its title; empty without one."""
    titles = {each.section.partition(" > ")[0] for each in entries}
    return titles.pop() if len(titles) == 1 else ""


def _note_facts(tab: str, title: str, files: Sequence[FilePart]) -> dict[str, object]:
    return {"tab": tab, "title": title, "readers": "", "files": files}


def _chat(chat: str, notes: Sequence[NoteRow], people: Mapping[str, str]) -> SharedChat:
    newest = sorted(notes, key=lambda each: each.path, reverse=True)
    name, size = _chat_name(chat, people), sum(each.size for each in notes)
    readers = name if name != chat else "the people of this chat"
    return SharedChat(name, readers, len(notes), size, newest[:_LATEST], newest[_LATEST:])


def _chat_name(chat: str, people: Mapping[str, str]) -> str:
    """Return a chat in words: its name, or a guest's, with the chat's address, else the address."""
    channel, id_ = chat.partition(".")[0], chat.rpartition(".")[2]
    name = people.get(chat) or people.get(f"{channel}:{id_}")
    return f"{name} ({chat})" if name else chat


def _weeks(month: date) -> list[list[date]]:
    """Return the days of the weeks of *month*; the last week that a calendar has is shorter."""
    days = [date(*each) for each in Calendar().itermonthdays3(month.year, month.month) if each[0] <= MAXYEAR]
    return [days[first : first + 7] for first in range(0, len(days), 7)]


def _level(size: int) -> int:
    return sum(size > least for least in _LEVELS)


def _order(row: NoteRow) -> tuple[bool, bool, int, str]:
    """Return the order of files: workspace files first, then days, newest first."""
    is_inside = "/" in row.path
    return is_inside, bool(row.chat), -row.day.toordinal() if row.day else 0, row.path


def _kind(hit: SearchHit) -> str:
    if hit.chat and hit.path.startswith("memory/"):
        return "shared"
    if hit.path.casefold() == "memory.md":
        return "long"
    return "daily" if hit.path.startswith("memory/") else "talk"
