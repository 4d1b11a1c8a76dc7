"""Text of Telegram's messages that hold a contact, a place, a poll or a die instead of words; pure."""

from aiogram.types import Message

LONGEST = 200
"""Characters of one part of a card, such as a name; our choice, beyond any name or poll question on a screen."""


def card_text(message: Message) -> str:
    """Return the words of the card in *message*, in brackets like a file's line; empty without one."""
    match message:
        case Message(contact=contact) if contact is not None:
            return _card("contact", f"{contact.first_name} {contact.last_name or ''}", contact.phone_number)
        case Message(venue=venue) if venue is not None:
            place = venue.location
            return _card("place", venue.title, venue.address, f"{place.latitude}, {place.longitude}")
        case Message(location=place) if place is not None:
            kind = "live location" if place.live_period else "location"
            return _card(kind, f"{place.latitude}, {place.longitude}")
        case Message(poll=poll) if poll is not None:
            return _card("poll", poll.question, *(each.text for each in poll.options))
        case Message(dice=dice) if dice is not None:
            return _card("throw", dice.emoji, str(dice.value))
    return ""


def moves(message: Message) -> bool:
    """Tell whether *message* is a live location: each of its edits is the next point of a way, and nothing is said."""
    return message.location is not None and message.location.live_period is not None


def _card(kind: str, *parts: str | None) -> str:
    said = (" ".join(part.split())[:LONGEST].translate({ord("["): "(", ord("]"): ")"}) for part in parts if part)
    return f"[{kind}: {'; '.join(said)}]"
