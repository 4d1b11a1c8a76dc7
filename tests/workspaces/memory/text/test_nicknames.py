"""Other names of somebody."""

import pytest

from workspaces.memory.text.nicknames import renamed


@pytest.mark.parametrize(
    ("line", "asked", "read"),
    [
        ("Dell is short for Delphine", "what does delphine do", "what does Dell do"),
        ("Dell is short for Delphine", "when does Dell come?", "when does Delphine come?"),
        ("Katherine Loxley leads, everybody calls her Kit", "Katherine's number", "Kit's number"),
        ("the treasurer is Bartholomew but he wants to be called Barty", "is Barty ill", "is Bartholomew ill"),
        ("Herr Brandl, aka Bear", "where is brandl", "where is Bear"),
        ("we call Margaret Peg", "when is Peg's birthday", "when is Margaret's birthday"),
        ("had tea with my sister Kat", "wheres my sister going", "wheres Kat going"),
        ("Kat is my sister by the way", "where's my sister going?", "where's Kat going?"),
        ("our dentist is called Moreau", "when do I see our dentist", "when do I see Moreau"),
        ("mein Nachbar heißt Urs", "wo wohnt mein Nachbar", "wo wohnt Urs"),
    ],
)
def test_a_declared_name_is_asked_for_by_the_other_one(line: str, asked: str, read: str) -> None:
    """Either way round, whatever the case of the letters in the question; "my" and a role is asked for by the name."""
    assert renamed(asked, ["the bins go out", line]) == read


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("Dell is short for Delphine", "what does Ann do"),
        ("Dell is short for Delphine", "is Dell the same as Delphine"),
        ("Oskar called Mette", "what does Oskar do"),
        ("Sven called it a day", "what did Sven do"),
        ("he is too short for the shelf", "is the shelf new"),
        ("had tea with my sister Kat", "where is his sister going"),
        ("had tea with my sister Kat", "where is Ann's sister going"),
        ("had tea with my sister Kat", "where is my brother going"),
        ("Luckily our son slept", "when did our son sleep"),
        ("I rang my sister, Wanted to hear her voice", "when did I ring my sister"),
        ("my new Brooks shoes are here", "what is new"),
    ],
)
def test_other_lines_and_other_questions_rename_nothing(line: str, asked: str) -> None:
    """A call by telephone, a question with both names, somebody else's sister, words that are no names and no roles."""
    assert renamed(asked, [line]) == ""
