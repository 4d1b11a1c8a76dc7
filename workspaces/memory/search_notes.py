"""Notices to the reader of search results."""

from workspaces.memory.text.languages import ENGLISH, script_of
from workspaces.memory.wire import Frame

NOTHING_CLEAR = "No clear match; the closest:"
"""For results whose best hit is below `hits.CLEAR`."""
BEING_BUILT = "the index is being built, and nothing in it fits yet"
_READ = (
    "LATIN CYRILLIC GREEK ARABIC HEBREW CJK HIRAGANA KATAKANA HANGUL DEVANAGARI THAI BENGALI TAMIL TELUGU GEORGIAN "
    "ARMENIAN GUJARATI GURMUKHI KANNADA MALAYALAM KHMER LAO MYANMAR SINHALA ETHIOPIC"
)
"""Scripts that multilingual models read, by the first word of their letters' Unicode names."""
LONGEST_QUERY = 2_000
"""In characters; a longer query is truncated: the embedding model reads about 1,000, and a question is shorter."""


def notice(text: str, answer: Frame, indexing: tuple[int, int] | None = None, *, pending: bool, to_owner: bool) -> str:
    """Return the notice for the worker's *answer* to *text*; *pending*: some notes are not indexed yet.

    *indexing* is how many of how many are, if known. Reasons are shown to the owner only: they name files, addresses
    and a provider's messages.
    """
    parts = [cut_notice(text), script_notice(text, answer["languages"])]
    if answer["mode"] == "keyword":
        reason = answer["reason"] or "the index is being built for another embedding model"
        parts.append(_with_reason("found by keywords only", reason, to_owner))
    if answer["unranked"]:
        parts.append(_with_reason("not reranked", answer["unranked"], to_owner))
    if answer["shortfall"]:
        parts.append(_with_reason("found without the provider's vectors", answer["shortfall"], to_owner))
    if pending:
        parts.append(f"some notes are not indexed yet{f': {progress_text(indexing)}' if indexing else ''}")
    return "; ".join(filter(None, parts))


def plain_notice(text: str, reason: str, *, is_all: bool = True, to_owner: bool) -> str:
    """Return the notice for an answer to *text* from the files, *is_all* of them; *reason* is for the owner only."""
    found = _with_reason("found by keywords only, in the files", reason, to_owner)
    some = "" if is_all or not to_owner else "there was no time to read all of them"
    return "; ".join(filter(None, (cut_notice(text), found, some)))


def _with_reason(what: str, reason: str, to_owner: bool) -> str:
    return f"{what}: {reason}" if to_owner else what


def script_notice(text: str, languages: str) -> str:
    """Return the notice that an embedder for *languages* reads no letter of *text*, or nothing."""
    scripts = set(map(script_of, filter(str.isalpha, text)))
    if not scripts and not any(map(str.isdecimal, text)):
        return "the query has no words"
    is_read = not scripts.isdisjoint(_READ.split()) if languages != ENGLISH else "LATIN" in scripts
    if is_read or not scripts or not languages:
        return ""
    named = ", ".join(sorted(script.capitalize() for script in scripts))
    return f"the embedding model does not read these letters ({named}): only the same words are found"


def progress_text(indexing: tuple[int, int]) -> str:
    """Return how many documents of a sync are indexed; a long conversation is several."""
    done, total = indexing
    return f"{done:,} of {total:,} new or changed documents done"


def cut_notice(text: str) -> str:
    """Return the notice that *text* was truncated, or nothing."""
    return f"the query was cut to {LONGEST_QUERY:,} characters" if len(text) > LONGEST_QUERY else ""
