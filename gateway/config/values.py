"""Reads and sets single values of the configuration's text, and preserves comments, order and everything else.

Like `editing`, it works on lines, and the result is parsed and compared with the intended file.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from gateway.errors import ConfigError
from workspaces.lazy_pattern import lazy_pattern

_BARE = lazy_pattern(r"[A-Za-z0-9_-]+")
_HEADER = lazy_pattern(r"\s*\[(?!\[)")
_ANY_HEADER = lazy_pattern(r"\s*\[")
Path = tuple[str, ...]
"""The keys that lead to a value, from the top of the file."""


def key_path(key: str) -> Path:
    """Return the parts of a dotted *key*, such as `models.command.model`. Raises ConfigError."""
    found: list[str] = []
    with suppress(tomllib.TOMLDecodeError):
        inside: object = tomllib.loads(f"{key} = 0") if "\n" not in key else 0
        while isinstance(inside, dict) and len(inside) == 1:
            ((name, inside),) = inside.items()
            found.append(name)
        if inside == 0 and found:
            return tuple(found)
    raise ConfigError(
        f"{key!r} is not a key; write its parts with dots between them, such as agents.main.model, and others than "
        'letters, digits, _ and - in quotes, such as channels.telegram.home.groups."-100".mention'
    )


def dotted(path: Sequence[str]) -> str:
    """Return *path* as TOML writes it."""
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in path)


def toml_value(value: object) -> str:
    """Return *value* (text, number, truth value, list or table) in one line of TOML; `None` in a table is left out."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case Mapping():
            there = ((str(name), each) for name, each in value.items() if each is not None)
            inside = ", ".join(f"{dotted([name])} = {toml_value(each)}" for name, each in there)
            return f"{{ {inside} }}" if inside else "{}"
    return str(value)


def value_in(table: Mapping[str, object], path: Path) -> object:
    """Return the value at *path* in *table*; `None` if there is none."""
    found: object = table
    for part in path:
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def with_value(text: str, path: Path, value: object) -> str:
    """Return *text* with *value* at *path*; a missing table is added at the end.

    Raises ConfigError if the file is no TOML, or is written in a form that cannot be changed line by line.
    """
    try:
        wanted = _merged(tomllib.loads(text), path, value)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"config.toml is not TOML: {exc}; correct it: strandline config edit") from exc
    for candidate in _candidates(text, path, value):
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(candidate) == wanted:
                return candidate
    raise ConfigError(f"{dotted(path)} cannot be set in a file of this form; edit it by hand: strandline config edit")


def with_values(text: str, values: Mapping[Path, object]) -> str:
    """Return *text* with each of *values* at its path, as `with_value`."""
    for path, value in values.items():
        text = with_value(text, path, value)
    return text


def without_value(text: str, path: Path) -> str:
    """Return *text* without the value or the table at *path*.

    Raises ConfigError if there is none, or if the file is written in a form that cannot be changed line by line.
    """
    table = tomllib.loads(text)
    if value_in(table, path) is None:
        raise ConfigError(f"{dotted(path)} is not set in the file")
    wanted = (_reduced(table, path, keeps_empty=True), _reduced(table, path, keeps_empty=False))
    for candidate in _shorter(text, path):
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(candidate) in wanted:
                return candidate
    raise ConfigError(f"{dotted(path)} cannot be removed from a file of this form: strandline config edit")


def _reduced(table: Mapping[str, object], path: Path, *, keeps_empty: bool) -> dict[str, object]:
    inside = table[path[0]]
    rest = _reduced(inside, path[1:], keeps_empty=keeps_empty) if path[1:] and isinstance(inside, Mapping) else {}
    kept = {name: value for name, value in table.items() if name != path[0]}
    return {**table, path[0]: rest} if path[1:] and (rest or keeps_empty) else kept


def _shorter(text: str, path: Path) -> Iterator[str]:
    """Yield *text* without its line, without its tables, and with an inline table around it written anew."""
    sections = list(split_tables(text.splitlines(keepends=True)))
    for place, section in enumerate(sections):
        begins = [at for at, line in enumerate(section) if _path_of(section) == path[:-1] and _key_in(line) == path[-1]]
        for begin in begins:
            rest = [*section[:begin], *section[_end_of_value(section, begin) :]]
            yield _joined([*sections[:place], rest, *sections[place + 1 :]])
    yield _joined([_comments_after(each) if (_path_of(each) or ())[: len(path)] == path else each for each in sections])
    for depth in range(len(path) - 1, 0, -1):
        around = value_in(tomllib.loads(text), path[:depth])
        if isinstance(around, Mapping):
            with suppress(ConfigError):
                yield with_value(text, path[:depth], _reduced(around, path[depth:], keeps_empty=True))


def _comments_after(section: Sequence[str]) -> list[str]:
    """Return the comments and blank lines at the end of *section*, which belong to the next one."""
    return [*section[end_of_keys(section) :]]


def _joined(sections: Sequence[Sequence[str]]) -> str:
    return "".join(line for section in sections for line in section)


def _merged(table: Mapping[str, object], path: Path, value: object) -> dict[str, object]:
    first, rest = path[0], path[1:]
    if not rest:
        return {**table, first: value}
    inside = table.get(first)
    return {**table, first: _merged(inside if isinstance(inside, Mapping) else {}, rest, value)}


def _candidates(text: str, path: Path, value: object) -> Iterator[str]:
    """Yield *text* changed in each way that may work: in the value's own table, in one around it, at the end."""
    sections = list(split_tables(text.splitlines(keepends=True)))
    yield from _in_sections(sections, path, value, may_insert=True)
    merged = _merged(tomllib.loads(text), path, value)
    for depth in range(len(path) - 1, 0, -1):  # an inline table around it is written anew
        around = path[:depth]
        yield from _in_sections(sections, around, value_in(merged, around), may_insert=False)
    begin = f"{text.rstrip()}\n\n" if text.strip() else ""
    header = f"[{dotted(path[:-1])}]\n" if path[:-1] else ""
    yield f"{begin}{header}{dotted(path[-1:])} = {toml_value(value)}\n"


def _in_sections(sections: Sequence[list[str]], path: Path, value: object, *, may_insert: bool) -> Iterator[str]:
    for place, section in enumerate(sections):
        if _path_of(section) != path[:-1]:
            continue
        changed = _with_key(section, path[-1], value, may_insert=may_insert)
        if changed is not None:
            yield _joined([*sections[:place], changed, *sections[place + 1 :]])


def split_tables(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines before the first table's header, then each table from its header on."""
    section: list[str] = []
    for line in lines:
        if _ANY_HEADER.match(line):
            yield section
            section = []
        section.append(line)
    yield section


def end_of_keys(section: Sequence[str]) -> int:
    """Return the number of lines that belong to a table; lines after its last key belong to the next one."""
    written = (number for number, line in enumerate(section, 1) if line.strip() and not line.lstrip().startswith("#"))
    return max(written, default=0)


def _path_of(section: Sequence[str]) -> Path | None:
    """Return the keys in the header of *section*; empty before the first table, `None` for one of a list."""
    if not section or not _ANY_HEADER.match(section[0]):
        return ()
    if not _HEADER.match(section[0]):
        return None
    path: list[str] = []
    with suppress(tomllib.TOMLDecodeError):
        inside: object = tomllib.loads(section[0])
        while isinstance(inside, dict) and inside:
            ((name, inside),) = inside.items()
            path.append(name)
        return tuple(path)
    return None


def _with_key(section: Sequence[str], key: str, value: object, *, may_insert: bool) -> list[str] | None:
    name = dotted([key])
    for number, line in enumerate(section):
        if _key_in(line) == key:
            end = _end_of_value(section, number)
            return [*section[:number], _written(name, value, section[number:end]), *section[end:]]
    if not may_insert:
        return None
    last = end_of_keys(section)
    above = [line if line.endswith("\n") else f"{line}\n" for line in section[:last]]
    return [*above, f"{name} = {toml_value(value)}\n", *section[last:]]


def _key_in(line: str) -> str:
    """Return the key that *line* sets, if it is one alone; empty for none."""
    name, equals, _ = line.partition("=")
    with suppress(tomllib.TOMLDecodeError):
        return next(iter(tomllib.loads(f"{name.strip()} = 0") if equals else ()), "")
    return ""


def _end_of_value(section: Sequence[str], begin: int) -> int:
    """Return the number after the last line of the value that begins in line *begin*."""
    for end in range(begin + 1, len(section) + 1):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads("".join(section[begin:end]))
            return end
    return begin + 1


def _written(name: str, value: object, before: Sequence[str]) -> str:
    """Return the new line of a value, with the comment and the blanks at the end of the line *before*."""
    line = before[-1].rstrip("\n")
    comment = next((line[at:] for at in _hashes(line) if len(before) > 1 or _is_same(line[:at], line)), "")
    if len(before) > 1:  # the lines of a list: a comment stands after its bracket, or inside it
        comment = comment if line.partition("#")[0].strip() in {"]", "}"} else ""
    blanks = before[0][: len(before[0]) - len(before[0].lstrip())]
    return f"{blanks}{name} = {toml_value(value)}{f'   {comment}' if comment else ''}\n"


def _hashes(line: str) -> Iterator[int]:
    yield from (at for at, letter in enumerate(line) if letter == "#")


def _is_same(one: str, other: str) -> bool:
    try:
        return tomllib.loads(one) == tomllib.loads(other)
    except tomllib.TOMLDecodeError:
        return False
