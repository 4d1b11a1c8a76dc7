"""Who may talk, decided by the transport's facts alone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Quote, Sender
from gateway.door.admission import AccountPolicy, Admitted, DirectPolicy, GroupPolicy, Policy, Reason, Refused, admit

ACCOUNT = AccountPolicy(DirectPolicy.OWNER, {"-100": GroupPolicy(), "-200": GroupPolicy(mention=False)})
POLICY = Policy(frozenset({"telegram:7"}), {("telegram", "home"): ACCOUNT})
DIRECT = InboundMessage(
    Address("telegram", "home", "7"), "1", Sender("7", "Owner"), ChatKind.DIRECT, "hello", True, datetime.now(UTC)
)
GROUP = replace(DIRECT, address=Address("telegram", "home", "-100"), kind=ChatKind.GROUP, sender=Sender("8", "Someone"))


def test_the_owner_is_admitted_to_a_direct_chat() -> None:
    """The owner's own direct chat is always open."""
    assert admit(DIRECT, POLICY) == Admitted()


def test_a_mention_in_an_allowed_group_is_admitted_from_anybody() -> None:
    """An allow-listed group may ask when it mentions the bot, whoever speaks."""
    assert admit(GROUP, POLICY) == Admitted()
    assert admit(replace(GROUP, sender=Sender("", "Channel")), POLICY) == Admitted()


def test_a_group_without_the_mention_rule_is_always_answered() -> None:
    """`mention = false` lets every message of that group in."""
    message = replace(GROUP, address=Address("telegram", "home", "-200"), is_for_us=False)
    assert admit(message, POLICY) == Admitted()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (replace(DIRECT, sender=Sender("8", "Stranger")), Reason.STRANGER),
        (replace(DIRECT, sender=Sender("", "Nobody")), Reason.ANONYMOUS),
        (replace(DIRECT, sender=Sender("7", "Owner", is_bot=True)), Reason.BOT),
        (replace(DIRECT, address=Address("telegram", "work", "7")), Reason.NO_POLICY),
        (replace(DIRECT, address=Address("discord", "home", "7")), Reason.NO_POLICY),
        (replace(DIRECT, text="  \n "), Reason.NO_TEXT),
        (replace(GROUP, is_for_us=False), Reason.NOT_FOR_US),
        (replace(GROUP, address=Address("telegram", "home", "-101")), Reason.GROUP_NOT_ALLOWED),
        (
            replace(GROUP, sender=Sender("7", "Owner"), address=Address("telegram", "home", "7")),
            Reason.GROUP_NOT_ALLOWED,
        ),
        (replace(GROUP, sender=Sender("9", "A bot", is_bot=True)), Reason.BOT),
    ],
)
def test_everybody_else_is_refused_with_a_reason(message: InboundMessage, reason: Reason) -> None:
    """Each refusal names its own reason, so that a silence can be explained."""
    assert admit(message, POLICY) == Refused(reason)


def test_a_closed_account_refuses_even_the_owner() -> None:
    """`direct = "closed"` means closed."""
    closed = Policy(POLICY.owners, {("telegram", "home"): AccountPolicy(DirectPolicy.CLOSED)})
    assert admit(DIRECT, closed) == Refused(Reason.DIRECT_CLOSED)


def test_the_same_number_on_another_platform_is_not_the_owner() -> None:
    """A Person is a platform and a number together."""
    policy = Policy(frozenset({"discord:7"}), POLICY.accounts)
    assert admit(DIRECT, policy) == Refused(Reason.STRANGER)


def test_a_forwarded_message_has_words_though_none_of_its_own() -> None:
    """What is quoted is something to talk about."""
    assert admit(replace(DIRECT, text="", quote=Quote("Ann", "See you at ten.")), POLICY) == Admitted()
