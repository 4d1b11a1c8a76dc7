"""What the offline responder takes a message for."""

import time

import pytest

from gateway.agent.models.offline_intents import Intent, content_words, is_statement, read_intent


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("remember that the staging database moved to port 5433", "the staging database moved to port 5433"),
        ("Remember: I prefer tea.", "I prefer tea."),
        ("Please remember that I am allergic to nuts. Thanks!", "I am allergic to nuts."),
        ("please remember: the code is 4711", "the code is 4711"),
        ("remember my sister's birthday is 5 May", "my sister's birthday is 5 May"),
        ("Don't forget to buy milk", "Don't forget to buy milk"),
        ("don’t forget that Ann comes on Friday", "Ann comes on Friday"),
        ("Remember to call Bob tomorrow.", "Remember to call Bob tomorrow."),
        ("note that we ship on Monday", "we ship on Monday"),
        ("Note: we ship on Monday", "we ship on Monday"),
        ("Make a note that the key is under the mat", "the key is under the mat"),
        ("Could you please remember that my locker is 12?", "my locker is 12"),
        ("Can you write down: dentist on 3 March", "dentist on 3 March"),
        ("hey, keep in mind that I work from home on Fridays", "I work from home on Fridays"),
        ("Add this to my notes: the printer is on floor 3", "the printer is on floor 3"),
        ("Save this: wifi password is hunter2", "wifi password is hunter2"),
        ("Remember that the server moved. The new port is 5433. It is behind the VPN.",
         "the server moved. The new port is 5433. It is behind the VPN."),
        ("Hello! Remember that I like jazz.", "I like jazz."),
        ("The server moved. Remember that it is on port 5433 now.", "The server moved. it is on port 5433 now."),
        ("I was at the dentist. Remember that Ann has a new phone.", "Ann has a new phone."),
        ("The staging database is on port 5433. Please remember that.", "The staging database is on port 5433."),
        ("My desk is number 7, remember that!", "My desk is number 7"),
        ("Remember:\n- eggs\n- milk\n- bread", "- eggs\n- milk\n- bread"),
        ("(quoting Ann)\n> the gate code is 99\n\nremember this", "the gate code is 99"),
        ("@our_bot remember that the demo is at ten", "the demo is at ten"),
        ("OK, remember that v2.1 needs 3.5 GB", "v2.1 needs 3.5 GB"),
        ("note to self: the sample cock leaks", "the sample cock leaks"),
        ("don't let me forget that the tide is at six", "the tide is at six"),
        ("wifes birthday is on 19 september, dont let me forget", "wifes birthday is on 19 september"),
    ],
)  # fmt: skip
def test_an_order_to_remember_gives_what_to_note(said: str, note: str) -> None:
    """The fact is kept as it was said, without the order and the courtesies around it."""
    assert read_intent([said]).note == note


@pytest.mark.parametrize(
    "said",
    [
        "Do you remember that restaurant?",
        "Remember when we went to Paris?",
        "remember what I told you about the port",
        "Remember that time in Paris?",
        "Where is the note that I wrote?",
        "Notes about the port",
        "Save the whales campaign, when did it begin?",
        "What is the port of the staging database?",
        "I had a good day",
        "サーバーのポートは？",
    ],
)
def test_everything_else_is_looked_for(said: str) -> None:
    """A question, or any text that orders nothing, is a search for its own words."""
    assert read_intent([said]) == Intent(query=said)


@pytest.mark.parametrize(
    "said",
    [
        "hello",
        "Hi there!",
        "Good morning",
        "morning!",
        "bonjour",
        "你好",
        "start",
        "help",
        "What can you do?",
        "who are you?",
        " ",
    ],
)
def test_a_greeting_searches_nothing(said: str) -> None:
    """Hello and help get an explanation."""
    assert read_intent([said]) == Intent(wants_help=True)


@pytest.mark.parametrize(
    "said",
    ["Thanks!", "ok, thank you so much", "great", "gracias", "Danke schön!", "ta", "thanks pal", "gracias, Iker!"],
)
def test_thanks_search_nothing(said: str) -> None:
    """Thanks are no question."""
    assert read_intent([said]) == Intent(is_thanks=True)


@pytest.mark.parametrize("said", ["What did I tell you to remember?", "What did I say?", "我说过什么？"])
def test_a_question_for_ones_own_words_needs_no_search(said: str) -> None:
    """Without a topic the latest statements are meant."""
    assert read_intent([said]) == Intent(asks_own_words=True)


@pytest.mark.parametrize("said", ["My dog is called Rex", "I gave the drill to Farouk next door", "我的狗叫雷克斯"])
def test_a_plain_statement_is_noted_once_the_offer_is_accepted(said: str) -> None:
    """ "Yes" after an offer means the statement; without one it means nothing."""
    assert is_statement(said)
    for yes in ("yes please", "si, apúntalo", "vale", "sí, claro", "ja, notier das", "oui, note-le", "ok, save it"):
        assert read_intent([said, yes], was_offered=True).note == said
    assert read_intent([said, "yes please"]).note == ""


@pytest.mark.parametrize("said", ["Where is Rex?", "boat", "thanks a lot", "你好"])
def test_questions_keywords_and_courtesies_are_no_statements(said: str) -> None:
    """Nothing of them is worth a note."""
    assert not is_statement(said)


def test_a_note_and_a_question_are_both_heard() -> None:
    """A message may order a note and ask something."""
    intent = read_intent(["Remember that Ann likes tea. What does Bob like?"])
    assert (intent.note, intent.query) == ("Ann likes tea.", "What does Bob like?")


@pytest.mark.parametrize(
    ("before", "said", "query"),
    [
        (["Where is the staging database?"], "and when was that?", "and when was that? staging database"),
        (["Where is the staging database?"], "what about the port?", "what about the port? staging database"),
        (["Where does Caroline work?"], "Where does she live?", "Where does she live? caroline work"),
        (["remember that the staging database moved"], "when was that?", "when was that? staging database moved"),
        (["Where is the staging database?", "what about the port?"], "and then?", "and then? port staging database"),
        (["Where is the database?"], "When did Caroline visit the museum?", "When did Caroline visit the museum?"),
        (["What is the meter code?"], "is there space on Wednesday?", "is there space on Wednesday?"),
        (["Where is the studio?"], "how do I get there?", "how do I get there? studio"),
        (["Where is the database?"], "What about the gym of Jon?", "What about the gym of Jon?"),
        ([], "and when was that?", "and when was that?"),
        (["purifier no2 runs sweet"], "Whose twins are those again?", "Whose twins are those again?"),
    ],
)  # fmt: skip
def test_a_follow_up_takes_over_what_it_leans_on(before: list[str], said: str, query: str) -> None:
    """A short question that points back is searched with the words of the one before it."""
    assert read_intent([*before, said]).query == query


@pytest.mark.parametrize("said", ["what do you know about me", "¿Qué sabes de mí?", "Was weißt du über mich?"])
def test_a_question_for_all_that_is_known_is_no_search(said: str) -> None:
    """No passage holds "about me": it would find nothing."""
    assert read_intent([said]) == Intent(asks_about_me=True)


def test_an_order_without_a_fact_means_what_was_said_before() -> None:
    """ "Remember that" after a statement notes the statement; after nothing it asks what."""
    assert read_intent(["My desk is number 7", "please remember that"]).note == "My desk is number 7"
    assert read_intent(["remember this"]) == Intent(lacks_note=True)
    assert read_intent(["Where is my desk?", "remember it"]).lacks_note


def test_content_words_leave_out_the_small_ones() -> None:
    """What a text is about, in small letters, each word once."""
    assert content_words("What is the Port of the port-db_2 in v1.2?") == ["port", "port-db_2", "v1.2"]


def test_very_many_sentences_are_read_in_linear_time() -> None:
    """A guest's program may send 50,000 characters, and each message is read on the loop of all chats."""
    began = time.process_time()
    read_intent(["a " + "。" * 50_000 + "x"])
    assert time.process_time() - began < 2


def test_an_order_at_the_end_is_about_all_before_it_but_questions() -> None:
    """In Japanese the order comes last; a question before it is no part of the note."""
    assert read_intent(["元気？歯医者は3時。覚えておいて"]).note == "歯医者は3時。"
    assert read_intent(["歯医者は3時を覚えておいて"]).note == "歯医者は3時"
