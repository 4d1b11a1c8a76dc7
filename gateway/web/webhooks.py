"""Receives the updates that a chat platform delivers over HTTP, and passes each on to its account."""

from collections.abc import Mapping

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from adapters.abilities import TakesUpdates
from adapters.channel import Adapter, Receive
from gateway.errors import StoreError

log = structlog.get_logger()

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # the header's name, as Telegram's documentation has it


class WebhookPages:
    """The endpoints that platforms call."""

    def __init__(
        self,
        adapters: Mapping[tuple[str, str], Adapter],
        accounts: frozenset[str],
        receive: Receive,
    ) -> None:
        """*adapters* are the loaded ones; *accounts* names all of Telegram's; *receive* makes an update durable."""
        self._adapters = adapters
        self._accounts = accounts
        self._receive = receive

    def routes(self) -> list[Route]:
        return [Route("/telegram/{account}", self.telegram, methods=["POST"])]

    async def telegram(self, request: Request) -> Response:
        """Answer Telegram, which repeats every update that was not answered with 200."""
        account = request.path_params["account"]
        if account not in self._accounts:
            return PlainTextResponse("no such account\n", 404)
        adapter = self._adapters.get(("telegram", account))
        if not isinstance(adapter, TakesUpdates):
            return PlainTextResponse("not ready\n", 503)
        try:
            status = await adapter.take(request.headers.get(SECRET_HEADER, ""), await request.body(), self._receive)
        except StoreError as exc:
            log.error("update not kept", channel="telegram", account=account, detail=str(exc))
            status = 503
        return Response(status_code=status)
