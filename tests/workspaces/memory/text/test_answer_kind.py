"""The kind of answer that a question asks for."""

import pytest

from workspaces.memory.text.answer_kind import AnswerKind, asked_kind, holds

TIME, AMOUNT, CODE, LINK, NAME, PLACE = AnswerKind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Ann move?", TIME),
        ("email of the woman at the church", LINK),
        ("what is Ann's email?", LINK),
        ("which website did Tom find", LINK),
        ("wie ist die E-Mail-Adresse von Ben", LINK),
        ("when did I answer the email of Ann", TIME),
        ("what did the email from the school say", None),
        ("what day is yoga", TIME),
        ("What deadline should I aim for?", TIME),
        ("wann kommt der Klempner", TIME),
        ("quand est mon rendez-vous ?", TIME),
        ("how much is the rent", AMOUNT),
        ("¿cuántos hijos tiene Luis?", AMOUNT),
        ("plumber's phone number", CODE),
        ("garage code", CODE),
        ("who is our vet?", NAME),
        ("where is the spare key", PLACE),
        ("what did Ann say about the trip?", None),
    ],
)
def test_the_kind_is_told_by_the_words_of_the_question(question: str, kind: AnswerKind | None) -> None:
    """In several languages; most questions ask for none of these."""
    assert asked_kind(question) is kind


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        (
            TIME,
            "deadline of the report, which days is the pool open, opening hours of the library, how late are they open",
        ),
        (TIME, "q dia ensayamos, cuando es el concierto, hasta q hora abren, um wieviel uhr geht es los"),
        (AMOUNT, "cuanto pago al mes, welchen pflegegrad hat er"),
        (
            CODE,
            "codigo de la nave, matricula de la moto, brauch die nr vom ofen, handy von der pflegerin",
        ),
        (PLACE, "donde tengo el traje, en q calle vive, ou est le double"),
        (NAME, "quien toca antes, como se va a llamar el disco"),
        (TIME, "expiry of my passport, bis wann muss ich zahlen, horario de la farmacia, hoe laat begint het"),
        (AMOUNT, "what did the roof end up costing us, dose of the drops, what does Bob owe me, how wide is the gap"),
        (AMOUNT, "number of guests, miete der wohnung, prix du vélo, prezzo del divano"),
        (CODE, "combination of the lock, wifi pw, reg of the car, booking ref for the hotel, handynummer von jan"),
        (PLACE, "which drawer has the batteries, address of the dentist, what shelf are the screws on"),
        (
            None,
            "why is the rent so high, did I return the deposit, how do I change the combination, is the total right",
        ),
    ],
)
def test_nouns_tell_the_kind_too(kind: AnswerKind | None, questions: str) -> None:
    """People leave the question word out; a reason, a way, or whether something is so is no such answer."""
    assert {each: asked_kind(each) for each in questions.split(", ")} == dict.fromkeys(questions.split(", "), kind)


@pytest.mark.parametrize(
    ("kind", "answer", "other"),
    [
        (TIME, "we moved last March", "we moved to a flat with a garden"),
        (TIME, "der Klempner kommt am Freitag", "der Klempner war freundlich"),
        (TIME, "erst am 15. bei uns", "erst mit 15 bei uns"),
        (TIME, "jetzt klingeln sie um viertel nach acht", "jetzt klingeln sie bei acht"),
        (TIME, "los martes a las 9 y cuarto", "nueve y cuarto de queso"),
        (TIME, "se va a lisboa del 8 al 12", "se va a lisboa con 12"),
        (CODE, "nummer ist ES-BK 412", "nummer ist 412"),
        (TIME, "it starts at noon", "it starts at the door"),
        (TIME, "quarter past four", "a quarter of the cake"),
        (AMOUNT, "only a quarter of it", "only the rest of it"),
        (AMOUNT, "Paula wants 14 an hour", "Paula is kind"),
        (AMOUNT, "they have two dogs", "they have dogs"),
        (LINK, "her mail is paula@example.org", "she got my mail"),
        (LINK, "www.paula.example has it", "it is on her page"),
        (CODE, "Kolb's mobile: 0171 330 8854", "the plumber came at 7:30"),
        (NAME, "the vet is Dr. Hakimi", "the vet moved the shot"),
    ],
)
def test_a_text_holds_an_answer_of_a_kind(kind: AnswerKind, answer: str, other: str) -> None:
    """Another text about the same thing holds none."""
    question = "a question about the Plumber, Paula, the vet and a move"
    assert holds(kind, answer, question)
    assert not holds(kind, other, question)


def test_what_the_question_says_answers_nothing() -> None:
    """Who is asked for is somebody else, and when is another time."""
    assert not holds(NAME, "the teacher of Emil was late", "Who teaches Emil?")
    assert not holds(TIME, "recycling day", "what day is the recycling collected")
    assert holds(TIME, "the recycling day is Thursday", "what day is the recycling collected")
