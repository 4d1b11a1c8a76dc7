"""The frame of the page's views: checks who asks, puts orders to the gateway, and renders the answers."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime, tzinfo
from secrets import token_urlsafe
from typing import TypeVar
from urllib.parse import urlencode

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gateway.admission.sign_in import csrf_token
from gateway.control.expected_errors import EXPECTED
from gateway.control.operator_api import OperatorApi
from gateway.control.order import Answer, Order
from gateway.runtime.bounded_dict import BoundedDict
from gateway.web.errors import HttpError
from gateway.web.login import COOKIE, Login, is_form, read_form
from gateway.web.rendering import render

NOTICES_AT_MOST = 200
"""Outcomes of acts that no page has shown yet; our choice."""
Chosen = TypeVar("Chosen", bound=str)
View = Callable[[Request], Awaitable[Response]]
Act = Callable[[Request, dict[str, str]], Awaitable[Response]]
"""Handles a form: the request and its fields."""


class ViewFrame(Struct, frozen=True):
    """Serves the views to the signed-in owner."""

    login: Login
    operator: OperatorApi
    zone: tzinfo
    """The owner's."""
    now: Callable[[], datetime]
    _notices: BoundedDict[str, str] = field(default_factory=lambda: BoundedDict(NOTICES_AT_MOST))

    def get(self, path: str, view: View) -> Route:
        """Return the route of a view; only the owner's browser sees it."""

        async def answer(request: Request) -> Response:
            await self.login.check(request)
            return await view(request)

        return Route(path, self._with_problems(answer))

    def shorthand(self, view: str) -> Route:
        """Return the route `/<view>`, which leads to that view of the first agent."""

        async def first(_: Request) -> Response:
            return RedirectResponse(f"/agents/{next(iter(self.login.agents), '')}/{view}", 303)

        return self.get(f"/{view}", first)

    def post(self, path: str, act: Act) -> Route:
        """Return the route of a form with side effects; only the owner's own page may send it."""

        async def answer(request: Request) -> Response:
            return await act(request, await self.login.check_form(request))

        return Route(path, self._with_problems(answer), methods=["POST"])

    def _with_problems(self, view: View) -> View:
        """Return *view* with a page for each refusal."""

        async def answer(request: Request) -> Response:
            try:
                return await view(request)
            except HttpError as exc:
                return await self._problem(request, str(exc), exc.status)
            except EXPECTED as exc:
                return await self._problem(request, str(exc), 400)

        return answer

    async def absent(self, request: Request) -> Response:
        """Answer an address without a page: to a browser that is not signed in, as any other."""

        async def nothing(request: Request) -> Response:
            await self.login.check(request)
            raise HttpError(404, "Nothing is at this address: perhaps it is misspelt, or of another version.")

        return await self._with_problems(nothing)(request)

    async def ask(self, order: Order[Answer]) -> Answer:
        """Execute *order*. Raises one of `EXPECTED`."""
        return await self.operator.ask(order)

    def agent(self, request: Request) -> str:
        """Return the agent that the path names. Raises HttpError 404."""
        agent: str = request.path_params["agent"]
        if agent not in self.login.agents:
            raise HttpError(404, "there is no such agent here")
        return agent

    async def show(self, request: Request, template: str, facts: Mapping[str, object], status: int = 200) -> Response:
        """Return a view, within the frame that all of them have."""
        agent = request.path_params.get("agent")
        shared = {
            "agents": tuple(self.login.agents),
            "agent": agent if agent in self.login.agents else next(iter(self.login.agents), ""),
            "version": self.login.version,
            "csrf": csrf_token(request.cookies[COOKIE]),
            "notice": self._notices.pop(request.query_params.get("done", ""), ""),
            "moment": self.moment,
            "now": self.now().astimezone(self.zone),
            "here": request.url.path,
            "query": defaultdict(str, request.query_params),
            "link": link,
        }
        return await render(template, shared | dict(facts), status)

    def done(self, outcome: str, path: str, /, **query: object) -> Response:
        """Return to the view at *path*, which then shows the *outcome* once."""
        token = token_urlsafe(9)
        self._notices[token] = outcome
        return RedirectResponse(link(path, **query, done=token), 303)

    def moment(self, at: datetime | None) -> str:
        """Return a time in the owner's zone, for people: the year only if it is another one."""
        if at is None:
            return ""
        here, today = at.astimezone(self.zone), self.now().astimezone(self.zone)
        if here.date() == today.date():
            return f"today {here:%H:%M}"
        return f"{here.day} {here:%b %H:%M}" if here.year == today.year else f"{here.day} {here:%b %Y, %H:%M}"

    async def _problem(self, request: Request, message: str, status: int) -> Response:
        facts = {"message": message, "unsaved_text": await _unsaved_text(request)}
        if status == 401:
            return await render("sign_in_first.html", facts, status)
        return await self.show(request, "problem.html", facts, status)


async def _unsaved_text(request: Request) -> str:
    """Return the text that a refused form would have saved: its writer has no other copy."""
    try:
        return (await read_form(request)).get("text", "") if is_form(request) else ""
    except HttpError:
        return ""


def link(path: str, /, **query: object) -> str:
    """Return *path* with the given parts of *query*."""
    given = {name.removesuffix("_"): str(value) for name, value in query.items() if value not in {None, ""}}
    return f"{path}?{urlencode(given)}" if given else path


def day_given(request: Request, name: str) -> date | None:
    """Return the day in the query, if there is one. Raises HttpError 400."""
    text = request.query_params.get(name, "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as exc:
        raise HttpError(400, f"{text[:20]!r} is not a day; write one such as 2026-03-01") from exc


def act_given(form: Mapping[str, str], *acts: Chosen) -> Chosen:
    """Return the one of *acts* that a form names. Raises HttpError 400."""
    for act in acts:
        if form.get("act") == act:
            return act
    raise HttpError(400, "the request is not one of the page's")


def number_given(request: Request, name: str, default: int, most: int) -> int:
    """Return the number in the query, or *default*; at most *most*."""
    text = request.query_params.get(name, "")
    return min(int(text), most) if text.isascii() and text.isdecimal() and len(text) < 10 else default
