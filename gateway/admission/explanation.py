"""The result of admission and routing for a message, in words."""

from msgspec import Struct


class Explanation(Struct, frozen=True):
    """The result of admission and routing for a message."""

    agent: str
    session: str
    """Name of the session among the agent's."""
    session_type: str
    rule: str
    """Description of the deciding binding."""
    is_admitted: bool
    reason: str = ""
    """Code of the reason for a refusal."""
    meaning: str = ""
    mend: str = ""
