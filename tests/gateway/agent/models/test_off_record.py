"""Orders not to write something down."""

import pytest

from gateway.agent.models.off_record import Withheld, withheld_by


@pytest.mark.parametrize(
    "text",
    [
        "the password for the crew wifi is halcyon-77, dont write that anywhere",
        "My sister is expecting. Please don't note that.",
        "I got fired (keep this out of your notes)",
        "off the record: the bride is late again",
        "don't write this down: my pin is 4411",
        "Der Chef geht im Mai, schreib das bitte nicht auf",
        "Je démissionne en mai, ne note pas ça",
        "dejo la banda en enero, no lo apuntes",
        "lascio il coro a maggio, non scriverlo da nessuna parte",
        "vou sair da banda, não anotes isso",
        "ik stop in mei, schrijf dat niet op",
        "odchodzę w maju, nie zapisuj tego",
        "plec în mai, nu nota asta",
        "я ухожу в мае, не записывай это",
        "я йду в травні, не записуй це",
        "我五月辞职，不要记下来",
        "五月に辞めます。メモしないでください",
    ],
)
def test_a_message_that_is_not_to_be_noted_is_known(text: str) -> None:
    """In each language of the offline responder; it is about the message itself."""
    assert withheld_by(text) is Withheld.THIS


@pytest.mark.parametrize("text", ["don't keep that, lo de la bronca", "please don't save that.", "no lo guardes"])
def test_an_order_alone_is_about_the_message_before(text: str) -> None:
    """There is nothing else that it could mean."""
    assert withheld_by(text) is Withheld.BEFORE


@pytest.mark.parametrize(
    "text",
    [
        "I don't write that down, my wife does",
        "don't keep it in the fridge",
        "don't put that bike in the hall",
        "they never record it properly",
        "no escribas a Pau todavía",
        "the band is off the record label",
        "schreib das auf",
        "don't forget that the bins go out",
        "we agreed not to save the file",
    ],
)
def test_other_words_withhold_nothing(text: str) -> None:
    """A fact that is left out by mistake stands in no note."""
    assert withheld_by(text) is None
