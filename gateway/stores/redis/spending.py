"""Model costs in Redis."""

from collections.abc import Mapping
from datetime import date, timedelta

from msgspec import Struct, structs

from gateway.stores.redis.link import RedisLink
from gateway.stores.spending import Spend


class RedisSpending(Struct, frozen=True):
    """Implements `Spending`."""

    link: RedisLink
    age: timedelta

    async def add(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        amounts = [
            each for name, amount in structs.asdict(spend).items() if amount for each in (f"{cause} {name}", amount)
        ]
        await self.link.run("spend", agent, day.isoformat(), round(self.age.total_seconds()), *amounts)

    async def correct(self, agent: str, day: date, cause: str, spend: Spend) -> None:
        await self.add(agent, day, cause, spend)

    async def on(self, agent: str, day: date) -> Mapping[str, Spend]:
        told: list[str] = await self.link.run("spent", agent, day.isoformat())
        found: dict[str, dict[str, int]] = {}
        for field, amount in zip(told[::2], told[1::2], strict=True):
            cause, _, name = field.partition(" ")
            found.setdefault(cause, {})[name] = int(amount)
        spends = {cause: Spend(**amounts) for cause, amounts in found.items()}
        return {cause: spend for cause, spend in spends.items() if spend != Spend()}
