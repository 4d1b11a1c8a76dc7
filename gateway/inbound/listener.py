"""Keeps every bot account listening: loads the adapter, waits out outages, and reports its state."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

import structlog
from msgspec import Struct

from adapters.abilities import Examines
from adapters.channel import Adapter, ChannelConfigError, ChannelError, ChannelUnavailableError, Receive
from gateway.errors import ConfigError, StoreError
from gateway.runtime.clock import Clock, pause
from workspaces.backoff import Backoff

log = structlog.get_logger()

OUTAGE = Backoff(1.0, 60.0)
EXAMINE_EVERY_S = 300.0
"""Seconds between two looks at the setup of a bot, one small call for each of its groups. Our choice."""


class ListeningState(StrEnum):
    """The state of a bot account."""

    LOADING = "loading"
    LISTENING = "listening"
    WAITING = "waiting"
    """It cannot receive now and retries by itself."""
    REFUSED = "refused"
    """It cannot work as configured; the other accounts continue."""


MayListen = Callable[[str, str], Awaitable[None]]
"""Called with channel and account before each attempt to listen; returns once no other gateway does."""


class BotAccount(Struct):
    """One bot account: its adapter's constructor, and its state."""

    channel: str
    account: str
    build: Callable[[], Awaitable[Adapter]]
    """Loads and creates the adapter. Raises ConfigError."""
    state: ListeningState = ListeningState.LOADING
    detail: str = ""
    may_listen: MayListen | None = None
    notes: tuple[str, ...] = ()
    """What its setup at the platform lacks, each with the remedy; it works otherwise."""

    @property
    def key(self) -> tuple[str, str]:
        """The account's part of addresses."""
        return self.channel, self.account


async def keep_examined(account: BotAccount, adapter: Adapter, clock: Clock) -> None:
    """Keep the notes of *account* up to date for as long as this runs, if its platform can say what it lacks."""
    while isinstance(adapter, Examines):
        try:
            account.notes = tuple(await adapter.examine())
        except ChannelError as exc:  # listening tells of it
            log.info("not examined", channel=account.channel, account=account.account, detail=str(exc))
        await pause(clock, EXAMINE_EVERY_S)


async def listen(account: BotAccount, receive: Receive, loaded: Callable[[Adapter], None], clock: Clock) -> None:
    """Listen on *account* until cancelled; *loaded* receives the adapter before it listens.

    *clock* measures the pauses in an outage.

    Returns only when the account cannot work as configured.
    """
    failures = 0
    try:
        adapter = await account.build()
        loaded(adapter)
        while True:
            started = clock.now()
            try:
                if account.may_listen:
                    account.state, account.detail = ListeningState.WAITING, "another gateway listens"
                    await account.may_listen(*account.key)
                account.state, account.detail = ListeningState.LISTENING, ""
                await adapter.listen(receive)
            except (ChannelUnavailableError, StoreError) as exc:
                if (clock.now() - started).total_seconds() > OUTAGE.longest_s:
                    failures = 0
                told_s = exc.retry_after_s if isinstance(exc, ChannelUnavailableError) else None
                account.state, account.detail = ListeningState.WAITING, str(exc)
                log.warning("not listening", channel=account.channel, account=account.account, detail=str(exc))
                await pause(clock, OUTAGE.delay_s(failures) if told_s is None else told_s)
                failures += 1
    except (ChannelConfigError, ConfigError) as exc:
        account.state, account.detail = ListeningState.REFUSED, str(exc)
        log.error("channel refused", channel=account.channel, account=account.account, detail=str(exc))
