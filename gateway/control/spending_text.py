"""Text about an agent's model costs of today, for status and chats."""

from collections.abc import Iterator, Sequence

from gateway.control.status_wire import SpendingStatus
from gateway.stores.spending import NANOS, dollars


def spending_lines(rows: Sequence[SpendingStatus]) -> Iterator[str]:
    """Yield a line for each of *rows* with anything spent; a limit stands beside the figure that it limits."""
    spent = [row for row in rows if row.tokens or row.money or row.money_a_day is not None]
    if rows and not spent:
        yield "nothing"
    for row in spent:
        of = "" if row.tokens_a_day is None else f" of {row.tokens_a_day:,}"
        yield f"{row.cause}: {row.tokens:,}{of} tokens{_money(row)}"


def _money(row: SpendingStatus) -> str:
    share = "all" if row.unpriced_tokens == row.tokens else f"{row.unpriced_tokens:,} of them"
    unknown = f", {share} of unknown price" if row.unpriced_tokens else ""
    if row.money_a_day is not None:
        return f", {_dollars(row.money)} of {_dollars(row.money_a_day)}{unknown}"
    return f", {_dollars(row.money)}{unknown}" if row.money else unknown


def _dollars(amount: float) -> str:
    return dollars(round(amount * NANOS))
