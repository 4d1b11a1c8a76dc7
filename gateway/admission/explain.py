"""Explains admission in words: the route of a message and its reason, and unanswered messages."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.admission.explanation import Explanation
from gateway.admission.policy import RefusalReason, Refused, admit
from gateway.admission.routing import Routes, route
from gateway.stores.admission import BUDGET_SPENT, UNASKED_PROSE, UNREADABLE_MESSAGE, Silence


class Meaning(Struct, frozen=True):
    """A reason in words."""

    what: str
    """The end of a sentence that begins with "because"."""
    mend: str
    """The remedy, if it should be answered; empty if there is none."""


MEANINGS: Mapping[RefusalReason, Meaning] = MappingProxyType(
    {
        RefusalReason.NO_POLICY: Meaning(
            "nothing valid is configured for this bot account",
            "check its table under [channels]; strandline doctor names the fault",
        ),
        RefusalReason.BOT: Meaning("a bot wrote it", "to answer bots, set bots = true for the group"),
        RefusalReason.ANONYMOUS: Meaning(
            "the platform does not say who wrote it", "have them write as themselves, not as a channel or the group"
        ),
        RefusalReason.STRANGER: Meaning(
            "only the owner may write to this account directly",
            'if it was you, correct your id in owner.people; to let others ask for access, set direct = "pairing"',
        ),
        RefusalReason.UNPAIRED: Meaning(
            "they have not been approved",
            "strandline pair list shows pending requests; approve theirs by its code",
        ),
        RefusalReason.UNCLAIMED: Meaning(
            "this bot has no owner yet",
            "if you wrote it: strandline connect claim shows a code; send that to the bot",
        ),
        RefusalReason.DIRECT_CLOSED: Meaning('the account has direct = "closed"', 'set direct = "pairing" or "owner"'),
        RefusalReason.GROUP_NOT_ALLOWED: Meaning(
            "the group is not allowed", "send /group to the bot in your own chat, and allow it"
        ),
        RefusalReason.PERSON_NOT_ALLOWED: Meaning(
            "the group lists who may ask, and they are not among them", "add them to the group's people"
        ),
        RefusalReason.NOT_FOR_US: Meaning(
            "it neither mentioned the bot nor replied to it", "mention the bot, or set mention = false for the group"
        ),
        RefusalReason.NO_TEXT: Meaning("it had no readable content", ""),
        RefusalReason.AGENT_NOT_ALLOWED: Meaning(
            "the program's token gives no access to that agent", "name the agent in the token's agents"
        ),
        RefusalReason.RATE: Meaning(
            "they exceeded the rate limit of one person", "raise limits.person_a_minute or limits.person_burst"
        ),
        RefusalReason.LOOP_GUARD: Meaning(
            "the limit of bot messages without a human was reached",
            "write something there, or raise the group's bot_turns",
        ),
    }
)


_OTHERS = {
    UNREADABLE_MESSAGE: Meaning("their message was stored, but could not be read back", "ask them to send it again"),
    BUDGET_SPENT: Meaning(
        "the day's budget is spent, of which they had been notified",
        "it continues tomorrow; sooner with a higher [agents.<name>.budget], which takes effect at once",
    ),
    UNASKED_PROSE: Meaning(
        "a heartbeat or a job wrote an answer, but such turns only send messages with notify",
        "say in HEARTBEAT.md or in the job that you want to be notified; `strandline sessions export` has the text",
    ),
}


def explain(message: InboundMessage, routes: Routes, *, is_guest: bool) -> Explanation:
    """Return the outcome for *message*, whose sender is a guest or not; rates and loops are left out."""
    envelope, decision = route(message, routes), admit(message, routes.policy, is_guest=is_guest)
    facts = envelope.key.agent, envelope.key.name, envelope.access.session_type, envelope.rule
    if not isinstance(decision, Refused):
        return Explanation(*facts, is_admitted=True)
    meaning = MEANINGS[decision.reason]
    return Explanation(*facts, False, decision.reason, meaning.what, meaning.mend)


def describe_silence(silence: Silence) -> tuple[str, str]:
    """Return a text about an unanswered sender, with the reason, and the remedy; the caller adds the time."""
    if silence.reason in _OTHERS:
        meaning = _OTHERS[silence.reason]
    else:
        try:
            meaning = MEANINGS[RefusalReason(silence.reason)]
        except ValueError:
            meaning = Meaning(silence.reason, "see: strandline docs reasons")  # recorded by a newer version
    times = f"{silence.times:,} times, " if silence.times > 1 else ""
    return f"{silence.address}, {silence.person}: {times}because {meaning.what}", meaning.mend
