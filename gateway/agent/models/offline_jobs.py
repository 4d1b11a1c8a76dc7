"""Scheduled jobs as the offline responder reads them from the tool's list, and the one that an order names."""

from gateway.agent.dictation import stems

_NAMELESS = stems(
    "cancel delete remove stop reminder remind job every erinnerung erinnere rappel rappelle recordatorio recuérdame "
    "promemoria ricordami lembrete lembra herinnering herinner przypomnienie przypomnij напоминание напомни "
    "нагадування нагадай alarm alarma wecker next done stopped daily"
)
"""Words of orders and lists that name no job."""
_LEAST_CHARS = 4
"""Characters of a word that names one: shorter ones mostly are small words of some language."""
_OVER = ("; done", "; stopped")
WHICH = "Which one? Say, for example, “cancel job {}”."


def jobs_to_come(listing: str) -> list[str]:
    """Return the lines of *listing*, the tool's, about jobs that run again."""
    return [line for line in listing.splitlines() if _number(line) and not line.endswith(_OVER)]


def job_named(order: str, listing: str) -> int:
    """Return the number of the job of *listing* with most words of *order*; 0 if none has one, or several as many."""
    said = _names(order)
    held = [(len(said & _names(line)), _number(line)) for line in jobs_to_come(listing)]
    best = max((count for count, _ in held), default=0)
    numbers = [number for count, number in held if count == best]
    return numbers[0] if best and len(numbers) == 1 else 0


def say_jobs(listing: str) -> str:
    """Return the jobs of *listing* that run again as a list in Markdown; a number alone would be counted anew there."""
    lines = [f"- job {line.replace('. ', ': ', 1)}" for line in jobs_to_come(listing)]
    return "\n".join(lines) or "No jobs are scheduled."


def ask_which(listing: str) -> str:
    """Return the question which job of *listing* is meant."""
    jobs = jobs_to_come(listing)
    return f"{say_jobs(listing)}\n\n{WHICH.format(_number(jobs[0]))}" if jobs else say_jobs(listing)


def subject_of(number: int, listing: str) -> str:
    """Return the time and the words of job *number* in *listing*."""
    line = next(line for line in jobs_to_come(listing) if _number(line) == number)
    return line.partition(". ")[2].rpartition("; next ")[0]


def _number(line: str) -> int:
    number, point, _ = line.partition(". ")
    return int(number) if point and number.isdecimal() else 0


def _names(text: str) -> frozenset[str]:
    return frozenset(
        word for word in stems(text) - _NAMELESS if len(word) >= _LEAST_CHARS or any(map(str.isdigit, word))
    )
