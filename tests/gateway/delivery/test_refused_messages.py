"""A message that was refused is made as plain as a message can be, and loses no text by it."""

from adapters.channel import Address, Body, Button, Entity, EntityType, OutboundMessage, Upload
from gateway.delivery.refused_messages import plainly, refusal_notice

PLACE = Address("fake", "home", "alice")
WHY = "let me attach files"


def test_a_plain_message_has_neither_formatting_nor_target_nor_buttons_nor_file() -> None:
    """The file is named in words, with the reason, and each part has a key of its own."""
    body = Body("hello", (Entity(EntityType.BOLD, 0, 5),), Upload("plan.md", b"x"))
    (plain,) = plainly(OutboundMessage(PLACE, body, "key.0", "7", (Button("Undo", "/undo"),), "t1"), WHY)
    shown = Body("hello\n[file: plan.md; it could not be sent here: let me attach files]")
    assert plain == OutboundMessage(PLACE, shown, "key.0.plain0", None, (), "t1")


def test_a_long_message_is_parted_and_a_plain_one_is_not_sent_again() -> None:
    """What was refused as it is needs another form, not another try."""
    text = "x" * 4_096
    parts = plainly(OutboundMessage(PLACE, Body(text), "key.0"), WHY)
    assert "".join(each.body.text for each in parts) == text
    assert len({each.key for each in parts}) == len(parts) == 3
    assert plainly(OutboundMessage(PLACE, Body("hello"), "key.0"), WHY) == []
    assert plainly(OutboundMessage(PLACE, Body("  "), "key.0", "7"), WHY) == []


def test_the_sentence_goes_to_the_same_chat() -> None:
    """Under a key of its own: a platform that knows keys takes it for no second try."""
    said = refusal_notice(OutboundMessage(PLACE, Body("hello"), "key.0", "7", turn="t1"))
    assert (said.address, said.key, said.reply_to, said.turn) == (PLACE, "key.0.instead", None, "t1")
