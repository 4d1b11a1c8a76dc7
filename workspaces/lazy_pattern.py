"""Regular expressions that are compiled when they are first used: most are not needed for a start, or for a message."""

import re
from typing import Any, AnyStr, Generic, cast


class LazyPattern(Generic[AnyStr]):
    """Stands for a pattern; its methods are those of the compiled one, from the first use on."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return *pattern*, which `re.error` refuses at its first use if it is wrong; functions of `re` do not take it."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
