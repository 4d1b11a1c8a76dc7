"""`strandline config …`: shows and changes settings, checked before they are written."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.call import Call, JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.invocation import config_of, print_json
from gateway.cli.settings_report import print_taken_up
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config

app = command_app("Show and change settings: get, set, unset, edit.")

Key = Annotated[str, typer.Argument(help="Dotted key, such as agents.main.model.")]
EDITORS = ("VISUAL", "EDITOR")


@app.command()
def get(call: JsonCall, key: Key) -> None:
    """Show the value of a setting, also where it is the default."""
    from gateway.config.values import toml_value

    value = _value(config_of(call.home), key)
    if call.as_json:
        print_json({"key": key, "value": value})
    else:
        print("(not set)" if value is None else value if isinstance(value, str) else toml_value(value))


@app.command(name="set", context_settings={"ignore_unknown_options": True})  # a value such as -1
def set_(
    call: Call,
    key: Key,
    value: Annotated[str, typer.Argument(help="Value as in TOML; quotes around text may be left out.")],
) -> None:
    """Change a setting in config.toml, preserving comments; a running gateway takes it up."""
    from gateway.config.changes import set_text

    place = call.home
    set_text(place, key, value)
    print(f"Set {key} in {place.config_file}.")
    print_taken_up(call.invocation, place)


@app.command()
def unset(call: Call, key: Key) -> None:
    """Remove a setting or a table from config.toml, preserving comments: its default counts again."""
    from gateway.config import changes

    place = call.home
    changes.unset(place, key)
    print(f"Removed {key} from {place.config_file}.")
    print_taken_up(call.invocation, place)


@app.command()
def edit(call: Call) -> None:
    """Edit config.toml in your editor ($VISUAL or $EDITOR); it is checked before it is written."""
    from gateway.config.changes import change_config, present_text

    invocation, place = call.invocation, call.home
    editor = next((invocation.environ[name] for name in EDITORS if invocation.environ.get(name)), "vi")
    before = present_text(place)
    after = _edited(editor, before, place, invocation.environ)
    if after == before:
        print("Nothing was changed.")
        return

    def replace(now: str) -> str:
        if now != before:
            raise ConfigError(f"{place.config_file}: was changed by another program meanwhile; edit it again")
        return after

    change_config(place, replace)
    print(f"Wrote {place.config_file}.")
    print_taken_up(invocation, place)


def _value(config: "Config", key: str) -> object:
    from gateway.config.reading import nearest
    from gateway.config.values import dotted, key_path

    found: object = config.model_dump(mode="json")
    path = key_path(key)
    for number, part in enumerate(path):
        if not isinstance(found, dict) or part not in found:
            known = found if isinstance(found, dict) else {}
            raise ConfigError(f"{dotted(path[: number + 1])}: no such setting; {nearest(part, known)}")
        found = found[part]
    return found


def _edited(editor: str, text: str, home: Home, environ: Mapping[str, str]) -> str:
    """Return *text* as it was edited, once it is valid. Raises ConfigError if the owner gives up."""
    from gateway.config.reading import parse_config

    with tempfile.TemporaryDirectory() as folder:  # only the owner can read it
        file = Path(folder) / "config.toml"
        file.write_text(text, "utf-8")
        while True:
            try:
                subprocess.run([*shlex.split(editor), str(file)], check=True, env=environ)  # noqa: S603  # theirs
            except (OSError, subprocess.CalledProcessError) as exc:
                raise StrandlineError(f"the editor failed, so nothing was changed: {editor}") from exc
            after = file.read_text("utf-8")
            try:
                parse_config(after, home.config_file)
            except ConfigError as exc:
                typer.echo(str(exc), err=True)
                typer.confirm("Edit it again?", default=True, abort=True)
            else:
                return after
