"""Phrases of thirteen languages that the offline responder understands."""

import pytest

from gateway.agent.models.offline_languages import LANGUAGES, ordered_note, topic_of_own_words, topic_to_forget

CASES = {
    "English": ("", "forget the gate code", "the gate code", "What did I say about the boat?", "the boat"),
    "German": (
        "Merk dir, dass das Tor klemmt",
        "Vergiss den Torcode",
        "den Torcode",
        "Was habe ich über das Boot gesagt?",
        "das Boot",
    ),
    "French": (
        "Souviens-toi que das Tor klemmt",
        "oublie le code",
        "le code",
        "Qu'est-ce que j'ai dit sur le bateau ?",
        "le bateau",
    ),
    "Spanish": (
        "Por favor, recuerda que das Tor klemmt",
        "olvida el código",
        "el código",
        "¿Qué dije sobre el barco?",
        "el barco",
    ),
    "Italian": (
        "Ricordati che das Tor klemmt",
        "dimentica il codice",
        "il codice",
        "Cosa ho detto della barca?",
        "barca",
    ),
    "Portuguese": (
        "Lembra-te de que das Tor klemmt",
        "esquece o código",
        "o código",
        "O que eu disse sobre o barco?",
        "o barco",
    ),
    "Dutch": ("Onthoud dat das Tor klemmt", "vergeet de code", "de code", "Wat heb ik over de boot gezegd?", "de boot"),
    "Polish": ("Zapamiętaj, że das Tor klemmt", "zapomnij o kodzie", "kodzie", "Co mówiłem o łodzi?", "łodzi"),
    "Romanian": ("Ține minte că das Tor klemmt", "uită de cod", "cod", "Ce am spus despre barcă?", "barcă"),
    "Russian": ("Запомни, что das Tor klemmt", "забудь про код", "код", "Что я говорил про лодку?", "лодку"),
    "Ukrainian": ("Запам'ятай, що das Tor klemmt", "забудь про код", "код", "Що я казав про човен?", "човен"),
    "Chinese": ("请记住：das Tor klemmt", "忘掉门的密码", "门的密码", "关于船我说过什么？", "船"),
    "Japanese": ("das Tor klemmtと覚えておいて", "暗証番号を忘れて", "暗証番号", "船について何て言った？", "船"),
}


@pytest.mark.parametrize("language", CASES)
def test_each_language_is_understood(language: str) -> None:
    """An order to note, one to forget, and a question for one's own words give their text or topic."""
    order, forget, topic, asked, asked_topic = CASES[language]
    assert not order or ordered_note(order) == "das Tor klemmt"
    assert topic_to_forget(forget) == topic
    assert topic_of_own_words(asked) == asked_topic
    assert language in LANGUAGES


@pytest.mark.parametrize(
    "said",
    ["Nota bene", "note taking is hard", "Erinnerst du dich an Paris?", "Guarda che bello", "que tal", "犬が好きです"],
)
def test_other_sentences_order_nothing(said: str) -> None:
    """A sentence that only begins alike is neither an order nor a question for one's own words."""
    assert ordered_note(said) == ""
    assert topic_to_forget(said) == ""
    assert topic_of_own_words(said) is None


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("Olvida lo de la cincha, ya está", "la cincha"),
        ("forget that yusra snores, it was a joke", "yusra snores"),
        ("forget the note about the gate", "the gate"),
        ("vergiss das mit dem Boot", "dem Boot"),
        ("olvida que quiero dejar las noches", "quiero dejar las noches"),
        ("olvida lo de que Nacho ronca, era broma", "Nacho ronca"),
        ("olvídate de la contraseña del wifi", "la contraseña del wifi"),
    ],
)
def test_a_remark_is_no_part_of_what_is_to_be_forgotten(said: str, topic: str) -> None:
    """`/forget` looks for every word that it is given."""
    assert topic_to_forget(said) == topic


@pytest.mark.parametrize(
    "said",
    ["acuérdate de que Nacho ronca", "apúntame que Nacho ronca", "anótalo: Nacho ronca", "denk dran, dass Nacho ronca"],
)
def test_an_order_in_everyday_words_is_one(said: str) -> None:
    """With the pronoun at the verb, as people say it."""
    assert ordered_note(said).endswith("Nacho ronca")
    assert not ordered_note(said).startswith("que")


@pytest.mark.parametrize("said", ["vergiss nicht die Milch", "don't forget milk", "vergeet niet de melk", "forget it"])
def test_not_to_forget_is_no_order_to_forget(said: str) -> None:
    """ "Do not forget" begins like the opposite."""
    assert topic_to_forget(said) == ""
