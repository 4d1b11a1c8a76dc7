import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from gateway.channels.settings import UnavailableBot, channel_settings
from gateway.config.reading import parse_config
from gateway.errors import ConfigError, PluginError
from gateway.plugins import CHANNELS, clashes, plugins
from tests.fakes.packages import Install

ROOT = Path(__file__).parent.parent.parent
SMOKE = "[strandline.channels]\nsmoke = smoke_signals:Settings\n"
CODE = """
from gateway.config import BotSettings

class Settings(BotSettings):
    channel = "smoke"
    needs_token = False
    hill: str

    def open(self, account, resources):
        raise OSError("no hill in sight")
"""
TABLE = '[owner]\npeople = ["smoke:anna"]\n[channels.smoke.home]\nhill = "north"\n'


def test_our_own_parts_are_installed_as_they_are_declared() -> None:
    """An installation that is older than the code shows here: pip install --no-deps -e . renews it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    installed: dict[str, dict[str, str]] = {}
    for entry in distribution("strandline").entry_points:
        installed.setdefault(entry.group, {})[entry.name] = entry.value
    assert {group: installed.get(group) for group in declared} == declared


def test_every_channel_of_our_own_can_be_loaded() -> None:
    """By the name that it is configured by."""
    ours = [plugin for plugin in plugins(CHANNELS).values() if plugin.is_built_in]
    assert {plugin.name for plugin in ours} == {"discord", "telegram"}
    assert [channel_settings(plugin).channel for plugin in ours] == [plugin.name for plugin in ours]


def test_a_strangers_channel_is_configured_like_our_own(install: Install) -> None:
    """Its settings, its own form of ids, its misspelt keys, and an owner whom only it knows."""
    install("smoke-signals", SMOKE, CODE)
    config = parse_config(TABLE, Path("config.toml"))
    assert [(bot.channel, name) for name, bot in config.channels.bots()] == [("smoke", "home")]
    assert config.secret_sources() == ()
    for wrong, said in {
        TABLE.replace("hill", "hil"): "channels.smoke.home.hil: unknown key; did you mean hill?",
        TABLE.replace("smoke:anna", "smog:anna"): "owner.people[0]: no such channel; did you mean smoke?",
        TABLE.replace("channels.smoke", "channels.smok"): "channels.smok: unknown key; did you mean smoke?",
        f'{TABLE}[[bindings]]\nagent = "main"\nchannel = "smokey"': "bindings[0].channel: no such channel",
    }.items():
        with pytest.raises(ConfigError) as refused:
            parse_config(wrong, Path("config.toml"))
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import not_installed_anywhere", "ModuleNotFoundError: No module named 'not_installed_anywhere'"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("Settings = 3", "it is not a subclass of BotSettings"),
        (CODE.replace('"smoke"', '"fog"'), 'its class Settings must have channel = "smoke"'),
    ],
)
def test_a_channel_that_cannot_be_loaded_is_one_sentence(install: Install, code: str, said: str) -> None:
    """Package, entry point, fault and remedy; the configuration is read, and the account says the same."""
    install("smoke-signals", SMOKE, code)
    config = parse_config(TABLE, Path("config.toml"))
    (bot,) = config.channels.root["smoke"].values()
    assert isinstance(bot, UnavailableBot)
    sentence = bot.fault("home")
    assert sentence.startswith('smoke-signals: the entry point "smoke" of strandline.channels (smoke_signals:Settings)')
    assert said in sentence
    assert sentence.endswith("update the package, or: pip uninstall smoke-signals")
    assert "\n" not in sentence


def test_strandlines_own_wins_a_name_and_among_strangers_nobody_does(install: Install) -> None:
    """Both are said; the order in which packages are found decides nothing."""
    install("copycat", "[strandline.channels]\ntelegram = copycat:Settings\n", CODE)
    install("smoke-one", SMOKE.replace("smoke_signals", "smoke_one"), CODE)
    install("smoke-two", SMOKE.replace("smoke_signals", "smoke_two"), CODE)
    known = plugins(CHANNELS)
    assert channel_settings(known["telegram"]).__module__ == "gateway.channels.telegram"
    with pytest.raises(PluginError, match=r"smoke-one, smoke-two: .* is taken; none of them is used"):
        channel_settings(known["smoke"])
    ours, strangers = sorted(clashes(CHANNELS))
    assert ours == (
        'copycat: the entry point "telegram" of strandline.channels is taken; Strandline\'s own is used: '
        "pip uninstall copycat, or ask its authors for another name"
    )
    assert strangers.startswith("smoke-one, smoke-two: ")


def test_no_channel_is_imported_before_it_is_configured(install: Install) -> None:
    """Reading the configuration loads the channels that it names, and no platform's library."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom gateway.config.reading import parse_config\n"
        "known = {'gateway.channels.telegram', 'gateway.channels.discord', 'aiogram', 'discord', 'gateway.plugins'}\n"
        "parse_config('', Path('c'))\nprint(sorted(known & set(sys.modules)))\n"
        'telegram = \'[channels.telegram.home]\\ntoken_env = "T"\\ndirect = "pairing"\'\n'
        "parse_config(telegram, Path('c'))\n"
        "print(sorted(known & set(sys.modules)))\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["['gateway.plugins']", "['gateway.channels.telegram', 'gateway.plugins']"]
