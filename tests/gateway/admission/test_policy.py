"""Who may talk, decided by the transport's facts alone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, Attachment, AttachmentKind, ChatKind, InboundMessage, Quote, Sender
from gateway.admission.policy import (
    AccountPolicy,
    Admitted,
    DirectPolicy,
    GroupPolicy,
    Policy,
    RefusalReason,
    Refused,
    admit,
)

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
        (replace(DIRECT, sender=Sender("8", "Stranger")), RefusalReason.STRANGER),
        (replace(DIRECT, sender=Sender("", "Nobody")), RefusalReason.ANONYMOUS),
        (replace(DIRECT, sender=Sender("7", "Owner", is_bot=True)), RefusalReason.BOT),
        (replace(DIRECT, address=Address("telegram", "work", "7")), RefusalReason.NO_POLICY),
        (replace(DIRECT, address=Address("discord", "home", "7")), RefusalReason.NO_POLICY),
        (replace(DIRECT, text="  \n "), RefusalReason.NO_TEXT),
        (replace(GROUP, is_for_us=False), RefusalReason.NOT_FOR_US),
        (replace(GROUP, address=Address("telegram", "home", "-101")), RefusalReason.GROUP_NOT_ALLOWED),
        (
            replace(GROUP, sender=Sender("7", "Owner"), address=Address("telegram", "home", "7")),
            RefusalReason.GROUP_NOT_ALLOWED,
        ),
        (replace(GROUP, sender=Sender("9", "A bot", is_bot=True)), RefusalReason.BOT),
    ],
)
def test_everybody_else_is_refused_with_a_reason(message: InboundMessage, reason: RefusalReason) -> None:
    """Each refusal names its own reason, so that a silence can be explained."""
    assert admit(message, POLICY) == Refused(reason)


def test_a_closed_account_refuses_even_the_owner() -> None:
    """`direct = "closed"` means closed."""
    closed = Policy(POLICY.owners, {("telegram", "home"): AccountPolicy(DirectPolicy.CLOSED)})
    assert admit(DIRECT, closed) == Refused(RefusalReason.DIRECT_CLOSED)


def test_the_same_number_on_another_platform_is_not_the_owner() -> None:
    """A Person is a platform and a number together."""
    policy = Policy(frozenset({"discord:7"}), POLICY.accounts)
    assert admit(DIRECT, policy) == Refused(RefusalReason.STRANGER)


def test_a_forwarded_message_has_words_though_none_of_its_own() -> None:
    """What is quoted is something to talk about."""
    assert admit(replace(DIRECT, text="", quote=Quote("Ann", "See you at ten.")), POLICY) == Admitted()


PAIRING = Policy(
    POLICY.owners,
    {("telegram", "home"): AccountPolicy(DirectPolicy.PAIRING, ACCOUNT.groups, frozenset({"telegram:5"}))},
)
STRANGER = replace(DIRECT, address=Address("telegram", "home", "8"), sender=Sender("8", "Stranger"))


def test_where_strangers_may_ask_a_guest_is_admitted_and_nobody_else() -> None:
    """The owner, whom the account lists, and whom the owner let in; what names nobody cannot be a guest."""
    listed = replace(STRANGER, sender=Sender("5", "Listed"))
    assert admit(STRANGER, PAIRING) == Refused(RefusalReason.UNPAIRED)
    assert admit(STRANGER, PAIRING, is_guest=True) == Admitted()
    assert admit(DIRECT, PAIRING) == admit(listed, PAIRING) == Admitted()
    assert admit(replace(STRANGER, sender=Sender("", "x")), PAIRING, is_guest=True) == Refused(RefusalReason.ANONYMOUS)
    assert admit(replace(STRANGER, sender=Sender("8", "x", is_bot=True)), PAIRING, is_guest=True) == Refused(
        RefusalReason.BOT
    )


def test_a_grant_for_direct_chats_is_none_elsewhere() -> None:
    """Not in a group that is not allowed, not past a group's own list, not where the account takes no guests."""
    elsewhere = replace(GROUP, address=Address("telegram", "home", "-101"))
    assert admit(elsewhere, PAIRING, is_guest=True) == Refused(RefusalReason.GROUP_NOT_ALLOWED)
    assert admit(replace(GROUP, is_for_us=False), PAIRING, is_guest=True) == Refused(RefusalReason.NOT_FOR_US)
    assert admit(STRANGER, POLICY, is_guest=True) == Refused(RefusalReason.STRANGER)
    closed = Policy(POLICY.owners, {("telegram", "home"): AccountPolicy(DirectPolicy.CLOSED)})
    assert admit(STRANGER, closed, is_guest=True) == Refused(RefusalReason.DIRECT_CLOSED)


def group_of(group: GroupPolicy) -> Policy:
    return Policy(POLICY.owners, {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, {"-100": group})})


def test_a_group_may_list_who_asks() -> None:
    """The owner always may; others need to be on the list by their id, and the nameless cannot be."""
    policy = group_of(GroupPolicy(people=frozenset({"telegram:8"})))
    for sender, decision in [
        (Sender("8", "Someone"), Admitted()),
        (Sender("7", "Owner"), Admitted()),
        (Sender("9", "Someone"), Refused(RefusalReason.PERSON_NOT_ALLOWED)),
        (Sender("", "Someone"), Refused(RefusalReason.ANONYMOUS)),
    ]:
        assert admit(replace(GROUP, sender=sender), policy) == decision


def test_bots_are_answered_only_in_a_group_that_says_so() -> None:
    """And there only when they ask, like people; never in a direct chat."""
    policy, bot = group_of(GroupPolicy(bots=True)), Sender("9", "A bot", is_bot=True)
    assert admit(replace(GROUP, sender=bot), policy) == Admitted()
    assert admit(replace(GROUP, sender=bot, is_for_us=False), policy) == Refused(RefusalReason.NOT_FOR_US)
    assert admit(replace(DIRECT, sender=bot), policy) == Refused(RefusalReason.BOT)


def test_a_file_without_a_word_is_a_message() -> None:
    """What it shows is something to talk about."""
    photo = Attachment(AttachmentKind.PHOTO, "file-1")
    assert admit(replace(DIRECT, text="", attachments=(photo,)), POLICY) == Admitted()
