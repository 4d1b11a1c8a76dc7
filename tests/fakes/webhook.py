"""Delivery of updates in Telegram's manner, and a loopback HTTP server through which a gateway takes them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from adapters.abilities import TakesUpdates
from adapters.channel import Receive
from gateway.errors import StoreError
from tests.fakes.botapi import BotApi
from tests.fakes.telegram_shapes import Json

HEADER = "X-Telegram-Bot-Api-Secret-Token"


@asynccontextmanager
async def door(adapters: Mapping[str, TakesUpdates], receive: Receive) -> AsyncIterator[str]:
    """Serve `POST /telegram/<account>`; yield the address without the account."""

    async def take(request: web.Request) -> web.Response:
        adapter = adapters[request.match_info["account"]]
        try:
            status = await adapter.take(request.headers.get(HEADER, ""), await request.read(), receive)
        except StoreError:
            status = 503
        return web.Response(status=status)

    app = web.Application()
    app.router.add_post("/telegram/{account}", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/telegram"
    finally:
        await runner.cleanup()


class Bringer:
    """Telegram's side of a webhook: in order within a chat, chats in parallel, repeated until there is a 200."""

    def __init__(self, server: BotApi, *, twice: bool = False) -> None:
        """With *twice* it ignores the first 200 of each update and delivers it again immediately."""
        self.statuses: list[int] = []
        """Status of each answer, 0 without one."""
        self.most_at_once = 0
        self._server = server
        self._twice = twice
        self._busy: set[object] = set()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Deliver all updates while the block runs."""
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            bringing = tasks.create_task(self._bring_all(session))
            try:
                yield
            finally:
                bringing.cancel()

    async def _bring_all(self, session: aiohttp.ClientSession) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._server.until(lambda: self._next() is not None, timeout_s=3600)
                if update := self._next():
                    self._busy.add(_place(update))
                    self.most_at_once = max(self.most_at_once, len(self._busy))
                    tasks.create_task(self._bring(session, update))

    def _next(self) -> Json | None:
        hook, seen = self._server.hook, set(self._busy)
        if hook is None or len(self._busy) >= hook.connections:
            return None
        for update in self._server.updates:
            if _place(update) not in seen and (set(update) & set(hook.allowed)):
                return update
        return None

    async def _bring(self, session: aiohttp.ClientSession, update: Json) -> None:
        status = await self._post(session, update)
        if self._twice:
            status = await self._post(session, update)
        if status != 200:
            await asyncio.sleep(0.01)  # Telegram's own pause before a retry
        self._busy.discard(_place(update))
        if status == 200:
            self._server.brought(update)
        else:
            self._server.not_brought(f"Wrong response from the webhook: {status}")

    async def _post(self, session: aiohttp.ClientSession, update: Json) -> int:
        hook = self._server.hook
        assert hook is not None
        try:
            headers = {HEADER: hook.secret, "Content-Type": "application/json"}
            async with session.post(hook.url, data=json.dumps(update), headers=headers) as answer:
                status = answer.status
        except aiohttp.ClientError:
            status = 0
        self.statuses.append(status)
        return status


def _place(update: Json) -> object:
    """Return the queue of *update*: its chat, or itself."""
    held = update.get("message") or update.get("edited_message") or update.get("callback_query", {}).get("message")
    return held["chat"]["id"] if held else f"update {update['update_id']}"
