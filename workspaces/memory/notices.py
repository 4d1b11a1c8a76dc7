"""This file says in words what the reader of a search's answer should know about it."""

from workspaces.memory.wire import Frame

LONGEST_QUERY = 2_000
"""In characters; more is cut: the embedding model reads about 1,000, and a question has less."""


def notice(text: str, answer: Frame, pending: bool) -> str:
    """Return what there is to say of the worker's *answer* to *text*; *pending*: some notes are not indexed yet."""
    parts = [cut_notice(text)]
    if answer["mode"] == "keyword":
        reason = answer["reason"] or "the index is being built for another embedding model"
        parts.append(f"found by words alone: {reason}")
    if answer["unranked"]:
        parts.append(f"not reranked: {answer['unranked']}")
    if answer["shortfall"]:
        parts.append(f"found without the provider's vectors: {answer['shortfall']}")
    if pending:
        parts.append("some notes are not indexed yet")
    return "; ".join(filter(None, parts))


def plain_notice(text: str, reason: str) -> str:
    """Return what there is to say where the files answered *text*, for *reason*."""
    return "; ".join(filter(None, (cut_notice(text), f"found by words alone, in the files: {reason}")))


def cut_notice(text: str) -> str:
    """Return that *text* was cut, or nothing."""
    return f"the query was cut to {LONGEST_QUERY:,} characters" if len(text) > LONGEST_QUERY else ""
