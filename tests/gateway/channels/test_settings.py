"""Settings of a Telegram bot: requirements of a webhook, and the errors for missing ones."""

from pathlib import Path

import pytest

from gateway.app.channels import bot_accounts, policy_of
from gateway.channels.telegram import TelegramSettings
from gateway.config import Config, read_config
from gateway.errors import ConfigError
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.tally import Tally

BASE = """
[owner]
people = ["telegram:42"]
[channels.telegram.home]
token_env = "BOT_TOKEN"
"""
HOOK = 'mode = "webhook"\nwebhook_url = "https://bot.example.org/telegram/home"\n'
SECRET = 'webhook_secret_env = "HOOK_SECRET"\n'
WEB = "[web]\nenabled = true\n"


def config_of(folder: Path, text: str) -> Config:
    file = folder / "config.toml"
    file.write_text(BASE + text)
    return read_config(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'mode = "webhook"\n{SECRET}{WEB}', "needs webhook_url"),
        (f"{HOOK}{WEB}", "needs either webhook_secret_env"),
        (f'{HOOK}{SECRET}webhook_secret_file = "hook"\n{WEB}', "needs either webhook_secret_env"),
        (f"{HOOK}{SECRET}", r"needs the HTTP server; set enabled = true under \[web\]"),
        (f"{HOOK.replace('https', 'http')}{SECRET}{WEB}", "must begin with https://"),
        (HOOK.partition("\n")[2], 'has settings of a webhook, but no mode = "webhook"'),
        (SECRET, 'has settings of a webhook, but no mode = "webhook"'),
        ('mode = "hook"\n', "mode: must be 'polling' or 'webhook'"),
        ("webhook_connections = 101\n", "webhook_connections: must be less than or equal to 100"),
        ('moved = { "-5" = "kitchen" }\n', "moved"),
    ],
)
def test_a_webhook_that_cannot_work_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With the account, and with what to write."""
    with pytest.raises(ConfigError, match=said) as caught:
        config_of(tmp_path, text)
    assert "channels.telegram.home" in str(caught.value)


def test_a_server_of_ones_own_may_bring_updates_without_tls(tmp_path: Path) -> None:
    """It may run on this very machine."""
    text = f'base_url = "http://127.0.0.1:8081"\n{HOOK.replace("https", "http")}{SECRET}{WEB}'
    assert config_of(tmp_path, text).channels.of(TelegramSettings)["home"].mode == "webhook"


def test_the_webhooks_secret_is_one_of_the_secrets(tmp_path: Path) -> None:
    """So that it is checked at the start, and redacted in every log."""
    keys = [source.key for source in config_of(tmp_path, f"{HOOK}{SECRET}{WEB}").secret_sources()]
    assert "channels.telegram.home.webhook_secret_env" in keys
    assert "channels.telegram.home.token_env" in keys
    polling = [source.key for source in config_of(tmp_path, "").secret_sources()]
    assert polling == ["channels.telegram.home.token_env"]


@pytest.mark.parametrize("secret", ["", "  "])
async def test_a_blank_secret_keeps_the_account_from_starting(tmp_path: Path, secret: str) -> None:
    """Whoever knew no secret could bring anything."""
    config = config_of(tmp_path, f"{HOOK}{SECRET}{WEB}")
    environ = {"BOT_TOKEN": "123456:token", "HOOK_SECRET": secret}
    store = await SqliteStore.open(tmp_path / "state.db")
    (account,) = bot_accounts(config, environ, Tally().count, store)
    with pytest.raises(ConfigError, match="HOOK_SECRET is not set"):
        await account.build()
    await store.close()


GROUP = '[channels.telegram.home.groups."-100"]\n'


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("", frozenset()),
        ('may_end = "owner"', frozenset()),
        ('may_end = "everyone"', None),
        ('may_end = ["telegram:8"]', frozenset({"telegram:8"})),
    ],
)
def test_who_may_end_a_groups_conversation_is_the_owner_unless_it_is_set(
    tmp_path: Path, text: str, people: frozenset[str] | None
) -> None:
    """What is set arrives where a command is judged."""
    policy = policy_of(config_of(tmp_path, f"{GROUP}{text}"))
    assert policy.accounts["telegram", "home"].groups["-100"].may_end == people


@pytest.mark.parametrize("wrong", ['"everybody"', '""', "3", '["8"]', '["telegram:8", "owner"]', '["discord:8"]'])
def test_who_may_end_is_refused_in_one_line_where_it_is_nobody(tmp_path: Path, wrong: str) -> None:
    """With all that it may be; somebody of another platform is nobody here."""
    with pytest.raises(ConfigError, match=r'may_end: must be "owner", "everyone", or a list|on another platform'):
        config_of(tmp_path, f"{GROUP}may_end = {wrong}")
