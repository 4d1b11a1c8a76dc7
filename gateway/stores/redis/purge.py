"""Removal of passages from the data in Redis."""

from gateway.stores.redis.link import RedisLink
from workspaces.redact import Redaction

READ_AT_ONCE = 500
"""Replies."""


async def purge(link: RedisLink, redaction: Redaction) -> int:
    """Remove passages from finished replies and from quarantined rows; return how many held one.

    Raises StoreError.
    """
    return await _replies(link, redaction) + await _purge_quarantine(link, redaction)


async def _replies(link: RedisLink, redaction: Redaction) -> int:
    count = 0
    for state in ("sent", "dead"):
        first = 0
        while rows := await link.run("finished", state, first, first + READ_AT_ONCE - 1):
            for id_, text in rows:
                if text and (clean := str(redaction.over(text))) != text:
                    count += len(await link.run("redact_reply", id_, clean))
            first += READ_AT_ONCE
    return count


async def _purge_quarantine(link: RedisLink, redaction: Redaction) -> int:
    count = 0
    for id_, fields in await link.run("quarantine"):
        clean = [str(redaction.over(value)) for value in fields[1::2]]
        if clean != fields[1::2]:
            pairs = [each for pair in zip(fields[::2], clean, strict=True) for each in pair]
            count += len(await link.run("redact_quarantined", id_, *pairs))
    return count
