"""Operator requests about the settings that people change: an allow-list, checked as the whole file is."""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from gateway.agent.receipts import ReceiptLevel
from gateway.channels.settings import POLICIES
from gateway.config.changes import set_text
from gateway.config.reading import read_config
from gateway.config.schema import Config
from gateway.config.values import dotted, toml_value
from gateway.control.settings_wire import OwnerSettingsAnswer, OwnerSettingsOrder, SettingRow
from gateway.errors import ConfigError
from gateway.home import Home

_YES_OR_NO = ("true", "false")
_AGENT = (
    (("heartbeat", "every"), "Heartbeat, every"),
    (("heartbeat", "active"), "Heartbeat, hours"),
    (("budget", "tokens_a_day"), "Budget, tokens a day"),
    (("budget", "money_a_day"), "Budget, US$ a day"),
)
_GROUP = (
    ("mention", "Answer only when mentioned", _YES_OR_NO),
    ("people", "Answer only these people", ()),
    ("bots", "Answer other bots", _YES_OR_NO),
    ("heard", "Messages of others read along", ()),
)


class SettingsOperator(Struct, frozen=True):
    """Shows and changes settings in the home's file."""

    home: Home

    async def answer(self, order: OwnerSettingsOrder) -> OwnerSettingsAnswer:
        """Execute *order*. Raises ConfigError for a wrong value, and for any other setting."""
        return await asyncio.to_thread(self._answer, order)

    def _answer(self, order: OwnerSettingsOrder) -> OwnerSettingsAnswer:
        rows = tuple(_rows(read_config(self.home.config_file)))
        if order.act == "list":
            return OwnerSettingsAnswer(rows)
        row = next((each for each in rows if each.key == order.key), None)
        if row is None:
            raise ConfigError(f"{order.key[:80]!r} is not changed here; use: strandline config set")
        if row.widens and not order.is_sure:
            raise ConfigError(f"{row.key} decides who is answered; confirm that you mean it")
        if not order.value.strip():
            raise ConfigError(f"{row.key}: write a value; strandline config edit removes one")
        set_text(self.home, row.key, order.value.strip())
        return OwnerSettingsAnswer(outcome=f"Set {row.key} to {order.value.strip()}; the running gateway takes it up.")


def _rows(config: Config) -> Iterator[SettingRow]:
    models = tuple(dict.fromkeys(("offline", *config.models)))
    for name, agent in config.agents.items():
        subject = f"Agent {name}"
        yield SettingRow(dotted(("agents", name, "model")), subject, "Model", agent.model, models)
        for path, label in _AGENT:
            value = getattr(getattr(agent, path[0]), path[1])
            yield SettingRow(dotted(("agents", name, *path)), subject, label, _shown(value))
    levels = tuple(level.value for level in ReceiptLevel)
    yield SettingRow("signs.receipts", "Answers", "Receipts below answers", config.signs.receipts.value, levels)
    yield SettingRow("signs.reaction", "Answers", "Reaction to a message at work", config.signs.reaction)
    for account, bot in config.channels.bots():
        direct, subject = dotted(("channels", bot.channel, account, "direct")), f"Bot account {bot.channel}.{account}"
        yield SettingRow(direct, subject, "Direct chats with", bot.direct, POLICIES, widens=True)
        for chat, group in bot.groups.items():
            place, subject = ("channels", bot.channel, account, "groups", chat), f"Group {chat} at {account}"
            for key, label, choices in _GROUP:
                row = _shown(getattr(group, key))
                yield SettingRow(dotted((*place, key)), subject, label, row, choices, widens=True)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else toml_value(value)
