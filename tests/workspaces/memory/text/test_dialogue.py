"""Lines of conversations: every format that is written or imported is read, and each line has its kind."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.memory.text.dialogue import (
    LONGEST_NAME,
    LineKind,
    ParsedLine,
    conversation_heading,
    is_empty_answer,
    is_evidence,
    is_turn,
    kind_of_speech,
    left_out_line,
    log_line,
    read_line,
    refers_back,
    says_nothing,
    transcript_line,
    without_time,
)

AT = datetime(2026, 3, 1, 21, 17, tzinfo=UTC)


@pytest.mark.parametrize("kind", [None, LineKind.SAYS, LineKind.QUESTION, LineKind.ORDER, LineKind.ANSWER])
@given(st.from_regex(r"[A-Z][a-z]{0,9}( [A-Z][a-z]{0,8})?", fullmatch=True), st.text(min_size=1))
def test_what_is_written_is_read(kind: LineKind | None, speaker: str, text: str) -> None:
    """Speaker, time, text and whether it was a question, an order or an answer come back, whatever the text holds."""
    said = f"x{text}"
    line = log_line(speaker, AT, said) if kind is None else transcript_line(speaker, AT, said, kind)
    assert read_line(line) == ParsedLine(said, speaker, "21:17", None if kind is LineKind.SAYS else kind)


def test_a_question_is_known_by_its_line_and_not_by_its_words() -> None:
    """It was written as one; the longest name leaves room for that."""
    name = "N" * LONGEST_NAME
    assert read_line(transcript_line(name, AT, "the hinges of the gate", LineKind.QUESTION)).kind is LineKind.QUESTION
    assert read_line(transcript_line(name, AT, "the hinges of the gate", LineKind.SAYS)).kind is LineKind.SAYS
    assert not is_evidence("21:17 Ann asked: the hinges of the gate", "gate hinges")
    assert without_time("21:17 Ann asked: the code") == "Ann: the code"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Ann: tea", ParsedLine("tea", "Ann")),
        ("**Ann:** tea", ParsedLine("tea", "Ann")),
        ("[21:17] Ann: tea", ParsedLine("tea", "Ann", "21:17")),
        ("21:17 - Ann: tea", ParsedLine("tea", "Ann", "21:17")),
        ("21:17 bought tea", ParsedLine("bought tea", "", "21:17")),
        ("bought tea", ParsedLine("bought tea")),
        ("https://example.org: a link", ParsedLine("https://example.org: a link")),
        (
            "This sentence is long enough to be no name: tea",
            ParsedLine("This sentence is long enough to be no name: tea"),
        ),
    ],
)
def test_other_formats_are_read_too(text: str, line: ParsedLine) -> None:
    """By hand, as in Markdown, as messengers export."""
    assert read_line(text) == line
    assert is_turn(text) is bool(line.speaker or line.time)


def test_a_time_of_day_means_nothing() -> None:
    """The same words at another time are the same text; who speaks is kept."""
    assert without_time("21:17 Ann: tea") == without_time("Ann (09:03): tea") == "Ann: tea"


QUESTIONS = """
a qué hora cierra la farmacia de guardia
pueden los gatos comer atún
cuanto cuesta el gimnasio
código del portal de mi madre
como se chama a professora
de que cor é o xale
quando chega a carta de condução
a che ora parte il treno
come si chiama la maestra
quand part le train de Lyon
avec qui vient Paul
mit wem fährt Ida
welche Größe hat Max
hoe laat begint de les
kiedy jest zebranie
când este ședința
во сколько приём
скільки коштує квиток
who'll be my examiner
how to poach an egg
does Ann like olives
recipe for the apple cake
alarm code at the wall
project code on arc
la visite du medecin c quel jour
ca dure combien de temps un platre
je mets quoi comme dessert
quanto ci mette la colla ad asciugare
cosa serve per il passaporto
le chiavi della cantina dove le ho messe
a quelle heure ferme la piscine le samedi
tu te souviens de la taille de Paul
il y a combien de marches
se puede congelar el queso
hace falta reservar en el camping
q bombilla lleva la nevera
qual o peso da mala
com quantos anos pode dirigir
a massa leva quanto tempo no forno
dogs on that beach yes or no
si puo congelare il pesto
il filtro ogni quanto va cambiato
ke pane va con la zuppa
la maestra nuova di Leo come si chiama
el fontanero de mi madre cuando viene
o encanador do Paulo como se chama
"""
STATEMENTS = """
cuando viene Leire hacemos estiramientos
cuanto antes mejor
qué bien lo de Ana
puede el lunes
código del portal: 4417
que tengo hambre
quando era pequena vivia em Braga
como sempre cheguei tarde
quand il pleut on reste à la maison
wo wir gerade dabei sind der Keller ist nass
wer das liest ist doof
wann er kommt weiß ich nicht
wie niet waagt die niet wint
kto pyta nie błądzi
ce bine că ai venit
как всегда опоздал
когда я был маленьким мы жили в Омске
does not work on Sundays
recipe for the cake is in the drawer
alarm code at the wall 5582
mañana viene Ana
je sais pas c quoi le probleme
c'est quand même loin
on mange n'importe quoi
il ristorante dove siamo stati era bello
cosa vuoi che ti dica
quanto mi manca il mare
tu peux le garder
se puede decir que ha ido bien
il y a du monde
quanto barulho
puo darsi
la maestra si chiama come la nonna
el fontanero viene cuando puede
"""


@pytest.mark.parametrize("text", QUESTIONS.strip().splitlines())
def test_a_question_needs_no_question_mark_in_any_language(text: str) -> None:
    """As people type them in a chat: it is known by its first words, or as the name of a thing alone."""
    assert kind_of_speech(text) is LineKind.QUESTION


@pytest.mark.parametrize(
    "text",
    [
        "omg",
        "hellooo",
        "gooood morning",
        "jajaja",
        "хахаха lol",
        "kkkk",
        "ugh",
        "oh wow",
        "ok, buenas noches, hasta mañana",
    ],
)
def test_laughter_sighs_and_stretched_words_are_small_talk(text: str) -> None:
    """They say nothing that anybody looks for."""
    assert kind_of_speech(text) is LineKind.SMALL_TALK


def test_a_pasted_word_without_end_is_told_quickly() -> None:
    """As a stretched "hello" it would be compared letter by letter: 4 MB of them held a chat up for two seconds."""

    def seconds(text: str) -> float:
        began = time.process_time()
        assert kind_of_speech(text) is LineKind.SAYS
        return time.process_time() - began

    assert seconds("x" * 240_000) < seconds("A word or two are here. " * 10_000) / 4


def test_a_command_or_a_sticker_alone_tells_nothing() -> None:
    """A model may answer both; the notes of the day had "Owner: /start", and the recall check noted it again."""
    assert kind_of_speech("/start") is LineKind.SMALL_TALK
    assert kind_of_speech("👍\n[sticker]") is LineKind.SMALL_TALK
    assert kind_of_speech("[sticker]") is LineKind.SMALL_TALK
    assert kind_of_speech("[contact: Ann Berg; +34 956 11 12 22]") is LineKind.SAYS
    assert kind_of_speech("/opt/backup has 3 GB left") is LineKind.SAYS


@pytest.mark.parametrize("text", STATEMENTS.strip().splitlines())
def test_a_statement_that_begins_like_a_question_is_none(text: str) -> None:
    """Conjunctions, exclamations and answers stay evidence."""
    assert kind_of_speech(text) is LineKind.SAYS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Which port does the staging database use?", LineKind.QUESTION),
        ("whats the wifi password", LineKind.QUESTION),
        ("what port is staging on", LineKind.QUESTION),
        ("Hey, where did I park? Do you remember?", LineKind.QUESTION),
        ("Wo ist der Schlüssel", LineKind.QUESTION),
        ("¿Dónde está la llave?", LineKind.QUESTION),
        ("где ключ", LineKind.QUESTION),
        ("钥匙在哪里？", LineKind.QUESTION),
        ("can i heat until then", LineKind.QUESTION),
        ("what kills lice eggs", LineKind.QUESTION),
        ("is hvide sande nice", LineKind.QUESTION),
        ("remind me the boilers serial nr", LineKind.QUESTION),
        ("whom do we pay for the concert", LineKind.QUESTION),
        ("until when are we open on saturdays", LineKind.QUESTION),
        ("in which hotel are we", LineKind.QUESTION),
        ("phone number of the fog machine place", LineKind.QUESTION),
        ("q dia toca mi madre en el clinico", LineKind.QUESTION),
        ("cuanto se da de regalo en una comunion", LineKind.QUESTION),
        ("cuando vuelve marta", LineKind.QUESTION),
        ("hasta cuando vale la itv de la moto", LineKind.QUESTION),
        ("ou est le double des cles", LineKind.QUESTION),
        ("a q edad puede llevar una 125", LineKind.QUESTION),
        ("was hilft gegen blattläuse an den johannisbeeren", LineKind.QUESTION),
        ("wie lang muss man so ne diät machen", LineKind.QUESTION),
        ("cuando llegue marta cenamos", LineKind.SAYS),
        ("cuanto antes nos vemos", LineKind.SAYS),
        ("q bien me lo he pasado", LineKind.SAYS),
        ("was hab ich da nur gemacht", LineKind.SAYS),
        ("the code for the bike shed", LineKind.QUESTION),
        ("Telefonnummer vom Schornsteinfeger", LineKind.QUESTION),
        ("code for the bike shed is 4471", LineKind.SAYS),
        ("number of the plumber: Meier", LineKind.SAYS),
        ("the code for the bike shed changed", LineKind.SAYS),
        ("does Nacho snore", LineKind.QUESTION),
        ("is Jordi vegan", LineKind.QUESTION),
        ("did Iker call the label", LineKind.QUESTION),
        ("is vegan now", LineKind.SAYS),
        ("Will Smith called", LineKind.SAYS),
        ("when and where is the drydock", LineKind.QUESTION),
        ("what mustn't I mention to journalists", LineKind.QUESTION),
        ("part number of the gasket kit", LineKind.QUESTION),
        ("email of the promoter in Lyon", LineKind.QUESTION),
        ("price of the boiler in the end", LineKind.QUESTION),
        ("qué día opero... operan a mamá?", LineKind.QUESTION),
        ("does well now", LineKind.SAYS),
        ("price of the boiler went up", LineKind.SAYS),
        ("email of the promoter bounced", LineKind.SAYS),
        ("name of the barge: Elbe 7", LineKind.SAYS),
        ("what a week...", LineKind.SAYS),
        ("so much to do...", LineKind.SAYS),
        ("lost the card number for the pool", LineKind.SAYS),
        ("no to the offer of the bank", LineKind.SAYS),
        ("for what it is worth the boat is sold", LineKind.SAYS),
        ("from when i was a child", LineKind.SAYS),
        ("who knows where that key went", LineKind.SAYS),
        ("what i need is a new drill", LineKind.SAYS),
        ("is really nice of her", LineKind.SAYS),
        ("can pay by card there", LineKind.SAYS),
        ("I moved it to port 5433. Is that fine?", LineKind.ASKS),
        ("I saw two of them; which one?", LineKind.ASKS),
        ("Can you remind me to call Ann at five?", LineKind.ASKS),
        ("The port is 5433", LineKind.SAYS),
        ("When I was in Rome I met Ann.", LineKind.SAYS),
        ("Which is why we moved to Oslo.", LineKind.SAYS),
        ("How much I owe Ann: 40 euros.", LineKind.SAYS),
        ("我买了几个苹果。", LineKind.SAYS),
        ("What a day we had at the lake!", LineKind.SAYS),
        ("ok thanks", LineKind.SMALL_TALK),
        ("Good morning!", LineKind.SMALL_TALK),
        ("谢谢", LineKind.SMALL_TALK),
        ("👍", LineKind.SMALL_TALK),
    ],
)
def test_each_line_has_its_kind(text: str, kind: LineKind) -> None:
    """What only asks or greets is told from what states something, with and without a question mark."""
    assert kind_of_speech(text) is kind


def test_what_frames_a_conversation_tells_nothing() -> None:
    """The heading above it and the count of what is left out; a note that begins alike is a note."""
    for line in (f"21:17 {conversation_heading(AT)}", left_out_line(12), "… 12 more messages"):
        assert read_line(line).kind is LineKind.HEADING
    assert read_line("Conversation until dawn with Ann").kind is LineKind.NOTE


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("I do not know which port it uses.", True),
        ("I couldn't find anything about the port.", True),
        ("There is nothing about that in memory.", True),
        ("The port is 5433.", False),
        ("It is 5433, and " + "so on " * 40 + "I do not know more.", False),
    ],
)
def test_an_answer_that_knows_nothing_is_known(text: str, is_empty: bool) -> None:
    """Told by its beginning; what stands far behind an answer is a remark."""
    assert is_empty_answer(text) is is_empty


def test_the_lines_of_an_agent_are_answers() -> None:
    """Written as such, or of an imported assistant; its questions lead to answers of their own."""
    assert read_line("21:17 main answered: It is 5433.").kind is LineKind.ANSWER
    assert read_line("Assistant: It is 5433. Anything else?").kind is LineKind.ANSWER
    assert read_line("Assistant: Which port?").kind is LineKind.QUESTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("moved it to the car boot", True),
        ("he may get one at 11", True),
        ("paula sits that night, 18:30 to 23:00", True),
        ("hurt his wrist", True),
        ("Ella est revenue avec un gâteau aux noix", True),
        ("was 149", True),
        ("it’s in the shed", True),
        ("the spare key is in the meter cupboard", False),
        ("Kat is planning Gdansk in may", False),
        ("the plumber fixed the tap before he left", False),
        ("brianna called, she can't come", False),
        ("ok fine, she said yes", True),
        ("moved. it hated the shade", True),
    ],
)
def test_a_line_with_a_pronoun_first_or_hardly_a_word_refers_back(text: str, expected: bool) -> None:
    """A later pronoun mostly means a word of its own line."""
    assert refers_back(text) is expected


COURTESIES = """haha, good one|thanks, that's perfect|sounds good|will do|no worries|good to know|never mind|gute nacht
vielen dank|bonne soirée|exactly|that's right|makes sense|goodnight!|have a nice evening|off to bed
that's all for today
grazie mille|you're the best"""


@pytest.mark.parametrize("text", COURTESIES.replace("\n", "|").split("|"))
def test_courtesies_of_several_words_say_nothing(text: str) -> None:
    """Alone, with others, and as a model reports them."""
    for said in (text, f"ok, {text}", f"Owner said: {text}", f"The user replied {text!r}"):
        assert says_nothing(said), said


@pytest.mark.parametrize(
    "text",
    [
        "I will do the tax forms tomorrow",
        "the dog is never mind-bending",
        "good one in the shed",
        "She said yes",
        "that's right behind the oven",
        "not sure about Ann",
        "sounds like the pump",
        "User said the key is with Ann",
        "mille",
        "test tomorrow",
    ],
)
def test_the_same_words_in_another_sentence_say_something(text: str) -> None:
    """A courtesy is one only if nothing else is said."""
    assert not says_nothing(text)
