"""This file estimates tokens where no provider has counted them."""

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, UserEntry

CHARACTERS_A_TOKEN = 3
"""Low on purpose: English has about 4, code and other scripts fewer; an estimate that is too high wastes little."""
TOKENS_AN_ENTRY = 8
"""What roles and separators cost around each entry."""


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of the tokens of *text*."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def entry_tokens(entry: Entry) -> int:
    """Return a cautious estimate of what *entry* costs in a request."""
    match entry:
        case UserEntry(text=text) | ResultEntry(text=text):
            return TOKENS_AN_ENTRY + estimate_tokens(text)
        case ReplyEntry(text=text, calls=calls):
            return TOKENS_AN_ENTRY + estimate_tokens(text + "".join(call.name + call.arguments for call in calls))
        case CallStartEntry():
            return 0
