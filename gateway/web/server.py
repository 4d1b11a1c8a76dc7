"""The HTTP application: its routes, and the guard before them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from adapters.abilities import MenuEntry
from adapters.channel import Adapter, Receive
from gateway.admission.routing import Routes
from gateway.admission.sign_in import SignIns
from gateway.agent.agent import Agent
from gateway.approvals.approvals import Approvals
from gateway.automation.job_runner import JobRunner
from gateway.channels.telegram import TelegramSettings
from gateway.commands.offers import Offers
from gateway.commands.promises import Promises
from gateway.commands.promises import promises_of as read_promises
from gateway.config import Config
from gateway.control.operator_api import OperatorApi
from gateway.inbound.outcomes import Outcomes
from gateway.stores.ports import Inbox
from gateway.transcripts.store import Sessions
from gateway.turns.presence import Presence
from gateway.web.activity_pages import ActivityPages
from gateway.web.api_tokens import ApiTokens
from gateway.web.chat import ChatPages
from gateway.web.checkup_pages import CheckupPages
from gateway.web.completion_turns import CompletionTurns, Prefaces
from gateway.web.completions import CompletionPages
from gateway.web.errors import HttpError, answer_error, is_browser
from gateway.web.guard import RequestGuard
from gateway.web.history_pages import HistoryPages
from gateway.web.images import ImageCaps
from gateway.web.login import Login
from gateway.web.memory_pages import MemoryPages
from gateway.web.page_files import LinkedFiles
from gateway.web.page_mirror import WaitingMessages
from gateway.web.people_pages import PeoplePages
from gateway.web.settings_pages import SettingsPages
from gateway.web.view_frame import ViewFrame
from gateway.web.webhooks import WebhookPages
from gateway.web.work_pages import WorkPages
from workspaces.access import AgentId


class WebResources(Struct, frozen=True):
    """The parts of the gateway that the HTTP server uses."""

    routes: Routes
    receive: Receive
    adapters: Mapping[tuple[str, str], Adapter]
    """Loaded adapters, by channel and account."""
    outcomes: Outcomes
    presence: Presence
    sessions: Sessions
    agents: Mapping[AgentId, Agent]
    """Agents that this gateway runs."""
    sign_ins: SignIns
    inbox: Inbox
    menu: Callable[[], Sequence[MenuEntry]]
    """Returns the commands that the owner may give in a message."""
    operator: OperatorApi
    job_runner: JobRunner
    approvals: Approvals
    offers: Offers | None
    """Knows the buttons of an answer; `None` for none."""
    zone: tzinfo
    """The owner's."""
    now: Callable[[], datetime]


class WebServer(Struct, frozen=True):
    """The HTTP application, to be served."""

    app: ASGIApp
    close: Callable[[], None]
    """Ends endless streams."""


def open_web(config: Config, environ: Mapping[str, str], resources: WebResources) -> WebServer:
    """Return the HTTP application; *config* is the whole one. Raises ConfigError for a missing or short token."""
    holders = ApiTokens.of(config.web, config.agents, environ)
    asking = CompletionTurns(
        resources.routes, resources.adapters, resources.outcomes, resources.presence, resources.sessions, Prefaces()
    )
    telegrams, is_tls = (
        frozenset(config.channels.of(TelegramSettings)),
        (config.web.public_url or "").startswith("https:"),
    )
    entrance = Login(resources.sign_ins, tuple(resources.agents), is_tls)
    chat = ChatPages(
        entrance,
        resources.adapters,
        resources.presence,
        resources.sessions,
        WaitingMessages(resources.inbox, resources.routes, resources.approvals),
        resources.menu,
        resources.offers,
        config.signs.receipts,
    )
    frame = ViewFrame(entrance, resources.operator, resources.zone, resources.now)

    async def promises_of(agent: AgentId) -> Promises:
        records = (await chat.conversation(agent)).records
        return await read_promises(agent, resources.job_runner, resources.approvals, records)

    caps = ImageCaps(config.attachments.per_message, config.attachments.max_mb * 1024 * 1024)
    routes = [
        *CompletionPages(holders, asking, frozenset(resources.agents), caps).routes(),
        *entrance.routes(),
        *chat.routes(),
        *MemoryPages(frame).routes(),
        *CheckupPages(frame).routes(),
        *HistoryPages(frame).routes(),
        *PeoplePages(frame).routes(),
        *SettingsPages(frame).routes(),
        *WorkPages(frame, promises_of).routes(),
        *LinkedFiles(frame, resources.agents).routes(),
        *ActivityPages(frame).routes(),
        *WebhookPages(resources.adapters, telegrams, resources.receive).routes(),
    ]

    async def absent(request: Request, exc: Exception) -> Response:
        is_read = is_browser(request.headers) and request.method == "GET"
        return await frame.absent(request) if is_read else _absent_response(request, exc)

    app = Starlette(routes=routes, exception_handlers={HttpError: answer_error, HTTPException: absent})
    return WebServer(RequestGuard(app, config.web.public_url, config.web.max_body_kb * 1_000), chat.end)


def _absent_response(request: Request, exc: Exception) -> Response:
    """Return the response to a program at an unknown path or method, in the shape of every other error."""
    status = exc.status_code if isinstance(exc, HTTPException) else 500
    return HttpError(status, f"{request.method} {request.url.path[:80]}: {_WORDS.get(status, 'refused')}").response()


_WORDS = {404: "there is no such path", 405: "this path does not take that method"}
