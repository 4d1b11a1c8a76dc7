"""Day that a weekday in a note means: the last one, the coming one, or none that its sentence tells.

English and German, in lower case without accents. A wrong date is worse than none, so a weekday that comes again, names
something ("the Monday meeting") or stands beside words of both past and future gets none.
"""

from datetime import date, timedelta

from workspaces.lazy_pattern import lazy_pattern

_BEFORE = lazy_pattern(
    r"\b(?P<last>last|letzte[nrs]?|vergangene[nrs]?)\s+$"
    r"|\b(?P<coming>this|this coming|coming|until|till|by|to|for|bis|auf|fur|kommende[nrs]?|diese[nrsm]?|nachste[nrs]?)"
    r"\s+$|\b(?P<on>on|am|since|seit|comes|leaves|arrives|starts|meets?|is|are|ist|kommt|beginnt|war|was)\s+$"
)
"""Words right before the weekday; "next Sunday" is one of two days."""
_AFTER = lazy_pattern(
    r"\s+(?:mornings|afternoons|evenings|nights|vormittags|nachmittags|abends)\b|\s+(?:the|den)\s+\d|,?\s+\d{1,2}(?:st|nd|rd|th"
    r"|\.)?\s+(?:of\s+)?[a-z]|\s+(?:in|of)\s+(?!the|an?\b)[a-z]|\s+(?:next|last|a)\s+(?:week|month)|[-/]|\s+(?:or|and|oder|und)\b"
)
"""Signs of another day, a repetition, or several days."""
_RECURS = lazy_pattern(
    r"\b(?:every|each|always|usually|weekly|often|sometimes|jede[nrsm]?|immer|meist(?:ens)?|wochentlich|oft|manchmal)\b"
)
_COMING = lazy_pattern(
    r"\b(?:will|won't|going to|to (?!the\b|my\b|an?\b)[a-z]+|must|need|needs|should|shall|can|can't|cannot|may|might"
    r"|plan(?:s|ned)?|invited|agreed|promised|booked|appointment|due|deadline|is|are|isn't|aren't|comes?|leaves?|arrives?|starts?|begins?"
    r"|opens?|ends?|flies|(?:i|we) (?:meet|see|visit|fly|have an?)"
    r"|i am|remind|remember|don't forget|moved|changed|postponed|rescheduled|shifted"
    r"|wird|werden|will|muss|mussen|soll|sollen|kann|konnen|geplant|eingeladen|termin|ist|sind|kommt|kommen|beginnt"
    r"|fahrt|fahren|verschoben)\b|'(?:ll|s|re|m)\b"
)
_PAST = lazy_pattern(
    r"\b(?:was|were|had|did|didn't|wasn't|went|met|saw|came|got|took|made|said|told|bought|paid|left|fell|broke|lost|won|found"
    r"|ate|gave|had|ran|rang|spoke|swam|slept|sent|thought|wrote|[a-z]{3,}ed|war|waren|hatten?|wurden?|kam|ging|ge[a-z]{3,}t)\b"
)
_SENTENCE = lazy_pattern(r"[.!?;\n]\s")


def weekday_meant(text: str, start: int, end: int, last: date, today: date) -> date | None:
    """Return the day that the weekday between *start* and *end* of *text* means, or `None` if that is not clear.

    *last* is the latest such day before *today*.
    """
    begin = max((match.end() for match in _SENTENCE.finditer(text, 0, start)), default=0)
    stop = found.start() if (found := _SENTENCE.search(text, end)) else len(text)
    lead = _BEFORE.search(text[begin:start])
    if lead is None or _AFTER.match(text[end:stop]) or _RECURS.search(text[begin:stop]):
        return None
    if lead["last"]:
        return last
    coming = last + timedelta(7)
    if coming == today:  # said on a Monday, "on Monday" is today or in a week
        return None
    if lead["coming"]:
        return coming
    around = text[begin:start] + text[end:stop]
    is_coming, is_past = _COMING.search(around) is not None, _PAST.search(around) is not None
    if is_coming is is_past:
        return None
    return coming if is_coming else last
