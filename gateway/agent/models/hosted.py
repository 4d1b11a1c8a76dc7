"""A model behind a provider's API: sends a request, returns one validated reply."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import structlog

from gateway.agent.entries import Picture, ReplyEntry, UserEntry
from gateway.agent.models.draft import DraftRelay
from gateway.agent.models.errors import connection_error
from gateway.agent.models.image_budget import ImageBudget, shown_pictures
from gateway.agent.models.loading import load_provider
from gateway.agent.models.messages import NOTHING_SEEN, Seen
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.models.reply_builder import Assembly
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, http_errors
from gateway.errors import ModelOverflowError, ModelRefusedError, ModelUnavailableError

log = structlog.get_logger()


class HostedModel:
    """A model of one of the providers that are installed (entry points of `strandline.models`)."""

    def __init__(self, settings: HostedSettings, retry: Retry | None = None, room: ImageBudget | None = None) -> None:
        self.name = settings.name
        self.window_tokens = settings.window
        self._settings = settings
        self._retry = retry or Retry()
        self._room = room or ImageBudget()
        self._provider = load_provider(settings)
        self._refused: frozenset[str] = frozenset()
        """The pictures that the provider rejected last: the turn's next steps do not show them again."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises ModelError, after bounded retries, when there is no usable reply.

        A request that is refused with pictures is repeated without them; the model is informed.
        """
        pictures = self._pictures(request)
        async with self._room.hold(sum(each.size for each in pictures)):
            return await self._reply_with_pictures(request, pictures, on_text)

    async def _reply_with_pictures(
        self, request: ModelRequest, pictures: Sequence[Picture], on_text: OnText
    ) -> ReplyEntry:
        """Answer *request*, whose *pictures* fit the room."""
        seen = await self._visible_pictures(request, pictures)
        try:
            return await self._request_reply(request, seen, on_text)
        except (ModelRefusedError, ModelOverflowError) as refusal:
            if not any(seen.values()):
                raise
            log.warning("pictures refused", model=self.name, count=len(seen), why=str(refusal))
            self._refused = frozenset(seen)
            return await self._request_reply(request, dict.fromkeys(seen), on_text)

    def _pictures(self, request: ModelRequest) -> Sequence[Picture]:
        """Return the pictures of *request* that are shown, if this model accepts images."""
        if not self._settings.vision or request.look is None:
            return ()
        shown = shown_pictures(request.entries, self._settings.picture_bytes)
        return [each for each in shown if each.path not in self._refused]

    async def _visible_pictures(self, request: ModelRequest, pictures: Sequence[Picture]) -> Seen:
        """Return the *pictures* of *request*, and `None` for the others, if this model accepts images."""
        if not self._settings.vision or request.look is None:
            return NOTHING_SEEN
        said = [entry for entry in request.entries if isinstance(entry, UserEntry)]
        seen: dict[str, str | None] = {each.path: None for entry in said for each in entry.pictures}
        for each in pictures:
            seen[each.path] = await request.look(each)
        return seen

    async def _request_reply(self, request: ModelRequest, seen: Seen, on_text: OnText) -> ReplyEntry:
        draft = DraftRelay(on_text)
        taken = {call.id for entry in request.entries if isinstance(entry, ReplyEntry) for call in entry.calls}

        async def attempt() -> ReplyEntry:
            try:
                return (await self._ask(request, seen, draft)).entry(taken)
            except ModelUnavailableError:
                draft.attempt_failed()
                raise

        return await self._retry(attempt)

    async def close(self) -> None:
        await self._provider.close()

    async def _ask(self, request: ModelRequest, seen: Seen, draft: DraftRelay) -> Assembly:
        """Return the reply, read until the stream ended. Raises ModelError."""
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                return await self._stream(request, seen, draft)
        except TimeoutError as exc:
            limit = f"no answer within {self._settings.request_timeout_s:g} seconds"
            raise ModelUnavailableError(f"{self.name}: {limit}") from exc
        except http_errors(BrokenReplyError) as exc:
            raise connection_error(self.name, exc) from exc

    async def _stream(self, request: ModelRequest, seen: Seen, draft: DraftRelay) -> Assembly:
        temperature = self._settings.temperature if request.temperature is None else request.temperature
        tools = {tool.name for tool in request.tools}
        assembly = Assembly(self.name, tools, may_be_empty=request.has_notified)
        async with aclosing(self._provider.stream(request, temperature, seen)) as pieces:
            async for piece in pieces:
                if text := assembly.add(piece):
                    await draft(text)
        return assembly
